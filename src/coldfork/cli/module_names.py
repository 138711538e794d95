"""Names of modules, as users type them: those of files are told apart from them."""

from __future__ import annotations

from pathlib import Path

from coldfork.model.errors import UsageError


def refuse_name(name: str) -> None:
    """Refuse a name that no import statement could contain, and the name of a file."""
    refuse_file(name)
    if all(part.isidentifier() for part in name.split(".")):
        return
    hint = ""
    if name.endswith(".py"):
        dotted = name.removesuffix(".py").strip("./").removeprefix("src/").replace("/", ".")
        hint = f"; write {dotted}, if that is how it is imported"
    raise UsageError(f"{name!r} is not the name of a module{hint}")


def refuse_file(name: str) -> None:
    """Refuse the name of a file or folder where the name of a module is wanted."""
    module = module_of(name)
    if module is not None:
        kind = "folder" if Path(name).is_dir() else "file"
        raise UsageError(f"{name} is a {kind}; the module is {module}")


def module_of(name: str) -> str | None:
    """Return the module that a file or folder is, as its package would import it; None if there is none."""
    path = Path(name)
    is_folder = path.is_dir() and path.parts != (name,)
    if not is_folder and not (path.suffix in (".py", ".pyi") and path.is_file()):
        return None
    whole = path.absolute()
    parts = [whole.name if is_folder else whole.stem]
    for folder in whole.parents:
        if not (folder / "__init__.py").is_file():
            break
        parts.append(folder.name)
    if parts[0] == "__init__" and len(parts) > 1:
        parts = parts[1:]
    return ".".join(reversed(parts)) if all(part.isidentifier() for part in parts) else None
