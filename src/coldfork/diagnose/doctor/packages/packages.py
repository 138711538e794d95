"""Which installed packages wake a device when they are imported.

It reads the sources of all installed packages as `coldfork check` does, runs none of them, and caches the
result: this takes minutes the first time, and seconds from then on. So it runs only on request, by its name
or with `--packages`.

- **ok**: none does.
- **warn**: some do, or do under a condition; each is listed with the line that makes the call.
- **skipped**: it was not requested, or no folder of packages was found.

It never fails: importing such a package in the process that uses the device is right.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn


def examine(facts: Facts) -> Answer:
    """Search the installed packages for wakes at import, if the user asked for that."""
    if facts.waking is None:
        return skipped("all packages are read only when coldfork doctor --packages asks for it")
    if not facts.python.folders:
        return skipped("no folder of packages was found")
    found = facts.waking()
    if not found.packages:
        return ok(f"no package wakes a device on import ({found.modules} modules read)")
    names = ", ".join(package.name for package in found.packages)
    return warn(
        f"importing these wakes a device: {names}",
        "import them in the process that uses the device, and not in the one that starts it",
        "coldfork probe PACKAGE imports one in a fresh interpreter, and names the line",
        details=(
            f"{one.name}: {one.accelerator}, {one.verdict}, by {one.call or 'an import'} in {one.place}"
            for one in found.packages
        ),
    )
