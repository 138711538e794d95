# innocent, warned
# A lambda collates, which spawn could not start: with fork it works.
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    torch.cuda.init()
    print(list(DataLoader(range(4), num_workers=1, collate_fn=lambda rows: rows)))
