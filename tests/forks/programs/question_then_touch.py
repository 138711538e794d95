# guilty, noted
# Only a question woke the driver; the child touches the device, and PyTorch refuses.
import os

import torch

torch.cuda.is_available()
child = os.fork()
if not child:
    torch.zeros(1, device="cuda")
    os._exit(0)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
