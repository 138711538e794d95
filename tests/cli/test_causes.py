"""Findings grouped by the line that causes them, on small projects that the analysis really reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from inline_snapshot import snapshot

Run = Callable[..., Result]
Write = Callable[[dict[str, str]], None]

WAKING = "import torch\n\nCAPABILITY = torch.cuda.get_device_capability()\n\n\ndef dequant(): ...\n"
OPS = {
    "engine/__init__.py": "",
    "engine/ops/__init__.py": "from .shapes import round_up\n",
    "engine/ops/shapes.py": "def round_up(x): return x\n",
    "engine/ops/dequant.py": WAKING,
    "engine/attention.py": "from engine.ops.shapes import round_up\n",
    "engine/worker.py": "from engine import attention\n",
}
ASKING = {
    "engine/__init__.py": "",
    "engine/platform.py": "import torch\n\n\ndef is_cuda():\n    return torch.cuda.is_available()\n",
    "engine/norm.py": "from engine.platform import is_cuda\n\nON_CUDA = is_cuda()\n",
    "engine/rope.py": "from engine.platform import is_cuda\n\nON_CUDA = is_cuda()\n",
    "engine/moe.py": "import engine.norm\nfrom engine.platform import is_cuda\n\nif is_cuda():\n    pass\n",
}
PRINTED = "import torch\n\nprint(torch.cuda.get_device_name())\n"
PROGRAM = """\
import torch

x = torch.zeros(3, device="cuda")
y = torch.ones(3).cuda()
print(torch.cuda.is_available())
"""


@pytest.fixture
def check(run: Run, write: Write) -> Callable[..., Result]:
    """Check the folder, with no dependency beside it."""

    def call(*arguments: str) -> Result:
        return run("check", "--no-cache", "--site-packages", "nothing", *arguments)

    return call


def said(result: Result) -> str:
    """The output, without what differs from run to run and without the line on the environment."""
    text = re.sub(r"in [\d.]+ m?s", "in T", result.stdout)
    return re.sub(r"^packages: .*\n", "", text, flags=re.MULTILINE)


def document(result: Result) -> Any:
    return json.loads(result.stdout)


# -- one line, many modules ---------------------------------------------------------------------------


def test_a_line_that_warms_a_package_is_one_entry(write: Write, check: Any) -> None:
    write({**OPS, "engine/ops/__init__.py": "from .shapes import round_up\nfrom .dequant import dequant\n"})
    result = check()
    assert result.exit_code == 1
    assert said(result) == snapshot("""\
error[device-init-at-import] importing engine.ops.dequant wakes cuda
  --> engine/ops/dequant.py:3  at module level
      CAPABILITY = torch.cuda.get_device_capability()
   1. torch.cuda.get_device_capability   creates a CUDA context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = wakes 5 modules, among them engine.attention, engine.ops and engine.worker; shortest way in from
     engine.attention: engine/attention.py:1 -> engine/ops/__init__.py:2 -> engine/ops/dequant.py:3
   = help: Compute it on first use, inside a function behind functools.cache; where it must be known early,
     ask NVML (pynvml.nvmlDeviceGetCudaComputeCapability), which leaves the driver alone; read more:
     coldfork rule device-init-at-import

1 cause: 1 certain, 1 failing the check; 6 modules in T
next: coldfork check --site-packages nothing --no-cache --fix  (mends what it can)
""")


def test_all_ways_lists_every_module_with_its_way(write: Write, check: Any) -> None:
    write({**OPS, "engine/ops/__init__.py": "from .shapes import round_up\nfrom .dequant import dequant\n"})
    listed = said(check("--all-ways")).partition("wakes 5 modules")[2].partition("   = help")[0]
    assert listed == snapshot("""\
, among them engine.attention, engine.ops and engine.worker
      engine.attention              engine/attention.py:1 imports engine.ops
      engine.ops                    engine/ops/__init__.py:2 imports engine.ops.dequant
      engine.worker                 engine/worker.py:1 imports engine.attention
      engine.ops.dequant            engine/ops/dequant.py:3
      engine.ops.shapes             inside engine.ops
""")


def test_lines_that_call_the_same_function_are_one_cause(write: Write, check: Any) -> None:
    write(ASKING)
    assert said(check()) == snapshot("""\
