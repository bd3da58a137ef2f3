"""Gradients that are added up over several passes before the ranks reduce them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError


class Aggregation:
    """The sums of a rank's gradients, and the number of passes since the last step."""

    def __init__(self, passes: int, average: bool) -> None:
        if not isinstance(passes, int) or isinstance(passes, bool) or passes < 1:
            raise ArgumentError(f"backward_passes_per_step: give a number from 1, not {passes!r}")
        self.passes = passes
        self._average = average
        self._sums: list[Any] = []
        self._count: Any = None

    @property
    def counter(self) -> Any:
        """The variable with the number of passes since the last step; None before the first pass."""
        return self._count

    def _prepare(self, gradients: Sequence[Any]) -> None:
        """Make the variables. A session has them among its global variables, which are initialized and broadcast."""
        if self._count is not None:
            return
        shapes = [(one.shape, one.dtype) for one in gradients]

        def make() -> None:
            self._count = tf.Variable(0, trainable=False, dtype=tf.int64, name="aggregation_count")
            self._sums = [
                tf.Variable(tf.zeros(shape, dtype), trainable=False, name=f"aggregation_{place}")
                for place, (shape, dtype) in enumerate(shapes)
            ]

        if tf.compat.v1.executing_eagerly_outside_functions():
            with tf.init_scope():
                make()
        else:
            make()

    def add(self, gradients: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Add gradients up. Return whether enough passes are there for a step, and the sums."""
        dense = [tf.convert_to_tensor(one) for one in gradients if one is not None]
        self._prepare(dense)
        pairs = zip(self._sums, dense, strict=True)
        added = [total.assign_add(one) for total, one in pairs]
        with tf.control_dependencies(_operations_of(added)):
            count = self._count.assign_add(1)
        with tf.control_dependencies(_operations_of([count])):
            is_step = tf.equal(self._count.read_value(), self.passes)
            sums = iter([total.read_value() for total in self._sums])
        return is_step, [None if one is None else next(sums) for one in gradients]

    def step(self, sums: Sequence[Any], apply: Callable[[list[Any]], Any]) -> Any:
        """Call what applies the sums, within the branch of a step, and begin again with zeros."""
        scale = 1.0 / self.passes if self._average else 1.0
        scaled = [None if one is None else one * tf.cast(scale, one.dtype) for one in sums]
        applied = apply(scaled)
        with tf.control_dependencies(_operations_of([applied])):
            zeros = [total.assign(tf.zeros_like(total)) for total in self._sums]
            zeros.append(self._count.assign(0))
        with tf.control_dependencies(_operations_of(zeros)):
            return tf.no_op() if not tf.executing_eagerly() else None


def _operations_of(values: Sequence[Any]) -> list[Any]:
    """Return what others may wait for in a graph."""
    if tf.executing_eagerly():
        return []
    return [getattr(one, "op", one) for one in values if one is not None]
