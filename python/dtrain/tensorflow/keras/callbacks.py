"""Callbacks of Keras: the same weights on all ranks, averages of metrics, and learning rates for many ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.reductions import Average
from dtrain.tensorflow import _starts
from dtrain.tensorflow.functions import broadcast_variables, variables_of_optimizer
from dtrain.tensorflow.mpi_ops import rank, size

__all__ = [
    "BestModelCheckpoint",
    "BroadcastGlobalVariablesCallback",
    "LearningRateScheduleCallback",
    "LearningRateWarmupCallback",
    "MetricAverageCallback",
]


class BroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Gives every rank the weights of one before the first batch, and after it also the state of the optimizer.

    Only then has the optimizer its state on each rank: one rank may have loaded a checkpoint.
    """

    def __init__(self, root_rank: int, device: str = "", local_variables: Any = None) -> None:
        super().__init__()
        self.root_rank = root_rank
        self.device = device
        self.broadcast_done = False
        self._local = {id(one) for one in local_variables or ()}
        self._kept = list(local_variables or ())  # as long as they live, no others have their numbers

    def register_local_var(self, variable: Any) -> None:
        """Leave a variable as it is on each rank."""
        self._local.add(id(variable))
        self._kept.append(variable)

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Give every rank the weights, where the model has them already."""
        self.broadcast_done = False
        if self.model.built:
            self._send(self.model.variables)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Give every rank weights and state after the first batch."""
        if not self.broadcast_done:
            self._send([*self.model.variables, *variables_of_optimizer(self.model.optimizer)])
            self.broadcast_done = True

    def _send(self, variables: list[Any]) -> None:
        sent = [one for one in variables if id(one) not in self._local]
        operation = broadcast_variables(sent, self.root_rank)
        if operation is not None:
            tf.compat.v1.keras.backend.get_session().run(operation)


class MetricAverageCallback(tf.keras.callbacks.Callback):
    """Replaces metrics by their averages over all ranks at the end of an epoch, for the callbacks behind it."""

    def __init__(self, device: str = "") -> None:
        super().__init__()
        self.device = device

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Average the numbers in the logs."""
        names = sorted(name for name, value in (logs or {}).items() if numpy.ndim(value) == 0)
        if not names:
            return
        own = numpy.array([float(logs[name]) for name in names])
        terms = _starts.terms_of(Average, 1.0, 1.0, 0)
        averages = _starts.start_allreduce([own], None, terms).wait()[0]
        logs.update(zip(names, averages.tolist(), strict=True))


class LearningRateScheduleCallback(tf.keras.callbacks.Callback):
    """Multiplies the first learning rate from one epoch up to another, which is not one of them.

    `multiplier` is a function of the epoch, or a factor for each epoch since `start_epoch`. With `staircase` it has
    whole epochs, else parts of epochs, of which each batch is one. A momentum that is a variable is corrected for the
    batch of a change.
    """

    def __init__(
        self,
        initial_lr: float | None,
        multiplier: float | Callable[[float], float],
        start_epoch: int = 0,
        end_epoch: int | None = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
    ) -> None:
        super().__init__()
        self.initial_lr = initial_lr
        self.start_epoch = start_epoch
        self.end_epoch = end_epoch
        self.staircase = staircase
        self.momentum_correction = momentum_correction
        self.steps_per_epoch = steps_per_epoch
        self.current_epoch = 0
        self._multiplier = multiplier if callable(multiplier) else _power(multiplier, start_epoch)
        self._momentum: float | None = None

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Find out what was not given."""
        if self.initial_lr is None:
            self.initial_lr = self._rate()
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self.params.get("steps")
            if not self.steps_per_epoch:
                raise ArgumentError("steps_per_epoch: give it, because Keras does not know it before the first epoch")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Begin an epoch."""
        self.current_epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Set the learning rate."""
        after = self.end_epoch is not None and self.current_epoch >= self.end_epoch
        if self.current_epoch < self.start_epoch or after or (self.staircase and batch > 0):
            return
        part = 0.0 if self.staircase else batch / (self.steps_per_epoch or 1)
        self._set_rate((self.initial_lr or 0.0) * self._multiplier(self.current_epoch + part))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Set the momentum back."""
        if self._momentum is not None:
            self.model.optimizer.momentum = self._momentum
            self._momentum = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Log the learning rate."""
        if logs is not None:
            logs["lr"] = self._rate()

    def _rate(self) -> float:
        return float(_number_of(self.model.optimizer.learning_rate))

    def _set_rate(self, new: float) -> None:
        optimizer = self.model.optimizer
        old = self._rate()
        optimizer.learning_rate = new
        momentum = getattr(optimizer, "momentum", None)
        # Keras 3 and the newer optimizers of Keras 2 have compiled the momentum in as a constant.
        if self.momentum_correction and isinstance(momentum, tf.Variable) and old:
            self._momentum = float(_number_of(momentum))
            optimizer.momentum = self._momentum * new / old


def _power(factor: float, start_epoch: int) -> Callable[[float], float]:
    return lambda epoch: factor ** (epoch - start_epoch)


def _number_of(value: Any) -> Any:
    """Return the value of a variable or a number; in a session, that of Keras."""
    if isinstance(value, (int, float)):
        return value
    if tf.executing_eagerly():
        return tf.convert_to_tensor(value).numpy()
    return tf.compat.v1.keras.backend.get_session().run(value)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Raises the learning rate over the first epochs, batch by batch, from that of one rank to `initial_lr`."""

    def __init__(
        self,
        initial_lr: float | None,
        warmup_epochs: int = 5,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
        verbose: int = 0,
    ) -> None:
        def multiplier(epoch: float) -> float:
            # The last batch of an epoch has the rate of the whole epoch.
            done = epoch + 1.0 / (self.steps_per_epoch or 1)
            return (1.0 + done / warmup_epochs * (size() - 1)) / size()

        super().__init__(
            initial_lr, multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch=steps_per_epoch
        )
        self.verbose = verbose

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Log the learning rate, and print that of the end."""
        super().on_epoch_end(epoch, logs)
        if self.end_epoch == epoch + 1 and self.verbose > 0 and rank() == 0:
            print(f"\nEpoch {epoch + 1}: the learning rate is {self._rate():g} after its warmup")


class BestModelCheckpoint(tf.keras.callbacks.ModelCheckpoint):
    """Saves the model of the best epoch alone, as best_model.keras; best_model.h5 in Keras 2. It is for one rank."""

    def __init__(
        self,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        filepath: str | None = None,
    ) -> None:
        # In Keras 2, saving the best model in the newer format is an error.
        suffix = "weights.h5" if save_weights_only else "keras" if hasattr(tf.keras, "version") else "h5"
        super().__init__(
            filepath or f"best_model.{suffix}",
            monitor=monitor,
            verbose=verbose,
            save_best_only=True,
            save_weights_only=save_weights_only,
            mode=mode,
            save_freq=save_freq,
        )
