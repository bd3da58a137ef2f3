"""Optimizers of Keras 2 and 3 whose gradients are those of all ranks."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics
from dtrain.tensorflow._aggregation import Aggregation
from dtrain.tensorflow._reducer import Reducer

_MODEL_FRAMES_MAX = 20


class _Distributed:
    """The parts that both kinds of optimizers have. The class of a wrapped one is also one of the optimizer's class."""

    _dtrain: Reducer
    _dtrain_aggregation: Aggregation

    def register_local_var(self, variable: Any) -> None:
        """Leave the gradient of a variable that of this rank."""
        self._dtrain.add_local(variable)

    @property
    def _agg_helper(self) -> Aggregation | None:
        """The sums of several passes, by the name that they have in Horovod; None where each pass is a step."""
        return self._dtrain_aggregation if self._dtrain_aggregation.passes > 1 else None

    def _stepped(self, gradients: Sequence[Any], variables: Sequence[Any], apply: Any) -> Any:
        """Reduce gradients and apply them; with several passes a step, once enough are added up."""
        aggregation = self._dtrain_aggregation
        if aggregation.passes == 1:
            return apply(self._dtrain.reduce(gradients, variables))
        if hasattr(self, "built") and not self.built:
            with tf.init_scope():
                self.build(variables)  # type: ignore[attr-defined]
        is_step, sums = aggregation.add(gradients)

        def step() -> Any:
            return aggregation.step(sums, lambda scaled: apply(self._dtrain.reduce(scaled, variables)))

        if tf.executing_eagerly():
            return step() if bool(is_step) else self._count_pass()
        return tf.cond(is_step, lambda: _constant_after(step), lambda: _constant_after(self._count_pass))

    def _count_pass(self) -> Any:
        """Count a pass that is no step, as Horovod does: schedules of the learning rate count passes.

        Keras 3 computes the number itself where it adds up gradients of several steps.
        """
        number = self.iterations  # type: ignore[attr-defined]
        return number.assign_add(1) if hasattr(number, "assign_add") else tf.no_op()


def _constant_after(step: Any) -> Any:
    with tf.control_dependencies([step()]):
        return tf.constant(1)


def _error_of_scale() -> ArgumentError:
    return ArgumentError(
        "optimizer: a LossScaleOptimizer checks the gradients of one rank; give DistributedOptimizer the "
        "LossScaleOptimizer, and not the other way round"
    )


