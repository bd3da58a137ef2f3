"""Elastic training of Horovod's API: complete for jobs of fixed size, which dtrain has."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import rank, shutdown
from dtrain.horovod.common.elastic import ObjectState, run, run_fn
from dtrain.horovod.common.process_sets import init
from dtrain.tensorflow.functions import broadcast_object, broadcast_variables, variables_of_optimizer

__all__ = ["TensorFlowKerasState", "TensorFlowState", "init", "run", "run_fn", "shutdown"]


class TensorFlowState(ObjectState):
    """The state of a training: variables, and any other values, which become attributes.

    In a session, it has that session, and by default its global variables.
    """

    def __init__(self, variables: Any = None, session: Any = None, **kwargs: Any) -> None:
        self._session = session
        if variables is None and tf.executing_eagerly():
            raise ArgumentError("variables: give a list of variables; only sessions have global ones")
        self.variables = list(tf.compat.v1.global_variables() if variables is None else variables)
        self._saved: list[Any] = []
        super().__init__(bcast_object=broadcast_object, get_rank=rank, **kwargs)
        self._save_variables()

    def _all(self) -> list[Any]:
        return self.variables

    def _save_variables(self) -> None:
        if tf.executing_eagerly():
            self._saved = [tf.convert_to_tensor(one).numpy() for one in self._all()]
        else:
            self._saved = self._run(self._all())

    def _run(self, fetches: Any) -> Any:
        session = self._session or tf.compat.v1.get_default_session()
        if session is None:
            raise ArgumentError("session: give one, or make one the default, because execution is not eager")
        return session.run(fetches)

    def save(self) -> None:
        """Keep a copy of the state."""
        self._save_variables()
        super().save()

    def restore(self) -> None:
        """Bring the last copy back."""
        for variable, value in zip(self._all(), self._saved, strict=True):
            if tf.executing_eagerly():
                variable.assign(value)
            else:
                variable.load(value, self._session or tf.compat.v1.get_default_session())
        super().restore()

    def sync(self) -> None:
        """Give every rank the state of rank 0."""
        operation = broadcast_variables(self._all(), root_rank=0)
        if operation is not None:
            self._run(operation)
        super().sync()
        self._save_variables()


class TensorFlowKerasState(TensorFlowState):
    """The state of a training with Keras: model, optimizer, and any other values, which become attributes."""

    def __init__(self, model: Any, optimizer: Any = None, backend: Any = None, **kwargs: Any) -> None:  # noqa: ARG002
        if not model.built:
            raise ArgumentError("model: it has no variables yet; call model.build(shape), or the model, first")
        self.model = model
        self.optimizer = model.optimizer if optimizer is None else optimizer
        super().__init__(variables=[], **kwargs)

    def _all(self) -> list[Any]:
        """Return the variables that there are now: an optimizer makes its own at the first step."""
        return [*self.model.variables, *variables_of_optimizer(self.optimizer)]

    def restore(self) -> None:
        """Bring the last copy back. Variables that an optimizer has made since then begin with zeros."""
        later = self._all()[len(self._saved) :]
        self._saved += [tf.zeros(one.shape, one.dtype).numpy() for one in later]
        super().restore()
