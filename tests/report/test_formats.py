"""The formats by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import pytest
from click.testing import CliRunner

from coldfork.cli.main import cli
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Report
from coldfork.report.formats import FORMATS, renderer
from coldfork.report.shared.options import Options


@pytest.mark.parametrize("name", list(FORMATS["finding"]))
def test_each_format_names_the_line(name: str, report_of: Callable[..., Report], flash_attn: Finding) -> None:
    output = renderer("finding", name)(report_of(flash_attn), Options())
    assert "vllm/v1/attention/backends/flash_attn.py" in output
    assert "175" in output
    assert output.endswith("\n")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'xml'; choose one of text, concise, json, sarif, github, gitlab"):
        renderer("finding", "xml")


def test_only_the_asked_format_is_imported() -> None:
    program = (
        "import sys; from coldfork.report.formats import renderer; renderer('finding', 'concise');"
        "print([name for name in ('json', 'xml.etree.ElementTree', 'rich', 'coldfork.report.findings.text')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_format_has_a_module_that_renders() -> None:
    for shown, formats in FORMATS.items():
        for name, module in formats.items():
            there = import_module(module)
            assert callable(getattr(there, f"as_{name}", None) or there.render), (shown, name)


@pytest.mark.parametrize(
    ("command", "shown"),
    [("check", "finding"), ("probe", "probe"), ("report", "recording"), ("ps", "census")],
)
def test_each_command_offers_the_formats_of_what_it_shows(command: str, shown: str) -> None:
    result = CliRunner().invoke(cli, [command, "--format", "none-of-them", "x"])
    assert f"is not one of {', '.join(map(repr, FORMATS[shown]))}." in " ".join(result.output.split())
