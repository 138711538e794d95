# innocent, silent
# os.spawnv forks, and the child is another program at once.
import os

import torch

torch.cuda.init()
raise SystemExit(os.spawnv(os.P_WAIT, "/bin/true", ["true"]))
