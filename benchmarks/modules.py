"""Every module of torch's own test database through virtual capture: `./dev bench modules [NAME...]`.

Each is built once, and copies of it are called: one without a capture, and one in a captured region whose
inputs hold nothing but zeros. The real inputs are copied in, and the replay is compared with the first call,
bit for bit, with all parameters and buffers. Calls that the database leaves out, such as padding masks and
quantised or nested tensors, are put through the same. What is neither equal nor refused is listed with its
reason.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from benchmarks.opinfo import MODES, WRONG, Outcome, judge, tell, with_torchs_tests

_ROUNDING = 1e-5
_MASKED = torch.tensor([[False, False, False, True], [False, False, True, True]])


@dataclass(frozen=True, slots=True)
class Sample:
    """The inputs of one call."""

    input: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


class Called:
    """A module, or another object that keeps tensors, as an operator of which each call has its own copy."""

    def __init__(self, name: str, module: Any) -> None:
        self.name = name
        self._module = module

    @property
    def state(self) -> list[Any]:
        """Its parameters and buffers."""
        module = self._module
        return [*module.parameters(), *module.buffers()] if isinstance(module, torch.nn.Module) else []

    def anew(self) -> Called:
        """Return another one, whose module is a copy."""
        return Called(self.name, copy.deepcopy(self._module))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module(*args, **kwargs)


Build = Callable[[], Any]
Built = Callable[[], Iterator[tuple[Called, Sample]]]


def _attending(name: str, **kwargs: Any) -> tuple[Build, Sample]:
    kind = getattr(torch.nn, name)
    x = torch.randn(2, 4, 8)
    more = (x, x) if name == "MultiheadAttention" else ()
    return (lambda: kind(8, 2, batch_first=True)), Sample(x, more, kwargs)


def _plain(call: Callable[..., Any], *args: Any) -> tuple[Build, Sample]:
    return (lambda: call), Sample(args[0], args[1:])


def others() -> dict[str, tuple[Build, Sample]]:
    """The calls that the database leaves out: how to build what is called, and its inputs."""
    x, causal = torch.randn(2, 4, 8), torch.ones(4, 4).triu(1).bool()
    stack, norms = torch.nn.TransformerEncoder, torch.nn.utils.parametrizations
    encoder, decoder = torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer
    nested, packed = torch.nested, torch.nn.utils.rnn.pack_padded_sequence
    masked = {"src_key_padding_mask": _MASKED}
    return {
        "attention without weights": _attending("MultiheadAttention", need_weights=False),
        "attention with a padding mask": _attending("MultiheadAttention", key_padding_mask=_MASKED),
        "attention that is causal": _attending(
            "MultiheadAttention",
            need_weights=False,
            is_causal=True,
            attn_mask=causal,
        ),
        "encoder layer with a padding mask": _attending(
            "TransformerEncoderLayer", src_key_padding_mask=_MASKED
        ),
        "encoder with a padding mask": (
            lambda: stack(encoder(8, 2, 16, batch_first=True), 2),
            Sample(x, (), masked),
        ),
        "decoder layer": (
            lambda: decoder(8, 2, 16, batch_first=True),
            Sample(x, (x,)),
        ),
        "two layers of LSTM": (lambda: torch.nn.LSTM(8, 8, 2, bidirectional=True), Sample(x)),
        "quantize_per_tensor": _plain(lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), x),
        "fake quantisation": _plain(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255), x),
        "to meta": _plain(lambda x: (x * 2).to("meta"), x),
        "shape of a meta tensor": _plain(lambda x: x + x.to("meta").matmul(x.mT.to("meta")).shape[0], x),
        "nested_tensor": _plain(lambda x: nested.nested_tensor([x[0], x[1, :2]]), x),
        "nested_tensor, jagged": _plain(
            lambda x: nested.nested_tensor([x[0], x[1, :2]], layout=torch.jagged).sin().values(), x
        ),
        "nested_tensor_from_jagged": _plain(
            lambda x, offsets: nested.nested_tensor_from_jagged(x, offsets).sin().values(),
            x[0],
            torch.tensor([0, 1, 4]),
        ),
        "packed sequence": _plain(
            lambda x: packed(x, torch.tensor([4, 2]), batch_first=True).data,
            x,
        ),
        "sparse": _plain(lambda x: x[0].to_sparse() @ x[1].mT, x),
        "dynamic quantisation": (
            lambda: torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(8, 4))),
            Sample(x),
        ),
        "weight_norm": (
            lambda: norms.weight_norm(torch.nn.Linear(8, 4)),
            Sample(x),
        ),
        "spectral_norm": (
            lambda: norms.spectral_norm(torch.nn.Linear(8, 4)),
            Sample(x),
        ),
        "dtype of autocast": (
            lambda: torch.autocast("cpu", torch.bfloat16)(torch.nn.Linear(8, 4).forward),
            Sample(x),
        ),
    }


def cases(names: Sequence[str] = ()) -> Iterator[tuple[str, bool, Built]]:
    """Yield the name of each module, whether it trains, and a function that yields it with its inputs."""
    with_torchs_tests()
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        for training in (False, True) if info.train_and_eval_differ else (False,):
            if not names or info.name in names:
                yield info.name, training, partial(_built, info, training)
    for name, (build, sample) in others().items():
        if not names or name in names:
            yield name, False, partial(_other, name, build, sample)


def _built(info: Any, training: bool) -> Iterator[tuple[Called, Sample]]:
    for given in info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    ):
        if given.forward_input is None:
            continue
        built, forward = given.constructor_input, given.forward_input
        module = info.module_cls(*built.args, **built.kwargs).train(training)
        args = forward.args or (None,)
        yield Called(info.name, module), Sample(args[0], tuple(args[1:]), forward.kwargs)


def _other(name: str, build: Build, sample: Sample) -> Iterator[tuple[Called, Sample]]:
    module = build()
    yield Called(name, module.eval() if isinstance(module, torch.nn.Module) else module), sample


def _is_rounding(reason: str) -> bool:
    return "by up to" in reason and float(reason.rpartition(" ")[2]) < _ROUNDING


def sweep(names: Sequence[str], modes: Sequence[str], samples: int) -> Iterator[Outcome]:
    """Put the first samples of each module through capture and replay."""
    for name, training, built in cases(names):
        for mode in modes:
            torch.manual_seed(7)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for number, (called, sample) in zip(range(samples), built(), strict=False):
                    kind, reason = judge(called, sample, MODES[mode])
                    if kind == "value-differs" and _is_rounding(reason):
                        # Attention that is watched by any mode, not only by a capture, is computed in steps.
                        kind = "equal-but-rounded"
                    yield Outcome(name, "training" if training else "", mode, number, kind, reason)


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep, and list what is neither equal nor refused."""
    parser = argparse.ArgumentParser(prog="./dev bench modules", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these modules")
    parser.add_argument("--mode", choices=MODES, action="append", help="default: all of them")
    parser.add_argument("--samples", type=int, default=1000, help="at most so many samples a module (all)")
    parser.add_argument("--show", action="append", default=[], metavar="KIND", help="list these too")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    started = time.perf_counter()
    outcomes = list(sweep(chosen.names, chosen.mode or tuple(MODES), chosen.samples))
    tell(outcomes, chosen.show)
    modules = len({outcome.operator for outcome in outcomes})
    print(f"{len(outcomes)} samples of {modules} modules in {time.perf_counter() - started:.0f} s")
    return 1 if any(outcome.kind in WRONG for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
