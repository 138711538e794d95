"""The decorator's object asks for the device when it is made."""

import torch


class Tuned:
    def __init__(self, function, sizes, key, timer=None):
        self.function = function
        self.sizes = sizes
        self.key = key
        if timer is None:
            self.timer = torch.cuda.current_stream()
        else:
            self.timer = timer

    def __call__(self, *arguments):
        torch.cuda.synchronize()
        return self.function(*arguments)


def tune(sizes, key, timer=None):
    def decorate(function):
        return Tuned(function, sizes, key, timer)

    return decorate
