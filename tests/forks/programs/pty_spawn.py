# innocent, silent
# pty.spawn forks, and the child is another program at once.
import pty

import torch

torch.cuda.init()
raise SystemExit(pty.spawn(["true"], lambda _: b"", lambda _: b""))
