# guilty, refused
# worker_init_fn touches the device in the worker.
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    torch.cuda.init()
    list(DataLoader(range(2), num_workers=1, worker_init_fn=lambda _: torch.cuda.current_device()))
