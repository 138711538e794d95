"""The state of an editor's server: its folders, what was answered about them, and what is marked where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from coldfork import __version__
from coldfork.lsp.actions import Actions
from coldfork.lsp.answer import Answer
from coldfork.lsp.buffers import buffers, file_of
from coldfork.lsp.checker import Checker, Wanted
from coldfork.lsp.shown import Shown

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(types.NotebookDocumentFilterScheme("file"))], save=True
)


class Server(LanguageServer):
    """Serves one editor; `features` has what it answers."""

    def __init__(self) -> None:
        super().__init__("coldfork", __version__, notebook_document_sync=_NOTEBOOKS)
        self._answers: dict[Path, Answer] = {}
        self._marked: dict[Path, set[str]] = {}
        """The documents of each folder that have diagnostics in the editor."""
        self._complaints: dict[Path, str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._checker: Checker | None = None

    # --- what is checked ---

    def begin(self) -> None:
        """Check all folders for the first time."""
        self._loop = loop = asyncio.get_running_loop()
        self._checker = Checker(
            lambda answer: loop.call_soon_threadsafe(self._show, answer),
            lambda wanted, why: loop.call_soon_threadsafe(self._complain, wanted, why),
        )
        self.check_all()

    def end(self) -> None:
        """Give up what is being checked."""
        if self._checker is not None:
            self._checker.close()
            self._checker = None

    def check_all(self) -> None:
        """Check every folder, and every file that is open in none of them."""
        loose = {_folder_of(file, self._folders()) for file in buffers(self.workspace)}
        for folder in (*self._folders(), *sorted(loose - set(self._folders()))):
            self._check(folder)

    def check(self, uri: str) -> None:
        """Check the folder of a document."""
        file = file_of(uri, self.workspace)
        if file is not None:
            self._check(_folder_of(file, self._folders()))

    def drop(self, folder: Path) -> None:
        """Take what is marked in a folder out of the editor."""
        self._answers.pop(folder, None)
        for uri in self._marked.pop(folder, set()):
            self._publish(uri, [], None)

    def _folders(self) -> list[Path]:
        found = [Path(path) for uri in self.workspace.folders if (path := uris.to_fs_path(uri))]
        if not found and self.workspace.root_path:
            found = [Path(self.workspace.root_path)]
        return found

    def _check(self, folder: Path) -> None:
        if self._checker is None:
            return
        folders = self._folders()
        held = buffers(self.workspace)
        mine = {file: one for file, one in held.items() if _folder_of(file, folders) == folder}
        if folder in folders:
            source = folder / "src"
            inside = source if source.is_dir() else folder
            others = (Path(file) for file in mine if not Path(file).is_relative_to(inside))
            paths = (inside, *sorted(others))
        else:
            paths = tuple(sorted(map(Path, mine)))
        if not paths:
            self.drop(folder)
            return
        self._checker.ask(Wanted(folder, paths, mine))

    # --- what is shown ---

    def answer(self, uri: str) -> Answer | None:
        """The answer about a document as it is now; None where there is none yet."""
        file = file_of(uri, self.workspace)
        if file is None:
            return None
        answer = self._answers.get(_folder_of(file, self._folders()))
        current = buffers(self.workspace).get(file)
        return answer if answer is not None and answer.buffers.get(file) == current else None

    def _show(self, answer: Answer) -> None:
        self._answers[answer.folder] = answer
        self._complaints.pop(answer.folder, None)
        found = Shown(answer, self.workspace.position_codec).diagnostics()
        current = buffers(self.workspace)
        answered = {uri for buffer in answer.buffers.values() for uri in (buffer.cells or (buffer.uri,))}
        for uri in sorted(found.keys() | self._marked.get(answer.folder, set()) | answered):
            file = file_of(uri, self.workspace)
            if file is not None and file in current and current[file] != answer.buffers.get(file):
                # Edited since; the answer about that is on its way.
                continue
            self._publish(uri, found.get(uri, []), answer.version(uri))
        self._marked[answer.folder] = set(found)
        if self.client_capabilities.workspace and self.client_capabilities.workspace.code_lens:
            if self.client_capabilities.workspace.code_lens.refresh_support:
                self.workspace_code_lens_refresh(None)

    def _publish(self, uri: str, diagnostics: Iterable[types.Diagnostic], version: int | None) -> None:
        found = types.PublishDiagnosticsParams(uri, list(diagnostics), version)
        self.text_document_publish_diagnostics(found)

    def _complain(self, wanted: Wanted, why: str) -> None:
        """Say once why a folder cannot be checked; the next answer is news again."""
        if self._complaints.get(wanted.folder) != why:
            self._complaints[wanted.folder] = why
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Warning, f"coldfork: {wanted.folder}: {why}")
            )

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """The action with the edits of its fix, which a check has approved."""
        data = action.data if isinstance(action.data, dict) else {}
        answer = self.answer(str(data.get("uri")))
        if answer is None or self._checker is None or action.edit is not None:
            return action
        actions = Actions(answer, self.workspace.position_codec)
        cause = str(data.get("cause"))
        edit = await asyncio.wrap_future(self._checker.do(lambda session: actions.mended(session, cause)))
        if edit is None:
            why = "the fix would bring another finding, or leave this one; nothing was changed"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"coldfork: {why}"))
        action.edit = edit
        return action


def _folder_of(file: str, folders: Iterable[Path]) -> Path:
    """The innermost folder of the editor that holds a file, else the file's own."""
    holding = [folder for folder in folders if Path(file).is_relative_to(folder)]
    return max(holding, key=lambda folder: len(folder.parts), default=Path(file).parent)
