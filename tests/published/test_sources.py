"""Fetching sources: what is chosen, what is taken out of archives, and what survives an interruption."""

from __future__ import annotations

import io
import json
import random
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import Mock

import pytest
from packaging.version import Version

from published import archives, index, places, sources
from published.errors import UnavailableError
from published.index import Index, PublishedFile, Response
from published.remote import BLOCK, RemoteFile, stretches
from published.sources import Wanted

pytestmark = pytest.mark.once


def wheel(members: Mapping[str, str]) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    stream.seek(0)
    return stream


def sdist(members: Mapping[str, str]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    stream.seek(0)
    return stream


def published(filename: str, size: int | None = 10) -> PublishedFile:
    version = index.version_in(filename)
    assert version is not None
    return PublishedFile(filename, f"scheme://index/{filename}", version, size)


def test_wanted_is_read_and_normalised() -> None:
    assert Wanted.parse("Quack.Kernels==0.4.0:wheel") == Wanted("quack-kernels", "0.4.0", "wheel")
    assert Wanted.parse("torch==2.8.0").folder == "torch-2.8.0"


@pytest.mark.parametrize("text", ["torch", "torch==", "torch==2:zip", "torch==not-a-version", "a b==1"])
def test_what_is_not_wanted_is_refused(text: str) -> None:
    with pytest.raises(UnavailableError, match=r"NAME==VERSION|names no version"):
        Wanted.parse(text)


def test_a_pure_wheel_is_preferred_then_the_source_archive() -> None:
    pure = published("a-1.0-py3-none-any.whl")
    linux = published("a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl")
    arm = published("a-1.0-cp312-cp312-manylinux_2_28_aarch64.whl", 1)
    archive = published("a-1.0.tar.gz")
    other = published("a-2.0-py3-none-any.whl")
    assert sources.choose([other, archive, linux, pure], Wanted("a", "1.0")) == pure
    assert sources.choose([arm, linux, archive], Wanted("a", "1.0")) == archive
    assert sources.choose([arm, linux, archive], Wanted("a", "1.0", "wheel")) == linux
    assert sources.choose([linux, published("a-1.0.tar.gz", 10**9)], Wanted("a", "1")) == linux


def test_a_missing_kind_says_what_there_is() -> None:
    with pytest.raises(
        UnavailableError, match=r"a 1\.0: no sdist on the index, only a-1\.0-py3-none-any\.whl"
    ):
        sources.choose([published("a-1.0-py3-none-any.whl")], Wanted("a", "1.0", "sdist"))


def test_only_python_and_naming_metadata_is_taken_out(tmp_path: Path) -> None:
    members = {
        "a/__init__.py": "one = 1\n", "a/data.bin": "x", "a/stub.pyi": "", "mount.pth": "a/inner\n",
        "a-1.dist-info/METADATA": "Name: a\n", "a-1.dist-info/RECORD": "", "a/METADATA": "no",
    }  # fmt: skip
    assert archives.unpack(wheel(members), "a-1-py3-none-any.whl", tmp_path) == 4
    assert (tmp_path / "a/__init__.py").read_text() == "one = 1\n"
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "__init__.py", "stub.pyi", "mount.pth", "METADATA",
    }  # fmt: skip


def test_a_source_archive_loses_its_outer_folder(tmp_path: Path) -> None:
    archives.unpack(sdist({"a-1/src/a/__init__.py": "", "./a-1/setup.py": ""}), "a-1.tar.gz", tmp_path)
    assert (tmp_path / "src/a/__init__.py").is_file()
    assert (tmp_path / "setup.py").is_file()


@pytest.mark.parametrize(
    "name", ["../evil.py", "/evil.py", "a/../../evil.py", "a\\..\\evil.py", "C:/evil.py"]
)
def test_members_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    target = tmp_path / "inside"
    with pytest.raises(UnavailableError, match="leads out of its folder"):
        archives.unpack(wheel({name: ""}), "a-1-py3-none-any.whl", target)
    with pytest.raises(UnavailableError, match="leads out of its folder"):
        archives.unpack(sdist({f"a-1/{name}": ""}), "a-1.tar.gz", target)
    assert list(tmp_path.rglob("*.py")) == []


