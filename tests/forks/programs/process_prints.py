# innocent, warned
# The process prints, and that is all.
import multiprocessing

import torch

torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=print, args=("hello",))
process.start()
process.join()
raise SystemExit(process.exitcode)
