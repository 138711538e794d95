"""A library that is not at hand does what it does in the versions that the project requires."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

#: nvidia-cutlass-dsl asks for the GPU's architecture from 4.4 to 4.5 when it is imported.
CODE = {"p/__init__.py": "", "p/m.py": "import cutlass\n"}


@pytest.mark.parametrize(
    ("required", "told"),
    [
        (None, []),
        ("nvidia-cutlass-dsl-libs-base==4.5.2", [("certain", None, [])]),
        ("nvidia-cutlass-dsl[cu13]==4.4.0.dev1; extra == 'cuda'", [("certain", None, [])]),
        ("nvidia-cutlass-dsl>=4.6", []),
        ("nvidia-cutlass-dsl", []),
        (
            "nvidia-cutlass-dsl>=4.4",
            [("conditional", "nvidia-cutlass-dsl-libs-base >=4.4,<4.6 is installed", [])],
        ),
        (
            "nvidia-cutlass-dsl<4.6",
            [("certain", None, ["nvidia-cutlass-dsl-libs-base >=4.4,<4.6 is installed"])],
        ),
    ],
)
def test_the_required_version_selects_what_is_told(
    required: str | None,
    told: list[object],
    write: Callable[[dict[str, str]], None],
    run: Callable[..., Result],
) -> None:
    write(CODE | ({"pyproject.toml": f'[project]\ndependencies = ["{required}"]\n'} if required else {}))
    done = run("check", "p", "--no-cache", "--format", "json", "--site-packages", "nothing")
    found = json.loads(done.stdout)["findings"]
    assert [(one["verdict"], one["condition"], one["presumed"]) for one in found] == told
