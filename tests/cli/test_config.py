"""`[tool.coldfork]`: what is found, what is refused, and how it is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from coldfork.checking import configuration
from coldfork.checking.settings import SETTINGS, Kind
from coldfork.model.errors import ConfigurationError

Configure = Callable[[str], Path]


def refusal(file: Path, start: Path | None = None) -> str:
    """Return the complaint about a configuration, without the file's name."""
    with pytest.raises(ConfigurationError) as caught:
        configuration.read(start or file.parent)
    words = str(caught.value)
    assert words.startswith(f"{file}: ")
    return words.removeprefix(f"{file}: ")


def test_without_a_file_nothing_is_set(project: Path) -> None:
    found = configuration.read(project / "src" / "engine" / "core.py")
    assert (found.file, dict(found.values), found.exclude, found.knowledge) == (None, {}, (), None)
    assert found.folder == project / "src" / "engine"


def test_the_nearest_table_above_the_path_counts(project: Path, configure: Configure) -> None:
    outer = configure('profile = "rocm"\n')
    inner = project / "src" / "pyproject.toml"
    inner.write_text('[project]\nname = "not-coldfork"\n', encoding="utf-8")
    assert configuration.read(project / "src" / "engine" / "core.py").file == outer
    inner.write_text('[tool.coldfork]\nprofile = "xpu"\n', encoding="utf-8")
    assert configuration.read(project / "src" / "engine" / "core.py").values == {"profile": "xpu"}
    assert configuration.read(Path("src")).file == inner


def test_every_setting_is_a_key(configure: Configure) -> None:
    samples = {Kind.FLAG: "true", Kind.NUMBER: "2"}
    special = {
        "target-version": '"3.12"',
        "rules": '["waking-import"]',
        "ignore": '["waking-import"]',
        "virtual": '"h100:2"',
        "fail-for": '["library", "example"]',
    }
    lines = []
    for setting in SETTINGS:
        text = f'"{setting.choices[-1]}"' if setting.choices else '"thing"'
        plain = samples.get(setting.kind, f"[{text}]" if setting.kind is Kind.TEXTS else text)
        lines.append(f"{setting.name} = {special.get(setting.name, plain)}")
    found = configuration.read(configure("\n".join(lines)))
    assert set(found.values) == {setting.name for setting in SETTINGS}


def test_paths_are_relative_to_the_file(project: Path, configure: Configure) -> None:
    configure('baseline = "known.json"\nsite-packages = ["deps", "/elsewhere"]\n')
    values = configuration.read(project / "src").values
    assert values["baseline"] == str(project / "known.json")
    assert values["site-packages"] == (str(project / "deps"), os.fspath(Path("/elsewhere")))


def test_tables_beside_the_flags(configure: Configure) -> None:
    file = configure(
        'exclude = ["third_party/"]\n'
        "[tool.coldfork.per-file-ignores]\n"
        '"tests/**" = ["waking-import"]\n'
        "[tool.coldfork.knowledge]\n"
        'effect = [{ call = ["acme.init"] }]\n'
    )
    found = configuration.read(file)
    assert found.exclude == ("third_party/",)
    assert found.per_file_ignores == (("tests/**", ("waking-import",)),)
    assert found.knowledge == {"effect": [{"call": ["acme.init"]}]}


def test_an_unknown_key_comes_with_the_near_match(configure: Configure) -> None:
    assert refusal(configure('profil = "cuda"\n')) == snapshot(
        "[tool.coldfork] has no key 'profil'; did you mean profile?"
    )
    assert refusal(configure('fail_on = "certain"\n')) == snapshot(
        "[tool.coldfork] has no key 'fail_on'; did you mean fail-on?"
    )
    assert refusal(configure("zzz = 1\n")) == snapshot("[tool.coldfork] has no key 'zzz'")


