"""The text written in place of a line that wakes a device, and what is left for the author."""

from __future__ import annotations

import pytest

from coldfork.mending.mender import Mending
from coldfork.model.causes import Applicability, Fix, Refusal
from tests.mending.conftest import Mend

UNSAFE = Applicability.UNSAFE
LAZY = "from __future__ import annotations\n\n"
#: A module that reads nothing before it binds it.
BINDING_FIRST = """\
for i in range(2):
    j = i
with open("x") as file:
    file.read()


class C:
    x = 1
    y = x


[k for k in "ab"]
n = 1
n = n + 1


def f():
    return later


later = __name__
kinds: list[D] = []
"""
PROBE = "torch.cuda.get_device_capability()[0] >= 9"


def text_of(done: Mending, name: str = "a.py") -> str:
    """Return the text of one of the package's files afterwards."""
    (found,) = [file.after for file in done.files if file.file.endswith(f"/pkg/{name}")]
    return found.decode()


def why(done: Mending) -> str:
    """Why the one cause that is left is."""
    assert done.files == ()
    (left,) = done.left.values()
    assert isinstance(left, Refusal), left
    return left.reason


def doubt(done: Mending) -> str:
    """Why the one fix that is known is not safe."""
    assert done.files == ()
    (left,) = done.left.values()
    assert isinstance(left, Fix), left
    assert left.applicability is UNSAFE
    return left.reason


def test_a_constant_becomes_a_function_that_is_called_where_it_was_read(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                '"""Kernels."""\n\nimport torch\n\n# Hopper and later.\n'
                f"IS_HOPPER = {PROBE}  # 9.0\nOTHER = 1\n\n\n"
                "def run(x):\n    return x if IS_HOPPER else -x\n"
            ),
            "pkg/b.py": "from pkg import a\n\n\ndef ask():\n    return a.IS_HOPPER\n",
        }
    )
    assert text_of(done) == (
        '"""Kernels."""\n\nimport functools\n\nimport torch\n\n# Hopper and later.\n'
        f"@functools.cache\ndef _is_hopper():\n    return {PROBE}  # 9.0\n\n\n"
        'def __getattr__(name):\n    if name == "IS_HOPPER":\n        return _is_hopper()\n'
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n\n\nOTHER = 1\n\n\n'
        "def run(x):\n    return x if _is_hopper() else -x\n"
    )
    assert done.report.findings == ()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\nprint(X)\n"},
            "line 3 reads `X` when the module is imported",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\nclass A:\n    x = X\n"},
            "line 4 reads `X` when the module is imported",
        ),
        (
            {
                "pkg/a.py": f"import torch\nX = {PROBE}\n",
                "pkg/b.py": "from pkg.a import X\nprint(X)\n",
            },
            "pkg/b.py:1 reads `X` when it is imported: line 2 reads `X` when the module is imported",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\n", "pkg/b.py": "from .a import *\n"},
            "pkg/b.py:1 reads `X` when it is imported",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\n", "pkg/b.py": "import pkg.a\nprint(pkg.a.X)\n"},
            "pkg/b.py:2 reads `X` when it is imported",
        ),
        ({"pkg/a.py": f"import torch\nX = False\nX = {PROBE}\n"}, "`X` is bound more than once"),
        ({"pkg/a.py": f"import torch\nX = {PROBE}\ndef f():\n    global X\n"}, "`X` is bound more than once"),
        (
            {"pkg/a.py": f"import torch\nif True:\n    X = {PROBE}\n"},
            "nothing here uses what it binds: it is there for its side effects",
        ),
        (
            {"pkg/a.py": f"import torch\nif {PROBE}:\n    torch.x = X = 1\ndef f():\n    return X\n"},
            "line 3 changes something else",
        ),
        (
            {"pkg/a.py": f"import torch\nif {PROBE}:\n    X = 1\n    print(X)\ndef f():\n    return X\n"},
            "line 4 does more than bind a name",
        ),
        (
            {"pkg/a.py": f"import torch\nY = X\nX = {PROBE}\n"},
            "line 2 reads `X` above its own line",
        ),
        ({"pkg/a.py": f"import torch\nX = {PROBE}; Y = 1\n"}, "another statement shares its line"),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\ndef __getattr__(key):\n    return 1\n"},
            "the module has a `__getattr__` of its own",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\n@kit.jit\ndef f():\n    return X\n"},
            "line 5 uses `X` in a function that `@kit.jit` compiles",
        ),
        ({"pkg/a.py": "import torch\ntorch.cuda.get_device_name()\n"}, "it is not an assignment"),
    ],
)
def test_a_constant_that_is_read_at_once_or_bound_again_is_left(
    mended: Mend, files: dict[str, str], reason: str
) -> None:
    files = {"pkg/b.py": "", **files}
    assert why(mended(files, UNSAFE)) == reason


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\n", "pkg/b.py": "PATCHED = 'pkg.a.X'\n"},
            "pkg/b.py:1 may replace it",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE}\ndef f():\n    return globals()['X']\n"},
            "`globals` may look it up by name",
        ),
        (
            {
                "pkg/a.py": (
                    "import torch\ndef ask():\n    return torch.cuda.get_device_name()\n"
                    "X = ask()\ndef f():\n    return X\n"
                )
            },
            "`ask` may have side effects",
        ),
        (
            {
                "pkg/a.py": (
                    "import torch\nn = 0\nn = 1\nX = torch.cuda.get_device_name(n)\ndef f():\n    return X\n"
                )
            },
            "`n` is bound more than once",
        ),
        (
            {"pkg/a.py": f"import torch\nX = {PROBE} and n\nn = 1\ndef f():\n    return X\n"},
            "`n` is bound below it",
        ),
    ],
)
def test_a_constant_that_may_be_another_later_is_unsafe(
    mended: Mend, files: dict[str, str], reason: str
) -> None:
    assert doubt(mended({"pkg/b.py": "", **files})) == reason
    assert mended(files, UNSAFE).report.findings == ()


