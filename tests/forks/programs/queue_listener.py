# innocent, silent
# The listener waits on its queue, and logging opens its locks anew in the child.
import logging
import logging.handlers
import os
import queue

lines = queue.Queue()
listener = logging.handlers.QueueListener(lines, logging.NullHandler())
listener.start()
logging.getLogger().addHandler(logging.handlers.QueueHandler(lines))
child = os.fork()
if not child:
    logging.getLogger().warning("from the child")
    os._exit(0)
status = os.waitpid(child, 0)[1]
listener.stop()
raise SystemExit(status)
