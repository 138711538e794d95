"""Code that `torch.compile` generated, with its kernels as operators, which modes can see."""
