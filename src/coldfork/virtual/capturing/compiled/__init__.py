"""What `torch.compile` made of a program: its kernels as operators, which modes can see."""
