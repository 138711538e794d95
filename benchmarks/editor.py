"""A client that starts `coldfork lsp` as an editor does, and waits for what it says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PATIENCE = 300


class Editor:
    """An editor with a folder open, and what is marked in its files."""

    def __init__(self, folder: Path, client: LanguageClient) -> None:
        self.folder = folder
        self.client = client
        self.marked: dict[str, list[types.Diagnostic]] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.settings: dict[str, object] = {}
        self.progress: list[types.ProgressParams] = []
        self._news = asyncio.Event()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self.marked[params.uri] = list(params.diagnostics)
            self._news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def said(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)  # type: ignore[untyped-decorator]
        def waiting(params: types.WorkDoneProgressCreateParams) -> None:
            return None

        @client.feature(types.PROGRESS)  # type: ignore[untyped-decorator]
        def progressed(params: types.ProgressParams) -> None:
            self.progress.append(params)
            self._news.set()

        @client.feature(types.WORKSPACE_CONFIGURATION)  # type: ignore[untyped-decorator]
        def set_to(params: types.ConfigurationParams) -> list[object]:
            return [self.settings for _ in params.items]

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
        def registered(params: types.RegistrationParams) -> None:
            return None

        @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)  # type: ignore[untyped-decorator]
        def refreshed(params: None) -> None:
            return None

    @property
    def server(self) -> int:
        """The pid of the server."""
        process = self.client._server
        assert process is not None
        return process.pid

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        held = (self.folder / name).read_text(encoding="utf-8") if text is None else text
        self.texts[name], self.versions[name] = held, 1
        document = types.TextDocumentItem(self.uri(name), types.LanguageKind.Python, 1, held)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def edit(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def set(self, **settings: object) -> None:
        """Change the settings, and tell the server."""
        self.settings = {"configuration": settings}
        changed = types.DidChangeConfigurationParams(None)
        self.client.workspace_did_change_configuration(changed)

    def stages(self) -> list[str]:
        """What the server has said about how far it is."""
        return [one.value["kind"] for one in self.progress if isinstance(one.value, dict)]

    def changed_on_disk(self, name: str, how: types.FileChangeType) -> None:
        event = types.FileEvent(self.uri(name), how)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    def lines(self, name: str) -> list[int]:
        """The lines, from 1, that are marked in a file."""
        return [one.range.start.line + 1 for one in self.marked.get(self.uri(name), [])]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that an answer or a message brings about."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def answered(self, name: str) -> list[int]:
        """Wait for the answer about a file as it is now, and say which lines are marked."""

        def is_answered() -> bool:
            return any(
                one.uri == self.uri(name) and one.version == self.versions[name] for one in self.published
            )

        await self.until(is_answered)
        return self.lines(name)

    async def actions(self, name: str) -> list[types.CodeAction]:
        """Ask for the actions for everything that is marked in a file."""
        return [one for one in await self.offered(name) if isinstance(one, types.CodeAction)]

    async def offered(self, name: str) -> list[types.CodeAction | types.Command]:
        """The same with the commands of the editor itself."""
        whole = types.Range(types.Position(0, 0), types.Position(len(self.texts[name].splitlines()), 0))
        context = types.CodeActionContext(self.marked[self.uri(name)])
        document = types.TextDocumentIdentifier(self.uri(name))
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(document, whole, context)
        )
        return list(found or [])

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Apply edits as an editor does, from the last to the first, in the units that it counts in."""
        for change in edit.document_changes or []:
            assert isinstance(change, types.TextDocumentEdit)
            (name,) = [one for one in self.texts if self.uri(one) == change.text_document.uri]
            assert change.text_document.version == self.versions[name]
            text = self.texts[name]
            for one in sorted(change.edits, key=lambda e: (e.range.start.line, e.range.start.character))[
                ::-1
            ]:
                start, end = _offset(text, one.range.start), _offset(text, one.range.end)
                assert not isinstance(one, types.SnippetTextEdit)
                text = text[:start] + one.new_text + text[end:]
            self.edit(name, text)


def _offset(text: str, position: types.Position) -> int:
    """Where a position in UTF-16 units is in a text."""
    lines = text.splitlines(keepends=True)
    before = sum(map(len, lines[: position.line]))
    line = lines[position.line] if position.line < len(lines) else ""
    return before + len(line.encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))


@asynccontextmanager
async def editor(
    folder: Path, *, resolves: bool = True, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Editor]:
    """An editor that has opened a folder, until it says goodbye."""
    client = LanguageClient("an editor", "1")
    found = Editor(folder, client)
    await client.start_io(sys.executable, "-m", "coldfork", "lsp", "--stdio", env=environment)
    support = types.ClientCodeActionResolveOptions(["edit"]) if resolves else None
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(resolve_support=support)
        ),
        workspace=types.WorkspaceClientCapabilities(
            workspace_folders=True,
            configuration=True,
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
        window=types.WindowClientCapabilities(work_done_progress=True),
        experimental={"commands": ["coldfork.showReferences"]},
    )
    folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)]
    await client.initialize_async(
        types.InitializeParams(capabilities=capabilities, workspace_folders=folders, root_uri=folder.as_uri())
    )
    client.initialized(types.InitializedParams())
    try:
        yield found
        await client.shutdown_async(None)
    finally:
        client.exit(None)
        async with asyncio.timeout(PATIENCE):
            await client.stop()  # type: ignore[no-untyped-call]
