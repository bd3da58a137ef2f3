"""The memory of tensors as the engine takes it: addresses, counts, types, and streams of GPUs."""

from __future__ import annotations

import math
from typing import Any

import torch

from dtrain import _core
from dtrain._errors import ArgumentError
from dtrain._gpus import has_gpu_parts, report_way
from dtrain._tensors import LEGACY_STREAM

Shape = tuple[int, ...]

_NAMES = {
    "bool": _core.BOOL,
    "uint8": _core.UINT8,
    "int8": _core.INT8,
    "uint16": _core.UINT16,
    "int16": _core.INT16,
    "uint32": _core.UINT32,
    "int32": _core.INT32,
    "uint64": _core.UINT64,
    "int64": _core.INT64,
    "float16": _core.FLOAT16,
    "bfloat16": _core.BFLOAT16,
    "float32": _core.FLOAT32,
    "float64": _core.FLOAT64,
    "float8_e4m3fn": _core.FLOAT8_E4M3,
    "float8_e5m2": _core.FLOAT8_E5M2,
}
# torch before 2.3 has no unsigned integers but uint8, and torch before 2.1 has no 8-bit floats.
TYPES = {getattr(torch, name): number for name, number in _NAMES.items() if hasattr(torch, name)}

# Tensors of AMD's GPUs have the type "cuda", too.
_TAKES_GPUS = has_gpu_parts() and torch.version.cuda is not None

new_like = torch.empty_like


def stream_of(tensor: Any) -> int | None:
    """Return the stream of a tensor's GPU whose earlier work writes the tensor, and 0 for memory of the CPU.

    None for memory that the engine cannot use: it takes a copy.
    """
    if tensor.is_cpu:
        return 0
    if not tensor.is_cuda:
        return None
    report_way(_TAKES_GPUS)
    if not _TAKES_GPUS:
        return None
    return torch.cuda.current_stream(tensor.device).cuda_stream or LEGACY_STREAM


def check(tensor: Any, what: str = "tensor") -> None:
    """Raise what makes a value unusable as a tensor of an operation."""
    if not isinstance(tensor, torch.Tensor):
        raise ArgumentError(f"{what}: give a tensor of torch, not {type(tensor).__name__}")
    if tensor.layout is not torch.strided:
        raise ArgumentError(f"{what}: it is sparse ({tensor.layout}); make it dense by .to_dense()")
    if tensor.device.type == "meta":
        raise ArgumentError(f"{what}: it is on the device meta, so it has no elements")


def check_in_place(tensor: Any) -> None:
    """Raise what makes a tensor unusable for an operation that writes to it."""
    check(tensor)
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(
            "tensor: it requires grad, so it is written within torch.no_grad() only, or by tensor.detach()"
        )


def plain_row(tensor: Any) -> tuple[int, int, int, Shape, int] | None:
    """Return address, count, type, shape and stream of a tensor that the engine can use as it is; None for others.

    It is one function, because a training calls it for each gradient.
    """
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or tensor.requires_grad:
        return None
    kind = TYPES.get(tensor.dtype)
    if kind is None or not tensor.is_contiguous() or tensor.is_neg():
        return None
    stream = stream_of(tensor)
    if stream is None:
        return None
    return tensor.data_ptr(), tensor.numel(), kind, tensor.shape, stream


def is_plain(tensor: Any) -> bool:
    """Return whether the engine can use a tensor's memory as it is."""
    return stream_of(tensor) is not None and _is_dense(tensor)


def _is_dense(tensor: Any) -> bool:
    return bool(tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg())


def plain(tensor: Any) -> Any:
    """Return the tensor, or a copy of it that the engine can use. A copy of a GPU's tensor is made on its stream."""
    if is_plain(tensor):
        return tensor.detach() if tensor.requires_grad else tensor
    return empty(tensor, tuple(tensor.shape)).copy_(tensor.detach())


def on_host(tensor: Any) -> Any:
    """Return the tensor, or a copy of it, in memory of the CPU: for operations whose results lie where no tensor is."""
    if stream_of(tensor) == 0 and _is_dense(tensor):
        return tensor.detach() if tensor.requires_grad else tensor
    return empty_on_host(tensor, tuple(tensor.shape)).copy_(tensor.detach())


def empty(like: Any, shape: Shape) -> Any:
    """Return a new tensor for the engine, of another's type, and on its device where the engine can use that."""
    if stream_of(like) is None:
        return empty_on_host(like, shape)
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def empty_on_host(like: Any, shape: Shape) -> Any:
    """Return a new tensor in memory of the CPU. For a GPU its pages are pinned."""
    return torch.empty(shape, dtype=like.dtype, pin_memory=like.device.type == "cuda")


def onto_device(result: Any, like: Any) -> Any:
    """Return a result on the device of another tensor."""
    return result if result.device == like.device else result.to(like.device)


def as_real(tensor: Any) -> Any:
    """Return a complex tensor as its real and imaginary parts; others as they are."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def type_of(tensor: Any) -> tuple[int, str | None, int]:
    """Return the engine's number of a type. Others, such as complex, have a name and a size, and are only moved."""
    number = TYPES.get(tensor.dtype)
    if number is not None:
        return number, None, 0
    return _core.OPAQUE, str(tensor.dtype), tensor.element_size()


def reducible_type_of(tensor: Any) -> int:
    """Return the engine's number of a type that can be reduced."""
    number = TYPES.get(tensor.dtype)
    if number is None:
        raise ArgumentError(f"tensor: elements of {tensor.dtype} cannot be reduced")
    return number


def from_work(work: _core.Work, like: Any, row: Shape) -> Any:
    """Return a tensor over the rows that a work has as its result."""
    counts = work.counts()
    elements = sum(counts)
    shape = (elements // max(1, math.prod(row)), *row)
    if elements == 0:
        return torch.empty(shape, dtype=like.dtype)
    return torch.frombuffer(work, dtype=like.dtype).reshape(shape)