error[driver-init-at-import] importing engine.moe wakes cuda: it initialises the driver
  --> engine/moe.py:4  at module level
      if is_cuda():
   1. is_cuda                       engine/platform.py:5
   2. torch.cuda.is_available       initialises the CUDA driver
   = every process that imports this module can no longer fork workers that use the GPU, although
     torch.cuda.is_initialized() stays False
   = certain on cuda
   = 2 more lines come to engine/platform.py:5: engine/norm.py:3, engine/rope.py:3
   = wakes 3 modules: engine.moe, engine.norm and engine.rope
   = help: mend is_cuda rather than the 3 lines that call it on import. Ask inside the function that needs the
     answer; where the answer must be known early, set PYTORCH_NVML_BASED_CUDA_CHECK=1 before torch is used
     (torch 1.13 or newer), so that NVML is asked instead of the driver; read more:
     coldfork rule driver-init-at-import

1 cause: 1 certain, 1 failing the check; 5 modules in T
next: coldfork check --site-packages nothing --no-cache --fix  (mends what it can)
""")


def test_alike_lines_share_an_entry(write: Write, check: Any) -> None:
    write({"engine/__init__.py": "", **{f"engine/k{number}.py": WAKING for number in range(4)}})
    assert said(check()) == snapshot("""\
error[device-init-at-import] importing engine.k0 wakes cuda
  --> engine/k0.py:3  at module level
      CAPABILITY = torch.cuda.get_device_capability()
   1. torch.cuda.get_device_capability   creates a CUDA context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = help: Compute it on first use, inside a function behind functools.cache; where it must be known early,
     ask NVML (pynvml.nvmlDeviceGetCudaComputeCapability), which leaves the driver alone; read more:
     coldfork rule device-init-at-import
   = the same call, with the same effect, at 3 more lines:
      engine/k1.py:3
      engine/k2.py:3
      engine/k3.py:3

