# guilty, refused
# The process runs a partial of a lambda that touches the device.
import functools
import multiprocessing

import torch

torch.cuda.init()
target = functools.partial(lambda count: torch.zeros(count).cuda(), 3)
process = multiprocessing.get_context("fork").Process(target=target)
process.start()
process.join()
raise SystemExit(process.exitcode)
