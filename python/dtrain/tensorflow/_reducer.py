"""Gradients of one rank, and of all."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.horovod.common.reductions import Average, Sum, factor_of, op_of
from dtrain.tensorflow import _graph, _memory, _sparse, _starts
from dtrain.tensorflow._starts import Terms
from dtrain.tensorflow.compression import Compression


def _key_of(variable: Any) -> int:
    """Return what stands for a variable of TensorFlow, or of Keras, which has one of TensorFlow inside."""
    return id(getattr(variable, "_value", variable))


class Reducer:
    """Makes the gradients of a rank those of all ranks. It has the options of DistributedOptimizer."""

    def __init__(
        self,
        *,
        compression: Any = Compression.none,
        sparse_as_dense: bool = False,
        op: int = Average,
        gradient_predivide_factor: float = 1.0,
        groups: Any = None,
        process_set: ProcessSet = global_process_set,
        scale_local_gradients: bool = True,
    ) -> None:
        self.op = op_of(op)
        self.factor = factor_of("gradient_predivide_factor", gradient_predivide_factor)
        if self.op != Average and self.factor != 1.0:
            raise ArgumentError("gradient_predivide_factor: only with op=Average")
        if not isinstance(process_set, ProcessSet):
            raise ArgumentError(f"process_set: give a ProcessSet, not {process_set!r}")
        if not (hasattr(compression, "compress") and hasattr(compression, "decompress")):
            raise ArgumentError(f"compression: give one of hvd.Compression, not {compression!r}")
        _check_groups(groups)
        self.compression = compression
        self.sparse_as_dense = sparse_as_dense
        self.process_set = process_set
        self.scale_local_gradients = scale_local_gradients
        self._local: dict[int, Any] = {}

    def add_local(self, variable: Any) -> None:
        """Leave the gradient of a variable that of this rank."""
        self._local[_key_of(variable)] = variable

    def is_local(self, variable: Any) -> bool:
        """Return whether the gradient of a variable stays that of this rank."""
        return _key_of(variable) in self._local

    def _terms(self, ranks: int) -> Terms:
        number = self.process_set.process_set_id
        if self.op == Average and self.factor != 1.0:
            return Terms(Sum, 1.0 / self.factor, self.factor / ranks, number)
        return Terms(self.op, 1.0, 1.0, number)

    def reduce(self, gradients: Sequence[Any], variables: Sequence[Any] | None = None) -> list[Any]:
        """Return the gradients of all ranks. None stays None; a gradient of a local variable stays this rank's."""
        if tf.distribute.has_strategy():
            raise ArgumentError("hvd reduces gradients itself: leave out the strategy of tf.distribute, or hvd")
        ranks = len(basics.group(self.process_set.process_set_id).ranks)
        results = list(gradients)
        if ranks == 1 or not self.process_set.included():
            return results
        sent = list(range(len(results)))
        if variables is not None and self._local:
            local = [place for place, one in enumerate(variables) if self.is_local(one)]
            sent = [place for place in sent if place not in local]
            for place in local if self.scale_local_gradients else ():
                results[place] = _divided(results[place], ranks)
        given = [(place, self._as_dense(results[place])) for place in sent if results[place] is not None]
        for place, result in self._reduced(given, self._terms(ranks)):
            results[place] = result
        return results

    def _as_dense(self, gradient: Any) -> Any:
        if isinstance(gradient, tf.IndexedSlices) and not self.sparse_as_dense:
            return gradient
        return _memory.check(tf.convert_to_tensor(gradient), "gradient")

    def _reduced(self, given: list[tuple[int, Any]], terms: Terms) -> list[tuple[int, Any]]:
        label = _graph.label("gradients")
        dense = [(place, one) for place, one in given if not isinstance(one, tf.IndexedSlices)]
        results = self._reduced_dense(dense, terms, label)
        for place, one in given:
            if isinstance(one, tf.IndexedSlices):
                name = _graph.Label(f"{label}.{place}")
                results.append((place, _sparse.allreduce(one, self.op, name, terms.set_number)))
        return results

    def _reduced_dense(self, dense: list[tuple[int, Any]], terms: Terms, label: str) -> list[tuple[int, Any]]:
        if not dense:
            return []
        places = [place for place, _ in dense]
        pairs = [self.compression.compress(one) for _, one in dense]
        small = [one for one, _ in pairs]
        start = functools.partial(_starts.start_allreduces, terms=terms, places=places)
        reduced = _graph.run_list(start, small, "gradients", label)
        results = [self.compression.decompress(one, ctx) for one, (_, ctx) in zip(reduced, pairs, strict=True)]
        return list(zip(places, results, strict=True))


def _divided(gradient: Any, ranks: int) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values / ranks, gradient.indices, gradient.dense_shape)
    return gradient / tf.cast(ranks, gradient.dtype)


def _check_groups(groups: Any) -> None:
    """Raise what is wrong with groups. They have no effect: all gradients are sent at once."""
    if groups is None or (isinstance(groups, int) and not isinstance(groups, bool) and groups >= 0):
        return
    if not isinstance(groups, list) or any(not isinstance(group, (list, tuple)) for group in groups):
        raise ArgumentError(f"groups: give a number from 0, or a list of lists of variables, not {groups!r}")
