"""The modules left out of a list, with the line of the reason, and those kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldfork.launch.preload.sources import Sources
from coldfork.model.errors import UsageError
from coldfork.model.preloads import Stain
from tests.launch.preload import stained
from tests.launch.preload.conftest import Fill, Search

pytestmark = pytest.mark.once


@pytest.mark.must_hold
def test_each_stain_is_left_out_with_its_line_and_what_is_clean_beside_it_is_kept(
    fill: Fill, search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", str(tmp_path))
    for name in ("CUDA_VISIBLE_DEVICES", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    fill(stained.MODULES)
    found = search("worker")
    seen = {one.module: (one.stain.value, one.reason, one.path, one.line) for one in found.left_out}
    assert seen.keys() == stained.LEFT.keys()
    for module, (stain, reason, path, line) in stained.LEFT.items():
        assert (seen[module][0], *seen[module][2:]) == (stain, path, line), module
        assert reason in seen[module][1]
    # And of the standard library what they import.
    ours = [one.module for one in found.kept if one.module in stained.MODULES]
    assert ours == stained.KEPT
    assert {"threading", "subprocess", "socket"} <= {one.module for one in found.kept} | set(sys.modules)
    assert found.seeds == (
        "drawing:Names.draw.__kwdefaults__.source",
        "drawing:Names.generator",
        "drawing:draw.__defaults__.0",
    )
    assert {"using the device", "initialising the device's driver"} & set(found.kept[-1].tried)
    assert "drawing new seeds" in found.kept[0].tried
    assert found.trouble is None


def test_a_module_is_told_with_the_imports_that_led_to_it(fill: Fill, search: Search) -> None:
    fill(
        {name: stained.MODULES[name] for name in ("through", "nearby", "waking")}
        | {"top": "import through\n"}
    )
    (left,) = search("top").left_out
    assert [(site.module, site.path, site.line) for site in left.chain] == [
        ("top", "top.py", 1),
        ("through", "through.py", 2),
        ("waking", "waking.py", 8),
    ]
    assert [(frame.function, frame.line) for frame in left.stack] == [("<module>", 8), ("count", 5)]


def test_what_is_clean_altogether_is_one_entry_that_spares_nearly_everything(
    fill: Fill, search: Search
) -> None:
    fill(
        {
            "one": "import two\nimport decimal\nimport xml.dom.minidom\nimport http.client\n",
            "two": stained.FINE,
        }
    )
    found = search("one")
    assert ([one.module for one in found.kept], found.left_out) == (["one"], ())
    assert found.share is not None
    assert found.share > 0.9
    assert found.loaded > 10


def test_nothing_of_a_package_whose_own_import_is_unclean_can_be_kept_but_what_it_imports(
    fill: Fill, search: Search
) -> None:
    fill(
        {
            "engine.__init__": "import aside\n" + "import waking\n",
            "engine.part": "import other\n",
            "aside": stained.FINE,
            "other": stained.FINE,
            "waking": stained.MODULES["waking"],
        }
    )
    found = search("engine.part")
    assert [one.module for one in found.kept if one.module in ("aside", "other")] == ["aside", "other"]
    assert not [one.module for one in found.kept if one.module.startswith("engine")]
    assert [one.module for one in found.left_out] == ["waking"]


def test_of_two_that_need_the_same_unclean_one_neither_is_kept(fill: Fill, search: Search) -> None:
    fill(
        {
            "one": "import ticking\n",
            "two": "import quopri\nimport ticking\n",
            "three": "import stringprep\n",
            "ticking": stained.MODULES["ticking"],
        }
    )
    found = search("one", "two", "three")
    assert {"one", "two"} & {one.module for one in found.kept} == set()
    assert {"three", "quopri"} <= {one.module for one in found.kept}
    assert [one.module for one in found.left_out] == ["ticking"]


def test_a_module_after_which_a_forked_child_cannot_work_is_left_out(fill: Fill, search: Search) -> None:
    breaking = "import os\n\nos.register_at_fork(after_in_child=lambda: os._exit(7))\n"
    fill({"top": "import fine\nimport breaking\n", "fine": stained.FINE, "breaking": breaking})
    found = search("top")
    assert [(one.module, one.stain) for one in found.left_out] == [("breaking", Stain.BREAKS)]
    assert "fine" in [one.module for one in found.kept]


def test_an_import_that_ends_the_process_or_never_ends_is_left_out(fill: Fill, search: Search) -> None:
    # Not where nobody watches: a worker can import them.
    watched = "import sys\n\nif 'coldfork.launch.preload.trying.observer' in sys.modules:\n    "
    fill(
        {
            "top": "import fine\nimport leaving\n",
            "other": "import staying\n",
            "fine": stained.FINE,
            "leaving": f"{watched}import os; os._exit(3)\n",
            "staying": f"{watched}import time; time.sleep(1000)\n",
        }
    )
    found = search("other", "top", timeout=4)
    assert {(one.module, one.stain) for one in found.left_out} == {
        ("leaving", Stain.ENDS),
        ("staying", Stain.HANGS),
    }
    assert "fine" in [one.module for one in found.kept]


def test_a_child_that_an_import_forks_does_no_harm(fill: Fill, search: Search) -> None:
    forking = "import os\n\nif os.fork():\n    os.wait()\n"
    fill({"top": "import forking\nimport fine\n", "forking": forking, "fine": stained.FINE})
    found = search("top")
    assert (found.left_out, [one.module for one in found.kept]) == ((), ["top"])


def test_a_lock_that_was_let_go_and_a_thread_and_a_process_that_have_ended_are_no_stains(
    fill: Fill, search: Search
) -> None:
    fill(
        {
            "clean": """
                import socket
                import subprocess
                import sys
                import threading

                LOCK = threading.Lock()
                with LOCK:
                    thread = threading.Thread(target=int)
                    thread.start()
                    thread.join()
                    subprocess.run([sys.executable, "-c", ""], check=True)
                    socket.socket().close()
                """
        }
    )
    assert search("clean").left_out == ()


def test_a_module_that_is_not_there_is_said_so(fill: Fill, search: Search) -> None:
    fill({})
    with pytest.raises(
        UsageError, match=r"importing nowhere with .* raises ModuleNotFoundError: No module named"
    ):
        search("nowhere")


def test_a_worker_s_import_that_raises_is_said_with_the_error(fill: Fill, search: Search) -> None:
    fill({"raising": "raise OSError('no such disk')\n"})
    with pytest.raises(UsageError, match=r"importing raising with .* raises OSError: no such disk"):
        search("raising")


def test_variables_that_are_read_and_set_are_told_with_their_lines(fill: Fill, search: Search) -> None:
    fill(
        {"reading": "import os\n\nHOME = os.getenv('WHERE_IT_IS')\nos.environ.setdefault('SET_HERE', '1')\n"}
    )
    found = search("reading")
    assert [(use.name, use.module, use.path, use.line) for use in found.reads if use.module == "reading"] == [
        ("SET_HERE", "reading", "reading.py", 4),
        ("WHERE_IT_IS", "reading", "reading.py", 3),
    ]
    assert [(use.name, use.line) for use in found.writes] == [("SET_HERE", 4)]


def test_a_line_that_check_reads_and_that_did_not_wake_is_told(fill: Fill, search: Search) -> None:
    fill(
        {
            "maybe": """
                import os

                if os.environ.get("WAKE_IT"):
                    import torch

                    torch.cuda.init()
                """
        }
    )
    found = search("maybe")
    assert [one.module for one in found.kept] == ["maybe"]
    assert [(doubt.path, doubt.verdict) for doubt in found.doubts] == [("maybe.py", "conditional")]


def test_a_list_that_was_kept_is_clean_until_a_module_of_it_is_not(fill: Fill, search: Search) -> None:
    fill({"one": stained.FINE, "two": stained.FINE})
    kept = ("one", "two")
    still = search("one", "two", kept=kept)
    assert (still.holds, [one.module for one in still.kept]) == (True, ["one", "two"])
    fill({"two": stained.MODULES["ticking"]})
    now = search("one", "two", kept=kept)
    assert not now.holds
    assert [(one.module, one.stain, one.path, one.line) for one in now.left_out] == [
        ("two", Stain.THREAD, "two.py", 8)
    ]


def test_a_list_that_remembers_a_worker_s_own_variable_is_not_clean(fill: Fill, search: Search) -> None:
    fill({"two": stained.MODULES["remembering"]})
    now = search("two", kept=("two",))
    assert [(one.module, one.stain) for one in now.left_out] == [("two", Stain.ENVIRONMENT)]


def test_torch_is_clean_and_spares_a_worker_its_import(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    # What is asked is what the import did: to read all of torch as well takes three times as long.
    monkeypatch.setattr("coldfork.launch.preload.search.read_sources", lambda *_: Sources())
    found = search("torch")
    assert ([one.module for one in found.kept], found.left_out) == (["torch"], ())
    assert found.share is not None
    assert found.share > 0.9
    assert {"a parallel operation of torch", "asking torch.cuda", "using the device"} <= set(
        found.kept[0].tried
    )
