# innocent, silent
# loky starts its workers by exec, so that they begin without anything of this.
import torch
from joblib import Parallel, delayed

torch.cuda.init()
print(Parallel(n_jobs=2)(delayed(abs)(number) for number in (-1, 2)))
