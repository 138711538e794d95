"""Start methods that are set by importing something: what is started later goes by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coldfork.model.effects import EffectKind
from coldfork.source.evaluation.trace import SiteStart, Start
from coldfork.source.files.started import imported, is_offering
from coldfork.source.program.package_environment import with_packages
from coldfork.source.reach.propagation import ModuleResult

_STARTED = {"fork": EffectKind.FORKS, "spawn": EffectKind.SPAWNS, "forkserver": EffectKind.SPAWNS}


class StartMethods:
    """Finds what has set the start method before a process was started by default."""

    def __init__(self, results: Mapping[str, ModuleResult]) -> None:
        self._results = results
        self._setting = {
            name: site.start
            for name, result in results.items()
            for site in result.starts
            if site.start.does is EffectKind.SETS_START_METHOD and site.start.trouble is None
        }

    def held(self, name: str, result: ModuleResult, site: SiteStart) -> Start:
        """A start, by the method that an import had set by then if it is one by default."""
        start = site.start
        if not self._setting or not start.by_default:
            return start
        edges = [*(one.edge for one in result.edges[: site.behind]), *start.imports]
        imports = [edge.target for edge in edges]
        if is_offering(name):
            imports.append(imported(name))
        setting = self._set_by(imports)
        if setting is None or setting.method == start.method:
            return start
        method = setting.method if not setting.conditions and not setting.off else ""
        return start._replace(
            does=_STARTED.get(method, start.does),
            method=method,
            chosen=f'set_start_method("{method}")',
            by_default=False,
        )

    def _set_by(self, imports: Iterable[str]) -> Start | None:
        """The first that these imports run, with the packages they are in and all that they import."""
        seen: set[str] = set()
        pending = [*imports]
        while pending:
            for name in with_packages(pending.pop()):
                if name in seen:
                    continue
                seen.add(name)
                if name in self._setting:
                    return self._setting[name]
                result = self._results.get(name)
                pending.extend(site.edge.target for site in (() if result is None else result.edges))
        return None
