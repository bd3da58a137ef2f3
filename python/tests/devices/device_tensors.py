"""Tensors over memory of a CPU device. For torch they are on the CPU, and for the engine on a device with a stream."""

import cpu_device
import torch

from dtrain.torch import _memory

stream_of_torch = _memory.stream_of


def is_there(tensor):
    return cpu_device.has(tensor.data_ptr())


def empty(shape, dtype=torch.float32):
    count = torch.Size(shape).numel()
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    memory = cpu_device.allocate(count * torch.empty(0, dtype=dtype).element_size())
    return torch.frombuffer(memory, dtype=dtype).reshape(shape)


def on_device(tensor):
    """Return a copy in memory of the device, with the strides of the tensor."""
    base = tensor.T if not tensor.is_contiguous() and tensor.T.is_contiguous() else tensor
    copy = empty(tuple(base.shape), tensor.dtype).copy_(base)
    return copy if base is tensor else copy.T


def install():
    """Let the package take such tensors as those of a GPU."""
    empty_on_host = _memory.empty

    def stream_of(tensor):
        return cpu_device.STREAM if is_there(tensor) else 0

    def empty_beside(like, shape):
        return empty(shape, like.dtype) if is_there(like) else empty_on_host(like, shape)

    _memory.stream_of = stream_of
    _memory.empty = empty_beside
    _memory.new_like = lambda tensor: empty_beside(tensor, tuple(tensor.shape))
