# innocent, warned
# torch.cuda.is_available() woke the driver, and the child never asks.
import os

import torch

torch.cuda.is_available()
child = os.fork()
if not child:
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
