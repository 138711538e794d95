# guilty, refused
# The process runs a method of an object that was told which device to use.
import multiprocessing

import torch


class Worker:
    def __init__(self, device):
        self.device = device

    def work(self):
        return torch.zeros(1).to(self.device)


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=Worker("cuda").work)
process.start()
process.join()
raise SystemExit(process.exitcode)
