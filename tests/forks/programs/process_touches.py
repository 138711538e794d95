# guilty, refused
# The function of the process touches the device.
import multiprocessing

import torch

torch.cuda.init()
process = multiprocessing.get_context("fork").Process(target=torch.cuda.current_device)
process.start()
process.join()
raise SystemExit(process.exitcode)