def test_what_is_made_of_a_constant_is_computed_later_too(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import torch\n\nMAJOR, _MINOR = torch.cuda.get_device_capability(0)\nIS_NEW = MAJOR > 9\n\n"
                "if IS_NEW:\n    from pkg.b import kernel\n\n\n"
                "def run():\n    return kernel, MAJOR\n"
            ),
            "pkg/b.py": "kernel = 1\n",
        },
        UNSAFE,
    )
    assert text_of(done) == (
        "import functools\n\nimport torch\n\n\n@functools.cache\ndef _bind_major():\n"
        "    global MAJOR\n    global _MINOR\n    MAJOR, _MINOR = torch.cuda.get_device_capability(0)\n\n\n"
        'def __getattr__(name):\n    if name == "MAJOR":\n        _bind_major()\n'
        "        if name in globals():\n            return globals()[name]\n"
        '    if name == "IS_NEW":\n        return _is_new()\n'
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n\n\n'
        "@functools.cache\ndef _is_new():\n    _bind_major()\n    return MAJOR > 9\n\n\n\n"
        "def run():\n    _bind_major()\n    if _is_new():\n        from pkg.b import kernel\n"
        "    return kernel, MAJOR\n"
    )
    assert done.report.findings == ()


def test_readers_in_other_modules_import_a_constant_when_they_need_it(mended: Mend) -> None:
    done = mended(
        {
            "pkg/__init__.py": "from .b import Y, Z\n",
            "pkg/a.py": f"import torch\nX = {PROBE}\n",
            "pkg/b.py": "from pkg.a import X as Y\n\nZ = 1\n\n\ndef f():\n    return Y\n",
            "pkg/c.py": "import pkg.a\n\nW = pkg.a.X, 2\n",
        },
        UNSAFE,
    )
    assert text_of(done, "b.py") == (
        "import typing\n\nif typing.TYPE_CHECKING:\n    from pkg.a import X as Y\n\n"
        "Z = 1\n\n\ndef f():\n    from pkg.a import X as Y\n    return Y\n\n\n"
        'def __getattr__(name):\n    if name == "Y":\n        from pkg.a import X as Y\n        return Y\n'
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n'
    )
    assert text_of(done, "__init__.py") == (
        "import typing\n\nif typing.TYPE_CHECKING:\n    from .b import Y\n\nfrom .b import Z\n\n\n"
        'def __getattr__(name):\n    if name == "Y":\n        from .b import Y\n'
        '        return Y\n    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n'
    )
    assert "def _w():\n    return (pkg.a.X, 2)\n" in text_of(done, "c.py")
    assert done.report.findings == ()


