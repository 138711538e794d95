"""Code that `torch.compile` made: its kernels as operators, which modes can see."""
