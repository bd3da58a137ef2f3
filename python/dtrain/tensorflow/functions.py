"""Variables and objects, from one rank to all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from dtrain._context import Context
from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics, translated
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.tensorflow._starts import root_of
from dtrain.tensorflow.mpi_ops import broadcast_, number_of

__all__ = [
    "BroadcastGlobalVariablesHook",
    "allgather_object",
    "broadcast_global_variables",
    "broadcast_object",
    "broadcast_object_fn",
    "broadcast_variables",
]


def broadcast_variables(
    variables: Sequence[Any],
    root_rank: int,
    process_set: ProcessSet = global_process_set,
    inplace: bool = False,  # noqa: ARG001
) -> Any:
    """Give every rank the variables of one. All are sent at once. In a session, run the operation that is returned."""
    given = list(variables)
    if not given:
        return None if tf.executing_eagerly() else tf.no_op()
    assigned = broadcast_(given, root_rank, None if tf.executing_eagerly() else "variables", process_set)
    if tf.executing_eagerly():
        return None
    return tf.group(*[getattr(one, "op", one) for one in assigned])


def broadcast_global_variables(root_rank: int) -> Any:
    """Return the operation that gives every rank the global variables of one. It is for sessions."""
    if tf.executing_eagerly():
        raise ArgumentError(
            "broadcast_global_variables() is for sessions; in eager execution call broadcast_variables(model.variables)"
        )
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
    """Gives every rank the global variables of one, once a MonitoredTrainingSession has set them."""

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self.root_rank = root_rank
        self.device = device
        self.bcast_op: Any = None

    def begin(self) -> None:
        """Add the operation to the graph."""
        if self.bcast_op is None or self.bcast_op.graph is not tf.compat.v1.get_default_graph():
            self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:  # noqa: ARG002
        """Run the operation."""
        session.run(self.bcast_op)


def _context_of(process_set: ProcessSet) -> Context:
    context = basics.member(number_of(process_set)).context
    assert context is not None
    return context


def broadcast_object(
    obj: Any,
    root_rank: int = 0,
    session: Any = None,  # noqa: ARG001
    name: str | None = None,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return the object of one rank on every rank. It must be picklable. It needs no session."""
    root = root_of(root_rank, basics.member(number_of(process_set)))
    with translated():
        return _context_of(process_set).broadcast_object(obj, root)


def broadcast_object_fn(
    root_rank: int = 0,
    session: Any = None,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> Callable[[Any], Any]:
    """Return the function that returns the object of one rank on every rank."""
    return lambda obj: broadcast_object(obj, root_rank, session, name, process_set)


def allgather_object(
    obj: Any,
    session: Any = None,  # noqa: ARG001
    name: str | None = None,  # noqa: ARG001
    process_set: ProcessSet = global_process_set,
) -> list[Any]:
    """Return the objects of all ranks, by rank. They must be picklable."""
    with translated():
        return list(_context_of(process_set).all_gather_object(obj))


def variables_of_optimizer(optimizer: Any) -> list[Any]:
    """Return the variables of an optimizer. Keras 2 and 3 have them as a list or as a method."""
    found = getattr(optimizer, "variables", [])
    return list(found() if callable(found) and not isinstance(found, list) else found)