def test_a_block_that_binds_names_runs_when_a_function_first_uses_them(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import torch\n\n# One of both.\nif torch.cuda.is_available():\n"
                '    import json as ops\n\n    _TEXT = """a\nb"""\nelse:\n    import pickle as ops\n\n'
                '    _TEXT = ""\n\n'
                'def run():\n    """Run."""\n    return ops, _TEXT\n\n'
                "def __getattr__(name):\n    return 0\n"
            )
        },
        UNSAFE,
    )
    assert text_of(done) == (
        "import functools\n\nimport torch\n\n# One of both.\n@functools.cache\ndef _bind__text():\n"
        "    global _TEXT\n    global ops\n"
        '    if torch.cuda.is_available():\n        import json as ops\n\n        _TEXT = """a\nb"""\n'
        '    else:\n        import pickle as ops\n\n        _TEXT = ""\n\n\n'
        'def run():\n    """Run."""\n    _bind_text()\n    return ops, _TEXT\n\n'
        'def __getattr__(name):\n    if name == "ops":\n        _bind_text()\n'
        "        if name in globals():\n            return globals()[name]\n    return 0\n"
    ).replace("_bind__text", "_bind_text")
    assert done.report.findings == ()


def test_a_block_that_reads_a_name_before_it_binds_it_is_unsafe(mended: Mend) -> None:
    text = "import torch\nif torch.cuda.is_available():\n    {}\n    Y = X\ndef f():\n    return Y\n"
    assert mended({"pkg/a.py": text.format("X = 1")}).report.findings == ()
    assert doubt(mended({"pkg/a.py": text.format("X = [X]")})) == "it reads `X` before it binds it"


def test_an_import_that_others_take_from_the_module_is_made_when_they_do(mended: Mend) -> None:
    done = mended(
        {
            "pkg/__init__.py": "import bitsandbytes\n\n__all__ = ['bitsandbytes']\n",
            "pkg/b.py": "def f():\n    from pkg import bitsandbytes\n\n    return bitsandbytes\n",
        }
    )
    assert text_of(done, "__init__.py") == (
        "import typing\n\nif typing.TYPE_CHECKING:\n    import bitsandbytes\n\n"
        "__all__ = ['bitsandbytes']\n\n\ndef __getattr__(name):\n    if name == \"bitsandbytes\":\n"
        "        import bitsandbytes\n        return bitsandbytes\n"
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n'
    )


def test_type_checkers_are_shown_the_import_where_they_look_already(mended: Mend) -> None:
    done = mended(
        {
            "pkg/__init__.py": (
                "from typing import TYPE_CHECKING\nfrom bitsandbytes.nn import Linear4bit  # large\n\n"
                "if TYPE_CHECKING:\n    import os\n\n__all__ = ['Linear4bit']\n"
            ),
            "pkg/b.py": "def f():\n    from pkg import Linear4bit\n\n    return Linear4bit\n",
        },
        UNSAFE,
    )
    assert text_of(done, "__init__.py").startswith(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n"
        "    from bitsandbytes.nn import Linear4bit  # large\n\n__all__ = ['Linear4bit']\n"
    )


