# innocent, warned
# joblib's pool of forked workers, whose tasks only calculate.
import torch
from joblib import Parallel, delayed

torch.cuda.init()
print(Parallel(n_jobs=2, backend="multiprocessing")(delayed(abs)(number) for number in (-1, 2)))
