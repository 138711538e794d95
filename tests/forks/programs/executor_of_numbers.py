# innocent, warned
# The tasks of the executor only calculate.
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch

torch.cuda.init()
with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
    print(list(executor.map(abs, [-1, 2])))