def test_an_answer_that_is_needed_at_once_is_asked_of_nvml(mended: Mend) -> None:
    text = "import torch\n\nprint(1 + {})\nif {}:\n    print(2)\n"
    asked = "torch.cuda.is_available()"
    done = mended({"pkg/a.py": text.format(asked, asked)}, UNSAFE)
    instead = "torch.cuda.device_count() > 0"
    assert text_of(done) == text.format(f"({instead})", instead)
    assert {finding.rule for finding in done.report.findings} == {"device-query-at-import"}
    assert mended({"pkg/a.py": text_of(done)}, UNSAFE).files == ()


def test_a_decorator_is_applied_by_the_first_call(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import torch\n\n\nclass A:\n    @torch.compile(dynamic=torch.cuda.is_available())  # fast\n"
                "    def f(self):\n        return 1\n\n\n@torch.compile(dynamic=torch.cuda.is_available())\n"
                "def g():\n    return 2\n\n\ndef h():\n    return g()\n"
            )
        },
        UNSAFE,
    )
    text = text_of(done)
    assert text.count("def _on_first_call(decorator):") == 1
    wrapped = "@_on_first_call(lambda function: torch.compile(dynamic=torch.cuda.is_available())(function))"
    assert f"    {wrapped}  # fast\n    def f(self):\n" in text
    assert f"\n{wrapped}\ndef g():\n" in text
    assert done.report.findings == ()


def test_a_decorated_kernel_is_made_when_a_function_first_uses_it(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import kit\nimport torch\n\n\n@kit.tune(torch.cuda.get_device_name())\n"
                "def scale(x):\n    return x\n\n\ndef h():\n    return scale[1](2)\n"
            ),
            "pkg/b.py": "from .a import scale\n\n\ndef other():\n    return scale[2](3)\n",
        },
        UNSAFE,
    )
    text = text_of(done)
    assert "def _bind_scale():\n    global scale\n    @kit.tune(torch.cuda.get_device_name())\n" in text
    assert "def h():\n    _bind_scale()\n    return scale[1](2)\n" in text
    assert text_of(done, "b.py") == ("def other():\n    from .a import scale\n    return scale[2](3)\n")
    assert done.report.findings == ()


def test_a_default_argument_is_computed_in_the_body(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "from __future__ import annotations\nimport torch\n\n\ndef load(\n    name: str,\n"
                '    device: str = "cuda" if torch.cuda.is_available() else "cpu",  # where to\n) -> str:\n'
                '    """Load it."""\n    # Whatever it is.\n    return name + device\n'
            )
        }
    )
    assert text_of(done) == (
        "from __future__ import annotations\nimport torch\n\n\ndef load(\n    name: str,\n"
        "    device: str | None = None,  # where to\n) -> str:\n"
        '    """Load it."""\n    if device is None:\n'
        '        device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "    # Whatever it is.\n    return name + device\n"
    )
    assert done.report.findings == ()


def test_a_default_that_the_body_computes_already_is_taken_out(mended: Mend) -> None:
    body = "    if x is None:\n        x = torch.cuda.is_available()\n    return x\n"
    done = mended({"pkg/a.py": f"import torch\ndef f(x=torch.cuda.is_available()):\n{body}"})
    assert text_of(done) == f"import torch\ndef f(x=None):\n{body}"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("def f(x=torch.cuda.is_available()):\n    return x\n", "a call may pass None to `x`"),
        (
            "def f(x: bool | None = torch.cuda.is_available()):\n    return x\n",
            "`x` may be None for a reason",
        ),
        (
            "def f(x: bool = torch.cuda.is_available()):\n    yield x\n",
            "the body of f does not run when it is called",
        ),
        (
            "def keep(f):\n    return f\n@keep\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n",
            "`@keep` may read the default",
        ),
    ],
)
def test_a_default_argument_that_may_mean_something_else_is_unsafe(
    mended: Mend, function: str, reason: str
) -> None:
    assert doubt(mended({"pkg/a.py": f"import torch\n{function}"})) == reason


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            "def f(x: bool = torch.cuda.get_device_name()): return x\n",
            "the body of f is on the same line as its `def`",
        ),
        (
            "def f(torch: int, x: bool = torch.cuda.get_device_name()):\n    return x\n",
            "`torch` means something else in the body of f",
        ),
        (
            (
                "class A:\n    cuda = torch.cuda\n    "
                "def f(self, x: bool = cuda.get_device_name()):\n        return x\n"
            ),
            "`cuda` means something else in the body of f",
        ),
        (
            'def f(x: bool = torch.cuda.get_device_name()):\n    """Nothing."""\n',
            "f has no body but its docstring",
        ),
    ],
)
def test_a_default_argument_that_cannot_be_computed_in_the_body_is_left(
    mended: Mend, function: str, reason: str
) -> None:
    assert why(mended({"pkg/a.py": f"import torch\n{function}"}, UNSAFE)) == reason


