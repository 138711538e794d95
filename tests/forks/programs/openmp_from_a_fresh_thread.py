# innocent, silent
# The thread that forks has no pool of its own, so that the child makes one.
import os
import signal
import threading

import torch

torch.set_num_threads(2)
torch.randn(2000, 2000).exp().sum()
statuses = []


def fork():
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        torch.randn(2000, 2000).exp().sum()
        os._exit(0)
    statuses.append(os.waitpid(child, 0)[1])


thread = threading.Thread(target=fork)
thread.start()
thread.join()
raise SystemExit(statuses[0])
