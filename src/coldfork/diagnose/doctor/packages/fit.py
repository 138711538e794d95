"""Whether a compiled package fits the torch beside it, judged by its requirements, name and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.files import needed
from coldfork.diagnose.doctor.facts.packages import TorchBuild
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together

_BUILT_WITH = re.compile(r"torch(\d+\.\d+)")
_BUILT_FOR = re.compile(r"(?:^|[+.])cu(\d{2})(\d*)")
_RUNTIME = re.compile(r"^libcudart\.so\.(\d+)")
_MOST_LIBRARIES = 40


def examined(name: str, facts: Facts, *distributions: str, imports_anyway: bool = False) -> Answer:
    """Judge a package that has several distributions by the first of them that is installed.

    With `imports_anyway`, the compiled part is not judged, because the package can be imported without it.
    """
    found = facts.packages.first(*distributions)
    if found is None:
        return skipped(f"{name} is not installed")
    version = facts.packages.version(found)
    said = f"{name} {version}"
    torch = facts.torch
    if torch is None:
        return fail(f"{said} is installed without torch", f"install torch, or remove {found}")
    remedy = f"install {found} for torch {torch.version}: both together, from one index"
    troubles = requirement(found, "torch", facts) if imports_anyway else _troubles(found, facts, torch)
    return together(
        (fail(f"{said} {trouble}", remedy) for trouble in troubles),
        ok(f"{said}, beside torch {torch.version}"),
    )


def _troubles(found: str, facts: Facts, torch: TorchBuild) -> Iterator[str]:
    """Yield the reasons why a distribution does not fit torch, the most obvious first."""
    for trouble in (
        *requirement(found, "torch", facts),
        *_of_name(facts.packages.version(found) or "", torch),
        *built_for_another(found, facts, torch),
    ):
        yield trouble
        return


def requirement(dependent: str, needed_name: str, facts: Facts) -> Iterator[str]:
    """Yield a message if a distribution requires a version of a package other than the one installed."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion

    version = facts.packages.version(needed_name)
    if version is None:
        return
    for line in facts.packages.requirements(dependent):
        try:
            asked = Requirement(line)
            if asked.name.lower() != needed_name or "extra" in str(asked.marker or ""):
                continue
            if asked.marker is not None and not asked.marker.evaluate(_environment(facts)):
                continue
            if not asked.specifier.contains(version, prereleases=True):
                yield f"asks for {needed_name}{asked.specifier}, but {version} is installed"
        except (InvalidRequirement, InvalidVersion):
            continue


def _environment(facts: Facts) -> dict[str, str]:
    """Return the examined Python's values of environment markers that may differ from this Python's."""
    version = facts.python.version
    known = {"sys_platform": facts.system.platform, "platform_machine": facts.system.machine}
    return known if version is None else {**known, "python_version": f"{version[0]}.{version[1]}"}


def _of_name(version: str, torch: TorchBuild) -> Iterator[str]:
    """Yield the conflicts with torch that show in the local part of a version, such as `0.11.0+cu129`."""
    local = version.partition("+")[2]
    built = _BUILT_WITH.search(local)
    if built is not None and built[1] != torch.minor:
        yield f"was built with torch {built[1]}, but {torch.version} is installed"
    cuda = _BUILT_FOR.search(local)
    if cuda is not None and (torch.cuda is None or int(cuda[1]) != torch.cuda[0]):
        yield f"was built for CUDA {cuda[1]}, but torch for {torch.built_for}"


def built_for_another(found: str, facts: Facts, torch: TorchBuild) -> Iterator[str]:
    """Yield a message if compiled files are linked to a CUDA version other than torch's."""
    for number, file in enumerate(facts.packages.libraries(found)):
        if number == _MOST_LIBRARIES:
            return
        names = needed(file)
        runtime = next((int(matched[1]) for name in names if (matched := _RUNTIME.match(name))), None)
        for_cuda = runtime is not None or "libtorch_cuda.so" in names or "libc10_cuda.so" in names
        if for_cuda and torch.cuda is None:
            yield f"is a build for CUDA, but torch is one for {torch.built_for}"
        elif runtime is not None and torch.cuda is not None and runtime != torch.cuda[0]:
            yield f"links to the runtime of CUDA {runtime}, but torch to that of {torch.built_for}"
