# guilty, refused
# The function before the other program touches the device: subprocess says no more than that it
# failed.
import subprocess

import torch

torch.cuda.init()
subprocess.run(["true"], check=True, preexec_fn=torch.cuda.current_device)