4 causes: 4 certain, 4 failing the check; 5 modules in T
next: coldfork check --site-packages nothing --no-cache --fix  (mends what it can)
""")


def test_an_import_of_a_waking_package_is_a_cause(write: Write, check: Any) -> None:
    write({
        "engine/__init__.py": "from engine import sampler\n",
        "engine/sampler.py": "import flashinfer\n",
        "engine/other.py": "import flashinfer\n",
    })  # fmt: skip
    causes = document(check("--format", "json"))["causes"]
    assert [(one["path"], one["line"], one["call"], one["warms"]) for one in causes] == [
        ("engine/sampler.py", 1, "import flashinfer", 3),
        ("engine/other.py", 1, "import flashinfer", 1),
    ]


def test_json_says_which_finding_has_which_cause(write: Write, check: Any) -> None:
    write({**OPS, "engine/ops/__init__.py": "from .dequant import dequant\n"})
    said = document(check("--format", "json"))
    (cause,) = said["causes"]
    assert cause == snapshot(
        {
            "id": "87f90e02976a00db592b",
            "path": "engine/ops/dequant.py",
            "file": "engine/ops/dequant.py",
            "cell": None,
            "line": 3,
            "call": "torch.cuda.get_device_capability",
            "accelerator": "cuda",
            "effect": "creates-context",
            "verdict": "certain",
            "condition": None,
            "audience": "library",
            "warms": 5,
            "warms_certainly": 5,
            "findings": ["66cc217905b11fde450f", "a99e595b34e14b9c240c"],
            "remedy": "Compute it on first use, inside a function behind functools.cache; where it must be known early, ask NVML (pynvml.nvmlDeviceGetCudaComputeCapability), which leaves the driver alone.",
            "spares": 0,
            "accepted": False,
            "fix": None,
            "then": [],
            "ways": [
                {
                    "module": "engine.attention",
                    "path": "engine/attention.py",
                    "file": "engine/attention.py",
                    "cell": None,
                    "line": 1,
                    "following": "engine.ops",
                    "sure": True,
                },
                {
                    "module": "engine.ops",
                    "path": "engine/ops/__init__.py",
                    "file": "engine/ops/__init__.py",
                    "cell": None,
                    "line": 1,
                    "following": "engine.ops.dequant",
                    "sure": True,
                },
                {
                    "module": "engine.worker",
                    "path": "engine/worker.py",
                    "file": "engine/worker.py",
                    "cell": None,
                    "line": 1,
                    "following": "engine.attention",
                    "sure": True,
                },
            ],
        }
    )
    assert [finding["cause"] for finding in said["findings"]] == [cause["id"]] * 2
    first, second = cause["findings"]
    rules = {finding["id"]: finding["rule"] for finding in said["findings"]}
    assert (rules[first], rules[second]) == ("device-init-at-import", "eager-reexport")


def test_sarif_keeps_each_result_and_points_to_its_cause(write: Write, check: Any) -> None:
    write({**OPS, "engine/ops/__init__.py": "from .dequant import dequant\n"})
    (run,) = document(check("--format", "sarif"))["runs"]
    assert len(run["results"]) == 2
    assert [result["relatedLocations"] for result in run["results"]] == [
        snapshot(
            [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "engine/ops/dequant.py", "uriBaseId": "SRCROOT"},
                        "region": {"startLine": 3},
                    },
                    "message": {"text": "the cause: torch.cuda.get_device_capability, which wakes 5 modules"},
                }
            ]
        )
    ] * 2


@pytest.mark.parametrize("form", ["concise", "github"])
def test_lines_are_printed_for_causes_only(write: Write, check: Any, form: str) -> None:
    write({**OPS, "engine/ops/__init__.py": "from .dequant import dequant\n"})
    (line,) = check("--format", form).stdout.splitlines()
    assert "engine/ops/dequant.py" in line
    assert "wakes 5 modules" in line


def test_the_same_line_has_the_same_id_after_lines_moved(write: Write, check: Any) -> None:
    write(OPS)
    (before,) = document(check("--format", "json"))["causes"]
    write({"engine/ops/dequant.py": f'"""Kernels."""\n\n{WAKING}'})
    (after,) = document(check("--format", "json"))["causes"]
    assert (before["id"], before["line"] + 2) == (after["id"], after["line"])


def test_what_an_optional_package_wakes_is_not_certain_behind_a_try(write: Write, check: Any) -> None:
    write({
        "engine/__init__.py": "",
        "engine/kernels.py": "import flashinfer\n",
        "engine/near.py": "import engine.kernels\n",
        "engine/far.py": "try:\n    import engine.kernels\nexcept ImportError:\n    pass\n",
        "engine/further.py": "import engine.far\n",
    })  # fmt: skip
    (cause,) = document(check("--format", "json", "--all-ways"))["causes"]
    assert (cause["verdict"], cause["warms"], cause["warms_certainly"]) == ("certain", 4, 2)
    assert {one["module"] for one in cause["ways"] if one["sure"]} == {"engine.kernels", "engine.near"}
    assert "wakes 4 modules, 2 for certain and 2 only on a condition" in said(check())
    assert "wakes 4 modules, 2 only on a condition" in check("--format", "concise").stdout


def test_a_module_that_calls_on_a_condition_is_not_certain_because_another_is(
    write: Write, check: Any
) -> None:
    gated = "import os\nfrom engine.platform import is_cuda\n\nif os.environ['FAST']:\n    is_cuda()\n"
    write({**ASKING, "engine/rope.py": gated, "engine/layers.py": "import engine.rope\n"})
    (cause,) = document(check("--format", "json", "--all-ways"))["causes"]
    assert {one["module"] for one in cause["ways"] if one["sure"]} == {"engine.norm", "engine.moe"}
    assert (cause["warms"], cause["warms_certainly"]) == (4, 2)


def test_the_findings_of_an_entry_are_in_the_order_in_which_they_run(write: Write, check: Any) -> None:
    main = "import engine.z\nimport torch\n\nCOUNT = torch.cuda.is_available()\nfrom engine import a\n"
    write({
        "engine/__init__.py": "",
        "engine/b.py": WAKING,
        "engine/a.py": "import torch\nNAME = torch.cuda.get_device_name()\nfrom engine import b\n",
        "engine/z.py": "import flashinfer\n",
        "engine/main.py": main,
    })  # fmt: skip
    asked = ("--entry", "engine.main", "--format")
    told = document(check(*asked, "json"))
    order = [("engine/z.py", 1), ("engine/main.py", 4), ("engine/a.py", 2), ("engine/b.py", 3)]
    assert [(one["path"], one["line"]) for one in told["findings"]] == order
    assert [(one["path"], one["line"]) for one in told["causes"]] == order
    lines = check(*asked, "concise").stdout.splitlines()
    assert [tuple(line.split(":")[:2]) for line in lines] == [(path, str(line)) for path, line in order]


def test_a_conditional_import_is_counted_apart(write: Write, check: Any) -> None:
    gated = "import os\n\nif os.environ['FAST']:\n    from engine.ops import dequant\n"
    write({**OPS, "engine/fast.py": gated})
    told = "= wakes 2 modules, 1 for certain and 1 only on a condition: engine.ops.dequant and engine.fast"
    assert told in said(check())
    (cause,) = document(check("--format", "json"))["causes"]
    assert (cause["warms"], cause["warms_certainly"]) == (2, 1)


_KERNELS = "import flashinfer\n\n\ndef dequant(): ...\n"
TWO_BEHIND = {
    "engine/__init__.py": "from .dequant import dequant\nfrom .quant import dequant as quant\n",
    "engine/dequant.py": _KERNELS,
    "engine/quant.py": _KERNELS,
    "engine/shapes.py": "",
    "engine/worker.py": "from engine import shapes\n",
}


def test_an_import_that_mends_more_than_any_line_is_an_entry_of_its_own(write: Write, check: Any) -> None:
    write(TWO_BEHIND)
    result = said(check())
    assert result.count("\nerror[") + result.startswith("error[") == 2, "the two lines share an entry"
    assert result.partition("\n\n")[0] == snapshot("""\
