"""`coldfork lsp` with a real client over standard input and output."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from benchmarks.editor import Editor, editor
from coldfork.lsp.apart import Apart
from coldfork.lsp.server import Server

pytestmark = pytest.mark.once
CONFIGURATION = "[tool.coldfork]\nsite-packages = ['installed']\n"
WAKING = "import torch\n\nNAME = torch.cuda.get_device_name()\n"
DEFAULT = '''import torch


def name_of(index=0, name=torch.cuda.get_device_name(), größe="ä"):
    """The name of a device."""
    return name
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "src/engine"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("", encoding="utf-8")
    (source / "names.py").write_text(WAKING, encoding="utf-8")
    # Nothing is installed there: to read torch takes longer than all else.
    (tmp_path / "installed").mkdir()
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
    (source / "reader.py").write_text("from engine.names import NAME\n\nprint(NAME)\n", encoding="utf-8")
    return tmp_path


def in_editor(folder: Path, work: Callable[[Editor], Awaitable[None]], *, resolves: bool = True) -> None:
    async def run() -> None:
        async with editor(folder, resolves=resolves) as opened:
            await work(opened)

    asyncio.run(run())


def test_what_is_written_is_marked_and_unmarked(folder: Path) -> None:
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        # Files that are not open are marked as well.
        await editor.until(lambda: editor.lines(name) == [3])
        (found,) = editor.marked[editor.uri(name)]
        assert (found.code, found.source) == ("device-init-at-import", "coldfork")
        assert found.message.startswith("importing engine.names wakes cuda\ncertain on cuda")
        assert (found.range.start.character, found.range.end.character) == (7, 35)
        editor.open(name)
        assert await editor.answered(name) == [3]
        editor.edit(name, WAKING.replace("torch.cuda.get_device_name()", "None"))
        assert await editor.answered(name) == []
        editor.edit(name, WAKING + "\nMORE = torch.ones(1).cuda()\n")
        assert await editor.answered(name) == [3, 5]
        # What is only in the buffer is gone with it.
        editor.close(name)
        await editor.until(lambda: editor.lines(name) == [3])

    in_editor(folder, work)


def test_a_file_that_does_not_parse_is_answered_when_it_does(folder: Path) -> None:
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        editor.open(name)
        assert await editor.answered(name) == [3]
        editor.edit(name, WAKING + "\ndef half(:\n")
        await editor.answered(name)
        editor.edit(name, WAKING)
        assert await editor.answered(name) == [3]

    in_editor(folder, work)


def test_other_files_are_marked_by_an_edit(folder: Path) -> None:
    quiet, probing = "src/engine/names.py", "src/engine/reader.py"
    (folder / quiet).write_text("import torch\n\n\ndef name():\n    return None\n", encoding="utf-8")
    (folder / probing).write_text("from engine.names import name\n\nNAME = name()\n", encoding="utf-8")

    async def work(editor: Editor) -> None:
        editor.open(quiet)
        assert await editor.answered(quiet) == []
        editor.edit(quiet, editor.texts[quiet].replace("None", "torch.cuda.get_device_name()"))
        await editor.until(lambda: editor.lines(probing) == [3])
        (found,) = editor.marked[editor.uri(probing)]
        # The steps of the chain, to be clicked at.
        (step, *_) = found.related_information or []
        assert step.location.uri == editor.uri(quiet)
        assert step.location.range.start.line == 4

    in_editor(folder, work)


def test_files_that_come_and_go_are_followed(folder: Path) -> None:
    old, new = "src/engine/names.py", "src/engine/renamed.py"

    async def work(editor: Editor) -> None:
        await editor.until(lambda: editor.lines(old) == [3])
        (folder / old).rename(folder / new)
        (folder / "src/engine/reader.py").unlink()
        editor.changed_on_disk(old, types.FileChangeType.Deleted)
        editor.changed_on_disk(new, types.FileChangeType.Created)
        await editor.until(lambda: editor.lines(new) == [3] and editor.lines(old) == [])

    in_editor(folder, work)


def test_a_hover_tells_the_story(folder: Path) -> None:
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        editor.open(name)
        await editor.answered(name)
        at = types.HoverParams(types.TextDocumentIdentifier(editor.uri(name)), types.Position(2, 12))
        told = await editor.client.text_document_hover_async(at)
        assert told is not None
        assert isinstance(told.contents, types.MarkupContent)
        assert "**device-init-at-import**: importing engine.names wakes cuda" in told.contents.value
        assert "It wakes 2 modules." in told.contents.value
        at.position = types.Position(0, 0)
        assert await editor.client.text_document_hover_async(at) is None
        document = types.TextDocumentIdentifier(editor.uri(name))
        lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(document))
        (lens,) = lenses or []
        assert lens.command is not None
        assert (lens.command.title, lens.command.command) == ("wakes 2 modules", "coldfork.showReferences")
        assert lens.range.start.line == 2
        # Clicked at, it shows the import lines of the modules that the line wakes; so does an action.
        uri, start = cast(tuple[str, dict[str, int]], lens.command.arguments)
        (show,) = [one for one in await editor.offered(name) if isinstance(one, types.Command)]
        assert show.title == "Show the 2 modules that this wakes"
        assert (show.command, show.arguments) == ("coldfork.showReferences", lens.command.arguments)
        position = types.Position(start["line"], start["character"])
        asked = types.ReferenceParams(
            types.ReferenceContext(False), types.TextDocumentIdentifier(uri), position
        )
        found = await editor.client.text_document_references_async(asked) or []
        assert [(one.uri, one.range.start.line) for one in found] == [(editor.uri("src/engine/reader.py"), 0)]
        asked.context.include_declaration = True
        both = await editor.client.text_document_references_async(asked) or []
        assert [one.range.start.line for one in both] == [2, 0]

    in_editor(folder, work)


def test_settings_of_the_editor_stand_above_the_configuration(folder: Path) -> None:
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        await editor.until(lambda: editor.lines(name) == [3])
        editor.set(ignore=["device-init-at-import"], profile=None)
        await editor.until(lambda: editor.lines(name) == [])
        editor.set(profile="abacus")
        await editor.until(lambda: bool(editor.messages))
        assert 'the settings of the editor: profile: "abacus" is not one of' in editor.messages[0]
        editor.set()
        await editor.until(lambda: editor.lines(name) == [3])

    in_editor(folder, work)


def test_the_first_check_is_waited_for_or_given_up(folder: Path) -> None:
    name = "src/engine/names.py"
    # The check that is given up has enough to do.
    for number in range(400):
        lines = "\n".join(f"def f{one}(): return {one}" for one in range(40))
        (folder / f"src/engine/m{number}.py").write_text(f"import engine.names\n{lines}\n", encoding="utf-8")

    async def work(editor: Editor) -> None:
        await editor.until(lambda: "begin" in editor.stages())
        (token,) = {one.token for one in editor.progress}
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        await editor.until(lambda: "end" in editor.stages())
        assert not editor.published
        # The next edit asks again, and there is nothing to be waited for any more.
        editor.open(name)
        assert await editor.answered(name) == [3]
        assert editor.stages().count("begin") == editor.stages().count("end") == 1

    in_editor(folder, work)


def test_names_with_blanks_are_spelled_as_the_editor_does(folder: Path) -> None:
    name = "src/engine/of all.py"
    (folder / name).write_text("", encoding="utf-8")

    async def work(editor: Editor) -> None:
        assert "%20" in editor.uri(name)
        editor.open(name, WAKING)
        assert await editor.answered(name) == [3]

    in_editor(folder, work)


@pytest.mark.parametrize("resolves", [True, False])
def test_a_fix_is_applied_and_undone(folder: Path, resolves: bool) -> None:
    name = "src/engine/defaults.py"
    (folder / name).write_text(DEFAULT, encoding="utf-8")

    async def work(editor: Editor) -> None:
        editor.open(name)
        assert await editor.answered(name) == [4]
        (mend, _) = await editor.actions(name)
        assert mend.title.startswith("Mend")
        assert (mend.edit is None) is resolves
        if resolves:
            mend = await editor.client.code_action_resolve_async(mend)
        assert mend.edit is not None
        editor.apply(mend.edit)
        assert "name=None" in editor.texts[name]
        assert 'größe="ä"' in editor.texts[name]
        compile(editor.texts[name], name, "exec")
        assert await editor.answered(name) == []
        editor.edit(name, DEFAULT)
        assert await editor.answered(name) == [4]

    in_editor(folder, work, resolves=resolves)


def test_a_line_is_ignored_with_a_reason(folder: Path) -> None:
    name = "src/engine/names.py"
    text = 'import torch\n\nA, B = "😀", torch.cuda.get_device_name()  # the name\n'

    async def work(editor: Editor) -> None:
        editor.open(name, text)
        assert await editor.answered(name) == [3]
        (ignore,) = [one for one in await editor.actions(name) if one.title.startswith("Ignore")]
        assert ignore.edit is not None
        editor.apply(ignore.edit)
        line = editor.texts[name].splitlines()[2]
        assert line.endswith(
            "# the name  # coldfork: ignore[device-init-at-import] say why this is safe here"
        )
        assert await editor.answered(name) == []

    in_editor(folder, work)


def test_two_hundred_edits_leave_nothing_stale(folder: Path) -> None:
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        editor.open(name)
        await editor.answered(name)
        for number in range(200):
            editor.edit(name, WAKING if number % 2 else WAKING.replace("torch.cuda.get_device_name()", "1"))
            await asyncio.sleep(0.005)
        editor.edit(name, "# first\n" + WAKING)
        assert await editor.answered(name) == [4]
        # An answer about an older text than the editor had shown would mark the wrong line.
        versions = [one.version for one in editor.published if one.uri == editor.uri(name)]
        assert [one for one in versions if one is not None] == sorted(
            one for one in versions if one is not None
        )

    in_editor(folder, work)


def test_a_file_outside_any_folder_is_checked_by_itself(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    loose = tmp_path_factory.mktemp("loose") / "probe.py"
    loose.write_text(WAKING, encoding="utf-8")

    async def work(editor: Editor) -> None:
        name = str(loose)
        editor.open(name)
        assert await editor.answered(name) == [3]

    in_editor(folder, work)


def test_a_configuration_that_cannot_be_read_is_told_once(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(CONFIGURATION + "profile = 'abacus'\n", encoding="utf-8")
    name = "src/engine/names.py"

    async def work(editor: Editor) -> None:
        await editor.until(lambda: bool(editor.messages))
        assert "abacus" in editor.messages[0]
        (folder / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
        editor.changed_on_disk("pyproject.toml", types.FileChangeType.Changed)
        await editor.until(lambda: editor.lines(name) == [3])
        assert len(editor.messages) == 1

    in_editor(folder, work)


def test_a_server_ends_with_its_editor(folder: Path) -> None:
    async def work() -> None:
        async with editor(folder) as opened:
            server = opened.client._server
            assert server is not None
        assert server.returncode == 0

    # Leaving the editor waits for the end of the server, and no longer than PATIENCE.
    asyncio.run(work())


def test_the_cells_of_a_notebook_are_marked_and_mended(folder: Path) -> None:
    (folder / "src/book.ipynb").write_text("{}", encoding="utf-8")
    texts = ["# Devices\n", "import torch\n", "%time pass\nx = torch.cuda.get_device_name()\n"]

    async def work(editor: Editor) -> None:
        uri = editor.uri("src/book.ipynb")
        cells = [f"{uri.replace('file:', 'vscode-notebook-cell:')}#W{number}%3D%3D" for number in range(3)]
        kinds = [types.NotebookCellKind.Markup, *[types.NotebookCellKind.Code] * 2]
        listed = [types.NotebookCell(kind, cell) for kind, cell in zip(kinds, cells, strict=True)]
        documents = [
            types.TextDocumentItem(cell, types.LanguageKind.Python, 1, text)
            for cell, text in zip(cells, texts, strict=True)
        ]
        notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, listed)
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))
        await editor.until(lambda: bool(editor.marked.get(cells[2])))
        (found,) = editor.marked[cells[2]]
        assert (found.range.start.line, found.range.start.character) == (1, 4)
        assert not editor.marked.get(cells[1])
        # The cell is edited.
        change = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, cells[2]),
            [types.TextDocumentContentChangeWholeDocument("x = None\n")],
        )
        event = types.NotebookDocumentChangeEvent(
            cells=types.NotebookDocumentCellChanges(text_content=[change])
        )
        identifier = types.VersionedNotebookDocumentIdentifier(2, uri)
        editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))
        await editor.until(lambda: editor.marked.get(cells[2]) == [])

    in_editor(folder, work)


def test_nothing_of_an_edit_is_kept_when_it_is_done() -> None:
    apart = Apart()
    server = Server(apart)
    apart.end()

    def receive(message: object) -> None:
        server.protocol.handle_message(cast(Any, message))

    server.protocol.set_writer(cast(Any, io.BytesIO()))
    uri = "file:///srv/engine/names.py"
    first = types.InitializeRequest(
        1, types.InitializeParams(types.ClientCapabilities(), root_uri="file:///srv")
    )
    receive(first)
    document = types.TextDocumentItem(uri, types.LanguageKind.Python, 0, WAKING)
    receive(types.DidOpenTextDocumentNotification(types.DidOpenTextDocumentParams(document)))

    def edit(number: int) -> None:
        changed = types.TextDocumentContentChangeWholeDocument(f"NUMBER = {number}\n")
        identifier = types.VersionedTextDocumentIdentifier(number, uri)
        params = types.DidChangeTextDocumentParams(identifier, [changed])
        receive(types.DidChangeTextDocumentNotification(params))

    def futures() -> int:
        gc.collect()
        return sum(type(held).__name__ == "Future" for held in gc.get_objects())

    edit(1)
    before = futures()
    for number in range(2, 52):
        edit(number)
    assert server.workspace.get_text_document(uri).source == "NUMBER = 51\n"
    assert futures() - before <= 2
