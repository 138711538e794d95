# innocent, silent
# Workers of a DataLoader over a pool of GNU OpenMP: each sets PyTorch to one thread, and all epochs
# end.
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(2)
model = torch.nn.Linear(1000, 1000)
rows = torch.randn(2000, 1000)
if __name__ == "__main__":
    for _ in range(2):
        for (batch,) in DataLoader(TensorDataset(rows), batch_size=500, num_workers=2):
            model(batch).sum().backward()
    print("done")
