"""Library functions that are certain to return, and never block.

A function that is not listed here may wait until the process is ended, or may end it itself.
"""

from __future__ import annotations

# The longest matching prefix of the called name decides; the result of a call is named like the call.
_COMES_BACK = frozenset({
    "abc", "argparse", "array", "ast", "asyncio.run", "atexit", "base64", "binascii", "bisect",
    "builtins", "calendar", "cmath", "codecs", "collections", "colorsys", "configparser", "contextlib",
    "contextvars", "copy", "copyreg", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum",
    "errno", "faulthandler", "fnmatch", "fractions", "functools", "gc", "getpass", "glob", "gzip",
    "hashlib", "heapq", "hmac", "html", "importlib", "inspect", "io", "ipaddress", "itertools", "json",
    "linecache", "locale", "logging", "math", "multiprocessing.connection.Connection.close",
    "multiprocessing.connection.Connection.fileno", "multiprocessing.connection.Connection.send",
    "multiprocessing.connection.Connection.send_bytes", "multiprocessing.cpu_count",
    "multiprocessing.current_process", "multiprocessing.get_logger", "multiprocessing.get_start_method",
    "multiprocessing.parent_process", "multiprocessing.process.current_process",
    "multiprocessing.queues.JoinableQueue.put", "multiprocessing.queues.Queue.cancel_join_thread",
    "multiprocessing.queues.Queue.close", "multiprocessing.queues.Queue.put",
    "multiprocessing.queues.Queue.put_nowait", "multiprocessing.queues.SimpleQueue.put",
    "multiprocessing.synchronize.BoundedSemaphore.release", "multiprocessing.synchronize.Event.clear",
    "multiprocessing.synchronize.Event.is_set", "multiprocessing.synchronize.Event.set",
    "multiprocessing.synchronize.Lock.release", "multiprocessing.synchronize.RLock.release",
    "multiprocessing.synchronize.Semaphore.release", "numbers", "numpy", "operator", "os.access",
    "os.chdir", "os.cpu_count", "os.environ", "os.fspath", "os.getcwd", "os.getenv", "os.getpgid",
    "os.getpid", "os.getppid", "os.getuid", "os.listdir", "os.makedirs", "os.mkdir", "os.nice",
    "os.path", "os.putenv", "os.remove", "os.replace", "os.rmdir", "os.sched_getaffinity",
    "os.sched_setaffinity", "os.setsid", "os.stat", "os.umask", "os.uname", "os.unlink", "os.urandom",
    "pathlib", "pickle", "platform", "posixpath", "pprint", "queue.Queue.put_nowait",
    "queue.SimpleQueue.put", "random", "re", "reprlib", "secrets", "shlex", "shutil",
    "signal.getsignal", "signal.signal", "stat", "statistics", "string", "struct", "sys", "sysconfig",
    "tempfile", "textwrap", "threading.Event.clear", "threading.Event.is_set", "threading.Event.set",
    "threading.Thread.start", "threading.active_count", "threading.current_thread",
    "threading.enumerate", "threading.get_ident", "threading.get_native_id", "threading.main_thread",
    "time", "torch", "traceback", "types", "typing", "typing_extensions", "unicodedata", "uuid",
    "warnings", "weakref", "zlib",
})  # fmt: skip
_WAITS = frozenset({
    "builtins.breakpoint", "builtins.compile", "builtins.delattr", "builtins.eval", "builtins.exec",
    "builtins.globals", "builtins.input", "builtins.locals", "contextlib.ExitStack.callback",
    "contextlib.ExitStack.close", "contextlib.ExitStack.pop_all", "contextlib.ExitStack.push",
    "functools.reduce", "importlib.reload", "itertools.count", "itertools.cycle", "itertools.repeat",
    "sys.exit", "sys.modules", "sys.setprofile", "sys.settrace", "sys.stdin", "time.sleep",
    "torch.distributed", "torch.futures", "torch.multiprocessing",
})  # fmt: skip
_MADE = frozenset({"threading", "multiprocessing", "queue", "concurrent", "asyncio"})
"""Packages whose classes are constructed without waiting."""


def comes_back(name: str) -> bool:
    """Return whether a call of this function, named by its dotted name, is certain to return."""
    at = plain = name.replace("()", "").replace(".__enter__.", ".").removesuffix(".__init__")
    while at:
        if at in _COMES_BACK or at in _WAITS:
            return at in _COMES_BACK
        at = at.rpartition(".")[0]
    first, *_, last = plain.split(".")
    return first in _MADE and last[:1].isupper()
