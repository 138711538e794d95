# guilty, noted
# A task of the executor touches the device, and its error comes back to the parent.
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch

torch.cuda.init()
with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
    executor.submit(torch.cuda.current_device).result()
