"""Workers that are forked, and import the attention backend before."""

import multiprocessing

from engine.attention import AttentionMetadataBuilder


def start(batch):
    context = multiprocessing.get_context("fork")
    worker = context.Process(target=AttentionMetadataBuilder().build, args=(batch,))
    worker.start()
    return worker