def test_a_class_attribute_is_computed_when_it_is_first_read(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import torch\n\n\nclass Builder:\n    full: bool = (\n        # Hopper\n"
                f"        {PROBE}\n    )\n\n    def build(self):\n        return self.full\n\n\n"
                "class Other(Builder):\n    name = torch.cuda.get_device_name()\n"
            )
        }
    )
    text = text_of(done)
    assert text.count("def _computed_once(compute):") == 1
    assert f"    full: bool = (\n        # Hopper\n        _computed_once(lambda: {PROBE})\n    )\n" in text
    assert "    name = _computed_once(lambda: torch.cuda.get_device_name())\n" in text
    assert done.report.findings == ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "from enum import Enum\nclass A(Enum):\n    x = PROBE\n",
            "Enum reads the body of A while the class is made",
        ),
        (
            "class A(metaclass=type):\n    x = PROBE\n",
            "the class A is made with keywords, which may read its body",
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: bool = PROBE\n",
            "`@dataclasses.dataclass` may read the body of A",
        ),
        ("class A:\n    x = PROBE\n    y = x\n", "the class body uses `x` again, in line 4"),
        (
            "class A:\n    n = 0\n    x = torch.cuda.get_device_name(n)\n",
            "`n` is a name of the class body, which a function does not see",
        ),
        ("class A:\n    __slots__ = ()\n    x = PROBE\n", "`x` is looked up in the class itself"),
        (
            "def _computed_once():\n    pass\nclass A:\n    x = PROBE\n",
            "the file has a `_computed_once` of its own",
        ),
        ("class A:\n    class B:\n        x = PROBE\n", "the class B is nested in something else"),
    ],
)
def test_a_class_attribute_that_is_read_while_the_class_is_made_is_left(
    mended: Mend, body: str, reason: str
) -> None:
    assert why(mended({"pkg/a.py": f"import torch\n{body.replace('PROBE', PROBE)}"}, UNSAFE)) == reason


def test_a_class_attribute_under_a_base_that_is_not_known_is_unsafe(mended: Mend) -> None:
    text = f"import torch\nfrom somewhere import Base\nclass A(Base):\n    x = {PROBE}\n"
    assert doubt(mended({"pkg/a.py": text})) == "what `Base` does with the body of A is not known"


def test_an_import_moves_to_where_it_is_used(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "import os\nimport bitsandbytes as bnb\n\n\ndef quantize(model):\n"
                '    """Quantize it."""\n    def inner():\n        return bnb.nn\n'
                "    return inner(), os.sep\n\n\n"
                "class A:\n    def f(self):\n        return bnb.optim\n\n    def g(self):\n        return 1\n"
            )
        }
    )
    assert text_of(done) == (
        "import os\n\n\ndef quantize(model):\n"
        '    """Quantize it."""\n    import bitsandbytes as bnb\n    def inner():\n        return bnb.nn\n'
        "    return inner(), os.sep\n\n\n"
        "class A:\n    def f(self):\n        import bitsandbytes as bnb\n        return bnb.optim\n\n"
        "    def g(self):\n        return 1\n"
    )
    assert done.report.findings == ()


