"""Entry points for vLLM: the fork guard in each of its processes, and a start method chosen from evidence.

Both do nothing unless COLDFORK_VLLM=on or `vllm = true` in `[tool.coldfork]` asks for them. vLLM calls
`platform` while it looks for its device and `general` before it starts anything: in the main process, in
EngineCore and in the workers. A failure here is merely written to vLLM's log, unless COLDFORK_GUARD is raise
or strict: then vLLM does not start without a guard.
"""

from __future__ import annotations

import logging
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import BaseContext
    from types import ModuleType

    Chooser = Callable[[], BaseContext]

GUARD = "COLDFORK_GUARD"
DEFAULT = "warn"
"""The guard's mode by default; mild, because coldfork may have been installed for another purpose."""
METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
CHOOSER = "get_mp_context"
HOMES = ("vllm.utils.system_utils", "vllm.utils")
"""The modules that may contain vLLM's chooser: in 0.11 it is in the second, from 0.17 on in the first."""

_OURS = "coldfork_replaced"
# A child of vLLM's logger, so that vLLM's handlers, format and VLLM_LOGGING_LEVEL apply to it.
_LOG = logging.getLogger("vllm.plugins.coldfork")


def platform() -> None:
    """Install the guard early, and return None, because this plugin is no platform.

    vLLM calls this during its own import, when its chooser may not exist yet, and ignores errors. If this
    fails, `general` does the same later.
    """
    if _mode() == "off" or not asked():
        return
    try:
        _install_guard()
    except Exception:
        _LOG.debug("coldfork: cannot install the fork guard yet", exc_info=True)


def general() -> None:
    """Install the guard, and replace vLLM's choice of the start method."""
    mode = _mode()
    if mode == "off":
        return
    if not asked():
        _say_how_to_ask()
        return
    try:
        _LOG.info("coldfork: the fork guard is on (%s)", _install_guard())
    except Exception as error:
        if mode in ("raise", "strict"):
            raise
        _LOG.warning("coldfork: cannot install the fork guard, and vLLM goes on without: %s", error)
    try:
        _replace_chooser()
    except Exception as error:
        _LOG.warning("coldfork: the choice of the start method is left to vLLM: %s", error)


def asked() -> bool:
    """Return whether the plugin is switched on: by the variable, or by the nearest `[tool.coldfork]`."""
    from coldfork.start.vllm_switch import is_on

    try:
        return is_on(os.environ)
    except Exception as error:
        _LOG.debug("coldfork: cannot read its configuration: %s", error)
        return False


def _say_how_to_ask() -> None:
    """Log a line about how to switch the plugin on, but only in the first process."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None or processes.parent_process() is None:
        _LOG.info("coldfork: it is installed, but does nothing here; to switch it on, set COLDFORK_VLLM=on")


def _mode() -> str:
    return os.environ.get(GUARD, "").strip().lower() or DEFAULT


def _install_guard() -> str:
    """Install the guard unless there is one, and return its mode."""
    from coldfork.start.guard import from_environment, guard
    from coldfork.start.guard.process import HERE

    # If the guard is on, the program or `coldfork guard install` has already chosen a mode.
    if HERE.mode == "off":
        guard(from_environment() or DEFAULT)
    return HERE.mode


def _replace_chooser() -> None:
    home = _home()
    theirs: Chooser = getattr(home, CHOOSER)
    if hasattr(theirs, _OURS):
        return
    ours = _chooser(theirs)
    for module in tuple(sys.modules.values()):
        # vLLM's modules may have imported the chooser by name; later imports get the wrapper.
        names = getattr(module, "__dict__", {})
        if names.get(CHOOSER) is theirs and str(names.get("__name__", "")).startswith("vllm."):
            setattr(module, CHOOSER, ours)


def _home() -> ModuleType:
    import importlib

    for name in HOMES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        if callable(getattr(module, CHOOSER, None)):
            return module
    raise LookupError(f"no {CHOOSER} in {' or '.join(HOMES)} of this vLLM")


def _chooser(theirs: Chooser) -> Chooser:
    """Return a wrapper of vLLM's chooser that uses fork only if nothing speaks against it."""
    logged: set[int] = set()

    def get_mp_context() -> BaseContext:
        # vLLM knows about Ray and ROCm, sets what their workers need and, from 0.33 on, removes libgomp's
        # threads before a fork. Its other reasons against a fork are as good as ours.
        context = theirs()
        if context.get_start_method() != "fork":
            return context
        try:
            from coldfork.start.decide import decide

            decision = decide()
        except Exception as error:
            reasons = f"it is not known whether a fork is safe here ({error})"
        else:
            if decision.method == "fork":
                # Logged only once in each process, because vLLM chooses for each queue and each kind of
                # process.
                if os.getpid() not in logged:
                    logged.add(os.getpid())
                    _LOG.info("coldfork: workers are started by fork, because %s", decision.because)
                return context
            reasons = decision.because
        _LOG.warning(
            "coldfork: workers are started by spawn and not by fork. Overriding %s to 'spawn'. Reasons: %s",
            METHOD,
            reasons,
        )
        return _spawn()

    setattr(get_mp_context, _OURS, theirs)
    return get_mp_context


def _spawn() -> BaseContext:
    import multiprocessing

    # Set for processes that are started later, and for parts of vLLM that read the variable.
    os.environ[METHOD] = "spawn"
    return multiprocessing.get_context("spawn")
