"""The settings of a check that each command takes, and the help for them."""

from __future__ import annotations

from dataclasses import replace

from coldfork.checking.settings import SETTINGS
from coldfork.report.formats import FORMATS

_BY_NAME = {setting.name: setting for setting in SETTINGS}

PROBE_SETTINGS = (
    _BY_NAME["virtual"],
    replace(
        _BY_NAME["python"],
        help="Import with this interpreter; by default the active virtual environment's, else our own.",
    ),
    _BY_NAME["timeout"],
    replace(
        _BY_NAME["jobs"], help="How many modules to import at a time; 0 means as many as are worthwhile."
    ),
    replace(_BY_NAME["format"], choices=tuple(FORMATS["probe"])),
    *(_BY_NAME[name] for name in ("output", "color")),
)
"""What `probe` takes of them."""

PRELOAD_SETTINGS = (
    replace(
        _BY_NAME["virtual"],
        help="Give the imports this many virtual devices, for example h100:2; by default one h100 where the "
        "machine has no device, else what it has.",
    ),
    next(setting for setting in PROBE_SETTINGS if setting.name == "python"),
    replace(
        _BY_NAME["timeout"],
        help="How many seconds may pass without any module being loaded to its end; then that is given up.",
    ),
    replace(_BY_NAME["format"], choices=tuple(FORMATS["preload"])),
    _BY_NAME["color"],
)
"""What `preload` takes of them; its `--output` is for the list."""

_OF_CONFIRM = {
    "virtual": "With --confirm: give the imports and programs this many virtual devices, for example h100:2, "
    "instead of what the machine has.",
    "timeout": "With --confirm: how many seconds an import or a program may take; after that it is ended, "
    "with everything it started.",
}

CHECK_SETTINGS = tuple(
    replace(setting, help=_OF_CONFIRM[setting.name]) if setting.name in _OF_CONFIRM else setting
    for setting in SETTINGS
)
"""What `check` takes: all of them."""
