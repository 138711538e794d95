# guilty, refused
# The collate_fn of the DataLoader makes every batch on the device.
import torch
from torch.utils.data import DataLoader


def collate(items):
    return torch.tensor(items, device="cuda")


torch.cuda.init()
loader = DataLoader([1.0, 2.0, 3.0, 4.0], num_workers=2, collate_fn=collate)
for batch in loader:
    print(batch.sum())
