"""Which devices there are is read once, when CUDA starts."""

import os

import torch

has_device = torch.cuda.is_available()


def main():
    if not has_device:
        raise SystemExit("a GPU is needed")
    torch.cuda.init()
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    print(torch.cuda.get_device_name())


if __name__ == "__main__":
    main()
