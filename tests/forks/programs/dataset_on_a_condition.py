# guilty, noted
# The data set makes tensors of the device if it is told to: the worker hands the error to its parent, and
# ends with 0.
import os

import torch
from torch.utils.data import DataLoader


class OnDevice(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.zeros(1, device="cuda" if os.getpid() > 0 else "cpu")


if __name__ == "__main__":
    torch.cuda.init()
    list(DataLoader(OnDevice(), num_workers=1))
