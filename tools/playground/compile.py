"""Check the examples once, and compile the modules that this imports: compile.py FOLDER

It runs in the Python that will run them in a browser, so that nothing has to be compiled there.
"""

from __future__ import annotations

import importlib.util
import json
import py_compile
import shutil
import sys
import zipimport
from pathlib import Path


def main(folder: Path) -> None:
    """Compile what the examples need, below modules/."""
    modules = folder / "modules"
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(modules))
    engine = importlib.import_module("playground_engine")

    for example in json.loads((folder / "examples.json").read_text(encoding="utf-8")):
        request = json.dumps({"files": example["files"], "profile": "", "target": "3.13"})
        checked = json.loads(engine.check(request))
        if checked["status"] != 1:
            print(f"{example['folder']}: {checked['output']}{checked['notes']}", file=sys.stderr)
            sys.exit(1)
        engine.mend(request)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(f"{modules}/"):
            name = file.removeprefix(f"{modules}/")
            _compile(Path(file), name, Path(importlib.util.cache_from_source(file)))
        elif isinstance(module.__loader__, zipimport.zipimporter):
            name = file.partition(".zip/")[2]
            source = folder / "sources" / name
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_bytes(module.__loader__.get_data(file))
            _compile(source, name, (folder / "library" / name).with_suffix(".pyc"))
    shutil.rmtree(folder / "sources")


def _compile(source: Path, name: str, target: Path) -> None:
    """Compile a source, to be taken without a look at it: nobody changes it any more."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=str(target), dfile=name, doraise=True, invalidation_mode=mode)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
