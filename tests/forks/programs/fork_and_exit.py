# innocent, warned
# The child leaves at once.
import os

import torch

torch.cuda.init()
child = os.fork()
if not child:
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
