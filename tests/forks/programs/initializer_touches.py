# guilty, refused
# The pool's initializer touches the device: the worker dies, and the pool would start others for
# ever.
import multiprocessing

import torch

torch.cuda.init()
context = multiprocessing.get_context("fork")
ended = context.SimpleQueue()


def begin():
    try:
        torch.cuda.current_device()
    except RuntimeError as error:
        ended.put("\n".join([str(error), *getattr(error, "__notes__", ())]))
        raise


pool = context.Pool(1, begin)
raise SystemExit(ended.get())
