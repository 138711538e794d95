"""Load coldfork into a Python process that was started to be watched, before the program runs.

The folder of this file is on PYTHONPATH only in such processes. Afterwards Python itself starts the program,
so nothing about the start has to be imitated. The site's own `sitecustomize` then runs as usual.

A watched program may start any other Python, which also finds this file. So the file's syntax is valid in all
versions down to 2.7.
"""

import sys

_FOLDER = __file__.rpartition("/")[0]
_OLDEST = (3, 11)


def _let_in():  # type: () -> None
    """Load coldfork from this file's folder, without adding to the program's path."""
    from importlib.machinery import PathFinder

    if "coldfork" not in sys.modules:
        root = _FOLDER.rpartition("/")[0].rpartition("/")[0].rpartition("/")[0]
        spec = PathFinder.find_spec("coldfork", [root])
        if spec is None or spec.loader is None:
            return
        # Created by hand, under the name by which the package's modules are imported.
        module = type(sys)("coldfork")
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__file__ = spec.origin
        module.__package__ = "coldfork"
        module.__path__ = spec.submodule_search_locations or []
        sys.modules["coldfork"] = module
        spec.loader.exec_module(module)
    from coldfork.observe.bootstrap import begin

    begin(_FOLDER)


def _tell_unwatched(reason):  # type: (str) -> bool
    """Record why this process is not watched; return False if it is the user's program itself.

    If the recording is gone, nothing is reported, because a child's standard error belongs to the program.
    """
    import os

    settings = os.environ.get("COLDFORK_WATCH", "")
    if '"mode":"child"' not in settings:
        return False
    try:
        recording = _value_of(settings, '"recording":"', '"').encode("ascii").decode("unicode_escape")
        with open("/proc/self/stat", "rb") as stream:
            started = stream.read().rpartition(b")")[2].split()[19].decode("ascii")
        with open("/proc/uptime", "rb") as stream:
            now = float(stream.read().split()[0]) - float(_value_of(settings, '"began":', ",").rstrip("}\n"))
        line = (
            '{"event":"process","ppid":%d,"start":%s,"how":"subprocess","command":null,"watched":false,'
            '"reason":"%s","states":[],"t":%.6f,"pid":%d,"tid":0}\n'
        )
        said = reason.replace("\\", "/").replace('"', "'").replace("\n", " ")
        content = (line % (os.getppid(), started, said, now, os.getpid())).encode("ascii", "replace")
        descriptor = os.open(recording, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
    except Exception:
        pass
    return True


def _value_of(settings, beginning, end):  # type: (str, str, str) -> str
    """Return the value of a key in the settings; parsed by hand, so that no JSON module is imported."""
    return settings.partition(beginning)[2].partition(end)[0]


def _remove_compiled():  # type: () -> None
    """Remove the file that Python 2 has just compiled and placed beside this one."""
    import os

    try:
        os.remove(__file__.rstrip("c") + "c")
    except OSError:
        pass


def _leave():  # type: () -> None
    """Remove this folder from the path again."""
    sys.path[:] = [entry for entry in sys.path if entry != _FOLDER]
    sys.path_importer_cache.pop(_FOLDER, None)


def _make_way():  # type: () -> None
    """Run the site's own `sitecustomize` instead of this one; raise the usual error if there is none."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        # `site` expects exactly this error if the module does not exist.
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = type(sys)("sitecustomize")
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__file__ = spec.origin
    module.__dict__["__cached__"] = spec.cached
    module.__package__ = ""
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_leave()
if sys.version_info >= _OLDEST:
    try:
        _let_in()
    except Exception as _error:
        _reason = "%s: %s" % (type(_error).__name__, _error)
        if not _tell_unwatched("coldfork could not start in it: " + _reason):
            sys.stderr.write("coldfork: this process is not watched: %s\n" % _reason)
    _make_way()
else:
    _tell_unwatched("it is Python %d.%d, and coldfork watches 3.11 and newer" % sys.version_info[:2])
    if sys.version_info < (3,):  # noqa: UP036 - these read it as well
        _remove_compiled()
    # The import then returns the module that is registered under this name.
    del sys.modules["sitecustomize"]
    __import__("sitecustomize")
