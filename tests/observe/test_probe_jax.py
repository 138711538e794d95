"""JAX's clients, read from its table."""

from __future__ import annotations

import sys

import pytest

from tests.observe.probing import ask

TABLE = """
import types
def table(backends):
    bridge = types.ModuleType("jax._src.xla_bridge")
    bridge._backends = backends
    sys.modules[bridge.__name__] = bridge
    return [state("jax"), state("jax-cpu"), states.Poller().awake()]
"""


@pytest.mark.must_hold
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_the_cpu_client_is_awake_once_devices_were_listed_and_its_children_are_poisoned() -> None:
    pytest.importorskip("jax")
    said = ask(
        """
import warnings
warnings.simplefilter("ignore")
poller = states.Poller()
tell(before=[state("jax"), state("jax-cpu")])
import jax
tell(imported=[state("jax"), state("jax-cpu")], then=poller.awake())
states.remember_for_children()
def work():
    return float(jax.numpy.ones((100, 100)).sum())
tell(of_cold=in_child(lambda: [state("jax-cpu"), work(), state("jax-cpu")], seconds=60))
jax.devices()
tell(listed=[state("jax"), state("jax-cpu")], after=poller.awake())
tell(unrecorded=in_child(lambda: [state("jax-cpu"), reason("jax-cpu"), states.Poller().awake()]))
states.remember_for_children()
tell(recorded=in_child(lambda: [state("jax-cpu"), reason("jax-cpu"), poller.awake()]))
tell(stuck=in_child(lambda: float(jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((800, 800)))), seconds=10))
""",
        environment={"JAX_PLATFORMS": "cpu"},
    )
    assert said["before"] == [["absent", None], ["absent", None]]
    assert said["imported"] == [["cold", None], ["cold", None]]
    assert said["then"] == []
    assert said["of_cold"] == [["cold", None], 10000.0, ["awake", "context"]]
    assert said["listed"] == [["cold", None], ["awake", "context"]]
    assert said["after"] == [["jax-cpu", "context"]]
    why = "JAX has a client for cpu whose threads stayed behind at a fork"
    assert said["unrecorded"][:2] == [["poisoned", None], why]
    why = "this process was forked from one that had it awake, level context"
    assert said["recorded"] == [["poisoned", None], why, []]
    assert said["stuck"] == "ended with 14"


@pytest.mark.parametrize(
    ("backends", "device", "cpu", "polled"),
    [
        ("{}", ["cold", None], ["cold", None], []),
        ("{'cpu': 1}", ["cold", None], ["awake", "context"], [["jax-cpu", "context"]]),
        (
            "{'cpu': 1, 'cuda': 2}",
            ["awake", "context"],
            ["awake", "context"],
            [["jax", "context"], ["jax-cpu", "context"]],
        ),
        ("{'tpu': 1}", ["awake", "context"], ["cold", None], [["jax", "context"]]),
        ("None", ["unknown", None], ["unknown", None], []),
    ],
)
def test_each_platform_belongs_to_one_of_the_two(
    backends: str, device: list[str], cpu: list[str], polled: list[list[str]]
) -> None:
    assert ask(TABLE + f"tell(said=table({backends}))") == {"said": [device, cpu, polled]}


def test_something_that_is_no_module_in_its_place_is_unknown() -> None:
    said = ask(
        """
class Anything:
    def __getattr__(self, name):
        raise SystemExit("asked for " + name)
sys.modules["jax._src.xla_bridge"] = Anything()
tell(here=[state("jax"), state("jax-cpu")], polled=states.Poller().awake(), why=reason("jax"))
"""
    )
    assert said == {
        "here": [["unknown", None], ["unknown", None]],
        "polled": [],
        "why": "jax._src.xla_bridge was replaced by an object that is not a module",
    }
