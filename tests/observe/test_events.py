"""Lines of a recording: whatever is written can be read again, by us and by any reader of JSON."""

from __future__ import annotations

import json
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from coldfork.observe.recording.events import decode, encode, read
from tests.observe.processes import SOURCES, Event

SECONDS = st.integers(0, 10**9).map(lambda micros: micros / 1_000_000)
IMPORTS = st.fixed_dictionaries(
    {
        "event": st.just("import"),
        "module": st.text(),
        "path": st.none() | st.text(),
        "start": SECONDS,
        "seconds": SECONDS,
        "parent": st.none() | st.text(),
        "t": SECONDS,
        "pid": st.integers(1, 2**22),
        "tid": st.integers(1, 2**22),
    }
)


@given(IMPORTS)
def test_an_import_is_written_as_json_writes_it(event: Event) -> None:
    """It has a way of its own, because there are thousands; nobody who reads it can tell."""
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == decode(line.decode("ascii")) == event


@given(st.lists(IMPORTS), st.integers(0, 500))
def test_a_recording_is_read_up_to_where_it_was_cut(events: list[Event], lost: int) -> None:
    """Every line before the cut is there, and only they."""
    data = b"".join(map(encode, events))
    kept = data[: max(0, len(data) - lost)]
    found, _ = read(kept)
    complete = kept.count(b"\n")
    # A cut that takes the line's end alone leaves its event readable.
    assert found in (events[:complete], events[: complete + 1])


def test_what_is_unusual_in_an_import_is_written_all_the_same() -> None:
    """A path that is no text, a key that is missing: the general way knows what to do."""
    assert json.loads(encode({"event": "import", "module": "a", "path": 3})) == {
        "event": "import",
        "module": "a",
        "path": 3,
    }


def test_a_damaged_line_is_a_value_error_where_nobody_has_loaded_json() -> None:
    code = (
        "import sys\nfrom coldfork.observe.recording.events import decode\nassert 'json' not in sys.modules\n"
        "try: decode('{\"event\":\"import\" 5')\nexcept ValueError: print('refused')\n"
    )
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(SOURCES)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "refused\n", process.stderr
