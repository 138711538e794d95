"""Troubles when starting processes for accelerator work."""

from __future__ import annotations

from coldfork.knowledge.troubles.entry import Trouble

STARTING = (
    Trouble(
        "no-main-guard",
        "`An attempt has been made to start a new process before the current process has finished its "
        "bootstrapping phase`",
        r"before the\s+current process has finished its bootstrapping phase",
        "With spawn and forkserver a worker imports the script anew, and the script starts workers when "
        "it is imported. forkserver is the default of Python 3.14 on Linux.",
        ('Put the code that starts workers below `if __name__ == "__main__":`.',),
        kinds=("RuntimeError",),
        needles=("finished its bootstrapping phase",),
    ),
    Trouble(
        "context-already-set",
        "`RuntimeError: context has already been set`",
        r"context has already been set",
        "`set_start_method` was called twice in one process: by the script and by a library, or by a module "
        "that workers import.",
        (
            (
                "Use `multiprocessing.get_context(...)` where a method is needed, and set none for the "
                "whole process; `coldfork exec` sets the method that you ask for."
            ),
        ),
        kinds=("RuntimeError",),
        needles=("context has already been set",),
    ),
    Trouble(
        "method-ignored",
        "`MULTIPROCESSING_START_METHOD=spawn` is set, and workers are forked all the same",
        None,
        "Python itself does not read this variable.",
        (
            (
                "It is enforced in an isolated script and in every Python that it starts; `enforced` in the "
                "result says whether that worked. An interpreter run with -I, -E or -S keeps coldfork out."
            ),
        ),
        "coldfork exec -- SCRIPT",
    ),
    Trouble(
        "daemonic",
        "`AssertionError: daemonic processes are not allowed to have children`",
        r"daemonic processes are not allowed to have children",
        "An engine with workers was started inside a worker of a pool, and pool workers are daemonic.",
        (
            "Start the outer workers with `concurrent.futures`, whose processes are not daemonic.",
            "Run it with `coldfork exec -- SCRIPT`, which is not daemonic and still ends with its caller.",
        ),
        "coldfork exec -- SCRIPT",
        kinds=("AssertionError",),
        needles=("daemonic processes are not allowed",),
    ),
    Trouble(
        "unpicklable-target",
        "`Can't pickle local object` or `cannot pickle '_thread.lock' object` where a process is started",
        None,
        "With spawn and forkserver, the child's target is pickled. A function inside a function, a "
        "lambda, an open file, a lock or a generator cannot be. On Linux, Python 3.14 uses forkserver unless "
        "another method is chosen.",
        (
            (
                "Move the function to the top of a module, and pass it plain data: paths instead of files, "
                "settings instead of connections."
            ),
            "Create unpicklable objects in the child, in the function that it runs.",
        ),
        kinds=("AttributeError", "PicklingError", "TypeError"),
        needles=("pickle", "Can't get local object"),
    ),
    Trouble(
        "killed",
        "The script ends with SIGKILL, and says nothing",
        None,
        "It was killed, usually because the system ran out of memory or the container reached its limit.",
        (
            (
                "`peak_memory_bytes` in report.json says how large its largest process was. If the "
                "outcome is `timed-out`, it was killed because its time was up."
            ),
        ),
    ),
    Trouble(
        "forkserver-eof",
        "`EOFError` when a process is started with forkserver",
        r"forkserver[\s\S]{0,2000}EOFError|EOFError[\s\S]{0,2000}forkserver",
        "The fork server died while importing a module to preload; Python does not say why.",
        ("Import the module by itself to see its error, or use spawn.",),
        "coldfork probe MODULE",
        kinds=("EOFError",),
        needles=("EOFError",),
    ),
)
