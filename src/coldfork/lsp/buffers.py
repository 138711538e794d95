"""The documents that are open in an editor, in the form in which they would be saved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from lsprotocol import types
from pygls import uris
from pygls.workspace import Workspace

_SOURCES = (".py", ".pyw")
_NOTEBOOKS = ".ipynb"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A file with its current text in an editor."""

    uri: str
    """The URI as the editor spells it, because some editors take another spelling for another document."""
    version: int
    text: str
    cells: Mapping[str, str] = field(default_factory=dict)
    """The texts of a notebook's cells by their URIs, in order."""


def buffer_of(uri: str, workspace: Workspace) -> Buffer | None:
    """Return a document with its current text; None if it is not open, or not Python."""
    path = _path(uri) or ""
    # The workspace's keys are unquoted URIs, with a blank in place of `%20`.
    document = workspace.text_documents.get(unquote(uri))
    if document is not None and path.endswith(_SOURCES):
        return Buffer(uri, document.version or 0, document.source)
    notebook = workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None and path.endswith(_NOTEBOOKS):
        cells = {cell.document: _text(workspace, cell.document) for cell in notebook.cells}
        return Buffer(uri, notebook.version, _as_file(notebook.cells, cells), cells)
    return None


def file_of(uri: str, workspace: Workspace) -> str | None:
    """Return the file of a document or a cell; None if it has no file yet, or is not Python."""
    notebook = workspace.get_notebook_document(cell_uri=uri)
    path = _path(uri if notebook is None else notebook.uri)
    return path if path is not None and path.endswith((*_SOURCES, _NOTEBOOKS)) else None


def _path(uri: str) -> str | None:
    return uris.to_fs_path(uri) if uri.startswith("file:") else None


def _text(workspace: Workspace, uri: str) -> str:
    document = workspace.text_documents.get(unquote(uri))
    return "" if document is None else document.source


def _as_file(cells: Sequence[types.NotebookCell], texts: Mapping[str, str]) -> str:
    """Return the JSON of a notebook with these cells, without their outputs."""
    listed = [
        {"cell_type": "code", "source": texts[cell.document], "metadata": {}, "outputs": []}
        if cell.kind is types.NotebookCellKind.Code
        else {"cell_type": "markdown", "source": texts[cell.document], "metadata": {}}
        for cell in cells
    ]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
