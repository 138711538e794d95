"""The errors of tasks made from Ray's words, which are those of Ray 2.60.0, as it wrote them."""

from __future__ import annotations

from coldfork.launch.pool.on_ray.actor import Whereabouts
from coldfork.launch.pool.on_ray.worker import death, reason, unready

KILLED = """\
The actor died unexpectedly before finishing this task.
	class_name: TaskActor
	actor_id: 54e800fac83b5eb1cbc8e87301000000
	pid: 8688
	namespace: 2f1b60b0-b557-48c8-a8bc-4f7df1760d76
	ip: 192.0.2.2
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker \
unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was killed \
by the OOM killer due to high memory usage, (2) ray stop --force was called, or (3) the worker crashed unexpectedly."""
UNREACHABLE = """\
The actor 5feb0ac2fb18c2c66788a07a01000000 is unavailable: The actor is temporarily unavailable: RpcError: RPC error: \
Socket closed rpc_code: 14. The task may or may not have been executed on the actor."""
NODE = """\
The actor died unexpectedly before finishing this task.
	class_name: TaskActor
	actor_id: 49ef58379f50e560617d320901000000
The actor died because its node has died. Node Id: 5b6988cdb6cff74fcc2fb2c5638f467a76f21c6820b91e1672557efc
	the actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats"""
LACKING = """\
The actor died because of an error raised in its creation task, \x1b[36mray::TaskActor.__init__()\x1b[39m (pid=9154)
RuntimeError: The actor with name TaskActor failed to import on the worker. This may be because needed library \
dependencies are not installed in the worker environment:

ModuleNotFoundError: No module named 'coldfork'"""
AT = Whereabouts(8688, "192.0.2.2", "d6c9", ("1",))


def test_a_death_says_which_process_it_was_and_why() -> None:
    error = death(Exception(KILLED), AT, "GPU 1")
    assert str(error) == (
        "the worker that ran the task (pid 8688 on node 192.0.2.2, GPU 1) was lost; Ray says: its worker process "
        "has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection "
        "error code 2. End of file."
    )
    assert (error.pid, error.device, error.exitcode, error.signal) == (8688, "GPU 1", None, None)


def test_a_node_that_has_died_is_named() -> None:
    assert reason(Exception(NODE)) == (
        "its node has died. Node Id: 5b6988cdb6cff74fcc2fb2c5638f467a76f21c6820b91e1672557efc\n"
        "\tthe actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats"
    )


def test_an_actor_that_cannot_be_reached_is_not_called_dead() -> None:
    assert reason(Exception(UNREACHABLE)) == (
        "The actor is temporarily unavailable: RpcError: RPC error: Socket closed rpc_code: 14"
    )


def test_words_that_are_not_known_are_handed_on() -> None:
    assert (
        reason(Exception("another release says it in its own way"))
        == "another release says it in its own way"
    )
    assert reason(TimeoutError()) == "TimeoutError"


def test_nodes_without_coldfork_are_told_apart() -> None:
    assert unready(Exception(LACKING)) == (
        "the nodes of the Ray cluster cannot import coldfork; install the same version there as here, or "
        'let Ray do so: ray.init(runtime_env={"pip": ["coldfork"]})'
    )
    assert unready(Exception(KILLED)).startswith(
        "an actor ended before it was ready; Ray says: its worker process has died."
    )
