# guilty, noted
# The forked child touches the device.
import os

import torch

torch.cuda.init()
child = os.fork()
if not child:
    torch.zeros(1, device="cuda")
    os._exit(0)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
