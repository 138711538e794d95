# innocent, warned
# The process runs a function inside another one, which was given the CPU.
import multiprocessing

import torch


def making(device="cuda"):
    def work():
        return torch.zeros(1, device=device)

    return work


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=making("cpu"))
process.start()
process.join()
raise SystemExit(process.exitcode)
