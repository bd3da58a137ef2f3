"""Tapes whose gradients are those of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.horovod.common.reductions import Average
from dtrain.tensorflow._reducer import Reducer
from dtrain.tensorflow.compression import Compression

__all__ = ["DistributedGradientTape", "PartialDistributedGradientTape"]


class _Distributed:
    """The methods that a wrapped tape has instead of its own. Its class is one of the tape's class, too."""

    _dtrain: Reducer

    def register_local_source(self, source: Any) -> None:
        """Leave the gradient of a variable that of this rank."""
        self._dtrain.add_local(source)

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        use_generic_names: bool = False,  # noqa: ARG002
        **kwargs: Any,
    ) -> Any:
        """Return the gradients of all ranks in the structure of `sources`."""
        found = super().gradient(target, sources, output_gradients, **kwargs)  # type: ignore[misc]
        if not isinstance(sources, (list, tuple, dict)):
            return self._dtrain.reduce([found], [sources])[0]
        # A gradient in a place may be None or IndexedSlices, which would be a structure of its own.
        if isinstance(sources, dict):
            keys = list(sources)
            reduced = self._dtrain.reduce([found[key] for key in keys], [sources[key] for key in keys])
            return dict(zip(keys, reduced, strict=True))
        flat = _flattened(found, sources)
        return _packed(sources, iter(self._dtrain.reduce(flat, _flattened(sources, sources))))

    def get_local_and_global_gradients(self, target: Any, sources: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Return pairs of a source and its gradient: those that stay this rank's, and those of all ranks."""
        pairs = list(zip(sources, self.gradient(target, sources, *args, **kwargs), strict=True))
        local = [pair for pair in pairs if self._dtrain.is_local(pair[0])]
        return local, [pair for pair in pairs if not self._dtrain.is_local(pair[0])]


def _flattened(values: Any, like: Any) -> list[Any]:
    if not isinstance(like, (list, tuple)):
        return [values]
    return [one for value, part in zip(values, like, strict=True) for one in _flattened(value, part)]


def _packed(like: Any, values: Any) -> Any:
    if not isinstance(like, (list, tuple)):
        return next(values)
    return type(like)([_packed(part, values) for part in like])


def DistributedGradientTape(  # noqa: N802
    gradtape: Any,
    device_dense: str = "",  # noqa: ARG001
    device_sparse: str = "",  # noqa: ARG001
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Any = None,
    process_set: ProcessSet = global_process_set,
    scale_local_gradients: bool = True,
) -> Any:
    """Return a tape whose gradient() returns the gradients of all ranks. It has what `gradtape` has recorded."""
    if not isinstance(gradtape, tf.GradientTape):
        raise ArgumentError(f"gradtape: give a tf.GradientTape, not {gradtape!r}")
    if isinstance(gradtape, _Distributed):
        raise ArgumentError("gradtape: it is a distributed one already")
    reducer = Reducer(
        compression=compression,
        sparse_as_dense=sparse_as_dense,
        op=op,
        gradient_predivide_factor=gradient_predivide_factor,
        groups=groups if num_groups == 0 else num_groups,
        process_set=process_set,
        scale_local_gradients=scale_local_gradients,
    )
    derived: Any = type(type(gradtape).__name__, (_Distributed, type(gradtape)), {})
    wrapped = derived.__new__(derived)
    wrapped.__dict__.update(gradtape.__dict__)
    wrapped._dtrain = reducer
    return wrapped


def PartialDistributedGradientTape(  # noqa: N802
    gradtape: Any,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Any = None,
    process_set: ProcessSet = global_process_set,
    local_layers: Any = None,
    scale_local_gradients: bool = True,
) -> Any:
    """Return a DistributedGradientTape that leaves the gradients of some layers those of this rank."""
    wrapped = DistributedGradientTape(
        gradtape,
        device_dense,
        device_sparse,
        compression,
        sparse_as_dense,
        op,
        gradient_predivide_factor,
        num_groups,
        groups,
        process_set,
        scale_local_gradients,
    )
    for variable in variables_of(local_layers):
        wrapped.register_local_source(variable)
    return wrapped


def variables_of(layers: Any) -> list[Any]:
    """Return the trained variables of a layer, or of several."""
    given = [] if layers is None else list(layers) if isinstance(layers, Sequence) else [layers]
    if any(not hasattr(layer, "trainable_weights") for layer in given):
        raise ArgumentError(f"local_layers: give a layer, or a list of layers, not {layers!r}")
    return [variable for layer in given for variable in layer.trainable_weights]
