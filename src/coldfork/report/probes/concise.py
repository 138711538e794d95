"""One line per probed module, in a form that editors and grep understand."""

from __future__ import annotations

from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.report.probes.words import headline
from coldfork.report.shared.characters import Alphabet, alphabet, one_line
from coldfork.report.shared.options import Options


def render(probing: Probing, options: Options) -> str:
    """Write `path:line:column: status: sentence`, or `module: status` if no waking line is known."""
    letters = alphabet(options.encoding)
    lines = [_line(probe, options, letters) for probe in probing.modules]
    lines += [f"{letters.clean(module)}: interrupted: nothing is known about it" for module in probing.left]
    return "".join(f"{line}\n" for line in lines)


def _line(probe: ModuleProbe, options: Options, letters: Alphabet) -> str:
    waker = probe.waker
    place = probe.module
    if waker is not None and waker.path is not None:
        place = options.locate(waker.path) + (f":{waker.line}:1" if waker.line else "")
    if probe.status is ProbeStatus.COLD:
        return f"{letters.clean(place)}: cold"
    sentence = headline(probe) + (f" ({probe.level.value})" if probe.level else "")
    return f"{letters.clean(place)}: {probe.status.value}: {letters.clean(one_line(sentence))}"
