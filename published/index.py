"""Asks the package index that pip is configured for: which files a project has, and bytes of them."""

from __future__ import annotations

import html.parser
import json
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from published.errors import UnavailableError

ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
TIMEOUT = 60.0
ATTEMPTS = 4
#: A server that ignores a range sends the whole file; more than this is refused.
WHOLE_LIMIT = 256 * 1024**2
#: pip has no public way to ask for its built-in index, and no other tool may name one.
ASK_PIP = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A wheel or source archive on the index; `size` is None where the index does not say."""

    filename: str
    url: str
    version: Version
    size: int | None

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel, as opposed to a source archive."""
        return self.filename.endswith(".whl")


@dataclass(frozen=True, slots=True)
class Index:
    """The addresses that pip would look at, the main one first, and the certificates it would trust."""

    addresses: tuple[str, ...]
    certificates: str | None = None

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Response:
        """Ask for an address, trying again where the trouble may pass."""
        context = ssl.create_default_context(cafile=self.certificates)
        request = urllib.request.Request(url, headers=dict(headers or {}))
        return _patiently(lambda: _answer(request, context), url)

    def files(self, name: str) -> tuple[PublishedFile, ...]:
        """Every wheel and source archive of a project, over all configured addresses."""
        found: list[PublishedFile] = []
        refusals: list[str] = []
        for address in self.addresses:
            page = f"{address.rstrip('/')}/{canonicalize_name(name)}/"
            try:
                found.extend(self._listed(page))
            except UnavailableError as refusal:
                refusals.append(str(refusal))
        if not found:
            raise UnavailableError(
                f"no files of {name} on the index ({'; '.join(refusals) or 'empty answer'})"
            )
        return tuple(found)

    def _listed(self, page: str) -> list[PublishedFile]:
        if page.startswith("file:") and not _local(page).exists():
            raise UnavailableError(f"{page} does not exist")
        answer = self.open(page if not page.startswith("file:") else page + "index.html", {"Accept": ACCEPT})
        rows = _json_rows(answer.body) if "json" in answer.kind else _html_rows(answer.body)
        return [
            PublishedFile(filename, urllib.parse.urljoin(answer.url, url), version, size)
            for filename, url, size in rows
            if (version := version_in(filename)) is not None
        ]


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of the index."""

    url: str
    kind: str
    body: bytes
    partial: bool
    total: int | None
    """Size of the whole file, where the answer says it."""


def configured(run: Callable[[list[str]], str] | None = None) -> Index:
    """The index that pip uses on this machine: from its environment, its files, else its built-in one."""
    ask = run or _output_of
    settings = _settings(ask([sys.executable, "-m", "pip", "config", "list"]))
    main = settings.get("index-url") or ask([sys.executable, "-c", ASK_PIP]).strip()
    extra = settings.get("extra-index-url", "").split()
    return Index((main, *extra), settings.get("cert"))


def version_in(filename: str) -> Version | None:
    """The version that a file's name says, None for anything that is neither wheel nor source archive."""
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def _settings(listing: str) -> dict[str, str]:
    """Read `pip config list`; an environment variable outranks a `[install]`, that one a `[global]`."""
    ranks = ("global", "install", ":env:")
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        match = re.match(r"(global|install|:env:)\.([\w-]+)='(.*)'$", line.strip())
        if match is None:
            continue
        rank, key = ranks.index(match[1]), match[2]
        if key not in found or rank >= found[key][0]:
            found[key] = (rank, match[3].replace("\\n", " "))
    return {key: value for key, (_, value) in found.items()}


def _output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"pip does not answer ({' '.join(command[1:])}): {done.stderr.strip()[-200:]}")
    return done.stdout


def _patiently(attempt: Callable[[], Response], url: str) -> Response:
    for turn in range(ATTEMPTS):
        try:
            return attempt()
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500 and refusal.code != 429:
                raise UnavailableError(f"{url} answers {refusal.code} {refusal.reason}") from refusal
            trouble: Exception = refusal
        except OSError as error:
            trouble = error
        time.sleep(2.0**turn)
    raise UnavailableError(f"{url} cannot be read after {ATTEMPTS} attempts: {trouble}") from trouble


def _answer(request: urllib.request.Request, context: ssl.SSLContext) -> Response:
    with urllib.request.urlopen(request, timeout=TIMEOUT, context=context) as answer:
        expected = answer.headers.get("Content-Length")
        ignored = request.has_header("Range") and answer.status == 200
        if ignored and int(expected or 0) > WHOLE_LIMIT:
            raise UnavailableError(f"{answer.url} is {expected} bytes long and its server knows no ranges")
        body = answer.read()
        if expected is not None and len(body) != int(expected):
            raise ConnectionError(f"got {len(body)} of {expected} bytes")
        span = re.match(r"bytes \d+-\d+/(\d+)", answer.headers.get("Content-Range") or "")
        partial = span is not None
        total = int(span[1]) if span else len(body)
        return Response(answer.url, answer.headers.get("Content-Type") or "", body, partial, total)


def _json_rows(body: bytes) -> list[tuple[str, str, int | None]]:
    return [(file["filename"], file["url"], file.get("size")) for file in json.loads(body)["files"]]


def _html_rows(body: bytes) -> list[tuple[str, str, int | None]]:
    anchors = _Anchors()
    anchors.feed(body.decode("utf-8", "replace"))
    return [(text, url.partition("#")[0], None) for url, text in anchors.found]


class _Anchors(html.parser.HTMLParser):
    """Collects the links of a PEP 503 page with their text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open = dict(attrs).get("href")

    def handle_data(self, data: str) -> None:
        if self._open is not None and data.strip():
            self.found.append((self._open, data.strip()))
            self._open = None


def _local(url: str) -> Path:
    return Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
