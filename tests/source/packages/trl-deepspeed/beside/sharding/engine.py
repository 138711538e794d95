import torch

LOCAL = torch.device("cuda", torch.cuda.current_device())


def gather(model):
    return model.to(LOCAL)
