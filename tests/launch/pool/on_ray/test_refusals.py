"""The refusals of `backend="ray"` where there is no Ray, and of terms that Ray cannot keep."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from coldfork.launch.devices.choice import FreeDevices
from coldfork.launch.pool.on_ray.cluster import Share, ray_package, refuse_what_ray_lacks, share_of
from coldfork.launch.pool.pool import WorkerPool
from coldfork.launch.pool.terms import PoolTerms
from coldfork.model.errors import UsageError

MISSING = r"^backend=\"ray\" needs Ray, which is not installed here: pip install 'coldfork\[ray\]'$"


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
def test_without_ray_a_pool_says_how_to_get_it() -> None:
    with pytest.raises(UsageError, match=MISSING):
        WorkerPool(1, backend="ray")


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
def test_a_folder_of_that_name_is_not_taken_for_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ray" / "session_latest").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_spec("ray") is not None
    with pytest.raises(UsageError, match=MISSING):
        ray_package()
    assert "ray" not in sys.modules


def test_what_ray_does_not_keep_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^max_memory does not work with backend=\"ray\": .*max_tasks"):
        refuse_what_ray_lacks("2 GiB", None)
    with pytest.raises(
        UsageError, match=r"^log_dir does not work with backend=\"ray\": .*session_latest/logs"
    ):
        refuse_what_ray_lacks(None, tmp_path / "logs")
    with pytest.raises(UsageError, match="max_device_memory"):
        refuse_what_ray_lacks(None, None, "4 GiB")
    refuse_what_ray_lacks(None, None)
    assert not list(tmp_path.iterdir())


def test_a_variable_cannot_be_taken_away() -> None:
    with pytest.raises(UsageError, match=r"^env cannot unset ONE, TWO with backend=\"ray\""):
        share_of(PoolTerms(1, env={"TWO": None, "KEPT": "1", "ONE": None}))


@pytest.mark.parametrize("devices", [[0, 1], "0,1", FreeDevices(), True, 0, -1])
def test_it_is_ray_that_chooses_the_devices(devices: object) -> None:
    with pytest.raises(UsageError, match="Ray chooses the devices"):
        share_of(PoolTerms(2, devices=devices))  # type: ignore[arg-type]


def test_devices_that_cannot_be_dealt_out_evenly_are_refused() -> None:
    with pytest.raises(UsageError, match="devices=3 cannot be divided evenly among 2 workers"):
        share_of(PoolTerms(2, devices=3))


@pytest.mark.parametrize(
    ("workers", "devices", "each"),
    [(3, None, 0.0), (3, "auto", 1.0), (2, 4, 2.0), (4, 1, 0.25), (3, 1, 0.3333), (3, 2, 0.6666)],
)
def test_each_worker_asks_for_its_part(workers: int, devices: int | str | None, each: float) -> None:
    share = share_of(PoolTerms(workers, devices=devices))
    assert share.gpus == each
    if isinstance(devices, int):
        assert share.gpus * workers <= devices


def test_ray_is_told_to_begin_nothing_again() -> None:
    plain = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
    assert Share().options() == plain
    assert Share(0.5, {"A": "1"}).options() == {
        **plain,
        "num_cpus": 0,
        "num_gpus": 0.5,
        "runtime_env": {"env_vars": {"A": "1"}},
    }


def test_preload_may_be_a_file_here_too(tmp_path: Path) -> None:
    listed = tmp_path / "preload.toml"
    listed.write_text('wanted = ["json"]\nmodules = ["json", "decimal"]\n', encoding="utf-8")
    assert share_of(PoolTerms(1, preload=listed)).preload == ("json", "decimal")
    with pytest.raises(UsageError, match="preload has to be a list of"):
        share_of(PoolTerms(1, preload="json"))
