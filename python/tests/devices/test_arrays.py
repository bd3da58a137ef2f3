"""Arrays in memory of devices, by __cuda_array_interface__."""

import array
import ctypes
import time

import cpu_device
import pytest

import dtrain
from dtrain import _gpus


class GpuArray:
    """Floats in memory of the device, as a library without results of its own has them."""

    def __init__(self, *values, stream=cpu_device.STREAM, **terms):
        self.floats = (ctypes.c_float * len(values)).from_buffer(cpu_device.allocate(4 * len(values)))
        self.floats[:] = values
        self.__cuda_array_interface__ = {
            "shape": (len(values),),
            "typestr": "<f4",
            "data": (ctypes.addressof(self.floats), False),
            "strides": None,
            "stream": stream,
            "version": 3,
        } | terms

    def tolist(self):
        return list(self.floats)


@pytest.fixture(scope="module")
def world():
    joined = dtrain.init()
    return joined.group(range(joined.size))


@pytest.fixture(autouse=True)
def gpu_parts(monkeypatch):
    monkeypatch.setattr(_gpus, "cuda", "13.0")


def test_a_reduction_in_place_and_into_another_array(world):
    tensor, out = GpuArray(1, 2, strides=(4,)), GpuArray(0, 0)
    assert world.all_reduce(tensor, out=out) is out
    assert out.tolist() == [world.size, 2 * world.size]
    assert tensor.tolist() == [1, 2]
    assert world.all_reduce(tensor, dtrain.Op.MAX, out=tensor) is tensor
    assert tensor.tolist() == [1, 2]


def test_an_operation_reads_what_the_stream_of_the_array_writes(world):
    tensor, late = GpuArray(0), array.array("f", [3])
    with cpu_device.held():
        cpu_device.queue_copy(ctypes.addressof(tensor.floats), late.buffer_info()[0], 4)
        work = world.all_reduce_async(tensor, out=tensor)
        assert not work.done()
    assert work.wait().tolist() == [3 * world.size]
    while not cpu_device.is_idle():
        time.sleep(0.001)


def test_other_operations(world):
    last = world.size - 1
    tensor = GpuArray(world.rank, world.rank)
    assert world.broadcast(tensor, last, out=tensor).tolist() == [last] * 2
    joined = world.all_gather(GpuArray(world.rank), out=GpuArray(*[-1] * world.size))
    assert joined.tolist() == list(range(world.size))
    assert world.reduce_scatter(joined, out=GpuArray(0)).tolist() == [world.size * world.rank]


WRONG = {
    "where dtrain makes no arrays; .* as out": lambda world: world.all_reduce(GpuArray(1)),
    "copy it to the CPU, or give parts": lambda world: world.all_gather(GpuArray(1), ragged=True),
    "not contiguous": lambda world: world.all_reduce(GpuArray(1, 2, strides=(8,)), out=GpuArray(1, 2)),
    "read-only": lambda world: world.all_reduce(GpuArray(1), out=GpuArray(1, data=(8, True))),
    "all buffers of an operation must lie in one place": lambda world: world.all_reduce(
        GpuArray(1), out=memoryview(array.array("f", [1]))
    ),
    "cpu:0 has no stream at": lambda world: world.all_reduce(tensor := GpuArray(1, stream=None), out=tensor),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(world, message):
    with pytest.raises(dtrain.ArgumentError, match=message):
        WRONG[message](world)


def test_a_build_without_gpu_parts_refuses_them(world, monkeypatch):
    monkeypatch.setattr(_gpus, "cuda", "")
    with pytest.raises(dtrain.ArgumentError, match="this build of dtrain has no GPU parts; copy it"):
        world.all_reduce(GpuArray(1), out=GpuArray(1))
    world.barrier()
