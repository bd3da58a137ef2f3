"""Classes that other processes cannot import: what pickle sends of them, and how it becomes a class there.

A class that is sent has a token. A process makes one class of a token, however often it gets it. A process that gets a
class back which it has sent continues with its own.
"""

from __future__ import annotations

import os
import sys
import types
import weakref
from typing import Any

# The attributes that `type` makes by itself.
_MADE_BY_TYPE = {"__dict__", "__weakref__", "_abc_impl"}
# The constructor of a class must get these. The rest is set later, because it may contain the class.
_FOR_CONSTRUCTOR = ("__module__", "__slots__", "__orig_bases__")
_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_"}
_HEAP_TYPE = 1 << 9


class _Tokens:
    """The classes that this process has sent or got."""

    def __init__(self) -> None:
        self._classes: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()
        self._tokens: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()
        self._whole: weakref.WeakSet[type] = weakref.WeakSet()

    def of(self, cls: type) -> str:
        """Return the token of a class that this process has."""
        if cls not in self._tokens:
            self.keep(cls, os.urandom(16).hex())
        self._whole.add(cls)
        return self._tokens[cls]

    def keep(self, cls: type, token: str) -> None:
        """Remember a new class."""
        self._tokens[cls] = token
        self._classes[token] = cls

    def find(self, token: str) -> type | None:
        """Return the class of a token."""
        return self._classes.get(token)

    def complete(self, cls: type) -> bool:
        """Return whether a class lacks its attributes, which it then gets."""
        lacks = cls not in self._whole
        self._whole.add(cls)
        return lacks


_tokens = _Tokens()


def is_importable(cls: type, *, also_of_main: bool) -> bool:
    """Return whether another process finds the class by its name."""
    if not cls.__flags__ & _HEAP_TYPE:
        return True
    of_main = cls.__module__ == "__main__"
    if not of_main and "<locals>" not in cls.__qualname__:
        return True  # pickle raises where it is not there
    if of_main and not also_of_main:
        return False
    return named(cls.__module__, cls.__qualname__) is cls


def named(module: str, name: str) -> Any:
    """Return what has a name in a module, or None."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def reduce(cls: type) -> tuple[Any, ...]:
    """Return what pickle sends of a class: how it is made, and its attributes, which may contain the class."""
    attributes = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in _MADE_BY_TYPE and not isinstance(value, types.MemberDescriptorType)
    }
    early = {name: attributes.pop(name) for name in _FOR_CONSTRUCTOR if name in attributes}
    early["__qualname__"] = cls.__qualname__
    members: dict[str, Any] | None = None
    of_members: dict[str, dict[str, Any]] = {}
    if _is_enum(cls):
        named_members: dict[str, Any] = dict(cls.__members__)  # type: ignore[attr-defined]
        members = {name: member._value_ for name, member in named_members.items()}
        attributes = {name: value for name, value in attributes.items() if _stays(name, members)}
        for name, member in named_members.items():
            of_members[name] = {key: value for key, value in vars(member).items() if key not in _OF_MEMBERS}
    made = (_tokens.of(cls), type(cls), cls.__name__, cls.__bases__, early, members)
    return _make, made, (attributes, of_members), None, None, _complete


def _is_enum(cls: type) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(cls, enum.EnumMeta)


def _stays(name: str, members: dict[str, Any]) -> bool:
    """Return whether an attribute of an enumeration is one of its script, and not made with its members."""
    of_enum = name.startswith("_") and name.endswith("_") and not name.startswith("__") and name != "_missing_"
    return name not in members and not of_enum and name != "__new__"


def _make(
    token: str,
    metaclass: type,
    name: str,
    bases: tuple[type, ...],
    early: dict[str, Any],
    members: dict[str, Any] | None,
) -> type:
    known = _tokens.find(token)
    if known is not None:
        return known
    if members is None:
        made = types.new_class(name, bases, {"metaclass": metaclass}, lambda scope: scope.update(early))
    else:
        scope: Any = metaclass.__prepare__(name, bases)
        for key, value in {**early, **members}.items():
            scope[key] = value
        made = metaclass(name, bases, scope)
    _tokens.keep(made, token)
    return made


def _complete(cls: type, state: tuple[dict[str, Any], dict[str, dict[str, Any]]]) -> None:
    attributes, of_members = state
    if not _tokens.complete(cls):
        return
    for name, value in attributes.items():
        # An enumeration refuses to have its members set, and a metaclass may do anything.
        type.__setattr__(cls, name, value)
    for name, values in of_members.items():
        vars(cls.__members__[name]).update(values)  # type: ignore[attr-defined]
