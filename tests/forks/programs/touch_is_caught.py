# innocent, warned
# The process tries the device, hears PyTorch's refusal, and computes without it.
import multiprocessing

import torch


def work():
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError:
        torch.zeros(1)


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
raise SystemExit(process.exitcode)
