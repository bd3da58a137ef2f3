"""The state of a training that is saved, restored and made the same on all ranks."""

from __future__ import annotations

import copy
from typing import Any

import torch

from dtrain.horovod.common.elastic import ObjectState
from dtrain.torch.elastic.sampler import ElasticSampler
from dtrain.torch.functions import broadcast_object, broadcast_optimizer_state, broadcast_parameters
from dtrain.torch.mpi_ops import rank

__all__ = ["StateHandler", "TorchState", "get_handler_registry", "set_handler_registry"]


class StateHandler:
    """Saves, restores and synchronizes one value. To be derived from, for the registry."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.save()

    def save(self) -> None:
        """Keep a copy of the value's state."""
        raise NotImplementedError

    def restore(self) -> None:
        """Bring the copy back."""
        raise NotImplementedError

    def sync(self) -> None:
        """Give every rank the state of rank 0."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        """Continue with another value."""
        self.value = value
        self.save()


class _StateDictHandler(StateHandler):
    """A value with state_dict() and load_state_dict()."""

    def save(self) -> None:
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self) -> None:
        self.value.load_state_dict(self._saved)


class ModelStateHandler(_StateDictHandler):
    """A model."""

    def sync(self) -> None:
        broadcast_parameters(self.value.state_dict(), root_rank=0)


class OptimizerStateHandler(_StateDictHandler):
    """An optimizer."""

    def sync(self) -> None:
        broadcast_optimizer_state(self.value, root_rank=0)


class SamplerStateHandler(_StateDictHandler):
    """A sampler."""

    def sync(self) -> None:
        self.value.load_state_dict(broadcast_object(self.value.state_dict()))


class _Registry:
    """The handlers by types of values; the first that fits is taken."""

    def __init__(self) -> None:
        self.rows: list[tuple[type, type[StateHandler]]] = [
            (torch.nn.Module, ModelStateHandler),
            (torch.optim.Optimizer, OptimizerStateHandler),
            (ElasticSampler, SamplerStateHandler),
        ]


_registry = _Registry()


def get_handler_registry() -> list[tuple[type, type[StateHandler]]]:
    """Return the pairs of a type and its handler."""
    return _registry.rows


def set_handler_registry(registry: list[tuple[type, type[StateHandler]]]) -> None:
    """Replace the pairs of a type and its handler."""
    _registry.rows = registry


class TorchState(ObjectState):
    """The state of a training: model, optimizer, and any other values, which become attributes."""

    def __init__(self, model: Any = None, optimizer: Any = None, **kwargs: Any) -> None:
        handlers: dict[str, StateHandler] = {}
        rest: dict[str, Any] = {}
        for name, value in {**kwargs, "model": model, "optimizer": optimizer}.items():
            kind = next((handler for known, handler in get_handler_registry() if isinstance(value, known)), None)
            if kind is None:
                rest[name] = value
            else:
                handlers[name] = kind(value)
        object.__setattr__(self, "_handlers", handlers)
        for name, handler in handlers.items():
            object.__setattr__(self, name, handler.value)
        super().__init__(bcast_object=broadcast_object, get_rank=rank, **rest)

    def save(self) -> None:
        """Keep a copy of the state."""
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self) -> None:
        """Bring the last copy back."""
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self) -> None:
        """Give every rank the state of rank 0."""
        for handler in self._handlers.values():
            handler.sync()
        super().sync()
        self.save()

    def __setattr__(self, name: str, value: Any) -> None:
        handler = self._handlers.get(name)
        if handler is not None:
            handler.set_value(value)
        super().__setattr__(name, value)

    _handlers: dict[str, StateHandler]
