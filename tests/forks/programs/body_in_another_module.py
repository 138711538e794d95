# guilty, refused
# The function of the process calls one of another module, which touches the device.
import multiprocessing
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent / "modules"))
import work_on_device


def work(count):
    return work_on_device.filled(count)


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=work, args=(3,))
process.start()
process.join()
raise SystemExit(process.exitcode)