def test_a_wrong_type_says_what_was_expected(configure: Configure) -> None:
    assert refusal(configure('jobs = "2"\n')) == snapshot(
        '[tool.coldfork] jobs: expected a whole number, got "2"'
    )
    assert refusal(configure("jobs = true\n")) == snapshot(
        "[tool.coldfork] jobs: expected a whole number, got true"
    )
    assert refusal(configure('exit-zero = "yes"\n')) == snapshot(
        '[tool.coldfork] exit-zero: expected true or false, got "yes"'
    )
    assert refusal(configure('rules = "waking-import"\n')) == snapshot(
        '[tool.coldfork] rules: expected a list of strings, got "waking-import"'
    )
    assert refusal(configure('entry = ["engine", 3]\n')) == snapshot(
        '[tool.coldfork] entry: expected a list of strings, got ["engine", 3]'
    )
    assert refusal(configure("exclude = [1]\n")) == snapshot(
        "[tool.coldfork] exclude: expected a list of strings, got [1]"
    )
    assert refusal(configure('per-file-ignores = "tests"\n')) == snapshot(
        '[tool.coldfork] per-file-ignores: expected a table of globs and lists of rules, got "tests"'
    )
    assert refusal(configure('knowledge = ["a"]\n')) == snapshot(
        '[tool.coldfork] knowledge: expected a table, got ["a"]'
    )


def test_a_wrong_value_says_which_there_are(configure: Configure) -> None:
    assert refusal(configure('profile = "cuda12"\n')) == snapshot(
        '[tool.coldfork] profile: "cuda12" is not one of cuda, cuda-without-nvml, rocm, xpu, jax-gpu, cpu; '
        "did you mean cuda?"
    )
    assert refusal(configure('rules = ["waking-imports"]\n')) == snapshot(
        "[tool.coldfork] rules: there is no rule 'waking-imports'; did you mean waking-import?"
    )
    assert refusal(configure('target-version = "2.7"\n')) == snapshot(
        "[tool.coldfork] target-version: '2.7' is not a version of Python 3; write 3.13, for example"
    )
    assert refusal(configure("jobs = -1\n")) == snapshot(
        "[tool.coldfork] jobs: the number of processes cannot be negative"
    )
    assert refusal(configure('[tool.coldfork.per-file-ignores]\n"t/" = ["wakingimport"]\n')) == snapshot(
        "[tool.coldfork] per-file-ignores.'t/': there is no rule 'wakingimport'; did you mean waking-import?"
    )
    assert refusal(configure('[tool.coldfork.per-file-ignores]\n"t/" = "waking-import"\n')) == snapshot(
        "[tool.coldfork] per-file-ignores.'t/': expected a list of rules, got \"waking-import\""
    )


def test_all_problems_are_named_at_once(configure: Configure) -> None:
    words = refusal(configure('profil = "cuda"\njobs = "2"\nfail-on = "surely"\n'))
    assert words.count(";") >= 2
    assert all(key in words for key in ("'profil'", "jobs:", "fail-on:"))


def test_a_damaged_file_is_named(project: Path) -> None:
    file = project / "pyproject.toml"
    file.write_text("[tool.coldfork\n", encoding="utf-8")
    assert refusal(file).startswith("this is not TOML: ")
    file.write_bytes(b"[tool.coldfork]\nprofile = '\xff'\n")
    assert refusal(file).startswith("this is not TOML: ")
    file.write_text("tool = {coldfork = 3}\n", encoding="utf-8")
    assert refusal(file) == snapshot("tool.coldfork has to be a table: [tool.coldfork]")


def test_a_damaged_file_that_is_not_about_coldfork_is_none_of_its_business(project: Path) -> None:
    (project / "pyproject.toml").write_text("[broken\n", encoding="utf-8")
    assert configuration.read(project).file is None


def test_a_byte_order_mark_does_no_harm(project: Path) -> None:
    file = project / "pyproject.toml"
    file.write_bytes(b'\xef\xbb\xbf[tool.coldfork]\nprofile = "cpu"\n')
    assert configuration.read(project).values == {"profile": "cpu"}
