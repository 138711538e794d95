# guilty, refused
# The run() of a class touches the device.
import multiprocessing

import torch


class Worker(multiprocessing.get_context("fork").Process):
    def run(self):
        torch.zeros(1, device="cuda")


torch.cuda.init()
process = Worker()
process.start()
process.join()
raise SystemExit(process.exitcode)