@pytest.mark.parametrize(
    ("below", "name"),
    [
        ("if B:\n    from heavy import weight as B\n", "B"),
        ("B = B + 1\n", "B"),
        ("del B\n", "B"),
        ("B = 1\ndel B\nprint(B)\n", "B"),
        ("print(B)\nB = 1\n", "B"),
        ("C = C if torch.cuda.is_available() else None\n", "C"),
        ("C: object = C if torch.cuda.is_available() else None\n", "C"),
        (BINDING_FIRST, ""),
    ],
)
def test_a_failing_import_that_would_be_put_off_makes_a_fix_unsafe(
    mended: Mend, below: str, name: str
) -> None:
    files = {
        "pkg/__init__.py": "from .a import A\n",
        "pkg/a.py": f"{LAZY}import torch\n\nA = torch.cuda.is_available()\n{below}",
    }
    done = mended(files)
    if not name:
        assert done.report.findings == ()
        return
    reasons = {each.reason for each in done.left.values()}
    assert f"an import of pkg.a fails over `{name}`" in reasons
    assert done.files == ()
    assert mended(files, UNSAFE).report.findings == ()


def test_a_name_that_only_a_function_binds_makes_a_fix_unsafe(mended: Mend) -> None:
    text = (
        "import torch\n\n\ndef f():\n    global A\n    A = 1\n\n\n"
        "class K:\n    x = A if torch.cuda.is_available() else None\n"
    )
    (left,) = mended({"pkg/a.py": text}).left.values()
    assert left.reason == "`A` is bound by a function"


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (
            "if torch.cuda.is_available():\n    A = 1\n",
            "`A` may stay unbound, and pkg/__init__.py:1 fails then",
        ),
        ("if torch.cuda.is_available():\n    A = 1\nelse:\n    A = 2\n", ""),
        ("if torch.cuda.is_available():\n    A = 1\nelse:\n    raise OSError\n", ""),
        (
            "try:\n    A = torch.cuda.is_available()\nexcept OSError:\n    B = 1\n",
            "`A` may stay unbound, and pkg/__init__.py:1 fails then",
        ),
    ],
)
def test_a_name_that_an_import_may_miss_makes_a_fix_unsafe(mended: Mend, block: str, reason: str) -> None:
    files = {"pkg/__init__.py": "from .a import A\n", "pkg/a.py": f"import torch\n\n{block}"}
    done = mended(files)
    reasons = {each.reason for each in done.left.values()}
    assert (reason in reasons) if reason else not reasons, reasons


def test_a_safe_fix_keeps_an_object_that_a_module_imports(mended: Mend) -> None:
    files = {"pkg/a.py": "from bitsandbytes.nn import Linear4bit\ndef f():\n    return Linear4bit\n"}
    short = text_of(mended(files, UNSAFE))
    assert short == "def f():\n    from bitsandbytes.nn import Linear4bit\n    return Linear4bit\n"
    done = mended(files)
    assert text_of(done) == short + (
        '\n\ndef __getattr__(name):\n    if name == "Linear4bit":\n'
        "        from bitsandbytes.nn import Linear4bit\n        return Linear4bit\n"
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n'
    )
    assert done.report.findings == ()


def test_an_import_for_annotations_is_left_to_type_checkers(mended: Mend) -> None:
    text = (
        "from bitsandbytes.nn import Linear4bit, Params4bit\n\n\n"
        "def f(x: Linear4bit | None, *rest: list[\n    Linear4bit\n]) -> Params4bit:\n"
        "    return Params4bit(x)\n"
    )
    done = mended({"pkg/a.py": text}, UNSAFE)
    assert text_of(done) == (
        "import typing\n\nif typing.TYPE_CHECKING:\n"
        "    from bitsandbytes.nn import Linear4bit, Params4bit\n\n\n"
        'def f(x: "Linear4bit | None", *rest: "list[Linear4bit]") -> "Params4bit":\n'
        "    from bitsandbytes.nn import Params4bit\n    return Params4bit(x)\n"
    )
    assert done.report.findings == ()
    lazy = "from __future__ import annotations\n"
    assert '"' not in text_of(mended({"pkg/a.py": lazy + text}, UNSAFE))
    assert doubt(mended({"pkg/a.py": text})) == "`typing.get_type_hints` no longer finds `Linear4bit`"


