"""Claims on what torch's calls do to the driver: the catalogue's entries, tried one by one."""

from __future__ import annotations

import json
import re
from typing import Any

from coldfork.knowledge.catalogue import Catalogue, load
from coldfork.model.effects import PROFILES, EffectKind
from hardware.children import Bench
from hardware.claims import Finding, Section, same, untestable

NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"
FORKED = "Cannot re-initialize CUDA in forked subprocess"

#: Arguments with which an entry can be called; the others take none.
_ARGUMENTS: dict[str, list[Any]] = {
    "torch.cuda.set_device": [0],
    "torch.cuda.get_device_name": [0],
    "torch.cuda.get_device_properties": [0],
    "torch.cuda.can_device_access_peer": [0, 0],
    "torch.cuda.manual_seed": [1],
    "torch.cuda.manual_seed_all": [1],
    "torch.cuda.device": [0],
    "torch.cuda.Stream": [],
    "torch.cuda.Event": [],
    "torch.device": ["cuda:0"],
}
#: Calls on which reports of the fork error turn; the catalogue's own are tried after them.
_NAMED = (
    "torch.cuda.is_available",
    "torch.cuda.device_count",
    "torch.cuda.is_initialized",
    "torch.cuda.get_device_capability",
    "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties",
    "torch.cuda.current_device",
    "torch.cuda.is_bf16_supported",
    "torch.cuda.get_arch_list",
    "torch.cuda.mem_get_info",
    "torch.cuda.memory_allocated",
    "torch.cuda.set_device",
    "torch.cuda.synchronize",
    "torch.cuda.empty_cache",
    "torch.cuda.manual_seed_all",
    "torch.cuda.current_stream",
    "torch.cuda.Stream",
    "torch.cuda.Event",
    "torch.cuda.init",
    "torch.get_device_module",
    "torch.accelerator.is_available",
    "torch.accelerator.current_accelerator",
    "torch.accelerator.device_count",
    "torch.device",
    "torch.manual_seed",
    "torch.__config__.show",
    "torch.backends.cudnn.version",
    "torch.backends.cudnn.is_available",
)
#: These end the process, wait for somebody, or need more than arguments.
_LEFT_OUT = re.compile(r"nccl|comm\.|ipc|tunable|profiler|graph|Graph|jiterator|sleep|busy_wait|_C\.|rpc|gds")


def calls_of(catalogue: Catalogue) -> list[str]:
    """The names to try, those of the reports first."""
    known = [
        name
        for name in sorted(catalogue.calls)
        if name.startswith(("torch.cuda.", "torch.accelerator.")) and not _LEFT_OUT.search(name)
    ]
    return list(dict.fromkeys([*_NAMED, *known]))


def torch(bench: Bench) -> Section:
    """Every call, without NVML's check and with it."""
    name = "torch"
    version = bench.run("torch_calls", bench.driver, "[]")
    if "untestable" in version:
        return Section(
            name,
            (untestable(name, "torch's calls do what the catalogue says", version["untestable"]),),
            version,
        )
    if version["cuda"] is None:
        why = f"torch {version['torch']} is built without CUDA"
        return Section(name, (untestable(name, "torch's calls do what the catalogue says", why),), version)
    catalogue = load(PROFILES["cuda"], {"torch": version["torch"].partition("+")[0]}, {})
    names = calls_of(catalogue)
    asked = json.dumps([(each, _ARGUMENTS.get(each, [])) for each in names])
    plain = bench.run("torch_calls", bench.driver, asked)
    checked = bench.run("torch_calls", bench.driver, asked, **{NVML: "1"})
    findings = [same(name, "importing torch leaves the driver cold", "cold", version["after import"])]
    for answers, variables in ((plain, {}), (checked, {NVML: "1"})):
        if "untestable" in answers:
            findings.append(
                untestable(name, "torch's calls do what the catalogue says", answers["untestable"])
            )
            continue
        findings += [
            _judged(catalogue, each, answers["calls"][each], variables)
            for each in names
            if each in answers["calls"]
        ]
    findings += _false_negative(plain)
    return Section(name, tuple(findings), {"plain": plain, "with NVML's check": checked})


def _judged(catalogue: Catalogue, name: str, answer: dict[str, Any], variables: dict[str, str]) -> Finding:
    kinds = {
        fact.does
        for fact in catalogue.call(name)
        if fact.accelerator == "cuda"
        and fact.argument is None
        and not (fact.unless_env and variables.get(fact.unless_env[0]) == fact.unless_env[1])
        and fact.condition is None
    }
    expected = "cold"
    if EffectKind.INITIALISES_DRIVER in kinds:
        expected = "driver"
    if EffectKind.CREATES_CONTEXT in kinds:
        expected = "context"
    where = " with NVML's check" if variables else ""
    claim = (
        f"{name}{where} leaves the driver {expected if expected == 'cold' else f'awake, level {expected}'}"
    )
    error = answer.get("error")
    if error is not None and answer["level"] != expected:
        return untestable("torch", claim, f"the call failed: {error}")
    return same("torch", claim, expected, answer["level"], error)


def _false_negative(plain: dict[str, Any]) -> list[Finding]:
    """Show why `torch.cuda.is_initialized()` is a bad question."""
    answer = plain.get("calls", {}).get("torch.cuda.is_available")
    if answer is None:
        return []
    return [
        same(
            "torch",
            "after is_available() torch.cuda.is_initialized() is False",
            False,
            answer["is_initialized"],
        ),
        same(
            "torch",
            "after is_available() alone a forked child cannot use the device",
            True,
            FORKED in answer["child"],
            answer["child"],
        ),
    ]
