"""The answers of works to more than wait() and get_future().

Torch wraps a work that Python has made. Its wrapper forwards these two alone, and has no answer of its own to the
others. So the methods of torch's class ask the future of such a work. Works of torch's own backends answer as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch._C._distributed_c10d import Work as TorchWork

from dtrain.torch._c10d.works import Received

_UNKNOWN = 100  # the operation of a wrapper


def _exception_of(future: Any) -> Exception | None:
    if future.done():
        try:
            future.value()
        except Exception as error:
            return error
    return None


def _result_of(future: Any) -> Any:
    if not future.done():
        raise RuntimeError("Work needs to be completed before calling result(). Should call wait() before result().")
    outputs = future.value()
    if any(not hasattr(output, "dtype") for output in outputs):
        raise RuntimeError("work result does not support list of lists, use .get_future() and value()")
    return outputs


def _source_of(future: Any) -> int:
    outputs = future.wait()
    if not isinstance(outputs, Received):
        raise RuntimeError("source_rank() may only be called on a receive")
    return outputs.source


_ANSWERS: dict[str, Callable[[Any], object]] = {
    "is_completed": lambda future: future.done(),
    "is_success": lambda future: _exception_of(future) is None,
    "exception": _exception_of,
    "result": _result_of,
    "source_rank": _source_of,
    "_source_rank": _source_of,
}


def _answering(method: Callable[[Any], object], answer: Callable[[Any], object]) -> Callable[[Any], object]:
    @functools.wraps(method)
    def ask(work: Any) -> object:
        if work._get_op_type() != _UNKNOWN:
            return method(work)
        try:
            future = work.get_future()
        except RuntimeError:  # some works of Gloo have no future
            return method(work)
        return answer(future)

    return ask


def install() -> None:
    """Let torch's class ask the futures."""
    for name, answer in _ANSWERS.items():
        setattr(TorchWork, name, _answering(getattr(TorchWork, name), answer))
