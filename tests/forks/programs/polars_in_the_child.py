# guilty, warned
# The child asks polars and waits for its engine for ever; an alarm ends it.
import os
import signal

import polars as pl

table = pl.DataFrame({"a": range(200_000)}).lazy().group_by("a").len()
table.collect()
child = os.fork()
if not child:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)
    table.collect()
    os._exit(0)
raise SystemExit(1 if os.waitpid(child, 0)[1] else 0)
