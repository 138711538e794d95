# guilty, noted
# A task of joblib's forked workers touches the device.
import torch
from joblib import Parallel, delayed

torch.cuda.init()
Parallel(n_jobs=2, backend="multiprocessing")(delayed(torch.cuda.current_device)() for _ in range(2))
