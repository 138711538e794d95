"""The documentation's playground in a real Chromium, as it was assembled: ./dev docs assembles it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground import assemble, playground_engine
from tests.playground.driving import Playground, comparable, printed, served
from tests.report import browser

pytestmark = pytest.mark.once

EXAMPLES = {str(example["folder"]): example for example in assemble.examples()}
PAGE = "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><body class=md-typeset>"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page without the site around it, and all that it loads."""
    if not assemble.is_assembled():
        pytest.skip("the playground is not assembled as it is now: ./dev docs")
    folder = tmp_path_factory.mktemp("site") / "playground"
    shutil.copytree(assemble.PAGE, folder)
    _, _, text = (folder / "index.md").read_text(encoding="utf-8").split("---\n", 2)
    (folder / "index.html").write_text(PAGE + text, encoding="utf-8")
    with served(folder) as at:
        yield at


@pytest.fixture(scope="module")
def opened(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """One page for all tests, because the start is what takes time; it fetches from its own site alone."""
    with browser.opened(tmp_path_factory.mktemp("profile"), 1280, 900) as started:
        page = Playground(started, f"{address}index.html")
        assert page.ended().startswith("Something was found. Exit status 1")
        assert any(request.endswith("engine.zip") for request in started.requests)
        yield page
        assert page.foreign(address) == []
        assert started.complaints == []


@pytest.mark.parametrize("name", ["class-body", "notebook"])
def test_an_example_is_told_as_on_the_command_line(
    opened: Playground, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.choose("example", name)
    # The folder without packages makes a line of its own, which is left out of the comparison.
    (tmp_path / "packages").mkdir()
    monkeypatch.setenv("COLDFORK_SITE_PACKAGES", str(tmp_path / "packages"))
    program = [sys.executable, "-m", "coldfork", "check"]
    files = EXAMPLES[name]["files"]
    assert isinstance(files, dict)
    expected = printed([*program, "--target-version", "3.13"], files, tmp_path / "project")
    assert comparable(opened.shown()) == comparable(expected)


def test_the_machine_and_the_version_of_python_count(opened: Playground) -> None:
    opened.choose("example", "default-argument")
    opened.choose("profile", "cpu")
    assert opened.text("findings").startswith("no finding on cpu")
    opened.choose("profile", "")
    assert opened.text("findings").startswith("error[device-init-at-import]")


def test_the_keyboard_is_enough(opened: Playground) -> None:
    page = opened.browser
    opened.choose("example", "default-argument")
    page.evaluate("document.getElementById('example').focus()")
    passed = []
    while (focus := opened.focus())["id"] != "editor":
        passed.append(focus["id"])
        page.press("Tab")
    assert passed == [
        *("example", "profile", "target", "open-files", "open-folder", "link", "run"),
        *("", "add", "name"),  # a file's own button has no id, and the last file cannot be removed
    ]
    assert focus["outline"]
    page.type("x = 1\n")
    page.press("Enter", control=True)
    opened.ended()
    assert "naming.py:7" in opened.text("findings")
    page.press("Tab")
    assert opened.focus()["id"] == "editor"  # where it indents
    page.press("Escape")
    page.press("Tab")
    assert opened.focus()["id"] == "show-findings"
    page.press("Tab")
    page.press("Enter")
    assert opened.focus() == {"id": "show-fixes", "text": "Fixes", "outline": True}


def test_a_fix_is_shown_and_applied(opened: Playground) -> None:
    page = opened.browser
    opened.choose("example", "default-argument")
    page.evaluate("document.getElementById('show-fixes').click()")
    page.evaluate(
        """new Promise(done => {
          const apply = document.getElementById("apply");
          const wait = () => apply.disabled ? setTimeout(wait, 10) : done();
          wait();
        })"""
    )
    assert "+def describe(index=0, name=None):\n" in opened.text("patch")
    page.evaluate("document.getElementById('apply').click()")
    opened.ended()
    assert opened.text("findings").startswith("no finding on cuda")
    page.evaluate("document.getElementById('show-findings').click()")


def test_a_step_of_a_chain_leads_to_its_line(opened: Playground) -> None:
    opened.choose("example", "class-body")
    selected = opened.browser.evaluate(
        """(() => {
          [...document.querySelectorAll(".playground-place")]
            .find(link => link.textContent === "engine/flash_attn.py:9").click();
          return [document.getElementById("name").value, String(getSelection())];
        })()"""
    )
    assert selected == [
        "engine/flash_attn.py",
        "    return torch.cuda.get_device_capability()[0] == 9",
    ]


def test_the_link_holds_the_code(opened: Playground) -> None:
    opened.choose("example", "fork")
    held = opened.browser.evaluate("import('./project.js').then(project => project.unpacked(location.hash))")
    assert held == {
        "files": EXAMPLES["fork"]["files"],
        "profile": "",
        "target": "3.13",
        "active": "train.py",
    }


def test_files_that_are_dropped_are_checked(opened: Playground) -> None:
    opened.browser.evaluate(
        """(() => {
          const dropped = new DataTransfer();
          dropped.items.add(new File(["import torch\\n\\nN = torch.cuda.device_count()\\n"], "count.py"));
          dropped.items.add(new File(["no code"], "notes.txt"));
          const event = new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true });
          document.getElementById("editor").dispatchEvent(event);
          return new Promise(done => {
            const name = document.getElementById("name");
            const wait = () => name.value === "count.py" ? done() : setTimeout(wait, 10);
            wait();
          });
        })()"""
    )
    opened.ended()
    assert "count.py:3" in opened.text("findings")
    assert opened.text("tabs") == "count.py"


def test_it_works_without_a_network_once_it_is_loaded(opened: Playground) -> None:
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    opened.browser.ask("Network.emulateNetworkConditions", offline=True, **network)
    try:
        opened.choose("example", "missing-main-guard")
        assert opened.text("findings").startswith("error[missing-main-guard]")
    finally:
        opened.browser.ask("Network.emulateNetworkConditions", offline=False, **network)


def test_nothing_sticks_out_of_a_narrow_window(opened: Playground) -> None:
    opened.browser.resize(390, 844)
    try:
        beyond = """(() => {
          const ground = document.getElementById("ground");
          const hidden = [...ground.querySelectorAll(".cm-scroller *")];
          return [...ground.querySelectorAll("*")]
            .filter(one => !hidden.includes(one))
            .filter(one => one.getBoundingClientRect().right > ground.getBoundingClientRect().right + 1)
            .map(one => one.id || one.className || one.tagName);
        })()"""
        assert opened.browser.evaluate(beyond) == []
    finally:
        opened.browser.resize(1280, 900)


def test_every_example_is_in_the_list_and_has_the_file_that_it_opens() -> None:
    folders = {entry.name for entry in (assemble.PAGE / "examples").iterdir() if entry.is_dir()}
    assert set(EXAMPLES) == folders
    assert len(folders) >= 10
    for example in EXAMPLES.values():
        files = example["files"]
        assert isinstance(files, dict)
        assert example["opens"] in files


def test_a_baseline_is_left_out_and_a_fix_keeps_the_ends_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playground_engine, "PROJECT", tmp_path / "project")
    for stream in ("argv", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, getattr(sys, stream))
    monkeypatch.chdir(tmp_path)
    files = {
        "count.py": "import torch\r\n\r\n\r\ndef of(name=torch.cuda.get_device_name()):\r\n    pass\r\n",
        "kept.py": "X = 1\r\n",
        "pyproject.toml": "[tool.coldfork]\nbaseline = 'accepted.json'\n",
    }
    request = json.dumps({"files": files, "profile": "cuda", "target": "3.13"})
    checked = json.loads(playground_engine.check(request))
    assert checked["status"] == 1
    assert "next: coldfork check --profile cuda --target-version 3.13 --fix " in checked["output"]
    fixed = json.loads(playground_engine.mend(request))["unsafe"]["files"]
    assert list(fixed) == ["count.py"]
    assert fixed["count.py"].count("\r\n") == fixed["count.py"].count("\n") > 0


def test_without_node_it_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble, "BUILT", tmp_path / "built")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(assemble.CannotAssemble, match="there is no node here"):
        assemble.assemble()
    assert list(tmp_path.iterdir()) == []


def test_a_browser_without_webassembly_is_told_so(address: str, tmp_path: Path) -> None:
    with browser.opened(tmp_path, 390, 844) as started:
        started.ask("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.WebAssembly")
        page = Playground(started, f"{address}index.html")
        assert page.ended() == "This browser has no WebAssembly, or is too old: the checker cannot run in it."
        assert not any(request.endswith(".wasm") for request in started.requests)