error[waking-import] importing engine wakes cuda by importing engine.dequant
  --> engine/__init__.py:1  at module level
      from .dequant import dequant
   1. engine.dequant                engine/dequant.py:1
   2. import flashinfer             creates a CUDA context
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = later on, 1 more line would wake it as well: engine/__init__.py:2
   = mending this module alone keeps 3 modules cold, more than mending any one of the files behind it: engine,
     engine.shapes and engine.worker
   = wakes 5 modules: all of engine
   = help: empty this __init__, or make all that it imports lazy with a module __getattr__ (PEP 562); read
     more: coldfork rule waking-import\
""")
    assert "3 causes: 3 certain, 3 failing" in result
    causes = document(check("--format", "json"))["causes"]
    assert [(one["path"], one["spares"]) for one in causes] == [
        ("engine/__init__.py", 3),
        ("engine/dequant.py", 0),
        ("engine/quant.py", 0),
    ]


def test_a_lazy_import_is_the_first_remedy_of_an_entry_too(write: Write, check: Any) -> None:
    write(TWO_BEHIND)
    first, *_ = document(check("--target-version", "3.15", "--format", "json"))["causes"]
    assert first["spares"] == 3
    assert first["remedy"].startswith("make the import lazy (with __lazy_modules__ ")
    assert "or empty this __init__, or make all that it imports lazy" in first["remedy"]


def test_an_import_is_no_entry_where_one_line_is_behind_it(write: Write, check: Any) -> None:
    write({**TWO_BEHIND, "engine/quant.py": "def dequant(): ...\n"})
    assert "1 cause: 1 certain" in said(check())


def test_lines_that_are_mended_where_they_stand_come_first(write: Write, check: Any) -> None:
    write({**TWO_BEHIND, "engine/dequant.py": WAKING, "engine/quant.py": WAKING})
    causes = document(check("--format", "json"))["causes"]
    assert [(one["path"], one["spares"]) for one in causes] == [
        ("engine/dequant.py", 0),
        ("engine/quant.py", 0),
    ]


def test_two_lines_of_one_file_are_one_mend(write: Write, check: Any) -> None:
    both = "import flashinfer\nimport transformer_engine\n\n\ndef dequant(): ...\n"
    write({**TWO_BEHIND, "engine/dequant.py": both, "engine/quant.py": "def dequant(): ...\n"})
    causes = document(check("--format", "json"))["causes"]
    assert [(one["path"], one["spares"]) for one in causes] == [("engine/dequant.py", 0)] * 2


def test_a_sure_way_counts_before_a_shorter_one_on_a_condition(write: Write, check: Any) -> None:
    both = "import os\nimport engine.through\n\nif os.environ['FAST']:\n    from engine.ops import dequant\n"
    write({**OPS, "engine/through.py": "from engine.ops import dequant\n", "engine/fast.py": both})
    assert "= wakes 3 modules: engine.fast, engine.through and engine.ops.dequant" in said(check())


PARSED = "import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\n"

# -- whom it concerns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "audience"),
    [
        ({"engine/__init__.py": "", "engine/core.py": WAKING}, "library"),
        ({"tools/run.py": PROGRAM}, "script"),
        ({"engine/__init__.py": "", "engine/__main__.py": PROGRAM}, "script"),
        ({"run.py": WAKING + 'if __name__ == "__main__":\n    dequant()\n'}, "script"),
        ({"core.py": WAKING}, "library"),
        ({"setup.py": WAKING}, "build"),
        ({"setup.py": "import cuda_version\n", "cuda_version.py": WAKING}, "build"),
        ({"docs/conf.py": WAKING}, "build"),
        ({"build.py": WAKING}, "build"),
        ({"engine/__init__.py": "", "engine/build.py": WAKING}, "build"),
        (
            {
                "engine/__init__.py": "",
                "engine/build.py": WAKING,
                "engine/core.py": "from engine.build import dequant\n",
            },
            "library",
        ),
        ({"engine/__init__.py": "", "engine/tasks/xx.py": PRINTED}, "script"),
        ({"engine/__init__.py": "", "engine/tasks/xx.py": PRINTED + "DEVICE = 0\n"}, "library"),
        ({"engine/__init__.py": "", "engine/run.py": PARSED + WAKING}, "script"),
        (
            {
                "engine/__init__.py": "from engine.core import dequant\n",
                "engine/core.py": PARSED + WAKING,
            },
            "library",
        ),
        ({"docs/snippets/first.py": PROGRAM}, "example"),
        ({"examples/demo.py": PROGRAM}, "example"),
        ({"benchmarks/bench.py": PROGRAM}, "example"),
        ({"examples/common.py": WAKING, "examples/demo.py": "import common\n"}, "example"),
        ({"engine/__init__.py": "", "engine/benchmarks/latency.py": WAKING}, "example"),
        ({"engine/__init__.py": "", "engine/tutorials/first.py": WAKING}, "example"),
        (
            {
                "engine/__init__.py": "",
                "engine/demos/common.py": WAKING,
                "engine/demos/first.py": "from engine.demos import common\n",
                "tests/test_demos.py": "from engine.demos import first\n",
            },
            "example",
        ),
        (
            {
                "engine/__init__.py": "",
                "engine/benchmarks/latency.py": WAKING,
                "engine/serve.py": "from engine.benchmarks import latency\n",
            },
            "library",
        ),
        (
            {
                "engine/__init__.py": "",
                "engine/benchmarks/latency.py": WAKING,
                "engine/benchmarks/all.py": "",
                "engine/serve.py": "from engine.benchmarks import all\n",
            },
            "library",
        ),
        ({"engine/__init__.py": "", "engine/recipes/mix.py": WAKING}, "library"),
        (
            {
                "engine/__init__.py": "",
                "engine/recipes/mix.py": WAKING,
                "engine/recipes/train.py": "if __name__ == '__main__':\n    print()\n",
            },
            "example",
        ),
        (
            {
                "engine/__init__.py": "",
                "engine/benchmarks/latency.py": WAKING + 'if __name__ == "__main__":\n    dequant()\n',
            },
            "example",
        ),
        ({"examples/engine/__init__.py": "", "examples/engine/core.py": WAKING}, "example"),
        ({"tests/plugin/engine/__init__.py": "", "tests/plugin/engine/core.py": WAKING}, "test"),
        ({"benchmarks/__init__.py": "", "benchmarks/latency.py": WAKING}, "example"),
        ({"src/engine/__init__.py": "", "src/engine/core.py": WAKING}, "library"),
        ({"tests/test_core.py": WAKING}, "test"),
        ({"engine/__init__.py": "", "engine/testing/fixtures.py": WAKING}, "test"),
        ({"engine/__init__.py": "from engine.testing import fixtures\n", "engine/testing/fixtures.py": WAKING}, "library"),
        (
            {
                "engine/__init__.py": "",
                "engine/core.py": "from engine.testing import fixtures\n",
                "engine/testing/fixtures.py": WAKING,
            },
            "library",
        ),
        ({"core.py": WAKING, "tests/test_core.py": "import core\n"}, "library"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_who_imports_it_its_folder_and_its_shape_tell_the_audience(
    write: Write, check: Any, files: dict[str, str], audience: str
) -> None:
    write(files)
    result = check("--format", "json")
    (cause,) = document(result)["causes"]
    assert cause["audience"] == audience
    assert result.exit_code == (audience in ("library", "script"))


def test_a_function_that_only_tests_call_on_import_concerns_tests(write: Write, check: Any) -> None:
    test = "from engine.platform import is_cuda\n\nON_CUDA = is_cuda()\n"
    write({
        "engine/__init__.py": "",
        "engine/platform.py": ASKING["engine/platform.py"],
        "tests/test_norm.py": test,
        "tests/test_rope.py": test,
    })  # fmt: skip
    (cause,) = document(check("--format", "json"))["causes"]
    assert (cause["path"], cause["line"], cause["audience"]) == ("engine/platform.py", 5, "test")


def test_what_tests_do_is_folded_and_fails_nothing_by_default(write: Write, check: Any) -> None:
    write(
        {
            "setup.py": WAKING,
            "tests/test_a.py": PROGRAM,
            "tests/test_b.py": WAKING,
            "examples/demo.py": PROGRAM,
        }
    )
    folded = check()
    assert (folded.exit_code, said(folded)) == (
        0,
        snapshot("""\
