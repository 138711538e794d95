# guilty, warned
# The child runs a parallel region and waits for threads that are not there; an alarm ends it.
import os
import signal

import torch

torch.set_num_threads(2)
torch.randn(2000, 2000).exp().sum()
child = os.fork()
if not child:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)
    torch.randn(2000, 2000).exp().sum()
    os._exit(0)
raise SystemExit(1 if os.waitpid(child, 0)[1] else 0)
