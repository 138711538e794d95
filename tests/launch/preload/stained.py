"""A worker's modules, one with each kind of stain, and beside each one that is clean."""

from __future__ import annotations

FINE = "import colorsys\n\nVALUE = colorsys.rgb_to_hsv(1, 0, 0)\n"

MODULES = {
    "worker": """
        import bystander
        import through
        import ticking
        import keeping
        import listening
        import locking
        import filing
        import writing
        import remembering
        import named
        import copying
        import drawing
        import fixed
        import late
        """,
    "bystander": FINE,
    "through": "import nearby\nimport waking\n",
    "nearby": "import this\n",
    "waking": """
        import ctypes


        def count():
            return ctypes.CDLL("libcuda.so.1").cuInit(0)


        DEVICES = count()
        """,
    "ticking": """
        import threading


        def tick():
            threading.Event().wait()


        threading.Thread(target=tick, name="ticker", daemon=True).start()
        """,
    "keeping": """
        import subprocess
        import sys

        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        """,
    "listening": """
        import socket

        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen()
        """,
    "locking": """
        import threading

        FREE = threading.RLock()
        LOCK = threading.Lock()
        LOCK.acquire()
        """,
    "filing": """
        import fcntl
        import tempfile

        file = tempfile.TemporaryFile()
        fcntl.flock(file, fcntl.LOCK_EX)
        """,
    "writing": """
        import os

        file = open(os.path.join(os.environ["PLACE"], "journal"), "w")
        """,
    "remembering": """
        import os

        FIRST = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
        """,
    "named": "import uuid\n\nRUN = uuid.uuid4()\n",
    "copying": """
        import os

        KNOWN = "PATH" in os.environ.copy() or "PATH" in dict(os.environ, LC_ALL="C")
        local_rank_found = os.environ.get("LOCAL_RANK")
        IS_LAST = local_rank_found == "never"
        DISTRIBUTED = "RANK" in os.environ and "WORLD_SIZE" in os.environ and os.environ["RANK"] == "never"
        """,
    "drawing": """
        import random


        class Names:
            generator = random.Random()

            def draw(self, *, source=random.Random()):
                return source.random()


        def draw(by, source=random.Random()):
            return source.random()
        """,
    "fixed": "import random\n\nGENERATOR = random.Random(7)\n",
    "late": "import fractions\n",
}

LEFT = {
    "waking": ("device", "cuda is awake", "waking.py", 8),
    "ticking": ("thread", "the thread 'ticker' runs", "ticking.py", 8),
    "keeping": ("process", "was started and still runs", "keeping.py", 4),
    "listening": ("connection", "a socket waits for connections at 127.0.0.1:", "listening.py", 4),
    "locking": ("lock", "the lock locking.LOCK is held", "locking.py", 5),
    "filing": ("lock", "a file lock is held", "filing.py", None),
    "writing": ("connection", "journal is open for writing", "writing.py", 3),
    "remembering": (
        "environment",
        "reads and keeps CUDA_VISIBLE_DEVICES, which differs",
        "remembering.py",
        3,
    ),
    "named": ("seeds", "its import draws random numbers from named.RUN", "named.py", 3),
}
"""Each stain with a part of the reason, and the line."""

KEPT = ["bystander", "nearby", "copying", "drawing", "fixed", "late"]