1 cause in the build, 1 in examples and 2 in tests are folded; --tests shows them
no finding elsewhere on cuda: looked at 4 modules in T
"""),
    )
    shown = check("--tests")
    assert shown.exit_code == 0
    assert said(shown).splitlines()[-1] == snapshot(
        "4 causes: 4 certain, none failing the check; 4 modules in T"
    )
    assert shown.stdout.count("\n  --> ") == 4
    failing = check("--fail-for", "test", "--format", "concise")
    assert (failing.exit_code, len(failing.stdout.splitlines())) == (1, 2)
    assert check("--fail-for", "library,script").exit_code == 0
    concise = check("--format", "concise")
    assert (concise.stdout, concise.stderr) == (
        "",
        "coldfork: 1 cause in the build, 1 in examples and 2 in tests are folded; --tests shows them\n",
    )
    assert len(check("--format", "concise", "--tests").stdout.splitlines()) == 4
    assert check("--format", "junit").stdout.count("<failure") == 0
    assert check("--format", "junit").stdout.count(", in tests)") == 2


def test_an_unknown_audience_is_refused(write: Write, check: Any) -> None:
    result = check("--fail-for", "users")
    assert result.exit_code == 2
    assert "--fail-for: there is no audience 'users'; choose from library, script, build" in result.stderr


def test_a_program_is_one_entry_for_its_first_line_that_wakes(write: Write, check: Any) -> None:
    write({"tools/run.py": PROGRAM})
    assert said(check()) == snapshot("""\
