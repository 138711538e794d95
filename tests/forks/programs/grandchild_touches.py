# guilty, noted
# The child only forks again, and the grandchild touches the device.
import os

import torch

torch.cuda.init()
child = os.fork()
if not child:
    grandchild = os.fork()
    if not grandchild:
        torch.zeros(1, device="cuda")
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
