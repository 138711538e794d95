"""The state of the language server: folders, their answers, and published diagnostics."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from coldfork import __version__
from coldfork.lsp.actions import Actions
from coldfork.lsp.answer import Answer
from coldfork.lsp.apart import Apart
from coldfork.lsp.buffers import Buffer, buffer_of, file_of
from coldfork.lsp.checker import Checker, Wanted
from coldfork.lsp.shown import Shown
from coldfork.lsp.waiting import Waiting

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(types.NotebookDocumentFilterScheme("file"))], save=True
)


class _Protocol(LanguageServerProtocol):
    """The protocol as pygls implements it, except that it keeps no results of finished notifications."""

    def _handle_notification(self, method_name: str, params: Any) -> None:
        super()._handle_notification(method_name, params)
        # pygls 2.1 removes only the results of requests from this table: it grows with every edit.
        for name in [name for name, future in self._request_futures.items() if future.done()]:
            del self._request_futures[name]


class Server(LanguageServer):
    """The server of one editor; the handlers of its messages are in `features`."""

    def __init__(self, apart: Apart) -> None:
        super().__init__("coldfork", __version__, notebook_document_sync=_NOTEBOOKS, protocol_cls=_Protocol)
        self._apart = apart
        self._waiting = Waiting(self)
        self._buffers: dict[str, Buffer] = {}
        """The open documents, by absolute path; each is replaced only when it changes."""
        self._settings: dict[Path, Mapping[str, Any]] = {}
        self._answers: dict[Path, Answer] = {}
        self._marked: dict[Path, set[str]] = {}
        """The documents of each folder that have diagnostics in the editor."""
        self._complaints: dict[Path, str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._checker: Checker | None = None

    # --- checks ---

    def begin(self) -> None:
        """Check all folders for the first time."""
        self._loop = loop = asyncio.get_running_loop()
        self._checker = Checker(
            self._apart,
            lambda answer: loop.call_soon_threadsafe(self._show, answer),
            lambda wanted, why: loop.call_soon_threadsafe(self._complain, wanted, why),
            lambda *said: loop.call_soon_threadsafe(self._waiting.report, *said),
        )
        for folder in self._folders():
            self._waiting.begin(folder, partial(self._checker.give_up, folder))
        self.check_all()

    def end(self) -> None:
        """Cancel the running check, and end the checker."""
        if self._checker is not None:
            self._checker.close()
            self._checker = None

    def check_all(self) -> None:
        """Check every folder, and every open file outside of them."""
        loose = {_folder_of(file, self._folders()) for file in self._buffers}
        for folder in (*self._folders(), *sorted(loose - set(self._folders()))):
            self._check(folder)

    def check(self, uri: str) -> None:
        """Read the new state of a document, and check its folder."""
        file = file_of(uri, self.workspace)
        if file is None:
            return
        found = buffer_of(uri, self.workspace)
        if found is None:
            self._buffers.pop(file, None)
        else:
            self._buffers[file] = found
        self._check(_folder_of(file, self._folders()))

    async def ask_settings(self) -> None:
        """Ask the editor for its settings for each folder, if it supports that."""
        workspace = self.client_capabilities.workspace
        folders = self._folders()
        if not (workspace and workspace.configuration and folders):
            return
        items = [types.ConfigurationItem(folder.as_uri(), "coldfork") for folder in folders]
        found = await self.workspace_configuration_async(types.ConfigurationParams(items))
        self._settings = {folder: _set(one) for folder, one in zip(folders, found, strict=False)}

    def drop(self, folder: Path) -> None:
        """Remove a folder's answer, and its diagnostics from the editor."""
        self._waiting.end(folder)
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
        mine = {file: one for file, one in self._buffers.items() if _folder_of(file, folders) == folder}
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
        self._checker.ask(Wanted(folder, paths, mine, self._settings.get(folder, {})))

    # --- display ---

    def known_command(self, name: str) -> str:
        """Return this command's name if the editor has announced the command, otherwise an empty text."""
        offered = self.client_capabilities.experimental
        commands = offered.get("commands") if isinstance(offered, dict) else None
        return name if isinstance(commands, (list, tuple)) and name in commands else ""

    def answer(self, uri: str) -> Answer | None:
        """Return the answer for the current text of a document; None if there is none yet."""
        file = file_of(uri, self.workspace)
        if file is None:
            return None
        answer = self._answers.get(_folder_of(file, self._folders()))
        current = self._buffers.get(file)
        return answer if answer is not None and answer.buffers.get(file) == current else None

    def _show(self, answer: Answer) -> None:
        self._waiting.end(answer.folder)
        self._answers[answer.folder] = answer
        self._complaints.pop(answer.folder, None)
        found = Shown(answer, self.workspace.position_codec).diagnostics()
        answered = {uri for buffer in answer.buffers.values() for uri in (buffer.cells or (buffer.uri,))}
        for uri in sorted(found.keys() | self._marked.get(answer.folder, set()) | answered):
            file = file_of(uri, self.workspace)
            if file is not None and file in self._buffers and self._buffers[file] != answer.buffers.get(file):
                # The document was edited after the check; the next check is already under way.
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
        """Report why a folder cannot be checked; do so only once until it has been checked again."""
        self._waiting.end(wanted.folder)
        if self._complaints.get(wanted.folder) != why:
            self._complaints[wanted.folder] = why
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Warning, f"coldfork: {wanted.folder}: {why}")
            )

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """Return the action with the edits of its fix, which a check has confirmed."""
        data = action.data if isinstance(action.data, dict) else {}
        answer = self.answer(str(data.get("uri")))
        if answer is None or self._checker is None or action.edit is not None:
            return action
        actions = Actions(answer, self.workspace.position_codec)
        cause = str(data.get("cause"))
        edit = await asyncio.wrap_future(self._checker.do(lambda session: actions.mended(session, cause)))
        if edit is None:
            why = "the fix would cause another finding, or not remove this one; nothing was changed"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"coldfork: {why}"))
        action.edit = edit
        return action


def _set(settings: object) -> Mapping[str, Any]:
    """Return the values that an editor sets for keys of `[tool.coldfork]`."""
    held = settings.get("configuration") if isinstance(settings, dict) else None
    return {key: value for key, value in held.items() if value is not None} if isinstance(held, dict) else {}


def _folder_of(file: str, folders: Iterable[Path]) -> Path:
    """Return the innermost workspace folder that contains a file, or else the file's own folder."""
    holding = [folder for folder in folders if Path(file).is_relative_to(folder)]
    return max(holding, key=lambda folder: len(folder.parts), default=Path(file).parent)
