"""Blocks for models; asks once whether fast kernels can be had."""

import os

import torch


def once(function):
    """Remember the first answer."""
    answer = None

    def remembered():
        nonlocal answer
        if answer is None:
            answer = function()
        return answer

    return remembered


@once
def fast_kernels():
    if os.environ.get("BLOCKS_PLAIN", "0") == "1":
        return False
    return torch.cuda.get_device_capability("cuda") >= (8, 0)
