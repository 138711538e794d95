"""The changes that a log undergoes between a terminal and its reader, one transformation each."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable
from types import MappingProxyType

Way = Callable[[str], str]

_PREFIXES = MappingProxyType(
    {
        "vllm": "(EngineCore_DP0 pid=680) ERROR 09-30 18:32:41 [core.py:708] ",
        "ray": "(train_fn pid=1234, ip=10.0.0.1) ",
        "torchrun": "[rank0]: ",
        "elastic": "[default1]:",
        "logging": "2026-09-30 18:32:41,123 ERROR ",
        "kubernetes": "2026-09-30T18:32:41.123456Z stderr F ",
        "compose": "worker-1  | ",
        "journal": "Sep 30 18:32:41 host engine[33]: ",
        "klog": "E0930 18:32:41.123456 680 torch/distributed/elastic/multiprocessing/api.py:571] ",
        "unknown": "app-7f9c> ",
        "pytest": "E   ",
        "quoted": "> ",
        "comment": "# ",
        "indented": "    ",
        "listed": "\t",
    }
)


def _behind(prefix: str) -> Way:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.splitlines())


def _each(form: Callable[[int, str], str]) -> Way:
    return lambda text: "".join(f"{form(number, line)}\n" for number, line in enumerate(text.splitlines(), 1))


def wrapped(width: int) -> Way:
    """Cut at a width, as terminals do."""

    def cut(text: str) -> str:
        rows = (
            line[start : start + width]
            for line in text.splitlines()
            for start in range(0, max(1, len(line)), width)
        )
        return "".join(f"{row}\n" for row in rows)

    return cut


def _at_words(text: str) -> str:
    """Wrapped at blanks, as consoles that know of words do."""
    options = {"replace_whitespace": False, "drop_whitespace": True, "break_long_words": False}
    return "".join(
        f"{row.rstrip()}\n"
        for line in text.splitlines()
        for row in textwrap.wrap(line, 100, break_on_hyphens=False, **options) or [""]  # type: ignore[arg-type]
    )


def _docker(_: int, line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-09-30T18:32:41.1Z"})


def _document(text: str) -> str:
    return json.dumps({"level": "ERROR", "message": "the worker died", "exc_info": text}) + "\n"


def _formatted(text: str) -> str:
    """The list of `traceback.format_exception`, as a careless logger prints it."""
    return f"ERROR the worker died: {text.splitlines(keepends=True)!r}\n"


def _without_sources(text: str) -> str:
    """As frozen programs and servers without their sources print it."""
    lines = text.splitlines()
    kept = [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if not (re.match(r' *File "', above) and line.startswith("    "))
    ]
    return "\n".join(kept) + "\n"


def _as_windows(text: str) -> str:
    def turned(found: re.Match[str]) -> str:
        return found[0].replace("/", "\\").replace('"\\', '"C:\\')

    return re.sub(r'File "/[^"]+"', turned, text)


def _reported(text: str) -> str:
    return f"### Your current environment\n\nThe run dies with\n\n```text\n{text}```\n\nAny ideas?\n"


def _in_noise(text: str) -> str:
    before = "INFO 09-30 18:32:41 [cuda.py:290] Using Flash Attention backend on V1 engine.\n"
    behind = "/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: leaked semaphore\n"
    return f"{before * 3}{text}{behind}"


def _bars(text: str) -> str:
    return text.replace("\n", "\n\r 50%|#####     | 1/2 [00:01<00:01]\r", 2) if "\n" in text else text


#: Every transformation that leaves the story and the place as they are, in the order of a log's way: what
#: programs and loggers do, then consoles, then collectors, then whoever copies it into a report.
STAGES: tuple[MappingProxyType[str, Way], ...] = (
    MappingProxyType(
        {
            "without-sources": _without_sources,
            "windows-paths": _as_windows,
            "progress": _bars,
            "in-noise": _in_noise,
            "coloured": _each(lambda _, line: f"\x1b[31m{line}\x1b[0m"),
            "colours-escaped": _each(lambda _, line: f"#033[31m{line}#033[0m"),
        }
    ),
    MappingProxyType(
        {
            "document": _document,
            "formatted": _formatted,
            "escaped": lambda text: f"ERROR the worker died: {text!r}\n",
            **{
                f"behind-{name}": _behind(_PREFIXES[name])
                for name in ("vllm", "ray", "torchrun", "elastic", "logging", "klog", "pytest")
            },
        }
    ),
    MappingProxyType(
        {
            "wrapped-at-80": wrapped(80),
            "wrapped-at-120": wrapped(120),
            "wrapped-at-words": _at_words,
            "windows-ends": lambda text: text.replace("\n", "\r\n"),
            "byte-order-mark": lambda text: f"\ufeff{text}",
        }
    ),
    MappingProxyType(
        {
            "docker": _each(_docker),
            **{
                f"behind-{name}": _behind(_PREFIXES[name])
                for name in ("kubernetes", "compose", "journal", "unknown")
            },
        }
    ),
    MappingProxyType(
        {
            "numbered": _each(lambda number, line: f"{number:6}\t{line}"),
            "grepped": _each(lambda number, line: f"worker.log:{number}:{line}"),
            "blank-lines": _each(lambda _, line: f"{line}\n"),
            "blanks-behind": _each(lambda _, line: f"{line}   "),
            "hard-blanks": lambda text: text.replace("  ", "\u00a0 "),
            "html": html.escape,
            "smart-quotes": lambda text: text.replace(' "', " \u201c").replace('"', "\u201d"),
            "reported": _reported,
            **{
                f"behind-{name}": _behind(_PREFIXES[name])
                for name in ("quoted", "comment", "indented", "listed")
            },
        }
    ),
)
