"""The effects of torch's C functions on a device; an undescribed call leaves its name behind."""

from __future__ import annotations

from collections.abc import Mapping

from coldfork.knowledge.catalogue import Catalogue, Fact
from coldfork.model.effects import EffectKind
from torch_facts.machine import TRANSPARENT, Machine

DEVICE = "device"
#: How a name begins that stands for a method of an object of which nothing is known.
OF_UNKNOWN = "?."
_CONSTRUCTORS = (".__init__", ".__new__", ".__enter__", ".__exit__")


class CFunctions(Catalogue):
    """The C functions that were described by hand; a call of any other leaves its name behind."""

    __slots__ = ()

    def call(self, symbol: str) -> tuple[Fact, ...]:
        """Return the facts about a call of `symbol`; undescribed, its name is the accelerator."""
        if symbol.endswith(_CONSTRUCTORS):
            symbol = symbol.rpartition(".")[0]
        known = self.calls.get(symbol)
        if known is not None:
            return known
        if symbol.startswith(TRANSPARENT) or self.is_harmless(symbol):
            return ()
        return (Fact(symbol, EffectKind.QUERIES_DEVICE, symbol, "torch"),)


def c_functions(levels: Mapping[str, EffectKind], harmless: frozenset[str], machine: Machine) -> CFunctions:
    """The catalogue for one machine."""
    calls: dict[str, tuple[Fact, ...]] = {
        name: (Fact(name, does, DEVICE, "torch"),) for name, does in levels.items()
    }
    return CFunctions(calls=calls, values=machine.constants, harmless=harmless)