error[device-init-at-import] running tools/run wakes cuda
  --> tools/run.py:3  at module level
      x = torch.zeros(3, device="cuda")
   1. torch.zeros                   creates a CUDA context
   = the process that runs this program can no longer fork workers that use the GPU
   = certain on cuda
   = later on, 2 more lines would wake it as well: tools/run.py:4, tools/run.py:5
   = help: Move it into the function that needs it, behind functools.cache if it is asked often, so that
     nothing happens before the right process asks; read more: coldfork rule device-init-at-import

1 cause: 1 certain, 1 failing the check; 1 module in T
next: coldfork check --site-packages nothing --no-cache --fix  (mends what it can)
""")


def test_the_first_line_in_the_order_of_python_stands_for_a_program(write: Write, check: Any) -> None:
    program = """\
import torch


def marked(name):
    return lambda function: function


@marked(torch.cuda.get_device_name())
def ask(
    name=torch.cuda.get_device_capability(),
):
    return name


print(torch.cuda.is_available())
"""
    write({"run.py": program})
    (cause,) = document(check("--format", "json"))["causes"]
    assert (cause["line"], cause["call"]) == (8, "torch.cuda.get_device_name")
    told = said(check())
    assert "\n  --> run.py:8  " in told
    assert "= later on, 2 more lines would wake it as well: run.py:10, run.py:15" in told


def test_the_condition_of_an_expression_comes_before_what_stands_above_it(write: Write, check: Any) -> None:
    lines = [
        "x = (",
        "    torch.cuda.get_device_name()",
        "    if torch.cuda.is_available()",
        "    else 0",
        ")",
    ]
    write({"run.py": "\n".join(["import torch", *lines, "print(x)", ""])})
    told = said(check())
    assert "\n  --> run.py:4  at module level\n" in told
    assert "= later on, 1 more line would wake it as well: run.py:3" in told


def test_a_weaker_line_stands_for_a_program_if_it_is_the_first(write: Write, check: Any) -> None:
    write(
        {"run.py": "import torch\n\nprint(torch.cuda.is_available())\nprint(torch.cuda.get_device_name())\n"}
    )
    assert "\n  --> run.py:3  at module level\n" in said(check())
    (cause,) = document(check("--format", "json"))["causes"]
    assert (cause["line"], cause["call"]) == (3, "torch.cuda.is_available")


def test_what_may_come_before_the_first_sure_line_is_told(write: Write, check: Any) -> None:
    write({
        "run.py": "import os\nimport torch\n\nif os.environ['FAST']:\n    print(torch.cuda.get_device_name())\n"
        "print(torch.cuda.get_device_name(0))\nprint(torch.cuda.get_device_name(1))\n"
    })  # fmt: skip
    told = said(check())
    assert "\n  --> run.py:6  at module level\n" in told
    assert "= before it, 1 line may already wake it: run.py:5" in told
    assert "= later on, 1 more line would wake it as well: run.py:7" in told


BOTH = """\
import torch


def supported():
    if not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability() >= (9, 0)


SUPPORTED = supported()
"""


def test_a_line_that_can_never_be_the_first_is_told_behind_it(write: Write, check: Any) -> None:
    write({
        "engine/__init__.py": "from engine.api import run\n",
        "engine/api.py": "from engine import constants\n\n\ndef run(): ...\n",
        "engine/constants.py": BOTH,
    })  # fmt: skip
    assert said(check()) == snapshot("""\
