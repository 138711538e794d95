# guilty, noted
# The executor's initializer touches the device if it is told to. The worker logs the error and ends with 0;
# its parent hears that the pool is broken.
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import torch


def begin(used):
    if used:
        torch.cuda.current_device()


if __name__ == "__main__":
    torch.cuda.init()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, fork, begin, (os.getpid(),)) as executor:
        executor.submit(abs, 1).result()
