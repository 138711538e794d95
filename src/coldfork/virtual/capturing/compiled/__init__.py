"""Code that `torch.compile` generated, with its kernels made into operators, which modes can see."""