error[device-init-at-import] importing engine.constants wakes cuda
  --> engine/constants.py:10  at module level
      SUPPORTED = supported()
   1. supported                     engine/constants.py:5
   2. torch.cuda.is_available       initialises the CUDA driver
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = then also engine/constants.py:7: torch.cuda.get_device_capability creates a CUDA context
   = wakes 3 modules: all of engine; shortest way in from engine: engine/__init__.py:1 -> engine/api.py:1 ->
     engine/constants.py:10
   = help: Compute it on first use, inside a function behind functools.cache; where it must be known early,
     ask NVML (pynvml.nvmlDeviceGetCudaComputeCapability), which leaves the driver alone; read more:
     coldfork rule device-init-at-import

1 cause: 1 certain, 1 failing the check; 3 modules in T
next: coldfork check --site-packages nothing --no-cache --fix  (mends what it can)
""")
    (cause,) = document(check("--format", "json"))["causes"]
    assert cause["line"] == 5
    assert cause["then"] == [
        {
            "path": "engine/constants.py",
            "file": "engine/constants.py",
            "cell": None,
            "line": 7,
            "call": "torch.cuda.get_device_capability",
        }
    ]


@pytest.mark.parametrize(
    "body",
    [
        "    if fast:\n        torch.cuda.is_available()\n    torch.cuda.get_device_name()\n",
        "    if fast:\n        torch.cuda.is_available()\n    else:\n        torch.cuda.get_device_name()\n",
        "    if fast: torch.cuda.is_available()\n    torch.cuda.get_device_name()\n",
        "    fast and torch.cuda.is_available()\n    torch.cuda.get_device_name()\n",
        "    [torch.cuda.is_available() for x in fast]\n    torch.cuda.get_device_name()\n",
        "    try:\n        torch.cuda.is_available()\n    except ValueError:\n        torch.cuda.get_device_name()\n",
        "    for x in fast:\n        torch.cuda.is_available()\n    torch.cuda.get_device_name()\n",
    ],
)
def test_a_line_that_may_be_the_first_is_not_told_behind_another(write: Write, check: Any, body: str) -> None:
    above = "import os\nimport torch\n\nfast = os.environ['FAST']\n\n\n"
    write({"engine/__init__.py": "", "engine/core.py": f"{above}def ask():\n{body}\n\nask()\n"})
    assert [one["then"] for one in document(check("--format", "json"))["causes"]] == [[]]


def test_the_line_to_mend_is_in_the_header_where_only_an_import_leads_to_it(write: Write, check: Any) -> None:
    ignored = "READY = ready()  # coldfork: ignore[driver-init-at-import] told elsewhere\n"
    write({
        "engine/__init__.py": "",
        "engine/ops/__init__.py": "from engine.ops.constants import READY\n",
        "engine/ops/constants.py": "import torch\n\n\ndef ready():\n    return torch.cuda.is_available()\n\n\n"
        + ignored,
    })  # fmt: skip
    assert said(check()).partition("\n\n")[0] == snapshot("""\
error[eager-reexport] importing engine.ops wakes cuda: its __init__ imports engine.ops.constants; no checked
      module imports this package
  --> engine/ops/constants.py:5  in ready
      return torch.cuda.is_available()
   1. engine.ops                    engine/ops/__init__.py:1
   2. engine.ops.constants          engine/ops/constants.py:8
   3. ready                         engine/ops/constants.py:5
   4. torch.cuda.is_available       initialises the CUDA driver
   = every process that imports this module can no longer fork workers that use the GPU, although
     torch.cuda.is_initialized() stays False
   = certain on cuda
   = wakes 2 modules: all of engine.ops
   = help: mend engine/ops/constants.py:5: make it happen on first use, not on import; read more:
     coldfork rule eager-reexport\
""")


def test_a_package_that_wakes_by_itself_is_named_with_its_one_module(write: Write, check: Any) -> None:
    write({"engine/__init__.py": WAKING, "engine/empty.py": ""})
    assert "= wakes 2 modules: all of engine" in said(check())


# -- under a baseline ---------------------------------------------------------------------------------


@pytest.fixture
def accepted(run: Run, write: Write) -> None:
    """The waking leaf of `engine.ops` is accepted."""
    write(OPS)
    assert run("baseline", "write", "--no-cache", "--site-packages", "nothing").exit_code == 0


AGAINST = ("--baseline", "coldfork-baseline.json")


def test_a_package_that_begins_to_reexport_an_accepted_cause_fails(
    write: Write, check: Any, accepted: None
) -> None:
    assert check(*AGAINST).exit_code == 0
    write({"engine/ops/__init__.py": "from .shapes import round_up\nfrom .dequant import dequant\n"})
    result = check(*AGAINST)
    assert (result.exit_code, said(result)) == (
        1,
        snapshot("""\
