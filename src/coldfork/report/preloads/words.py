"""What the formats of `coldfork preload` say in the same words."""

from __future__ import annotations

from coldfork.model.forking.preloads import ENOUGH, LeftOut, Preloading, Stain
from coldfork.report.shared.quantities import duration, plural

_REMEDIES = {
    Stain.DEVICE: "compute it on first use, not while the module is imported",
    Stain.THREAD: "start the thread when it is first needed",
    Stain.PROCESS: "start the process when it is first needed",
    Stain.CONNECTION: "open it when it is first needed",
    Stain.LOCK: "release it before the import ends",
    Stain.ENVIRONMENT: "read it when it is needed, in the worker",
    Stain.SEEDS: "draw it when it is first needed, in the worker",
    Stain.BREAKS: "import it in the worker",
    Stain.RAISES: "import it in the worker, after what it needs",
    Stain.ENDS: "import it in the worker",
    Stain.HANGS: "give it more time with --timeout, or import it in the worker",
}


def remedy(left: LeftOut) -> str:
    """What to do about a module that is left out."""
    return _REMEDIES[left.stain]


def percent(share: float) -> str:
    """A share as people say it; never rounded up to a whole."""
    return f"{int(share * 1000) / 10:g} %"


def opening(result: Preloading) -> str:
    """What was found, in one sentence."""
    kept = plural(len(result.kept), "module")
    if result.file is None:
        return f"{kept} may be imported before a worker is forked"
    if result.holds:
        return f"{result.file} is clean: {kept} may be imported before a worker is forked"
    names = dict.fromkeys(left.module for left in result.left_out)
    return f"{result.file} is clean no more, because of {plural(len(names), 'module')}"


def saving(result: Preloading) -> str:
    """What the list spares a worker; empty where that is not known."""
    share = result.share
    if share is None or result.rest is None:
        return ""
    return (
        f"they spare it {percent(share)} of its imports: {duration(result.rest)} "
        f"of processor time are left of {duration(result.total)}"
    )


def shortfall(result: Preloading) -> str:
    """That it is less than it should be; empty where it is enough."""
    share = result.share
    if share is None or share >= ENOUGH:
        return ""
    return f"that is less than {percent(ENOUGH)}: what is left out below costs the rest"


def proof(result: Preloading) -> str:
    """How it is known."""
    return (
        f"each was proven in a forked child on {result.device}: it drew new seeds, its libraries went "
        "parallel, and the device could be used"
    )


def following(result: Preloading, file: str | None) -> str:
    """The next command to type."""
    wanted = " ".join(result.wanted)
    if result.file is not None and not result.holds:
        return f"coldfork preload {wanted or 'MODULE...'} --output {result.file} makes a list without them"
    if result.file is not None:
        return f'coldfork.zygote(preload="{result.file}") takes it'
    if file is None:
        return f"coldfork preload {wanted} --output preload.toml writes the list for coldfork.zygote"
    later = f"coldfork preload --check {file} fails when it is clean no more"
    return f'coldfork.zygote(preload="{file}") takes it; {later}'
