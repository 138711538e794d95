"""What names and calls mean in torch's Python code, on an imagined machine: modules, classes, functions, C.

The question is how far a call that works wakes the device, so a branch that ends in `raise` is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torch_answers import ANSWERS, CHECK, MANAGEMENT, TRANSPARENT, UNMANAGED
from torch_frames import Frame, RaisedError, Reached, ReturnedSignal
from torch_sources import Sources
from torch_statements import Statements
from torch_values import (
    COUNT,
    NONE,
    UNKNOWN,
    ClassValue,
    Constant,
    Deferred,
    External,
    FunctionValue,
    InstanceValue,
    Machine,
    ModuleValue,
    PreparedValue,
    SuperValue,
    Unknown,
    Value,
    truth,
)

#: Deepest chain of calls that is followed.
DEPTH = 24


class Interpreter(Statements):
    """Runs functions of one torch version on one machine; `levels` says what each C function wakes."""

    def __init__(self, sources: Sources, machine: Machine, levels: Mapping[str, int]) -> None:
        super().__init__()
        self.sources = sources
        self.machine = machine
        self.levels = levels
        self._modules: dict[str, dict[str, Value]] = {}
        self._depth = 0
        self._running: list[ast.AST] = []

    # -- modules ------------------------------------------------------------------------------------------

    def names(self, module: str) -> dict[str, Value]:
        """What a module's top level binds, as far as it is known."""
        if module not in self._modules:
            scope: dict[str, Value] = {}
            self._modules[module] = scope
            tree = self.sources.tree(module)
            if tree is not None:
                self._bind(tree.body, Frame(module, scope))
        return self._modules[module]

    def _bind(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Bind names of a module's top level: definitions, imports, plain values; calls are not followed."""
        for statement in body:
            match statement:
                case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                    self.define(statement, frame)
                case ast.If():
                    known = self._quiet_truth(statement.test, frame)
                    if known is not False:
                        self._bind(statement.body, frame)
                    if known is not True:
                        self._bind(statement.orelse, frame)
                case ast.Try():
                    self._bind([*statement.body, *statement.orelse], frame)
                case ast.With():
                    self._bind(statement.body, frame)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    frame.scope[name] = self._quiet(value, frame)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    frame.scope[name] = self._quiet(value, frame)

    def _quiet(self, node: ast.expr, frame: Frame) -> Value:
        """The value of a module-level expression; what it wakes is the import's doing, not the call's."""
        kept, self.reached = self.reached, Reached()
        try:
            return self.evaluate(node, frame)
        except RaisedError:
            return UNKNOWN
        finally:
            self.reached = kept

    def _quiet_truth(self, node: ast.expr, frame: Frame) -> bool | None:
        return truth(self._quiet(node, frame))

    def define(self, node: ast.stmt, frame: Frame) -> None:
        """Run a definition or an import."""
        match node:
            case ast.FunctionDef():
                managed = any("contextmanager" in ast.unparse(item) for item in node.decorator_list)
                frame.scope[node.name] = FunctionValue(frame.module, node, frame.scope, None, None, managed)
            case ast.ClassDef():
                frame.scope[node.name] = ClassValue(frame.module, node)
            case ast.Import():
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    frame.scope[alias.asname or name] = self._module(name)
            case ast.ImportFrom():
                self._import_from(node, frame)

    def _import_from(self, node: ast.ImportFrom, frame: Frame) -> None:
        """Run `from x import y`."""
        base = node.module or ""
        if node.level:
            package = self.sources.package(frame.module).split(".")
            base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            if alias.name != "*":
                module = self._module(base)
                deferred = Deferred(base, alias.name) if isinstance(module, ModuleValue) else None
                frame.scope[alias.asname or alias.name] = deferred or self.member(module, alias.name)
                continue
            found = self.names(base)
            for name in self.sources.exported(base) or [name for name in found if not name.startswith("_")]:
                frame.scope[name] = found.get(name, UNKNOWN)

    def _module(self, name: str) -> Value:
        """The module called `name`: torch's own are followed, others only named."""
        if name == "torch" or self.sources.path(name) is not None:
            return ModuleValue(name)
        return External(name)

    def member(self, owner: Value, name: str) -> Value:
        """The attribute `name` of a value."""
        match owner:
            case ModuleValue(name="torch.version"):
                return Constant("12.0") if _version_names(self.machine) == name else NONE
            case ModuleValue(name=module):
                full = f"{module}.{name}"
                if module != "torch" or name == "get_device_module":
                    found = self.names(module).get(name)
                    if isinstance(found, Deferred) and found.module != module:
                        return self.member(ModuleValue(found.module), found.name)
                    if found is not None and not isinstance(found, Deferred):
                        return found
                return ModuleValue(full) if self.sources.path(full) else External(full)
            case External(name=outer):
                return self._constant_of(f"{outer}.{name}")
            case InstanceValue(attributes=attributes) if name in attributes:
                return attributes[name]
            case ClassValue() | InstanceValue():
                cls = owner if isinstance(owner, ClassValue) else owner.cls
                return self._method(cls, name, owner)
            case SuperValue(owner=cls, bound=bound):
                return self._inherited(cls, name, bound)
            case _:
                return UNKNOWN

    def _constant_of(self, name: str) -> Value:
        """A name of the C side or of another library; the build flags are known."""
        if name in ("torch._C._has_cuda", "torch._C._has_xpu"):
            return Constant(name.endswith("xpu") == (self.machine.accelerator == "xpu"))
        return External(name)

    def _method(self, cls: ClassValue, name: str, bound: Value) -> Value:
        """A method found along the bases of a class."""
        for statement in cls.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                static = any(ast.unparse(item) == "staticmethod" for item in statement.decorator_list)
                scope = self.names(cls.module)
                return FunctionValue(cls.module, statement, scope, None if static else bound, cls)
        return self._inherited(cls, name, bound)

    def _inherited(self, cls: ClassValue, name: str, bound: Value | None) -> Value:
        """A method found along the bases, the class itself left out."""
        frame = Frame(cls.module, dict(self.names(cls.module)))
        for base in cls.node.bases:
            value = self._quiet(base, frame)
            if isinstance(value, ClassValue):
                found = self._method(value, name, bound or value)
                if not isinstance(found, Unknown):
                    return found
            elif isinstance(value, External):
                return External(f"{value.name}.{name}")
        return UNKNOWN

    # -- calls --------------------------------------------------------------------------------------------

    def call(self, target: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Call a value and return the result."""
        match target:
            case External(name=name):
                return self._call_external(name, arguments)
            case ClassValue():
                return self._construct(target, arguments, keywords)
            case FunctionValue():
                return self._call_function(target, arguments, keywords)
            case _:
                return UNKNOWN

    def _call_external(self, name: str, arguments: Sequence[Value]) -> Value:
        """Call a C function or another library's."""
        if (
            name in ("os.getenv", "os.environ.get")
            and self.machine.nvml_check
            and arguments == [Constant(CHECK)]
        ):
            return Constant("1")
        if name.endswith((".__init__", ".__new__", ".__enter__", ".__exit__")):
            name = name.rpartition(".")[0]
        level = self.levels.get(name)
        if level is not None:
            self.reached.wake(level)
        elif name not in ANSWERS and not name.startswith(TRANSPARENT):
            self.reached.opaque |= {name}
        return ANSWERS.get(name, UNKNOWN)

    def _construct(self, cls: ClassValue, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Construct an instance."""
        instance = InstanceValue(cls)
        for name, bound in (("__new__", cls), ("__init__", instance)):
            method = self._method(cls, name, bound)
            if not isinstance(method, Unknown):
                self.call(method, arguments, keywords)
        return instance

    def _call_function(
        self, function: FunctionValue, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        """Run a function of torch."""
        name = f"{function.module}.{getattr(function.node, 'name', '<lambda>')}"
        if name in UNMANAGED:
            return Constant(-1)
        if name in MANAGEMENT:
            return COUNT if self.machine.management else Constant(-1)
        if name == "torch.get_device_module":
            return ModuleValue("torch.xpu" if self.machine.accelerator == "xpu" else "torch.cuda")
        if function.node in self._running or self._depth > DEPTH:
            return UNKNOWN
        if function.context_manager:
            return PreparedValue(function, tuple(arguments), dict(keywords))
        scope = dict(function.scope)
        scope.update(self._parameters(function, arguments, keywords))
        frame = Frame(function.module, scope, function.owner, function.bound)
        self._depth += 1
        self._running.append(function.node)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body, frame)
            self.run(function.node.body, frame)
        except ReturnedSignal as returned:
            return returned.value
        finally:
            self._depth -= 1
            self._running.pop()
        return NONE

    def _parameters(
        self, function: FunctionValue, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Bind arguments to parameters; defaults are evaluated in the function's module."""
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        frame = Frame(function.module, dict(self.names(function.module)))
        values = [function.bound, *arguments] if function.bound is not None else list(arguments)
        bound: dict[str, Value] = {}
        defaults = [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults)
        for index, (parameter, default) in enumerate(zip(positional, defaults, strict=True)):
            if index < len(values) and values[index] is not None:
                bound[parameter.arg] = values[index]
            elif parameter.arg in keywords:
                bound[parameter.arg] = keywords[parameter.arg]
            else:
                bound[parameter.arg] = self._quiet(default, frame) if default is not None else UNKNOWN
        for parameter, keyword_default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            given = keywords.get(parameter.arg)
            if given is None:
                given = self._quiet(keyword_default, frame) if keyword_default is not None else UNKNOWN
            bound[parameter.arg] = given
        return bound


def _version_names(machine: Machine) -> str:
    """The attribute of torch.version that is set in a build for this machine."""
    return {"cuda": "cuda", "rocm": "hip", "xpu": "xpu"}[machine.accelerator]
