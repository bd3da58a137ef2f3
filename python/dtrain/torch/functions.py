"""Parameters, states of optimizers, and objects, from one rank to all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dtrain import _objects
from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics, translated
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.torch.mpi_ops import allgather, broadcast_, broadcast_async_, synchronize

__all__ = ["allgather_object", "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters"]


def broadcast_parameters(params: Any, root_rank: int) -> None:
    """Give every rank the parameters of one, in place.

    `params` is a state_dict, model.named_parameters(), or model.parameters(). Values that are no tensors stay.
    """
    handles = []
    for name, tensor in _named(params):
        if isinstance(tensor, torch.Tensor):
            # Several names may be given to one tensor, but not two tensors to one name.
            handles.append(broadcast_async_(tensor.detach(), root_rank, f"parameter.{name}"))
    for handle in handles:
        synchronize(handle)


def _named(params: Any) -> list[tuple[str, Any]]:
    if isinstance(params, Mapping):
        return sorted(params.items())
    rows = list(params) if not isinstance(params, torch.Tensor) and hasattr(params, "__iter__") else None
    if rows is None:
        raise ArgumentError(f"params: give a dict, or a list of tensors or of (name, tensor), not {params!r}")
    named = [row if isinstance(row, tuple) else (str(place), row) for place, row in enumerate(rows)]
    if any(len(row) != 2 or not isinstance(row[0], str) or not _may_be_parameter(row[1]) for row in named):
        raise ArgumentError("params: give a dict, or a list of tensors or of (name, tensor)")
    return named


def _may_be_parameter(value: Any) -> bool:
    return value is None or isinstance(value, torch.Tensor)


class _Place:
    """Stands for a tensor in the state that is pickled."""

    def __init__(self, number: int, tensor: Any) -> None:
        self.number = number
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype


def broadcast_optimizer_state(optimizer: Any, root_rank: int, model: Any = None) -> None:  # noqa: ARG001
    """Give every rank the state and the options of one rank's optimizer.

    The state is sent as a skeleton, with tensors beside it, so an optimizer may have any. No step is made. Where
    the optimizer has no state yet, parameters that require a gradient and have none get zeros.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ArgumentError("optimizer: the state of LBFGS cannot be broadcast; use broadcast_object(state_dict)")
    for group in optimizer.param_groups if not optimizer.state else ():
        for parameter in group["params"]:
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
    is_root = basics.world().rank == root_rank
    tensors: list[Any] = []
    own = optimizer.state_dict()
    skeleton = broadcast_object(_emptied(own, tensors) if is_root else None, root_rank)
    filled = _filled(skeleton, tensors if is_root else None, root_rank)
    if not is_root:
        _load(optimizer, filled)


def _load(optimizer: Any, state: Any) -> None:
    """Load a state on the devices of the parameters, with the types that it has.

    Torch casts tensors to the type of their parameter, which a state of more bits would not survive.
    """
    optimizer.load_state_dict({"state": {}, "param_groups": state["param_groups"]})
    owners = {
        number: (parameter, group)
        for group, saved in zip(optimizer.param_groups, state["param_groups"], strict=True)
        for parameter, number in zip(group["params"], saved["params"], strict=True)
    }
    for key, value in state["state"].items():
        parameter, group = owners.get(key, (key, {}))
        optimizer.state[parameter] = value if parameter is key else _placed(value, parameter.device, group)


def _placed(value: Any, device: Any, group: Mapping[str, Any], key: str = "") -> Any:
    """Return the state of a parameter on its device. Torch counts steps on the CPU but for some optimizers."""
    if isinstance(value, torch.Tensor):
        stays = key == "step" and not group.get("capturable") and not group.get("fused")
        return value if stays else value.to(device)
    if isinstance(value, dict):
        return {name: _placed(one, device, group, str(name)) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_placed(one, device, group, key) for one in value)
    return value


def _emptied(value: Any, tensors: list[Any]) -> Any:
    """Return a value with a place instead of each tensor, and add the tensors to the list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach())
        return _Place(len(tensors) - 1, value)
    if isinstance(value, Mapping):
        return {key: _emptied(one, tensors) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_emptied(one, tensors) for one in value)
    return value


def _filled(value: Any, tensors: list[Any] | None, root_rank: int) -> Any:
    """Return a value with the tensors of the root in their places."""
    if isinstance(value, _Place):
        given = torch.empty(value.shape, dtype=value.dtype) if tensors is None else tensors[value.number]
        return broadcast_(given, root_rank, f"optimizer.{value.number}")
    if isinstance(value, dict):
        return {key: _filled(one, tensors, root_rank) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_filled(one, tensors, root_rank) for one in value)
    return value


def _seal_of(process_set: ProcessSet) -> _objects.Seal:
    context = basics.member(process_set.process_set_id).context
    assert context is not None
    return context._seal


def broadcast_object(
    obj: Any, root_rank: int = 0, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Return the object of one rank on every rank. It must be picklable."""
    label = f"object.{name}" if name is not None else None
    is_root = basics.world().rank == root_rank
    seal, call = _seal_of(process_set), f"broadcast {label}"
    key = seal.key(call)
    content = _objects.sealed(obj, key, root_rank) if is_root else bytearray()
    size = broadcast_(torch.tensor([len(content)]), root_rank, label and f"{label}.size", process_set)
    if not is_root:
        content = bytearray(max(1, int(size)))
    broadcast_(torch.frombuffer(content, dtype=torch.uint8), root_rank, label and f"{label}.content", process_set)
    seal.count(call)
    with translated():
        return obj if is_root else _objects.opened(content, key, root_rank)


def allgather_object(obj: Any, name: str | None = None) -> list[Any]:
    """Return the objects of all ranks, by rank. They must be picklable."""
    label = f"object.{name}" if name is not None else None
    seal, call = _seal_of(global_process_set), f"allgather {label}"
    key = seal.key(call)
    content = torch.frombuffer(_objects.sealed(obj, key, basics.world().rank), dtype=torch.uint8)
    with translated():
        sizes = allgather(torch.tensor([content.numel()]), label and f"{label}.size")
        joined = allgather(content, label and f"{label}.content")
        seal.count(call)
        # A tensor has a way to bytes by numpy only, which need not be installed.
        received = bytearray(joined.numel())
        torch.frombuffer(received, dtype=torch.uint8).copy_(joined)
        return _objects.all_opened(memoryview(received), sizes.tolist(), key)