def test_an_annotation_that_a_decorator_may_read_is_left(mended: Mend) -> None:
    text = "from bitsandbytes.nn import Linear4bit\n@checked\ndef f(x: Linear4bit):\n    return x\n"
    assert why(mended({"pkg/a.py": text}, UNSAFE)) == "line 3 reads `Linear4bit` when the module is imported"


PROGRAM = """\
import torch


def scale(x):
    return 2 * x


# what it works on
data = torch.zeros(3, device="cuda")
STEPS = 3

import math


class Made:
    pass


print(data, STEPS)  # coldfork prints it, too
"""


def test_what_a_program_does_is_put_below_a_main_guard(mended: Mend) -> None:
    done = mended({"pkg/examples/a.py": PROGRAM}, UNSAFE)
    assert text_of(done, "examples/a.py") == PROGRAM.replace(
        'data = torch.zeros(3, device="cuda")\nSTEPS = 3\n',
        'if __name__ == "__main__":\n    data = torch.zeros(3, device="cuda")\n    STEPS = 3\n',
    ).replace("print(", 'if __name__ == "__main__":\n    print(')
    assert done.report.findings == ()
    assert [fix.reason for fix in done.mended] == ["an import of it no longer runs these statements"]


@pytest.mark.parametrize(
    "files",
    [
        {"pkg/a.py": PROGRAM},
        {"pkg/examples/a.py": PROGRAM, "pkg/b.py": "from pkg.examples import a\n"},
        {"pkg/examples/a.py": PROGRAM, "pkg/examples/b.py": "from .a import Made\n"},
        {"pkg/examples/test_a.py": PROGRAM},
        {"pkg/examples/a.py": f"{PROGRAM}\ndef f():\n    return data\n"},
    ],
    ids=["a library", "imported", "read", "a test", "a name that a function needs"],
)
def test_what_others_need_of_a_program_is_not_put_below_a_main_guard(
    mended: Mend, files: dict[str, str]
) -> None:
    assert why(mended(files, UNSAFE)).endswith("reads `data` when the module is imported")


def test_an_import_under_a_condition_moves_without_it(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "from pkg.b import has\n\nif has():\n    import bitsandbytes as bnb  # it is large\n"
                "    import os\n\n\ndef f():\n    return bnb.nn\n"
            ),
            "pkg/b.py": "def has():\n    return True\n",
            "pkg/c.py": (
                "from pkg.b import has\nif has():\n    import bitsandbytes\n\n"
                "def f():\n    return bitsandbytes\n"
            ),
        },
        UNSAFE,
    )
    assert text_of(done) == (
        "from pkg.b import has\n\nif has():\n    import os\n\n\n"
        "def f():\n    if has():\n        import bitsandbytes as bnb  # it is large\n    return bnb.nn\n"
    )
    assert text_of(done, "c.py") == (
        "from pkg.b import has\n\n"
        "def f():\n    if has():\n        import bitsandbytes\n    return bitsandbytes\n"
    )


def test_imports_that_are_all_of_a_branch_take_the_condition_with_them(mended: Mend) -> None:
    done = mended(
        {
            "pkg/a.py": (
                "from pkg.b import has\n\nif has():\n    import bitsandbytes.optim as optim\n"
                "    from bitsandbytes.nn import Linear4bit, Linear8bitLt\n\n\n"
                "def f():\n    return optim.Adam(Linear4bit)\n\n\ndef g():\n    return Linear8bitLt\n"
            ),
            "pkg/b.py": "def has():\n    return True\n",
        },
        UNSAFE,
    )
    one, other = (f"from bitsandbytes.nn import {name}\n" for name in ("Linear4bit", "Linear8bitLt"))
    assert text_of(done) == (
        "from pkg.b import has\n\n\n"
        f"def f():\n    if has():\n        import bitsandbytes.optim as optim\n        {one}"
        "    return optim.Adam(Linear4bit)\n\n\n"
        f"def g():\n    if has():\n        {other}    return Linear8bitLt\n"
    )


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"pkg/a.py": "import bitsandbytes\n"},
            "nothing in the module uses it: it may be imported for its side effects",
        ),
        (
            {"pkg/a.py": "import bitsandbytes\nprint(bitsandbytes.nn)\n"},
            "line 2 reads `bitsandbytes` when the module is imported",
        ),
        (
            {"pkg/a.py": "import bitsandbytes\nf = lambda: bitsandbytes.nn\n"},
            "line 2 uses `bitsandbytes` in a lambda",
        ),
        (
            {"pkg/a.py": "import bitsandbytes, os\ndef f():\n    return bitsandbytes\n"},
            "the statement imports several modules",
        ),
    ],
)
def test_an_import_that_is_needed_at_once_is_left(mended: Mend, files: dict[str, str], reason: str) -> None:
    assert why(mended({"pkg/b.py": "", **files}, UNSAFE)) == reason


