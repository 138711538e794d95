"""The page: one file, nothing fetched, nothing unescaped, and complete without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.report.recordings.familiar_paths import familiar
from coldfork.report.recordings.page import difference, document
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, POISONED, Tape, cold, frame, poisoned

pytestmark = pytest.mark.once

#: What somebody would put into a module name or an argument to get into the page.
ATTACKS = (
    "</script><script>steal()</script>",
    "</script ><!--<script ",
    "<img src=x onerror=steal()>",
    '"><svg onload=steal()>',
    "' onmouseover='steal()",
    "]]>--><b>x",
    "&lt;script&gt;",
    "javascript:steal()",
    "\u202etxt.exe\u2028\x00\x1b[31m\udce9",
)
VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed in order, and all that matters is collected."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self._open: list[str] = []
        self.feed(content)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag in self.inside:
            self.inside[tag].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.inside:
            self.inside[self._open[-1]][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(tape: Tape, view: Options | None = None) -> Page:
    return Page(document.render(tape.read(), view or Options(version="0.1.0")))


def hostile() -> Tape:
    """A recording in which everything that can be named is an attack."""
    tape = Tape(
        command=list(ATTACKS), cwd=ATTACKS[0], device=ATTACKS[1], environment={ATTACKS[2]: ATTACKS[3]}
    )
    tape.process(command=list(ATTACKS))
    for number, attack in enumerate(ATTACKS):
        tape.event("effect", 0.5, kind=attack, what=attack, stack=[frame(attack, 1, attack)])
        tape.load(attack, number, 0.5, attack)
        chain = [{"module": attack, "path": attack, "line": 1}]
        stack = [frame(attack, 2, attack)]
        told: dict[str, Any] = {
            "module": attack,
            "path": attack,
            "function": attack,
            "call": attack,
            "thread": attack,
        }
        tape.wake(number + 0.2, accelerator=attack, import_chain=chain, stack=stack, **told)
        tape.event("fork", 10 + number, child=200 + number, stack=stack, states=AWAKE, thread=attack)
        tape.event("trouble", 1.0, what=attack, detail=attack)
        tape.event(attack, 2.0)
    tape.process(10.5, 200, 100, "fork", states=POISONED, command=[ATTACKS[0]])
    return tape.event("cut", 20.0, reason=ATTACKS[0], dropped=1)


def hashed(content: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"


def data(read: Page) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(read.inside["script"][0])
    return loaded


@pytest.mark.must_hold
@pytest.mark.parametrize(
    "tape", [cold(), poisoned(3), hostile(), Tape()], ids=["cold", "poisoned", "hostile", "empty"]
)
def test_a_page_fetches_nothing_and_runs_nothing_but_its_own_script(tape: Tape) -> None:
    content = document.render(tape.read(), Options())
    read = Page(content)
    (policy,) = [
        attributes["content"]
        for attributes in read.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,), (embedded, script) = read.inside["style"], read.inside["script"]
    assert "default-src 'none'" in policy
    assert f"script-src {hashed(script)};" in policy
    assert f"style-src {hashed(style)};" in policy
    assert "unsafe" not in policy
    assert embedded.isascii()
    assert not set("<>&") & set(embedded)
    for tag, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (
            tag,
            attributes,
        )
        for name in ("src", "href", "action", "srcset", "xlink:href", "formaction"):
            assert attributes.get(name, "#").startswith("#") or attributes[name] == "data:,", (
                tag,
                attributes,
            )
    assert "http://" not in content
    assert "https://" not in content
    assert "@import" not in style
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", style))


@pytest.mark.must_hold
def test_nothing_of_a_hostile_recording_becomes_markup() -> None:
    ordinary = {tag for tag, _ in page(poisoned(3)).elements} | {"li", "ul", "div", "p", "b"}
    read = page(hostile())
    assert {tag for tag, _ in read.elements} <= ordinary | {"h2"}
    assert len(read.all("script")) == 2
    assert "steal()" in read.text
    assert all(character.isprintable() or character == "\n" for character in read.text)


def test_every_id_is_there_once_and_every_link_leads_somewhere() -> None:
    read = page(poisoned(4))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"][1:] for attributes in read.all("a")}
    assert links
    assert links <= set(ids)


def test_the_page_says_what_matters_without_its_script() -> None:
    read = page(poisoned(2))
    assert read.inside["title"][0] == "poisoned: python serve.py --workers 2 - coldfork"
    for words in (
        "cuda was awake in process 100, and 2 processes forked from it cannot use it",
        "vllm/v1/attention/backends/flash_attn.py:175 in FlashAttentionMetadataBuilder",
        "calls torch.cuda.get_device_capability",
        "forked while it was awake, and so poisoned: 101 , 102",
        "Next: coldfork rule device-init-at-import",
        "forked by serve.py:12",
        "cuda poisoned",
        "coldfork report FILE --format text",
    ):
        assert words in read.text, words


def test_the_timeline_has_a_bar_for_each_stretch_and_an_edge_for_each_fork() -> None:
    read = page(poisoned(3))
    classes = [attributes.get("class", "") for _, attributes in read.elements]
    assert sum(name.startswith("edge poisoned-fork") for name in classes) == 3
    assert sum(name == "arrival poisoned-fork" for name in classes) == 3
    lanes = [
        attributes
        for tag, attributes in read.elements
        if tag == "rect" and "state" in attributes.get("class", "")
    ]
    hatched = [one for one in lanes if one["class"] == "state poisoned" and one["x"].endswith("%")]
    assert len({one["y"] for one in hatched}) == 3
    assert classes.count("wake") == 2
    patterns = {attributes["id"] for attributes in read.all("pattern")}
    assert patterns == {"hatch", "dots"}


def test_a_process_whose_end_is_unknown_is_drawn_open_and_still_seen() -> None:
    tape = Tape().process().wake(1.0).fork(2.0, 101).exit(9.0, states=AWAKE)
    read = page(tape)
    (stub,) = [one for one in read.all("rect") if one.get("class") == "state poisoned open"]
    assert float(stub["width"]) > 20
    assert "not watched" in read.text


def test_the_imports_are_handed_to_the_script_with_their_effects() -> None:
    handed = data(page(poisoned(1)))
    (process,) = handed["processes"]
    strings = handed["strings"]
    rows = [(strings[row[0]], row[2], row[3], row[5], strings[row[6]]) for row in process["imports"]]
    assert rows == [
        ("torch", 0, 1200000, 1, "starts-threads: libgomp: 8 threads"),
        ("torch._C", 1, 300000, 0, ""),
        ("torch.nn", 1, 400000, 0, ""),
        ("engine", 0, 700000, 2, ""),
        ("vllm.v1.attention.backends.flash_attn", 1, 600000, 3, "wakes cuda"),
    ]


def test_source_lines_need_consent() -> None:
    secret = "password = 'hunter2'"
    assert secret not in page(poisoned(1)).text
    assert secret in page(poisoned(1), Options(source=lambda path, line: secret)).text


def test_paths_are_shown_as_people_know_them() -> None:
    tape = Tape(cwd="/srv/app").process()
    stack = [
        frame("/srv/app/engine/core.py", 3),
        frame("/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py", 720, "f"),
    ]
    tape.wake(1.0, path="/srv/app/engine/core.py", line=3, stack=stack)
    text = page(tape.exit(2.0, states=AWAKE)).text
    assert "Woken by engine/core.py:3" in text
    assert "torch/cuda/__init__.py:720" in text
    assert "/opt/venv" not in text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/srv/app/engine/core.py", "engine/core.py"),
        ("/srv/application/core.py", "/srv/application/core.py"),
        ("/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py", "torch/cuda/__init__.py"),
        ("/srv/app/.venv/lib64/python3.12/site-packages/torch/_C.so", "torch/_C.so"),
        ("/usr/lib/python3/dist-packages/numpy/core.py", "numpy/core.py"),
        ("/usr/lib/python3.12/json/decoder.py", "python3.12/json/decoder.py"),
        ("C:\\env\\Lib\\site-packages\\torch\\cuda.py", "torch\\cuda.py"),
        ("<string>", "<string>"),
    ],
)
def test_a_path_says_what_it_is_and_not_where_it_lies(path: str, shown: str) -> None:
    assert familiar(path, "/srv/app") == shown


def test_hundreds_of_processes_and_thousands_of_imports_stay_small() -> None:
    tape = Tape().process()
    for number in range(5000):
        tape.load(f"package.module{number}", number / 1000, 0.0009)
    tape.wake(6.0)
    for number in range(500):
        tape.fork(6.1 + number / 100, 1000 + number)
        tape.process(6.11 + number / 100, 1000 + number, 100, "fork", states=POISONED)
    content = document.render(tape.exit(20.0, states=AWAKE).read(), Options())
    assert len(content) < 2_000_000
    read = Page(content)
    assert len(data(read)["processes"][0]["imports"]) == 5000
    assert sum(attributes.get("id", "").startswith("process-") for attributes in read.all("tr")) == 501


def test_the_page_of_a_difference_is_as_safe() -> None:
    content = difference.render(hostile().read(), poisoned(2).read(), Options())
    read = Page(content)
    assert len(read.all("script")) == 2
    assert "steal()" in read.text
    assert {"before:", "after:"} <= set(read.text.split())
    assert "Nothing but times differs." not in read.text
    same = Page(difference.render(cold().read(), cold().read(), Options()))
    assert "Nothing but times differs." in same.text


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_markup_escapes_whatever_it_did_not_make_itself(word: str, value: str) -> None:
    made = element("p", word, join([word, element("b", value)]), title=value)
    read = Page(made)
    assert [tag for tag, _ in read.elements] == ["p", "b"]
    assert isinstance(made, Markup)
    assert set(read.elements[0][1]) == {"title"}


def test_a_cold_page_shows_a_cold_bar() -> None:
    tape = Tape().process(states=COLD).exit(1.0)
    bars = [one for one in page(tape).all("rect") if one.get("class") == "state cold" and "%" in one["width"]]
    assert [(one["x"], one["width"]) for one in bars] == [("0.0000%", "98.0000%")]
