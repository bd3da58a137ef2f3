"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dtrain.horovod.common.basics import basics
from dtrain.tensorflow.mpi_ops import Sum, allreduce

__all__ = ["SyncBatchNormalization"]


class SyncBatchNormalization(tf.keras.layers.BatchNormalization):
    """BatchNormalization whose mean and variance are those of all ranks' inputs. All ranks call it in training."""

    def __init__(self, fused: bool = False, **kwargs: Any) -> None:
        if fused:
            raise ValueError("SyncBatchNormalization has no fused form; leave fused out")
        super().__init__(**kwargs)
        # XLA has no operations of Python.
        self.supports_jit = False
        if hasattr(self, "fused"):
            self.fused = False

    def _moments(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return mean and variance. Keras 2 gives the dimensions; Keras 3 has them, and gives the mask."""
        mask = kwargs.get("mask")
        if hasattr(self, "_reduction_axes"):
            axes, keep = self._reduction_axes, False
            mask = args[0] if args else mask
        else:
            axes = args[0] if args else kwargs["reduction_axes"]
            keep = args[1] if len(args) > 1 else kwargs.get("keep_dims", False)
        if mask is not None or basics.world().size == 1:
            return super()._moments(inputs, *args, **kwargs)
        wide = tf.cast(inputs, tf.float32) if inputs.dtype in (tf.float16, tf.bfloat16) else inputs
        total = tf.reduce_sum(wide, axes, keepdims=True)
        count = tf.cast(tf.size(wide) // tf.maximum(tf.size(total), 1), wide.dtype)
        joined = allreduce(tf.concat([tf.reshape(total, [-1]), [count]], 0), op=Sum)
        everywhere = joined[-1]
        mean = tf.reshape(joined[:-1], tf.shape(total)) / everywhere
        squares = allreduce(tf.reduce_sum((wide - mean) ** 2, axes, keepdims=True), op=Sum)
        results = [tf.cast(one, inputs.dtype) for one in (mean, squares / everywhere)]
        return tuple(one if keep else tf.squeeze(one, axes) for one in results)