def test_links_in_a_source_archive_are_not_followed(tmp_path: Path) -> None:
    stream = sdist({"a-1/real.py": ""})
    with tarfile.open(fileobj=(linked := io.BytesIO()), mode="w") as archive:
        for name, target in (("a-1/link.py", "../../outside.py"), ("a-1/hard.py", "/outside.py")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    linked.seek(0)
    with pytest.raises(UnavailableError, match="no Python file"):
        archives.unpack(linked, "a-1.tar", tmp_path)
    assert archives.unpack(stream, "a-1.tar.gz", tmp_path) == 1


def test_sources_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    wanted = Wanted("a", "1.0")
    with pytest.raises(UnavailableError):
        sources.settle(wanted, "a-1.0.tar.gz", sdist({"a-1.0/a.py": "", "a-1.0/../b.py": ""}), tmp_path)
    assert list(tmp_path.iterdir()) == []
    place = sources.settle(wanted, "a-1.0.tar.gz", sdist({"a-1.0/a.py": ""}), tmp_path)
    assert sources.present(wanted, tmp_path) == place
    assert json.loads((place / places.MARKER).read_text()) == {"file": "a-1.0.tar.gz", "n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a-1.0"]


def test_a_folder_without_the_marker_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a-1.0").mkdir()
    (tmp_path / "a-1.0" / "half.py").write_text("")
    wanted = Wanted("a", "1.0")
    assert sources.present(wanted, tmp_path) is None
    place = sources.settle(wanted, "a-1.0.tar.gz", sdist({"a-1.0/a.py": ""}), tmp_path)
    assert sorted(path.name for path in place.iterdir()) == [places.MARKER, "a.py"]


def test_a_source_archive_is_not_taken_for_the_wheel_that_is_wanted(tmp_path: Path) -> None:
    any_kind, built = Wanted.parse("a==1.0"), Wanted.parse("a==1.0:wheel")
    first = sources.settle(any_kind, "a-1.0.tar.gz", sdist({"a-1.0/a.py": ""}), tmp_path)
    assert sources.present(built, tmp_path) is None
    second = sources.settle(
        built, "a-1.0-py3-none-any.whl", wheel({"a.py": "", "a-1.0.dist-info/METADATA": "Name: a"}), tmp_path
    )
    assert sources.present(built, tmp_path) == second
    assert (second / "a-1.0.dist-info" / "METADATA").is_file()
    assert (
        sources.present(any_kind, tmp_path)
        == sources.present(Wanted.parse("a==1.0:sdist"), tmp_path)
        == first
    )


def test_who_fetches_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An integration obtains what it needs, which can take minutes."""
    data = wheel({"a.py": "X = 1\n"}).getvalue()
    file = published("a-1.0-py3-none-any.whl", len(data))
    monkeypatch.setenv(places.SOURCES_VARIABLE, str(tmp_path))
    monkeypatch.setattr(sources, "configured", lambda: Index(("scheme://index",)))
    monkeypatch.setattr(Index, "files", lambda self, name: (file,))
    monkeypatch.setattr(Index, "open", lambda self, url, headers=None: Response(url, "", data, False, None))
    assert (sources.obtain(Wanted.parse("a==1.0")) / "a.py").read_text() == "X = 1\n"
    assert capsys.readouterr().err.startswith("a-1.0: a-1.0-py3-none-any.whl\na-1.0: 0.0 MB of at most")


def test_a_source_archive_travels_in_few_requests(tmp_path: Path) -> None:
    noise = random.Random(0).randbytes(20 * BLOCK).hex()
    content = sdist({"a-1.0/a.py": "X = 1\n", "a-1.0/b.py": noise}).getvalue()
    server = Server(content)
    file = published("a-1.0.tar.gz", len(content))
    index_of = Mock(files=lambda name: (file,), open=server.open)
    place = sources.fetch(Wanted.parse("a==1.0"), tmp_path, index_of, lambda line: None)
    assert (place / "b.py").read_text() == noise
    assert server.travelled == len(content)
    assert 10**6 - server.answers == 1


def test_pip_settings_decide_the_index() -> None:
    def pip(command: list[str]) -> str:
        assert command[1:] == ["-m", "pip", "config", "list"]
        return (
            "global.index-url='scheme://global/simple'\n:env:.index-url='scheme://env/simple'\n"
            "global.extra-index-url='scheme://one scheme://two'\nglobal.cert='/ca.pem'\n"
        )

    found = index.configured(pip)
    assert found.addresses == ("scheme://env/simple", "scheme://one", "scheme://two")
    assert found.certificates == "/ca.pem"


def test_without_settings_pip_is_asked_for_its_own_index() -> None:
    found = index.configured(lambda command: "" if "config" in command else "scheme://built-in/simple\n")
    assert found.addresses == ("scheme://built-in/simple",)


def test_both_kinds_of_index_pages_are_read(tmp_path: Path) -> None:
    page = tmp_path / "simple" / "a"
    page.mkdir(parents=True)
    (page / "index.html").write_text(
        '<a href="a-1.0.tar.gz#sha256=00">a-1.0.tar.gz</a><a href="x">notes.txt</a>'
    )
    (file,) = Index(((tmp_path / "simple").as_uri(),)).files("A")
    assert (file.filename, file.version, file.size) == ("a-1.0.tar.gz", Version("1.0"), None)
    assert file.url == (page / "a-1.0.tar.gz").as_uri()
    listing = {"files": [{"filename": "b-2.0-py3-none-any.whl", "url": "b.whl", "size": 5}]}
    assert index._json_rows(json.dumps(listing).encode()) == [("b-2.0-py3-none-any.whl", "b.whl", 5)]


def test_an_unknown_project_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no files of nothing on the index"):
        Index((tmp_path.as_uri(),)).files("nothing")


class Server:
    """Answers range requests from memory; stops answering after some of them."""

    def __init__(self, content: bytes, ranges: bool = True, answers: int = 10**6) -> None:
        self.content, self.ranges, self.answers = content, ranges, answers
        self.travelled = 0

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Response:
        if self.answers == 0:
            raise UnavailableError("the line is cut")
        self.answers -= 1
        first, last = (headers or {})["Range"].removeprefix("bytes=").split("-")
        body = self.content[int(first) : int(last) + 1] if self.ranges else self.content
        self.travelled += len(body)
        return Response(url, "application/octet-stream", body, self.ranges, len(self.content))


def remote(server: Server, copy: Path, size: int | None) -> RemoteFile:
    file = PublishedFile("a-1.0-py3-none-any.whl", "scheme://index/a.whl", Version("1.0"), size)
    return RemoteFile(server, file, copy)  # type: ignore[arg-type]


def big_wheel() -> bytes:
    noise = "".join(chr(33 + (number * 7919) % 90) for number in range(3000))
    members = {f"a/data{number}.bin": noise * 60 for number in range(30)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a/__init__.py", "first = 1\n")
        for name, text in members.items():
            archive.writestr(name, text)
        archive.writestr("a/last.py", "last = 1\n")
    return stream.getvalue()


@pytest.mark.parametrize("size_known", [True, False])
def test_only_the_python_files_of_a_big_wheel_travel(size_known: bool, tmp_path: Path) -> None:
    content = big_wheel()
    server = Server(content)
    with remote(server, tmp_path / "part", len(content) if size_known else None) as stream:
        assert archives.unpack(stream, "a-1.0-py3-none-any.whl", tmp_path / "out") == 2  # type: ignore[arg-type]
    assert (tmp_path / "out/a/last.py").read_text() == "last = 1\n"
    assert server.travelled < len(content) / 5


def test_what_was_fetched_before_an_interruption_does_not_travel_again(tmp_path: Path) -> None:
    content = big_wheel()
    cut = Server(content, answers=1)
    with (
        pytest.raises(UnavailableError, match="the line is cut"),
        remote(cut, tmp_path / "part", len(content)) as one,
    ):
        one.ensure([(0, BLOCK), (len(content) - BLOCK, len(content))])
    again = Server(content)
    with remote(again, tmp_path / "part", len(content)) as stream:
        assert stream.read(100) == content[:100]
        assert again.travelled == 0
        assert stream.read() == content[100:]
    assert again.travelled <= len(content) - BLOCK


def test_a_server_without_ranges_is_read_once(tmp_path: Path) -> None:
    content = bytes(range(256)) * 2000
    server = Server(content, ranges=False)
    with remote(server, tmp_path / "part", len(content)) as stream:
        stream.seek(-10, io.SEEK_END)
        assert stream.read() == content[-10:]
        stream.seek(0)
        assert stream.read() == content
    assert server.travelled == len(content)


def test_neighbouring_blocks_share_a_request() -> None:
    assert stretches([0, 1, 3, 50, 51]) == [(0, 3), (50, 51)]
    assert stretches([]) == []
