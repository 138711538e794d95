"""Samples are moved to the device by the workers of a DataLoader, which are forked."""

import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda")
weights = torch.ones(16, device=device)


class Samples(Dataset):
    def __len__(self):
        return 1024

    def __getitem__(self, index):
        return torch.full((16,), index).to(device)


for batch in DataLoader(Samples(), batch_size=32, num_workers=4):
    print((batch * weights).sum().item())
