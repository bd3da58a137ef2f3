"""Pickles of functions that other processes cannot import: those of a script, a notebook, or another function."""

import importlib
import io
import marshal
import pickle
import sys
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from dtrain._errors import ArgumentError


class _Pickler(pickle.Pickler):
    """Sends functions of the main module, lambdas and inner functions with their code and what they use."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if not isinstance(value, FunctionType) or _importable(value):
            return NotImplemented
        names = _names_of(value.__code__)
        used = {name: value.__globals__[name] for name in names if name in value.__globals__}
        state = {
            "globals": used,
            "cells": [_content_of(cell) for cell in value.__closure__ or ()],
            "defaults": value.__defaults__,
            "kwdefaults": value.__kwdefaults__,
            "attributes": value.__dict__,
        }
        # The state comes after the function itself, which it may contain.
        made = (marshal.dumps(value.__code__), value.__name__, value.__qualname__, value.__module__)
        return _make_function, made, state, None, None, _set_state


def dumps(value: Any) -> bytes:
    """Return the pickle of a value, in which functions of a script have their code. pickle.loads() reads it."""
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{type(value).__name__} cannot be pickled: {error}") from error
    return buffer.getvalue()


def pack(call: Any) -> bytes:
    """Return the bytes of a call for `unpack` in another process of the same Python."""
    try:
        content = dumps(call)
    except ArgumentError as error:
        raise ArgumentError(f"the function or its arguments cannot be pickled: {error.__cause__}") from error
    # The function's module may stand beside the script.
    return pickle.dumps([path for path in sys.path if path]) + content


def unpack(content: bytes) -> Any:
    """Return the call of `pack`."""
    buffer = io.BytesIO(content)
    known = set(sys.path)
    sys.path += [path for path in pickle.load(buffer) if path not in known]
    return pickle.load(buffer)


def _importable(function: FunctionType) -> bool:
    if function.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _names_of(code: CodeType) -> set[str]:
    """Return the names that a function, and those in it, may read as globals."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_of(constant)
    return names


def _content_of(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()  # a name without a value yet


def _make_function(code: bytes, name: str, qualname: str, module: str) -> FunctionType:
    unmarshalled: CodeType = marshal.loads(code)
    cells = tuple(CellType() for _ in unmarshalled.co_freevars)
    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": module}
    function = FunctionType(unmarshalled, scope, name, None, cells)
    function.__qualname__ = qualname
    return function


def _set_state(function: FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"], strict=True):
        if content:
            cell.cell_contents = content[0]
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__dict__.update(state["attributes"])
