# innocent, warned
# polars has started its engine in the parent, and the child does without.
import os

import polars as pl

pl.DataFrame({"a": range(1000)}).lazy().group_by("a").len().collect()
child = os.fork()
if not child:
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
