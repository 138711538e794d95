# innocent, silent
# The function before the other program asks only the kernel.
import os
import resource
import subprocess

import torch


def prepare():
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


torch.cuda.init()
subprocess.run(["true"], preexec_fn=prepare, check=True)