def test_what_is_ignored_or_not_asked_for_is_left(mended: Mend) -> None:
    text = f"import torch\nX = {PROBE}  # coldfork: ignore[device-init-at-import] -- it is wanted\n"
    assert mended({"pkg/a.py": text}, UNSAFE).files == ()


def test_imports_on_the_way_are_left_alone(mended: Mend) -> None:
    done = mended(
        {
            "pkg/__init__.py": "from .a import *\n",
            "pkg/a.py": "import torch\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n",
        }
    )
    assert [file.file.rpartition("/")[2] for file in done.files] == ["a.py"]
    assert done.report.findings == ()


def test_a_second_run_changes_nothing(mended: Mend) -> None:
    done = mended(
        {"pkg/a.py": f"import torch\nX = {PROBE}\nclass A:\n    y = {PROBE}\ndef f():\n    return X\n"}
    )
    text = text_of(done)
    assert len(done.mended) == 2
    assert mended({"pkg/a.py": text}, UNSAFE).files == ()


def test_one_run_mends_all_that_only_one_fix_a_round_can_mend(mended: Mend) -> None:
    """Each of these constants adds to the same `__getattr__`, which only one fix at a time can write."""
    numbers = range(12)
    text = "import torch\n" + "".join(
        f"X{n} = torch.cuda.get_device_capability({n})\ndef f{n}():\n    return X{n}\n" for n in numbers
    )
    done = mended({"pkg/a.py": text})
    assert done.report.findings == ()
    assert text_of(done).count("def __getattr__") == 1


def test_a_module_gets_one_getattr_from_fixes_of_which_one_changes_the_package_too(mended: Mend) -> None:
    text = "import torch\n" + "".join(
        f"{name} = torch.cuda.is_available()\ndef f{name}():\n    return {name}\n" for name in "AB"
    )
    files = {"pkg/__init__.py": "from .a import A\n__all__ = ['A']\n", "pkg/a.py": text}
    done = mended(files)
    assert done.report.findings == ()
    assert [text_of(done, name).count("def __getattr__") for name in ("__init__.py", "a.py")] == [1, 1]


def test_lines_end_as_they_ended(mended: Mend) -> None:
    done = mended({"pkg/a.py": f"import torch\r\nX = {PROBE}\r\n\r\ndef f(é='ü'):\r\n    return é, X\r\n"})
    text = text_of(done)
    assert text.count("\n") == text.count("\r\n")
    assert "return é, _x()" in text


def test_later_lines_of_a_program_are_mended_by_themselves(mended: Mend) -> None:
    text = (
        "import torch\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
        "Y = torch.cuda.get_device_name()\nprint(Y)\nimport bitsandbytes\ndef g():\n    return bitsandbytes\n"
        'if __name__ == "__main__":\n    f()\n'
    )
    done = mended({"pkg/__main__.py": text}, UNSAFE)
    assert "def f(x: bool = None):" in text_of(done, "__main__.py")
    (cause,) = (cause for cause in done.report.causes if cause.call == "torch.cuda.get_device_name")
    assert done.left[cause.id].reason == "line 7 reads `Y` when the module is imported"
