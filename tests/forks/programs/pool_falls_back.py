# innocent, warned
# The pool's task tries the device, hears PyTorch's refusal, and answers without it; the pool then ends its
# worker by a signal, as pools do.
import multiprocessing

import torch


def double(number):
    try:
        return torch.tensor([number], device="cuda").mul(2).item()
    except RuntimeError:
        return torch.tensor([number]).mul(2).item()


torch.cuda.init()
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map(double, [1, 2]) == [2, 4]
