# guilty, noted
# A thread of the child touches the device.
import os
import threading

import torch

torch.cuda.init()
child = os.fork()
if not child:
    thread = threading.Thread(target=torch.cuda.current_device)
    thread.start()
    thread.join()
    os._exit(1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
