"""The promises beyond the table of cases: the bugs that coldfork began with, and packages that stay cold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fake_torch, mount, tool
from benchmarks.judging import surest
from benchmarks.tool import Finding, Report
from published.sources import Wanted

FLASH_ATTN = "vllm/v1/attention/backends/flash_attn.py"
#: The only two ways from the class body to the device, by line: the report's, and the one on Hopper.
FEASIBLE = ((56, 55, 35), (60, 55, 35), (37, 57, 43))
TORCH = Wanted("torch", "2.8.0", "wheel")
COMPANIONS = (
    TORCH,
    Wanted("triton", "3.9.0", "wheel"),
    Wanted("flashinfer-python", "0.6.8"),
    *fake_torch.BESIDE,
    Wanted("cuda-bindings", "13.5.0", "wheel"),
)


@dataclass(frozen=True, slots=True)
class Shop:
    """Where a promise gets its sources, and a folder for what it builds."""

    fetch: Callable[[Wanted], Path]
    scratch: Path
    sources: Path

    def beside(self, name: str, wanted: Sequence[Wanted]) -> Path:
        """Mount some versions as site-packages, once for each name."""
        folder = self.scratch / name
        if not folder.exists():
            for one in wanted:
                self.fetch(one)
            mount.build(folder, wanted, self.sources)
        return folder

    def check(self, wanted: Wanted, top: str, **options: object) -> Report:
        """Check a published package."""
        root = self.fetch(wanted)
        return tool.check(mount.package_root(root, top) / top, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that must hold, and how to find out; `broken` says what does not."""

    name: str
    says: str
    broken: Callable[[Shop], list[str]]


def class_body(shop: Shop) -> list[str]:
    """The class body of vLLM 0.11.0 that dies in a forked worker is certain, by a chain that can execute."""
    report = shop.check(Wanted("vllm", "0.11.0"), "vllm")
    here = [one for one in tool.waking(report) if one["path"] == FLASH_ATTN and one["line"] == 175]
    if not here:
        return [f"no finding at {FLASH_ATTN}:175"]
    broken: list[str] = []
    if surest([one["verdict"] for one in here]) != "certain":
        broken.append(f"line 175 is {here[0]['verdict']}, if {here[0]['condition']}")
    if any(one["position"] != "class-body" for one in here):
        broken.append(f"position {here[0]['position']}, not class-body")
    broken.extend(f"chain {way} cannot execute" for one in here if (way := _way(one)) not in FEASIBLE)
    return broken


def behind_platform(shop: Shop) -> list[str]:
    """The same class body in 0.17.0 wakes only a host without NVML, and the finding says so."""
    wanted, broken = Wanted("vllm", "0.17.0"), list[str]()
    here = _at(shop.check(wanted, "vllm"), FLASH_ATTN, 258, 262)
    if not here:
        broken.append("cuda: not reported")
    if any(one["verdict"] == "certain" for one in here):
        broken.append("cuda: certain, although NVML answers")
    if here and not any("nvml" in _words(one) for one in here):
        broken.append("cuda: does not say that it takes a host without NVML")
    bare = _at(shop.check(wanted, "vllm", profile="cuda-without-nvml"), FLASH_ATTN, 258, 262)
    if surest([one["verdict"] for one in bare]) not in {"conditional", "certain"}:
        broken.append("cuda-without-nvml: less than conditional")
    return broken


#: The package whose `__init__` vLLM's pull request 43791 emptied, so that it stays cold.
ENTERED = "vllm.models.deepseek_v4"


def eager_reexport(shop: Shop) -> list[str]:
    """A re-exporting `__init__` is named down to cuInit; the released, empty one is not certain."""
    package = fake_torch.build(shop.fetch(fake_torch.BASE), shop.scratch / "stand-in")
    report = tool.check(package, shop.beside("cutlass", fake_torch.BESIDE))
    broken: list[str] = []
    here = [
        one
        for one in report["findings"]
        if one["rule"] == "eager-reexport" and one["path"] == fake_torch.INIT
    ]
    if not here:
        broken.append(f"stand-in: no eager-reexport at {fake_torch.INIT}")
    elif not any("cuInit" in _sink(one) for one in here):
        broken.append(f"stand-in: the chain ends at {_sink(here[0])!r}, not at cuInit")
    # The leaf modules still import cutlass, and whoever imports one wakes: what the fix bought is that
    # importing the package no longer does, unless one of its guards lets it.
    companions = shop.beside("companions", COMPANIONS)
    entered = tool.check(package, companions, entries=(ENTERED,))
    if not any(one["verdict"] == "certain" and "cuInit" in _sink(one) for one in tool.waking(entered)):
        broken.append(f"stand-in: importing {ENTERED} is not certain to reach cuInit")
    released = shop.check(fake_torch.BASE, "vllm", beside=companions, entries=(ENTERED,))
    waking = tool.waking(released)
    broken.extend(
        f"0.22.0: certain at {one['path']}:{one['line']}" for one in waking if one["verdict"] == "certain"
    )
    broken.extend(
        f"0.22.0: no guard quoted at {one['path']}:{one['line']}" for one in waking if not one["condition"]
    )
    if not waking:
        broken.append("0.22.0: its guarded ways are not told")
    return broken


def cold_entry(entry: str, wanted: Wanted) -> Callable[[Shop], list[str]]:
    """Importing a package's root wakes nothing for certain."""

    def broken(shop: Shop) -> list[str]:
        beside = shop.beside("companions", COMPANIONS) if wanted.name != "torch" else None
        report = shop.check(wanted, entry, entries=(entry,), beside=beside)
        certain = [one for one in tool.waking(report) if one["verdict"] == "certain"]
        return [f"certain at {one['path']}:{one['line']} ({_sink(one)})" for one in certain]

    return broken


PROMISES = (
    Promise("class-body", "vLLM 0.11.0 flash_attn.py:175 is certain by a chain that can execute", class_body),
    Promise("behind-platform", "vLLM 0.17.0 flash_attn.py:260 needs a host without NVML", behind_platform),
    Promise(
        "eager-reexport",
        "re-exports put back into vLLM 0.22.0 are named down to cuInit, 0.22.0 itself is not certain",
        eager_reexport,
    ),
    Promise("entry-torch", "--entry torch: nothing certain", cold_entry("torch", TORCH)),
    Promise("entry-vllm", "--entry vllm: nothing certain", cold_entry("vllm", Wanted("vllm", "0.11.0"))),
)


def _at(report: Report, path: str, first: int, last: int) -> list[Finding]:
    return [one for one in report["findings"] if one["path"] == path and first <= one["line"] <= last]


def _way(finding: Finding) -> tuple[int, ...]:
    """The lines of the chain between the site and the sink."""
    return tuple(step["line"] for step in finding["chain"][1:] if step["line"] is not None)


def _sink(finding: Finding) -> str:
    return str(finding["chain"][-1]["symbol"])


def _words(finding: Finding) -> str:
    presumed = " ".join(finding["presumed"])
    return f"{finding['message']} {finding['condition']} {finding['remedy']} {presumed}".lower()
