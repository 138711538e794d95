# innocent, warned
# The everyday training script: the model's device is awake, the workers read tensors of the CPU. It
# works.
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.cuda.init()
    print([batch.tolist() for (batch,) in DataLoader(TensorDataset(torch.arange(8.0)), num_workers=2)])
