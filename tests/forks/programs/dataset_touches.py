# guilty, refused
# The data set makes tensors of the device: the worker fails, and the DataLoader raises its error.
import torch
from torch.utils.data import DataLoader


class OnDevice(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.zeros(1, device="cuda")


if __name__ == "__main__":
    torch.cuda.init()
    list(DataLoader(OnDevice(), num_workers=1))
