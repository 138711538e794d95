"""A program that wakes the device and then forks workers that use it."""

import multiprocessing

import torch


def work(number):
    return torch.ones(number, device="cuda").sum().item()


def main():
    print("training on", torch.cuda.get_device_name())
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        print(pool.map(work, range(8)))


if __name__ == "__main__":
    main()
