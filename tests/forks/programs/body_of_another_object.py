# innocent, warned
# The same method of an object that was told to use the CPU.
import multiprocessing

import torch


class Worker:
    device = "cuda"

    def __init__(self, device):
        self.device = device

    def work(self):
        return torch.zeros(1).to(self.device)


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=Worker("cpu").work)
process.start()
process.join()
raise SystemExit(process.exitcode)
