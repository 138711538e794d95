# innocent, warned
# The tasks of the pool only calculate.
import multiprocessing

import torch

torch.cuda.init()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
