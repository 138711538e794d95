# innocent, warned
# The function touches the device if it is asked to, and it is not.
import multiprocessing
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent / "modules"))
import work_on_device


def work(asked=True):
    work_on_device.filled_if_asked(3, asked)


torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=work, args=(False,))
process.start()
process.join()
raise SystemExit(process.exitcode)