class _Keras3(_Distributed):
    """Keras 3: apply() is what apply_gradients() and models call."""

    def _maybe_initialize_trackable(self) -> None:
        """Take notice that the optimizer becomes one of a model, before compile() chooses whether to use XLA."""
        super()._maybe_initialize_trackable()  # type: ignore[misc]
        model = _model_with(self)
        if model is not None:
            leave_xla_out(model)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what a LossScaleOptimizer sets in one that is made: it would reduce on some ranks only."""
        if name == "loss_scale_factor" and value is None and name in self.__dict__:
            raise _error_of_scale()
        super().__setattr__(name, value)

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> Any:
        """Reduce the gradients, and apply them."""
        variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)  # type: ignore[attr-defined]
        if not variables:
            return super().apply(grads, trainable_variables)  # type: ignore[misc]
        apply = super().apply  # type: ignore[misc]
        return self._stepped(list(grads), variables, lambda reduced: apply(reduced, trainable_variables))


class _Keras2(_Distributed):
    """Keras 2: minimize() and models call compute_gradients() and apply_gradients(); other programs, either of them.

    The first of them reduces. With several passes a step, it is always apply_gradients().
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what a LossScaleOptimizer sets in the optimizer that it takes."""
        if name == "_is_wrapped_by_loss_scale_optimizer" and value:
            raise _error_of_scale()
        super().__setattr__(name, value)

    def compute_gradients(self, loss: Any, var_list: Any, tape: Any = None) -> Any:
        """Return pairs of a gradient of all ranks and its variable."""
        return self._compute_gradients(loss, var_list, None, tape)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None, tape: Any = None) -> Any:
        """Do what compute_gradients() does; in the older optimizers of Keras 2, minimize() calls this one."""
        tape = tf.GradientTape() if tape is None else tape
        base: Any = super()
        if hasattr(base, "_compute_gradients"):
            pairs = base._compute_gradients(loss, var_list, grad_loss, tape=tape)
        else:
            pairs = base.compute_gradients(loss, var_list, tape=tape)
        variables = [variable for _, variable in pairs]
        return list(zip(self._reduced([gradient for gradient, _ in pairs], variables), variables, strict=True))

    def get_gradients(self, loss: Any, params: Any) -> Any:
        """Return the gradients of all ranks, in a graph of version 1."""
        return self._reduced(list(super().get_gradients(loss, params)), list(params))  # type: ignore[misc]

    def _reduced(self, gradients: list[Any], variables: list[Any]) -> list[Any]:
        if self._dtrain_aggregation.passes > 1:
            return gradients
        reduced = self._dtrain.reduce(gradients, variables)
        self.__dict__["_dtrain_reduced"] = [weakref.ref(one) for one in reduced if one is not None]
        return reduced

    def _is_reduced(self, gradients: list[Any]) -> bool:
        """Return whether gradients are those that this optimizer has reduced last."""
        known = {id(one()) for one in self.__dict__.get("_dtrain_reduced", ())} - {id(None)}
        return bool(known) and all(one is None or id(one) in known for one in gradients)

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        """Reduce the gradients, unless compute_gradients() has done it, and apply them."""
        pairs = list(grads_and_vars)
        if self._is_reduced([gradient for gradient, _ in pairs]):
            return super().apply_gradients(pairs, *args, **kwargs)  # type: ignore[misc]
        variables = [variable for _, variable in pairs]
        apply = super().apply_gradients  # type: ignore[misc]

        def applied(reduced: list[Any]) -> Any:
            return apply(list(zip(reduced, variables, strict=True)), *args, **kwargs)

        return self._stepped([gradient for gradient, _ in pairs], variables, applied)


def is_keras(optimizer: Any) -> bool:
    """Return whether a value is an optimizer of Keras 2 or 3."""
    return callable(getattr(optimizer, "apply_gradients", None)) and hasattr(optimizer, "get_config")


def is_wrapped(optimizer: Any) -> bool:
    """Return whether an optimizer, or the one within it, is distributed already."""
    inner = getattr(optimizer, "inner_optimizer", None)
    return isinstance(optimizer, _Distributed) or (inner is not None and isinstance(inner, _Distributed))


def scaled(optimizer: Any) -> Any:
    """Return an optimizer with the scaled loss that Keras would give it later in mixed precision.

    It checks whether gradients are finite. So it must have those of all ranks, and be within the distributed one.
    """
    precision = tf.keras.mixed_precision
    if precision.global_policy().name != "mixed_float16" or hasattr(optimizer, "inner_optimizer"):
        return optimizer
    return precision.LossScaleOptimizer(optimizer)


def wrapped(optimizer: Any, reducer: Reducer, aggregation: Aggregation) -> Any:
    """Return an optimizer with the state and the options of another one.

    Its class has the name and the module of the other's class. So a model that is saved with it has that class, and
    Keras loads it without this package.
    """
    own = type(optimizer)
    kind = _Keras3 if callable(getattr(optimizer, "apply", None)) else _Keras2
    # They are the class's, so that an optimizer that Keras makes of this one's config is distributed, too.
    parts = {"_dtrain": reducer, "_dtrain_aggregation": aggregation}
    names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__, **parts}
    derived: Any = types.new_class(own.__name__, (kind, own), {}, lambda space: space.update(names))
    made = derived.__new__(derived)
    made.__dict__.update(optimizer.__dict__)
    return made


def _model_with(optimizer: Any) -> Any:
    """Return the model that an optimizer is being assigned to, or None. Keras does not pass it to the optimizer."""
    frame = sys._getframe(1)
    for _ in range(_MODEL_FRAMES_MAX):
        back = frame.f_back
        if back is None:
            return None
        frame = back
        values = frame.f_locals
        if values.get("value") is optimizer and hasattr(type(values.get("self")), "jit_compile"):
            return values["self"]
    return None


def leave_xla_out(model: Any) -> None:
    """Let Keras compile a model without XLA, which has no operations of Python, and report it once."""
    if not getattr(model, "supports_jit", False):
        return
    model.supports_jit = False
    model.jit_compile = False
    if not basics.is_initialized() or basics.world().rank == 0:
        _report()


def _report() -> None:
    print("dtrain: XLA cannot reduce gradients, so Keras compiles this model without it", file=sys.stderr, flush=True)
