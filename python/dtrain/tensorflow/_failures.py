"""Failures of operations within graphs, which TensorFlow passes on as texts, as the exceptions that they are."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.exceptions import HorovodInternalError

_KEPT_MAX = 16
_MARK = re.compile(r"\[failure (\d+) of dtrain\]")


class OperationError(HorovodInternalError, tf.errors.FailedPreconditionError):
    """A collective has failed. It is an error of TensorFlow, too, which Horovod's scripts catch."""

    def __init__(self, text: str, code: str = "system", rank: int | None = None) -> None:
        tf.errors.FailedPreconditionError.__init__(self, None, None, text)
        HorovodInternalError.__init__(self, text, code, rank)


class InputError(ArgumentError, tf.errors.InvalidArgumentError):
    """A tensor is unusable for an operation. It is an error of TensorFlow, too."""

    def __init__(self, text: str, code: str = "input", rank: int | None = None) -> None:
        tf.errors.InvalidArgumentError.__init__(self, None, None, text)
        ArgumentError.__init__(self, text, code, rank)


class NotHereError(ArgumentError, NotImplementedError):
    """An operation has no such form for a kind of tensor."""


def of_tensorflow(error: Exception) -> Exception:
    """Return a failure of an operation as one that is also an error of TensorFlow."""
    if isinstance(error, HorovodInternalError) and not isinstance(error, OperationError):
        return OperationError(str(error), error.code, error.rank)
    if isinstance(error, ArgumentError) and not isinstance(error, (InputError, NotHereError)):
        return InputError(str(error), error.code, error.rank)
    return error


class _Failures:
    """The last failures, by their numbers in texts of TensorFlow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._kept: dict[int, BaseException] = {}

    def marked(self, failure: BaseException) -> Exception:
        """Keep a failure, and return the exception for TensorFlow whose text has its number."""
        with self._lock:
            self._count += 1
            self._kept[self._count] = failure
            self._kept.pop(self._count - _KEPT_MAX, None)
            return RuntimeError(f"{type(failure).__name__}: {failure} [failure {self._count} of dtrain]")

    def found(self, text: str) -> BaseException | None:
        """Return the failure whose number a text has."""
        number = _MARK.search(text)
        return self._kept.get(int(number[1])) if number else None


failures = _Failures()


def original(error: Exception) -> BaseException:
    """Return the failure of dtrain that an exception of TensorFlow passes on, or the exception."""
    return failures.found(str(error)) or error


def _install() -> None:
    """Let functions of TensorFlow and sessions raise failures of dtrain as they are.

    TensorFlow has no public place for this. Where a version has these methods no more, its own exceptions stay: they
    have the text.
    """
    from tensorflow.python.client import session  # noqa: PLC0415
    from tensorflow.python.eager import context  # noqa: PLC0415

    for owner, name in ((context.Context, "call_function"), (session.BaseSession, "_do_call")):
        call = getattr(owner, name, None)
        if callable(call):
            setattr(owner, name, _translating(call))


def _translating(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def translated(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(self, *args, **kwargs)
        except Exception as error:
            failure = original(error)
            if failure is error:
                raise
            raise failure from None

    return translated


_install()
