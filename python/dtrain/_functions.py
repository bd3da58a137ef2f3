"""Pickles of what other processes cannot import: functions and classes of a script, a notebook, or another function."""

from __future__ import annotations

import functools
import importlib
import io
import marshal
import os
import pickle
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from dtrain import _classes
from dtrain._errors import ArgumentError

_READS_GLOBALS = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
# Parts of classes that pickle does not know.
_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    property: lambda one: (property, (one.fget, one.fset, one.fdel, one.__doc__)),
    classmethod: lambda one: (classmethod, (one.__func__,)),
    staticmethod: lambda one: (staticmethod, (one.__func__,)),
    MappingProxyType: lambda one: (_make_mapping, (dict(one),)),
    # Without its lock.
    functools.cached_property: lambda one: (
        functools.cached_property,
        (one.func,),
        {name: value for name, value in vars(one).items() if name != "lock"},
    ),
}


class _Scope:
    """Stands for the globals of one module. All functions of the module have them."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_scope, (self._module,)


class _Pickler(pickle.Pickler):
    """Sends functions and classes of the main module, and inner ones, with their code and what they use."""

    def __init__(self, file: io.BytesIO, main_is_there: bool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._main_is_there = main_is_there
        self._scopes: dict[int, _Scope] = {}

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type):
            if _classes.is_importable(value, also_of_main=self._main_is_there):
                return NotImplemented
            return _classes.reduce(value)
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, FunctionType):
            return NotImplemented if _importable(value) else self._reduce_function(value)
        part = _PARTS.get(type(value))
        return _sentinel_or_variable(value) if part is None else part(value)

    def _reduce_function(self, value: FunctionType) -> tuple[Any, ...]:
        names = _names_of(value.__code__)
        scope = self._scopes.setdefault(id(value.__globals__), _Scope(value.__module__))
        state = {
            "globals": {name: value.__globals__[name] for name in names if name in value.__globals__},
            "cells": [_content_of(cell) for cell in value.__closure__ or ()],
            "defaults": value.__defaults__,
            "kwdefaults": value.__kwdefaults__,
            "annotations": value.__annotations__,
            "attributes": value.__dict__,
        }
        # The state comes after the function itself, which it may contain.
        made = (marshal.dumps(value.__code__), value.__name__, value.__qualname__, value.__module__, scope)
        return _make_function, made, state, None, None, _set_state


def dumps(value: Any, *, main_is_there: bool = True) -> bytes:
    """Return the pickle of a value, in which functions of a script have their code. pickle.loads() reads it.

    Classes of a script have theirs, too, where the reader does not run this script as its main module.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, main_is_there).dump(value)
    except Exception as error:
        raise ArgumentError(f"{type(value).__name__} cannot be pickled: {error}") from error
    return buffer.getvalue()


def pack(call: Any) -> bytes:
    """Return the bytes of a call for `unpack` in another process of the same Python."""
    try:
        content = dumps(call, main_is_there=False)
    except ArgumentError as error:
        raise ArgumentError(f"the function or its arguments cannot be pickled: {error.__cause__}") from error
    # The function's module may stand beside the script; that of a notebook or -c, in this folder.
    return pickle.dumps([path or os.getcwd() for path in sys.path]) + content


def unpack(content: bytes) -> Any:
    """Return the call of `pack`."""
    buffer = io.BytesIO(content)
    known = set(sys.path)
    sys.path += [path for path in pickle.load(buffer) if path not in known]
    return pickle.load(buffer)


def _importable(function: FunctionType) -> bool:
    if function.__module__ == "__main__":
        return False
    return _classes.named(function.__module__, function.__qualname__) is function


def _sentinel_or_variable(value: Any) -> Any:
    """Return the name of a mark that the module dataclasses compares, what makes a variable of typing, or nothing."""
    kind = type(value)
    if kind.__module__ == "dataclasses" and kind.__name__.startswith("_"):
        found = [name for name, one in vars(sys.modules["dataclasses"]).items() if one is value]
        return found[0] if found else NotImplemented
    if kind.__module__ == "typing" and kind.__name__ == "TypeVar" and not _is_there(value):
        variance = {"covariant": value.__covariant__, "contravariant": value.__contravariant__}
        return _make_type_variable, (kind, value.__name__, value.__constraints__, value.__bound__, variance)
    return NotImplemented


def _is_there(variable: Any) -> bool:
    """Return whether another process finds a variable of typing by its name."""
    module = variable.__module__
    return module != "__main__" and _classes.named(module, variable.__name__) is variable


def _make_mapping(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


def _make_type_variable(
    kind: type, name: str, constraints: tuple[Any, ...], bound: Any, variance: dict[str, bool]
) -> Any:
    return kind(name, *constraints, bound=bound, **variance)


def _names_of(code: CodeType) -> set[str]:
    """Return the names that a function, and those in it, may read as globals."""
    import dis  # noqa: PLC0415  # takes longer than the rest of the package

    names = {one.argval for one in dis.get_instructions(code) if one.opname in _READS_GLOBALS}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_of(constant)
    return names


def _content_of(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()  # a name without a value yet


def _make_scope(module: str) -> dict[str, Any]:
    return {"__builtins__": __builtins__, "__name__": module}


def _make_function(code: bytes, name: str, qualname: str, module: str, scope: dict[str, Any]) -> FunctionType:
    unmarshalled: CodeType = marshal.loads(code)
    cells = tuple(CellType() for _ in unmarshalled.co_freevars)
    function = FunctionType(unmarshalled, scope, name, None, cells)
    function.__qualname__ = qualname
    function.__module__ = module
    return function


def _set_state(function: FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"], strict=True):
        if content:
            cell.cell_contents = content[0]
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__annotations__ = state["annotations"]
    function.__dict__.update(state["attributes"])
