# innocent, warned
# The parent has a pool of GNU OpenMP, and the child runs no parallel region.
import os

import torch

torch.set_num_threads(2)
torch.randn(2000, 2000).exp().sum()
child = os.fork()
if not child:
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
