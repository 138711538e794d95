"""The documents that an editor has open, as the files that they would be on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from lsprotocol import types
from pygls import uris
from pygls.workspace import Workspace

_SOURCES = (".py", ".pyw")
_NOTEBOOKS = ".ipynb"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A file as it stands in an editor."""

    uri: str
    """The editor's own: another spelling of the same is another document to some of them."""
    version: int
    text: str
    cells: Mapping[str, str] = field(default_factory=dict)
    """The texts of a notebook's cells by their URIs, in order."""


def buffers(workspace: Workspace) -> dict[str, Buffer]:
    """Return the open documents by the absolute paths of their files."""
    found: dict[str, Buffer] = {}
    for uri, document in workspace.text_documents.items():
        path = _path(uri)
        if path is not None and path.endswith(_SOURCES):
            found[path] = Buffer(uri, document.version or 0, document.source)
    for uri, notebook in workspace.notebook_documents.items():
        path = _path(uri)
        if path is not None and path.endswith(_NOTEBOOKS):
            cells = {cell.document: _text(workspace, cell.document) for cell in notebook.cells}
            found[path] = Buffer(uri, notebook.version, _as_file(notebook.cells, cells), cells)
    return found


def file_of(uri: str, workspace: Workspace) -> str | None:
    """The file of a document or of a cell; None for what has no file yet, and for other languages."""
    notebook = workspace.get_notebook_document(cell_uri=uri)
    path = _path(uri if notebook is None else notebook.uri)
    return path if path is not None and path.endswith((*_SOURCES, _NOTEBOOKS)) else None


def _path(uri: str) -> str | None:
    return uris.to_fs_path(uri) if uri.startswith("file:") else None


def _text(workspace: Workspace, uri: str) -> str:
    document = workspace.text_documents.get(uri)
    return "" if document is None else document.source


def _as_file(cells: list[types.NotebookCell], texts: Mapping[str, str]) -> str:
    """The notebook as it would be saved, without what its cells have printed."""
    listed = [
        {"cell_type": "code", "source": texts[cell.document], "metadata": {}, "outputs": []}
        if cell.kind is types.NotebookCellKind.Code
        else {"cell_type": "markdown", "source": texts[cell.document], "metadata": {}}
        for cell in cells
    ]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
