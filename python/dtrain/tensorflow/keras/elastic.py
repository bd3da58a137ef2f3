"""Elastic training with Keras: complete for jobs of fixed size, which dtrain has."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dtrain.horovod.common.elastic import run
from dtrain.tensorflow.elastic import TensorFlowKerasState

__all__ = ["CommitStateCallback", "KerasState", "UpdateBatchStateCallback", "UpdateEpochStateCallback", "run"]


class KerasState(TensorFlowKerasState):
    """The state of a training: model, optimizer, and any other values, which become attributes."""


class CommitStateCallback(tf.keras.callbacks.Callback):
    """Commits a state every so many batches, and at the end of each epoch."""

    def __init__(self, state: Any, batches_per_commit: int = 1) -> None:
        super().__init__()
        self.state = state
        self.batches_per_commit = batches_per_commit
        self._left = batches_per_commit

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Count from the beginning on all ranks."""
        self._left = self.batches_per_commit

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Count a batch."""
        self._left -= 1
        if self._left == 0:
            self.state.commit()
            self._left = self.batches_per_commit

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Commit the state."""
        self.state.commit()


class UpdateBatchStateCallback(tf.keras.callbacks.Callback):
    """Keeps `state.batch` the number of the last batch; 0 at the end of an epoch."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Take the number."""
        self.state.batch = batch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Begin again."""
        self.state.batch = 0


class UpdateEpochStateCallback(tf.keras.callbacks.Callback):
    """Keeps `state.epoch` the number of epochs that are done, also those before a restart of fit()."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = state
        self._before = state.epoch

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Count from the state's epoch."""
        self._before = self.state.epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Count an epoch."""
        self.state.epoch = self._before + epoch + 1
