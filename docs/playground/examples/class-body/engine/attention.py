"""The attention backend, whose class body asks the device what it can do."""

from engine.flash_attn import get_flash_attn_version


class AttentionMetadataBuilder:
    # This line runs when the module is imported, in the parent of all workers.
    cudagraph_support = "full" if get_flash_attn_version() == 3 else "piecewise"

    def build(self, batch):
        return batch
