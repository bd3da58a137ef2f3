"""Horovod's API for Keras 2 and 3 on TensorFlow, by dtrain's engine: `import dtrain.keras as hvd`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

import dtrain.tensorflow as hvd
from dtrain.horovod.common.reductions import op_of
from dtrain.tensorflow import Adasum as Adasum
from dtrain.tensorflow import Average as Average
from dtrain.tensorflow import Compression as Compression
from dtrain.tensorflow import PartialDistributedOptimizer as PartialDistributedOptimizer
from dtrain.tensorflow import ProcessSet as ProcessSet
from dtrain.tensorflow import Sum as Sum
from dtrain.tensorflow import add_process_set as add_process_set
from dtrain.tensorflow import broadcast_object as broadcast_object
from dtrain.tensorflow import ccl_built as ccl_built
from dtrain.tensorflow import cross_rank as cross_rank
from dtrain.tensorflow import cross_size as cross_size
from dtrain.tensorflow import cuda_built as cuda_built
from dtrain.tensorflow import ddl_built as ddl_built
from dtrain.tensorflow import global_process_set as global_process_set
from dtrain.tensorflow import gloo_built as gloo_built
from dtrain.tensorflow import gloo_enabled as gloo_enabled
from dtrain.tensorflow import init as init
from dtrain.tensorflow import is_initialized as is_initialized
from dtrain.tensorflow import local_rank as local_rank
from dtrain.tensorflow import local_size as local_size
from dtrain.tensorflow import mpi_built as mpi_built
from dtrain.tensorflow import mpi_enabled as mpi_enabled
from dtrain.tensorflow import mpi_threads_supported as mpi_threads_supported
from dtrain.tensorflow import nccl_built as nccl_built
from dtrain.tensorflow import rank as rank
from dtrain.tensorflow import remove_process_set as remove_process_set
from dtrain.tensorflow import rocm_built as rocm_built
from dtrain.tensorflow import shutdown as shutdown
from dtrain.tensorflow import size as size
from dtrain.tensorflow import start_timeline as start_timeline
from dtrain.tensorflow import stop_timeline as stop_timeline
from dtrain.tensorflow.keras import callbacks as callbacks
from dtrain.tensorflow.keras import elastic as elastic


def DistributedOptimizer(  # noqa: N802
    optimizer: Any,
    name: str | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    gradient_predivide_factor: float = 1.0,
    op: int = Average,
    backward_passes_per_step: int = 1,
    average_aggregated_gradients: bool = False,
    num_groups: int = 0,
    groups: Any = None,
    process_set: ProcessSet = global_process_set,
    scale_local_gradients: bool = True,
) -> Any:
    """Return an optimizer of Keras that steps with the gradients of all ranks, which are reduced at once in a step."""
    if num_groups:
        warnings.warn("num_groups is deprecated; use groups", DeprecationWarning, stacklevel=2)
        groups = num_groups if groups is None else groups
    return hvd.DistributedOptimizer(
        optimizer,
        name,
        False,
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


def _value_of(tensor: Any) -> Any:
    """Return a tensor as it is; in a session of Keras, its value."""
    if tf.executing_eagerly():
        return tensor
    return tf.compat.v1.keras.backend.get_session().run(tensor)


def broadcast_global_variables(root_rank: int) -> None:
    """Give every rank the global variables of one, in the session of Keras. Eager programs have a callback."""
    tf.compat.v1.keras.backend.get_session().run(hvd.broadcast_global_variables(root_rank))


def allreduce(
    value: Any,
    name: str | None = None,
    average: bool | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    op: int | None = None,
    compression: Any = Compression.none,
) -> Any:
    """Return the reduction of a value over all ranks, by default its average."""
    op = op_of(op, average)
    factors = (prescale_factor, postscale_factor)
    return _value_of(hvd.allreduce(tf.convert_to_tensor(value), None, "", "", compression, op, *factors, name))


def allgather(value: Any, name: str | None = None) -> Any:
    """Return the values of all ranks, joined along the first dimension."""
    return _value_of(hvd.allgather(tf.convert_to_tensor(value), name))


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    """Return the value of one rank."""
    return _value_of(hvd.broadcast(tf.convert_to_tensor(value), root_rank, name))


def reducescatter(value: Any, name: str | None = None, op: int = Average) -> Any:
    """Return this rank's rows of the reduction of a value."""
    return _value_of(hvd.reducescatter(tf.convert_to_tensor(value), op=op, name=name))


def load_model(
    filepath: Any,
    custom_optimizers: Sequence[type] | None = None,
    custom_objects: dict[str, Any] | None = None,
    compression: Any = Compression.none,
    legacy_opts: bool = False,  # noqa: ARG001
) -> Any:
    """Return a model that was saved, with its optimizer as a distributed one.

    `custom_optimizers` are classes of optimizers that Keras does not have.
    """
    known = {one.__name__: one for one in custom_optimizers or ()}
    model = tf.keras.models.load_model(filepath, custom_objects={**known, **(custom_objects or {})})
    if getattr(model, "optimizer", None) is not None:
        model.optimizer = DistributedOptimizer(model.optimizer, compression=compression)
    return model
