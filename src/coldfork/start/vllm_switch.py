"""The switch of vLLM's plugin: an environment variable, or the nearest `[tool.coldfork]`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "COLDFORK_VLLM"


def is_on(environment: Mapping[str, str], folder: Path | None = None) -> bool:
    """Return the variable's value, or else the folder's setting; raise an error if the file is unreadable."""
    value = environment.get(VARIABLE, "").strip().lower()
    if value:
        return value in ("on", "1", "true", "yes")
    return _table(folder).get("vllm") is True


def _table(folder: Path | None) -> dict[str, object]:
    """Return the `[tool.coldfork]` that applies in a folder, by default the current one; empty
    without one.
    """
    from pathlib import Path

    here = Path.cwd() if folder is None else folder
    found = (_table_of(above / "pyproject.toml") for above in (here, *here.parents))
    return next((table for table in found if table is not None), {})


def _table_of(file: Path) -> dict[str, object] | None:
    try:
        content = file.read_bytes()
    except OSError:
        return None
    if b"coldfork" not in content:
        return None
    import tomllib

    table = tomllib.loads(content.decode("utf-8-sig")).get("tool", {}).get("coldfork")
    return table if isinstance(table, dict) else None
