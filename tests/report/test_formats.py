"""The formats by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Report
from coldfork.report.formats import FORMATS, renderer
from coldfork.report.shared.options import Options


@pytest.mark.parametrize("name", list(FORMATS))
def test_each_format_names_the_line(name: str, report_of: Callable[..., Report], flash_attn: Finding) -> None:
    output = renderer(name)(report_of(flash_attn), Options())
    assert "vllm/v1/attention/backends/flash_attn.py" in output
    assert "175" in output
    assert output.endswith("\n")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'xml'; choose one of text, concise, json, sarif, github, junit"):
        renderer("xml")


def test_only_the_asked_format_is_imported() -> None:
    program = (
        "import sys; from coldfork.report.formats import renderer; renderer('concise');"
        "print([name for name in ('json', 'xml.etree.ElementTree', 'rich', 'coldfork.report.findings.text')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
