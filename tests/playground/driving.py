"""The playground in a browser, as a reader uses it, and the command line beside it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.report.browser import Browser

ESCAPE = re.compile(r"\x1b\[([\d;]*)m")
NAMES = {1: "bold", 2: "dim", 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan"}
Shown = list[tuple[frozenset[str], str]]
"""Pieces of a text, each with the words for how it is drawn."""

# Resolves once the page has said how a check has ended, or that there will be none.
_ENDED = """new Promise(done => {
  const end = () => {
    const status = document.getElementById("status");
    const isBusy = document.getElementById("findings").hasAttribute("aria-busy");
    const isOver = /^(Nothing|Something|The check itself)/.test(status.textContent) && !isBusy;
    if (isOver || status.classList.contains("playground-trouble")) done(status.textContent);
    else setTimeout(end, 10);
  };
  end();
})"""
_PIECES = """(() => {
  const screen = document.getElementById("findings");
  const walker = document.createTreeWalker(screen, NodeFilter.SHOW_TEXT);
  const pieces = [];
  while (walker.nextNode()) {
    const around = walker.currentNode.parentElement;
    const words = around === screen ? [] : [...around.classList].map(name => name.replace("playground-", ""));
    pieces.push([words.filter(word => word !== "place"), walker.currentNode.data]);
  }
  return pieces;
})()"""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the files of a folder are served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nobody reads along."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Playground:
    """The page, opened in a browser."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser = browser
        browser.open(address)

    def ended(self) -> str:
        """Wait for the end of a check; the page's word about it."""
        return str(self.browser.evaluate(_ENDED))

    def choose(self, field: str, value: str) -> float:
        """Choose a value in one of the lists, and wait for the check; how long that took, in seconds."""
        script = """(async () => {
          const field = document.getElementById(%s);
          field.value = %s;
          const begun = performance.now();
          field.dispatchEvent(new Event("change"));
          await %s;
          return (performance.now() - begun) / 1000;
        })()"""
        return float(self.browser.evaluate(script % (json.dumps(field), json.dumps(value), _ENDED)))

    def shown(self) -> Shown:
        """The findings as they are drawn."""
        return _joined([(frozenset(words), text) for words, text in self.browser.evaluate(_PIECES)])

    def text(self, field: str) -> str:
        """The text in a part of the page."""
        return str(self.browser.evaluate(f"document.getElementById({json.dumps(field)}).textContent"))

    def focus(self) -> dict[str, Any]:
        """The element that has the focus: its id, and whether one sees that it has it."""
        found: dict[str, Any] = self.browser.evaluate(
            """(() => {
              const element = document.activeElement;
              const editor = element.closest(".cm-editor");
              const frame = editor ?? element;
              const outline = getComputedStyle(frame).outlineStyle !== "none";
              return { id: editor ? "editor" : element.id, text: element.textContent, outline };
            })()"""
        )
        return found

    def foreign(self, address: str) -> list[str]:
        """All that was fetched from elsewhere; images in the style are no requests."""
        own = (address, "data:", "blob:" + address)
        return [request for request in self.browser.requests if not request.startswith(own)]


def printed(program: Sequence[str], files: Mapping[str, str], folder: Path) -> Shown:
    """What the command line prints about these files, as a terminal would draw it."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [*program, "--color", "always"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    pieces: Shown = []
    words: frozenset[str] = frozenset()
    for index, piece in enumerate(ESCAPE.split(done.stdout + done.stderr)):
        if index % 2 == 0:
            pieces.append((words, piece))
            continue
        codes = {int(code or 0) for code in piece.split(";")}
        words = frozenset() if 0 in codes else words | {NAMES[code] for code in codes}
    return _joined(pieces)


def comparable(shown: Shown) -> Shown:
    """The same without what depends on the machine: how long it took, and the paragraph on packages."""
    taken = [(words, re.sub(r"\bin [\d.]+ m?s\b", "in TIME", text)) for words, text in shown]
    return [(words, re.sub(r"(?m)^packages: .*\n(    .*\n)*", "", text)) for words, text in taken]


def _joined(pieces: Shown) -> Shown:
    """Neighbours that are drawn alike in one piece."""
    full = [piece for piece in pieces if piece[1]]
    return [
        (words, "".join(text for _, text in group))
        for words, group in groupby(full, key=lambda piece: piece[0])
    ]
