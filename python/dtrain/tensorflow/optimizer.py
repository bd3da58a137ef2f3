"""Optimizers that step with the gradients of all ranks."""

from __future__ import annotations

import warnings
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.horovod.common.reductions import Adasum, Average
from dtrain.tensorflow import _keras_optimizer
from dtrain.tensorflow._aggregation import Aggregation
from dtrain.tensorflow._reducer import Reducer
from dtrain.tensorflow.compression import Compression
from dtrain.tensorflow.tape import variables_of

__all__ = ["DistributedOptimizer", "PartialDistributedOptimizer"]


class _DistributedOptimizer(tf.compat.v1.train.Optimizer):
    """An optimizer of TensorFlow 1 around another one, which applies the gradients of all ranks."""

    def __init__(self, optimizer: Any, naming: tuple[str, bool], reducer: Reducer, aggregation: Aggregation) -> None:
        name, use_locking = naming
        super().__init__(use_locking=use_locking, name=name)
        self._optimizer = optimizer
        self._dtrain = reducer
        self._aggregation = aggregation

    def register_local_var(self, var: Any) -> None:
        """Leave the gradient of a variable that of this rank."""
        self._dtrain.add_local(var)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients of all ranks.

        With several passes a step, and for Adasum, they are those of this rank: apply_gradients() reduces.
        """
        rows = self._optimizer.compute_gradients(*args, **kwargs)
        if self._aggregation.passes > 1 or self._dtrain.op == Adasum:
            return rows
        variables = [variable for _, variable in rows]
        reduced = self._dtrain.reduce([gradient for gradient, _ in rows], variables)
        return list(zip(reduced, variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Apply gradients; with several passes a step, once enough are added up. Each pass counts in `global_step`."""
        rows = list(grads_and_vars)
        if self._aggregation.passes == 1:
            return self._applied(rows, global_step, name)
        variables = [variable for _, variable in rows]
        is_step, sums = self._aggregation.add([gradient for gradient, _ in rows])
        with tf.init_scope():
            self._optimizer._create_slots([variable for gradient, variable in rows if gradient is not None])

        def apply(scaled: list[Any]) -> Any:
            if self._dtrain.op != Adasum:
                scaled = self._dtrain.reduce(scaled, variables)
            return self._applied(list(zip(scaled, variables, strict=True)), None, name)

        def step() -> Any:
            done = self._aggregation.step(sums, apply)
            with tf.control_dependencies([] if tf.executing_eagerly() else [done]):
                return tf.constant(1)

        done = tf.cond(is_step, step, lambda: tf.constant(0))
        with tf.control_dependencies([] if tf.executing_eagerly() else [done]):
            return tf.no_op() if global_step is None else global_step.assign_add(1)

    def _applied(self, rows: list[tuple[Any, Any]], global_step: Any, name: str | None) -> Any:
        """Apply gradients. For Adasum each rank makes a step with its own, and the changes of weights are reduced."""
        if self._dtrain.op != Adasum:
            return self._optimizer.apply_gradients(rows, global_step=global_step, name=name)
        variables = [variable for gradient, variable in rows if gradient is not None]
        before = [tf.identity(variable) for variable in variables]
        with tf.control_dependencies(before):
            done = self._optimizer.apply_gradients(rows, global_step=global_step, name=name)
        with tf.control_dependencies([] if tf.executing_eagerly() else [done]):
            changes = [variable.read_value() - one for variable, one in zip(variables, before, strict=True)]
        reduced = self._dtrain.reduce(changes, variables)
        triples = zip(variables, before, reduced, strict=True)
        return tf.group(*[variable.assign(one + change) for variable, one, change in triples])

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the optimizer within."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the slots of the optimizer within."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> Any:
        """Return the variables of the optimizer within."""
        return self._optimizer.variables(*args, **kwargs)


def DistributedOptimizer(  # noqa: N802
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",  # noqa: ARG001
    device_sparse: str = "",  # noqa: ARG001
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    average_aggregated_gradients: bool = False,
    num_groups: int = 0,
    groups: Any = None,
    process_set: ProcessSet = global_process_set,
    scale_local_gradients: bool = True,
) -> Any:
    """Return an optimizer that steps with the gradients of all ranks, which are reduced at once in each step.

    `optimizer` is one of tf.compat.v1.train, of Keras 2, or of Keras 3. Groups and devices have no effect.
    """
    if num_groups:
        warnings.warn("num_groups is deprecated; use groups", DeprecationWarning, stacklevel=2)
        groups = num_groups if groups is None else groups
    if isinstance(optimizer, _DistributedOptimizer) or _keras_optimizer.is_wrapped(optimizer):
        raise ArgumentError("optimizer: it is a distributed one already; wrap it once")
    reducer = Reducer(
        compression=compression,
        sparse_as_dense=sparse_as_dense,
        op=op,
        gradient_predivide_factor=gradient_predivide_factor,
        groups=groups,
        process_set=process_set,
        scale_local_gradients=scale_local_gradients,
    )
    aggregation = Aggregation(backward_passes_per_step, average_aggregated_gradients)
    if isinstance(optimizer, tf.compat.v1.train.Optimizer):
        name = name or f"Distributed{type(optimizer).__name__}"
        return _DistributedOptimizer(optimizer, (name, use_locking), reducer, aggregation)
    if op == Adasum and _keras_optimizer.is_keras(optimizer):
        raise ArgumentError(
            "op: an optimizer of Keras has no Adasum, which combines changes of weights; give one of"
            " tf.compat.v1.train, or DistributedGradientTape(op=hvd.Adasum) for gradients"
        )
    if not _keras_optimizer.is_keras(optimizer):
        raise ArgumentError(
            f"optimizer: give an optimizer of tf.compat.v1.train or of Keras, not {type(optimizer).__name__}"
        )
    return _keras_optimizer.wrapped(_keras_optimizer.scaled(optimizer), reducer, aggregation)


def PartialDistributedOptimizer(  # noqa: N802
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    average_aggregated_gradients: bool = False,
    groups: Any = None,
    process_set: ProcessSet = global_process_set,
    local_layers: Any = None,
    scale_local_gradients: bool = True,
) -> Any:
    """Return a DistributedOptimizer that leaves the gradients of some layers those of this rank."""
    made = DistributedOptimizer(
        optimizer,
        name,
        use_locking,
        device_dense,
        device_sparse,
        compression,
        sparse_as_dense,
        backward_passes_per_step,
        op,
        gradient_predivide_factor,
        average_aggregated_gradients,
        groups=groups,
        process_set=process_set,
        scale_local_gradients=scale_local_gradients,
    )
    for variable in variables_of(local_layers):
        made.register_local_var(variable)
    return made
