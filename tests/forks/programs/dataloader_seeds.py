# innocent, warned
# torch.manual_seed in a worker asks whether this is a fork before it touches the device. It works.
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    torch.cuda.init()
    print(len(list(DataLoader(range(4), num_workers=1, worker_init_fn=lambda _: torch.manual_seed(1)))))