error[eager-reexport] importing engine.ops wakes cuda: its __init__ imports engine.ops.dequant; 2 modules
      import this package
  --> engine/ops/__init__.py:2  at module level
      from .dequant import dequant
   1. engine.ops.dequant            engine/ops/dequant.py:3
   2. torch.cuda.get_device_capability   creates a CUDA context
   = a new way to an old cause: the baseline accepts engine/ops/dequant.py:3, but not this way there
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = help: empty this __init__ or make it lazy with a module __getattr__ (PEP 562), and import
     engine.ops.dequant where it is used; read more: coldfork rule eager-reexport

1 cause: 1 certain, 1 failing the check; 6 modules in T; 1 known to the baseline
next: coldfork rule eager-reexport  (says what it means and what to write instead)
"""),
    )
    (line,) = check(*AGAINST, "--format", "concise").stdout.splitlines()
    assert line.endswith("(certain, a new way to an old cause)")


def test_a_module_that_begins_to_import_an_accepted_cause_fails(
    write: Write, check: Any, accepted: None
) -> None:
    write({"engine/attention.py": "from engine.ops.shapes import round_up\nfrom engine.ops import dequant\n"})
    result = check(*AGAINST)
    assert (result.exit_code, said(result)) == (
        1,
        snapshot("""\
error[waking-import] importing engine.attention wakes cuda by importing engine.ops.dequant
  --> engine/attention.py:2  at module level
      from engine.ops import dequant
   1. engine.ops.dequant            engine/ops/dequant.py:3
   2. torch.cuda.get_device_capability   creates a CUDA context
   = a new way to an old cause: the baseline accepts engine/ops/dequant.py:3, but not this way there
   = every process that imports this module can no longer fork workers that use the GPU
   = certain on cuda
   = help: import engine.ops.dequant inside the function that uses it, or fix the waking line in it, which is
     reported too; read more: coldfork rule waking-import

1 cause: 1 certain, 1 failing the check; 6 modules in T; 1 known to the baseline
next: coldfork check --site-packages nothing --no-cache --baseline coldfork-baseline.json --fix  (mends what
    it can)
"""),
    )
    said_in_json = document(check(*AGAINST, "--format", "json"))
    (finding,) = said_in_json["findings"]
    (cause,) = said_in_json["causes"]
    assert (cause["accepted"], cause["findings"], cause["id"]) == (True, [finding["id"]], finding["cause"])


def test_what_is_added_inside_of_a_warm_package_is_nothing_new(run: Run, write: Write, check: Any) -> None:
    write({**OPS, "engine/__init__.py": "from engine.ops import dequant\n"})
    run("baseline", "write", "--no-cache", "--site-packages", "nothing")
    write({"engine/new.py": "from engine.ops import dequant\n"})
    assert check(*AGAINST).exit_code == 0


def test_a_new_test_of_a_warm_module_is_nothing_new(write: Write, check: Any, accepted: None) -> None:
    write({"tests/test_dequant.py": "from engine.ops import dequant\n"})
    assert check(*AGAINST).exit_code == 0


def test_a_baseline_that_does_not_know_what_is_warm_still_holds(
    write: Write, check: Any, accepted: None
) -> None:
    file = Path("coldfork-baseline.json")
    held = json.loads(file.read_text(encoding="utf-8"))
    del held["warm"]
    file.write_text(json.dumps(held), encoding="utf-8")
    write({"engine/attention.py": "from engine.ops import dequant\n"})
    assert check(*AGAINST).exit_code == 0


def test_a_pruned_baseline_forgets_what_is_cold_again(
    run: Run, write: Write, check: Any, accepted: None
) -> None:
    write({"engine/attention.py": "from engine.ops import dequant\n"})
    run("baseline", "write", "--no-cache", "--site-packages", "nothing")
    write({"engine/attention.py": OPS["engine/attention.py"]})
    assert run("baseline", "prune", "--no-cache", "--site-packages", "nothing").exit_code == 0
    held = json.loads(Path("coldfork-baseline.json").read_text(encoding="utf-8"))
    assert held["warm"] == {"cuda": ["engine.ops.dequant"]}
    write({"engine/attention.py": "from engine.ops import dequant\n"})
    assert check(*AGAINST).exit_code == 1


def test_many_lines_that_do_the_same_stand_close_together(write: Write, check: Any) -> None:
    write({"engine/__init__.py": "", **{f"engine/ops/part_{n}.py": WAKING for n in range(9)}})
    said = check().stdout.splitlines()
    (at,) = [index for index, line in enumerate(said) if "at 8 more lines" in line]
    assert said[at].endswith("at 8 more lines below engine/ops/:")
    listed = " ".join(line.strip() for line in said[at + 1 : at + 3])
    assert [f"part_{n}.py:3" in listed for n in range(1, 9)] == [True] * 8
    assert max(map(len, said[at + 1 : at + 3])) <= 160
