"""Small functions that scripts take from Horovod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

__all__ = ["refs_to_vars", "vars_to_refs"]


def _executing_eagerly() -> bool:
    """Return whether TensorFlow runs operations at once; Horovod's tests ask this."""
    return bool(tf.executing_eagerly())


def vars_to_refs(variables: Any) -> Any:
    """Return what stands for variables as keys of a dict, in the same lists."""
    if isinstance(variables, Sequence):
        return tuple(vars_to_refs(one) for one in variables)
    return variables.ref() if isinstance(variables, tf.Variable) else variables


def refs_to_vars(refs: Any) -> Any:
    """Return the variables of vars_to_refs()."""
    if isinstance(refs, Sequence):
        return [refs_to_vars(one) for one in refs]
    return refs.deref() if hasattr(refs, "deref") else refs
