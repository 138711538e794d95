"""Imports made only where a variable is set: left alone and told, unless the variable may be set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from coldfork.model.observations import Observation
from tests.source.expectations import observe, write

WAKE = "import torch\ntorch.cuda.get_device_name()\n"
DEBUGGED = {
    "site/dep/__init__.py": "import os\nif os.environ.get('DEP_DEBUG'):\n    from dep import debugging\n",
    "site/dep/debugging.py": WAKE,
}
Look = Callable[[Mapping[str, str]], Observation]
LEFT = (("dep", "DEP_DEBUG"),)


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """See what a project does, with the packages in `site` beside it."""

    def seen(files: Mapping[str, str]) -> Observation:
        write(files, tmp_path)
        (tmp_path / "site").mkdir(exist_ok=True)
        return observe([tmp_path / "project"], site_packages=tmp_path / "site")

    return seen


def test_it_is_left_alone_and_told(look: Look) -> None:
    seen = look({**DEBUGGED, "project/pkg/__init__.py": "import dep\n"})
    assert (seen.effects, seen.unset, seen.statistics.modules) == ((), LEFT, 2)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.environ['DEP_DEBUG'] = '1'\nimport dep\n",
        "import dep\n# set DEP_DEBUG to see more\n",
        "import os\nif os.environ.get('DEP_DEBUG'):\n    import dep.debugging\nimport dep\n",
        "import dep.debugging\n",
    ],
)
def test_what_may_be_set_or_is_imported_anyway_is_read(code: str, look: Look) -> None:
    seen = look({**DEBUGGED, "project/pkg/__init__.py": code})
    assert [effect.path for effect in seen.effects] == ["pkg/__init__.py"]
    assert seen.unset == ()


def test_the_checked_code_itself_is_followed_wherever_it_may_go(look: Look) -> None:
    own = {name.replace("site/dep", "project/dep"): text for name, text in DEBUGGED.items()}
    seen = look(own)
    assert {effect.path for effect in seen.effects} == {"dep/debugging.py"}
    assert (seen.unset, seen.statistics.modules) == ((), 2)


@pytest.mark.parametrize(
    "dep",
    [
        "import os\nif not os.environ.get('DEP_SMALL'):\n    from dep import debugging\n",
        "import os\nif os.environ.get('DEP_MODE', 'large') == 'large':\n    from dep import debugging\n",
        "try:\n    import nothing\nexcept ImportError:\n    from dep import debugging\n",
        "import os\nif os.getpid():\n    from dep import debugging\n",
        "import os\nif os.environ.get('DEP_DEBUG'):\n    pass\nelse:\n    from dep import debugging\n",
    ],
)
def test_what_runs_where_nothing_is_set_is_read(dep: str, look: Look) -> None:
    seen = look({**DEBUGGED, "site/dep/__init__.py": dep, "project/pkg/__init__.py": "import dep\n"})
    assert [effect.path for effect in seen.effects] == ["pkg/__init__.py"]
    assert seen.unset == ()


def test_a_package_that_is_known_to_wake_is_blamed_all_the_same(look: Look) -> None:
    dep = "import os\nif os.environ.get('DEP_DEBUG'):\n    import torch\n    torch.cuda.init()\n"
    seen = look({"site/dep/__init__.py": dep, "project/pkg/__init__.py": "import dep\n"})
    (effect,) = seen.effects
    assert effect.condition == "the environment variable DEP_DEBUG is set"


def test_what_has_no_source_is_not_called_left_alone(look: Look) -> None:
    dep = "import os\nif os.environ.get('DEP_DEBUG'):\n    import json, nothing\n"
    assert look({"site/dep/__init__.py": dep, "project/pkg/__init__.py": "import dep\n"}).unset == ()


def test_several_are_told_in_order(look: Look) -> None:
    one = "import os\nif os.environ.get('{0}'):\n    from {1} import inner\n"
    seen = look(
        {
            "site/zeta/__init__.py": one.format("ZETA", "zeta"),
            "site/zeta/inner.py": "",
            "site/alpha/__init__.py": one.format("ALPHA", "alpha"),
            "site/alpha/inner.py": "import zeta.inner\n",
            "project/pkg/__init__.py": "import zeta, alpha\n",
        }
    )
    assert seen.unset == (("alpha", "ALPHA"), ("zeta", "ZETA"))
