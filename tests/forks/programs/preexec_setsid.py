# innocent, silent
# The child calls setsid and becomes another program, which inherits nothing of the device.
import os
import subprocess

import torch

torch.cuda.init()
subprocess.run(["true"], preexec_fn=os.setsid, check=True)
