"""Progress of the first check of each folder, in editors that can show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer


class Waiting:
    """Reports the progress of first checks to an editor, whose user can cancel them."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._tokens: dict[Path, str] = {}
        """The tokens of folders whose first check has not finished."""
        self._begun: set[str] = set()
        """The tokens that the editor has accepted."""
        self._asking: set[asyncio.Task[None]] = set()
        self._percentage: dict[str, int] = {}

    def begin(self, folder: Path, give_up: Callable[[], object]) -> None:
        """Start to show a folder's progress, if the editor supports that."""
        window = self._server.client_capabilities.window
        if window and window.work_done_progress:
            token = self._tokens[folder] = f"coldfork-{len(self._tokens)}"
            # Kept in a set, because the event loop has only weak references to tasks.
            task = asyncio.get_running_loop().create_task(self._begin(folder, token, give_up))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _begin(self, folder: Path, token: str, give_up: Callable[[], object]) -> None:
        progress = self._server.work_done_progress
        await progress.create_async(token)
        if self._tokens.get(folder) != token:
            return  # the check has already finished

        def cancelled(_: object) -> None:
            give_up()
            self.end(folder)

        self._begun.add(token)
        title = f"coldfork: checking {folder.name}"
        progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True, percentage=0))
        progress.tokens[token].add_done_callback(cancelled)

    def report(self, folder: Path, stage: str, done: int, total: int) -> None:
        """Report how far the check of a folder is in one of its stages."""
        token = self._tokens.get(folder)
        if token is not None and token in self._begun and total:
            # Reading counts as the first half, because the protocol forbids percentages that decrease.
            part = min(done / total, 1) / 2 + (0 if stage == "reading" else 0.5)
            percentage = max(int(part * 100), self._percentage.get(token, 0))
            if percentage != self._percentage.get(token):
                self._percentage[token] = percentage
                said = types.WorkDoneProgressReport(message=stage, percentage=percentage)
                self._server.work_done_progress.report(token, said)

    def end(self, folder: Path) -> None:
        """Remove a folder's progress from the editor, whatever the outcome of the check."""
        token = self._tokens.pop(folder, None)
        if token is not None and token in self._begun:
            self._server.work_done_progress.end(token, types.WorkDoneProgressEnd())
