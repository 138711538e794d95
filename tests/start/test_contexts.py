"""The context that is handed out, the line in the log, and the variables that others read."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys

import pytest

import coldfork
from coldfork.model.decisions import Decision, Reason, Weight
from coldfork.model.errors import ColdforkError
from coldfork.start import contexts
from tests.start.surroundings import thing
from tests.start.test_decide import run


def deciding(monkeypatch: pytest.MonkeyPatch, *reasons: Reason, method: str = "spawn") -> None:
    """Have every decision come out so."""

    def weighed(target: object, **options: object) -> Decision:
        return Decision(method, reasons)

    monkeypatch.setattr(contexts, "weighed", weighed)


AWAKE = Reason("cuda-awake", "cuda is awake here")
SAVES_NOTHING = Reason("forkserver-preloads-nothing", "it saves nothing", "forkserver", Weight.CIRCUMSTANCE)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_context_is_that_of_multiprocessing(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    deciding(monkeypatch, method=method)
    # As in a program that has a file; pytest's own processes have none.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    assert coldfork.get_context() is multiprocessing.get_context(method)
    assert coldfork.get_context().get_start_method() == method


def test_the_default_of_multiprocessing_stays_as_it_is() -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    coldfork.get_context()
    assert multiprocessing.get_start_method(allow_none=True) == before


def test_one_line_in_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deciding(monkeypatch, AWAKE, SAVES_NOTHING)
    with caplog.at_level(logging.INFO, "coldfork"):
        coldfork.get_context()
    assert caplog.messages == ["spawn, because cuda is awake here"]


def test_a_method_that_is_named_is_used_with_a_warning_that_gives_the_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deciding(monkeypatch, AWAKE)
    with pytest.warns(
        UserWarning, match="fork is used as requested, although cuda is awake here; coldfork would"
    ) as said:
        context = coldfork.get_context("fork")
    assert context.get_start_method() == "fork"
    assert said[0].filename == __file__


def test_a_method_that_nothing_speaks_against_is_used_without_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deciding(monkeypatch, AWAKE, SAVES_NOTHING)
    with caplog.at_level(logging.INFO, "coldfork"):
        assert coldfork.get_context("spawn").get_start_method() == "spawn"
        assert coldfork.get_context("forkserver").get_start_method() == "forkserver"
    assert caplog.messages == ["spawn, as requested", "forkserver, as requested"]


def test_a_method_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(
        ColdforkError, match="there is no start method 'thread'; choose fork, spawn, forkserver, zygote"
    ):
        coldfork.get_context("thread")


@pytest.mark.parametrize(
    ("method", "before", "after"),
    [
        ("fork", {}, {"VLLM_WORKER_MULTIPROC_METHOD": "fork", "MULTIPROCESSING_START_METHOD": "fork"}),
        ("spawn", {}, {"VLLM_WORKER_MULTIPROC_METHOD": "spawn", "MULTIPROCESSING_START_METHOD": "spawn"}),
        (
            "forkserver",
            {},
            {"VLLM_WORKER_MULTIPROC_METHOD": "spawn", "MULTIPROCESSING_START_METHOD": "forkserver"},
        ),
        (
            "spawn",
            {
                "VLLM_WORKER_MULTIPROC_METHOD": "fork",
                "TORCHINDUCTOR_WORKER_START": "fork",
                "JOBLIB_START_METHOD": "fork",
            },
            {
                "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
                "MULTIPROCESSING_START_METHOD": "spawn",
                "TORCHINDUCTOR_WORKER_START": "spawn",
                "JOBLIB_START_METHOD": "spawn",
            },
        ),
        (
            "spawn",
            {"TORCHINDUCTOR_WORKER_START": "subprocess", "JOBLIB_START_METHOD": "forkserver"},
            {
                "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
                "MULTIPROCESSING_START_METHOD": "spawn",
                "TORCHINDUCTOR_WORKER_START": "subprocess",
                "JOBLIB_START_METHOD": "forkserver",
            },
        ),
    ],
)
def test_the_variables_that_others_read_agree(
    method: str, before: dict[str, str], after: dict[str, str]
) -> None:
    environment = dict(before)
    contexts.apply(method, environment)
    assert environment == after


def test_in_a_worker_of_ray_a_new_process_is_told_the_clusters_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = type(sys)("ray")
    ray.get_runtime_context = lambda: thing(gcs_address="10.0.0.1:6379")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    for name in ("RAY_ADDRESS", "VLLM_WORKER_MULTIPROC_METHOD", "MULTIPROCESSING_START_METHOD"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    deciding(monkeypatch, AWAKE)
    coldfork.get_context(apply_env=True)
    assert "RAY_ADDRESS" not in os.environ
    deciding(monkeypatch, Reason("ray-worker", "this is a worker of Ray", weight=Weight.CIRCUMSTANCE))
    coldfork.get_context()
    assert "RAY_ADDRESS" not in os.environ
    coldfork.get_context(apply_env=True)
    assert os.environ["RAY_ADDRESS"] == "10.0.0.1:6379"


def test_variables_are_set_only_when_that_is_asked_for() -> None:
    said = run(
        """
        names = ("VLLM_WORKER_MULTIPROC_METHOD", "MULTIPROCESSING_START_METHOD")
        coldfork.get_context()
        told["before"] = [os.environ.get(name) for name in names]
        coldfork.get_context("spawn", apply_env=True)
        told["after"] = [os.environ.get(name) for name in names]
        """,
        VLLM_WORKER_MULTIPROC_METHOD="",
        MULTIPROCESSING_START_METHOD="",
    )
    assert said == {"before": ["", ""], "after": ["spawn", "spawn"]}
