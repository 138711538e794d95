"""Which flash attention this device runs."""

import torch


def is_fa_version_supported(version):
    if version == 2:
        return torch.cuda.get_device_capability()[0] >= 8
    return torch.cuda.get_device_capability()[0] == 9


def get_flash_attn_version():
    return 3 if is_fa_version_supported(3) else 2
