# guilty, noted
# A task of the pool touches the device, and its error comes back to the parent.
import multiprocessing

import torch


def touch(number):
    return torch.zeros(number, device="cuda").cpu()


torch.cuda.init()
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(touch, [1])
