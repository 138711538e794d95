"""The text of a whole check fits the terminal, and says the same at every width."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES
from coldfork.model.findings import Report
from coldfork.model.observations import EnvironmentRead, Origin, Unfinished
from coldfork.report.findings import statistics, text
from coldfork.report.shared.characters import cells
from coldfork.report.shared.options import Options
from coldfork.report.shared.wrapping import whole, wrapped
from coldfork.rules import registry
from coldfork.rules.causes import judging
from coldfork.source.analysis import Request, analyse
from tests.source.expectations import write

_ROOT = Path(__file__).parents[2]
_LONG = "a_package_with_a_rather_long_name"
_MADE = {
    f"{_LONG}/__init__.py": f"from {_LONG}.attention_backends.selection_of_backends import supported\n",
    f"{_LONG}/attention_backends/__init__.py": "",
    f"{_LONG}/attention_backends/selection_of_backends.py": "import torch\n\n\ndef supported():\n"
    "    if not torch.cuda.is_available():\n        return False\n"
    "    return torch.cuda.get_device_capability() >= (9, 0)\n\n\nSUPPORTED = supported()\n",
    **{
        f"{_LONG}/kernels/kernel_number_{number}.py": "import torch\n\n"
        "NAME = torch.cuda.get_device_name()  # a comment that makes this line of code longer than any terminal\n"
        for number in range(9)
    },
    f"{_LONG}/quantization.py": "import os\nimport flashinfer\n\n"
    "if os.environ['A_VARIABLE_OF_THE_ENVIRONMENT'] and os.environ['ANOTHER_VARIABLE'] and len(os.environ) > 7:\n"
    "    import transformer_engine\n",
    f"{_LONG}/gate.py": f"import {_LONG}.quantization\nimport {_LONG}.kernels.kernel_number_1\n",
    "run.py": "import torch\n\nx = torch.zeros(3, device='cuda')\ny = x.cuda()\nprint(torch.cuda.is_available())\n",
}


def report_on(folder: Path) -> Report:
    """The findings of a check of a folder, with all that closes a report."""
    known = known_on(PROFILES["cuda"], {})
    observation = analyse(Request((folder,), PROFILES["cuda"], known, jobs=1))
    judged = judging.judge(observation, registry.judge(observation, remedies=known.catalogue.remedies))
    slow = Unfinished("a.module.that.takes.long", "f", "a/module/that/takes/long.py", 3)
    return Report(
        "cuda",
        judged.findings,
        (),
        observation.statistics,
        known=3,
        ignored=2,
        failing=len(judged.causes),
        environment=EnvironmentRead("a/folder/site-packages", Origin.ACTIVE, True, observation.absent),
        causes=judged.causes,
        unfinished=(slow, replace(slow, module="b", own=False)),
    )


@pytest.fixture(scope="module", params=["made up", "broken_engine", "speculative_decoding"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Several programs that wake devices."""
    if request.param != "made up":
        return report_on(_ROOT / "examples" / request.param)
    folder = tmp_path_factory.mktemp("made")
    write(_MADE, folder)
    return report_on(folder)


@pytest.mark.parametrize("all_ways", [False, True])
@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("render", [text.render, statistics.render])
def test_no_line_is_wider_than_the_terminal(
    report: Report, render: Callable[[Report, Options], str], width: int, all_ways: bool
) -> None:
    for line in render(report, Options(width=width, tests=True, all_ways=all_ways)).splitlines():
        assert cells(line) <= width or len(line.replace("--> ", "").split()) == 1, line


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("colour", [False, True])
def test_nothing_but_blanks_and_ends_of_code_differ_between_widths(
    report: Report, width: int, colour: bool
) -> None:
    shown, wide = (
        text.render(report, Options(width=columns, tests=True, all_ways=True, colour=colour))
        for columns in (width, 10_000)
    )
    code = {finding.text for finding in report.findings}
    code |= {step.text for finding in report.findings for step in finding.chain.steps}
    assert _without(code, shown) == _without(code, wide)


def _without(code: set[str], shown: str) -> list[str]:
    """The words of a text but for the lines of code in it, which are cut."""
    return [
        word
        for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
        if not any(one.startswith(line.strip().removesuffix("…")) for one in code if line.strip())
        for word in line.split()
    ]


@pytest.mark.parametrize("width", [80, None])
def test_what_is_to_be_typed_or_opened_is_not_broken(report: Report, width: int | None) -> None:
    lines = text.render(report, Options(width=width, tests=True)).splitlines()
    said = " ".join("\n".join(lines).split())
    commands = re.findall(r"coldfork (?:rule|baseline) [a-z-]+", said)
    assert commands or not report.causes
    assert all(any(command in line for line in lines) for command in commands)


@given(st.text("ab :-", max_size=90), st.integers(10, 40), st.integers(0, 8))
def test_a_line_keeps_its_words(line: str, width: int, hang: int) -> None:
    made = list(wrapped(line, width, hang))
    assert " ".join(made).split() == line.split()
    for one in made:
        assert len(one) <= width or len(one.split()) == 1 or " --" in one
    if len(line) <= width:
        assert made == [line]


def test_what_is_whole_is_not_broken() -> None:
    assert list(wrapped(f"type {whole('coldfork rule x')} now", 12, 2)) == [
        "type",
        "  coldfork rule x",
        "  now",
    ]
