# innocent, warned
# The sources say that the other module works on the device, and the program has told it otherwise. It works.
import multiprocessing
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent / "modules"))
import work_on_device


def work(count):
    work_on_device.filled(count)


torch.cuda.init()
work_on_device.DEVICE = "cpu"
process = multiprocessing.get_context("fork").Process(target=work, args=(3,))
process.start()
process.join()
raise SystemExit(process.exitcode)
