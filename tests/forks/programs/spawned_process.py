# innocent, silent
# A spawned process begins afresh and may wake the device itself.
import multiprocessing

import torch

if __name__ == "__main__":
    torch.cuda.init()
    process = multiprocessing.get_context("spawn").Process(target=torch.cuda.current_device)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
