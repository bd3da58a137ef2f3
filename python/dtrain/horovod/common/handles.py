"""Operations under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrain import _core
from dtrain._errors import ArgumentError, Error
from dtrain.horovod.common.basics import Group, basics
from dtrain.horovod.common.exceptions import internal_error


class Handle:
    """An operation under way. It holds its tensors; one that is dropped holds them until it is done."""

    __slots__ = ("_finish", "_kind", "_name", "_result", "_work", "group")

    def __init__(self, work: _core.Work, kind: str, name: str, finish: Callable[[_core.Work], Any]) -> None:
        self._work = work
        self._kind = kind
        self._name = name
        self._finish: Callable[[_core.Work], Any] | None = finish
        self._result: Any = None
        self.group: Group | None = None  # it knows the name while the operation is under way

    def done(self) -> bool:
        """Return whether the operation has succeeded or failed."""
        return self._work.done()

    def wait(self) -> Any:
        """Return the result, the same at each call, or raise HorovodInternalError."""
        finish = self._finish
        if finish is not None:
            try:
                self._work.wait(-1.0)
            except ArgumentError:
                raise
            except Error as error:
                raise internal_error(error) from error
            if self.group is not None:
                self.group.forget(self._name)
            self._result = finish(self._work)
            self._finish = None
            if basics.timeline is not None:
                basics.timeline.record(self._name, self._kind, self._work.times())
        return self._result


class HandleList:
    """Several operations under way, whose results are a list."""

    __slots__ = ("_handles",)

    def __init__(self, handles: list[Handle]) -> None:
        self._handles = handles

    def done(self) -> bool:
        """Return whether all of them have ended."""
        return all(handle.done() for handle in self._handles)

    def wait(self) -> list[Any]:
        """Return their results. Where several fail, the first failure is raised after all have ended."""
        failure: Exception | None = None
        for handle in self._handles:
            try:
                handle.wait()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return [handle.wait() for handle in self._handles]


def poll(handle: Handle | HandleList) -> bool:
    """Return whether an operation is done: synchronize() would not wait."""
    return handle.done()


def synchronize(handle: Any) -> Any:
    """Wait for an operation, and return its result. For what is no handle it returns None."""
    if isinstance(handle, (Handle, HandleList)):
        return handle.wait()
    return handle() if callable(handle) else None
