"""What is only referred to weakly: it is gone as soon as nothing else holds it."""

from __future__ import annotations

from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Object, Value


def is_alive(f: Following, value: Value) -> bool:
    """True for what something that code can reach holds other than weakly."""
    if type(value) is not Object or value.before:
        return True
    for frame in f.run.stack:
        if f.names.globals_of(frame.func.module).holds(value):
            return True
        for env in frame.env.outwards():
            held = (*env.names.values(), env.own)
            if any(type(one) is Object and one.holds(value) for one in held):
                return True
    return False
