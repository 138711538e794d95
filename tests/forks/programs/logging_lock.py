# innocent, silent
# A handler's lock is held by another thread at the fork: CPython opens it in the child, which logs.
import logging
import os
import threading

handler = logging.StreamHandler()
logging.getLogger().addHandler(handler)
held, over = threading.Event(), threading.Event()


def hold():
    with handler.lock:
        held.set()
        over.wait()


threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if not child:
    logging.getLogger().warning("from the child")
    os._exit(0)
status = os.waitpid(child, 0)[1]
over.set()
raise SystemExit(status)
