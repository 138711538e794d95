"""`coldfork lsp`: the handlers for messages that arrive from the editor on standard input."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types
from pygls import uris

from coldfork.lsp.actions import Actions
from coldfork.lsp.apart import Apart
from coldfork.lsp.server import Server
from coldfork.lsp.shown import SHOW_REFERENCES, Shown

_WATCHED = ("**/*.py", "**/pyproject.toml", "**/coldfork.toml")
_Edited = (
    types.DidOpenTextDocumentParams
    | types.DidChangeTextDocumentParams
    | types.DidSaveTextDocumentParams
    | types.DidCloseTextDocumentParams
)
_EditedNotebook = (
    types.DidOpenNotebookDocumentParams
    | types.DidChangeNotebookDocumentParams
    | types.DidSaveNotebookDocumentParams
    | types.DidCloseNotebookDocumentParams
)


# --- life cycle ---


async def _initialized(ls: Server, params: types.InitializedParams) -> None:
    await ls.ask_settings()
    ls.begin()
    capabilities = ls.client_capabilities.workspace
    wanted = []
    watched = capabilities and capabilities.did_change_watched_files
    if watched and watched.dynamic_registration:
        watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        wanted.append(types.Registration("coldfork-watched", name, options))
    settings = capabilities and capabilities.did_change_configuration
    if settings and settings.dynamic_registration:
        section = types.DidChangeConfigurationRegistrationOptions("coldfork")
        name = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        wanted.append(types.Registration("coldfork-settings", name, section))
    if wanted:
        await ls.client_register_capability_async(types.RegistrationParams(wanted))


def _shutdown(ls: Server, params: None) -> None:
    ls.end()


# --- changes ---


def _edited(ls: Server, params: _Edited) -> None:
    ls.check(params.text_document.uri)


def _notebook_edited(ls: Server, params: _EditedNotebook) -> None:
    ls.check(params.notebook_document.uri)


def _files_changed(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    ls.check_all()


async def _settings_changed(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    await ls.ask_settings()
    ls.check_all()


async def _folders_changed(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    for gone in params.event.removed:
        path = uris.to_fs_path(gone.uri)
        if path:
            ls.drop(Path(path))
    await ls.ask_settings()
    ls.check_all()


# --- requests ---


def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    uri = params.text_document.uri
    answer = ls.answer(uri)
    if answer is None:
        return None
    return Shown(answer, ls.workspace.position_codec).hover(uri, params.position.line)


def _lenses(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    uri = params.text_document.uri
    answer = ls.answer(uri)
    if answer is None:
        return []
    return list(Shown(answer, ls.workspace.position_codec).lenses(uri, ls.known_command(SHOW_REFERENCES)))


def _references(ls: Server, params: types.ReferenceParams) -> list[types.Location]:
    uri = params.text_document.uri
    answer = ls.answer(uri)
    if answer is None:
        return []
    itself = params.context.include_declaration
    return list(Shown(answer, ls.workspace.position_codec).references(uri, params.position.line, itself))


async def _actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    uri = params.text_document.uri
    answer = ls.answer(uri)
    if answer is None:
        return []
    actions = Actions(answer, ls.workspace.position_codec)
    found = list(actions.about(uri, params.context.diagnostics, ls.known_command(SHOW_REFERENCES)))
    if _resolves(ls.client_capabilities):
        return found
    return [await ls.resolve(one) if isinstance(one, types.CodeAction) else one for one in found]


async def _resolved(ls: Server, params: types.CodeAction) -> types.CodeAction:
    return await ls.resolve(params)


def _resolves(capabilities: types.ClientCapabilities) -> bool:
    """Return whether an editor requests an action's edits only after the user has chosen the action."""
    document = capabilities.text_document
    support = document.code_action.resolve_support if document and document.code_action else None
    return support is not None and "edit" in support.properties


_HANDLERS = (
    (types.INITIALIZED, _initialized),
    (types.SHUTDOWN, _shutdown),
    (types.TEXT_DOCUMENT_DID_OPEN, _edited),
    (types.TEXT_DOCUMENT_DID_CHANGE, _edited),
    (types.TEXT_DOCUMENT_DID_SAVE, _edited),
    (types.TEXT_DOCUMENT_DID_CLOSE, _edited),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, _notebook_edited),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, _notebook_edited),
    (types.NOTEBOOK_DOCUMENT_DID_SAVE, _notebook_edited),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, _notebook_edited),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _files_changed),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, _settings_changed),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, _folders_changed),
    (types.TEXT_DOCUMENT_HOVER, _hover),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses),
    (types.TEXT_DOCUMENT_REFERENCES, _references),
    (types.CODE_ACTION_RESOLVE, _resolved),
)


def main(apart: Apart) -> None:
    """Serve until the editor ends or shuts the server down."""
    server = Server(apart)
    for name, handler in _HANDLERS:
        server.feature(name)(handler)
    options = types.CodeActionOptions([types.CodeActionKind.QuickFix], resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(_actions)
    try:
        server.start_io()
    finally:
        server.end()
