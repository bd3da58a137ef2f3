"""Streams of the core's operations and works."""

import array
import ctypes
import time

import cpu_device
import pytest

import dtrain
from dtrain import _core


@pytest.fixture(scope="module")
def world():
    # A group of its own, whose operations match by their order whatever other files do.
    joined = dtrain.init()
    return joined.group(range(joined.size))


def numbers(value):
    floats = (ctypes.c_float * 1).from_buffer(cpu_device.allocate(4))
    floats[0] = value
    return floats


def address(floats):
    return ctypes.addressof(floats)


def start(world, place, *stream):
    options = ("", 0, 0.0, 0.0, None, 0, 0, None, 0, None, *stream)
    return world._handle.all_reduce(place, place, 1, _core.FLOAT32, _core.SUM, 0, options, None)


def wait_until_idle():
    while not cpu_device.is_idle():
        time.sleep(0.001)


def test_a_work_reads_what_its_stream_has_written_and_the_stream_waits_for_its_result(world):
    gradient = numbers(0)
    late = array.array("f", [2])
    seen = array.array("f", [0])
    with cpu_device.held():
        cpu_device.queue_copy(address(gradient), late.buffer_info()[0], 4)
        work = start(world, address(gradient), cpu_device.STREAM)
        assert not work.done()
    work.wait_stream(cpu_device.STREAM)
    cpu_device.queue_copy(seen.buffer_info()[0], address(gradient), 4)
    wait_until_idle()
    assert list(seen) == [2 * world.size]
    assert work.wait(-1.0)
    work.wait_stream(cpu_device.STREAM)


def test_options_without_a_stream_and_with_none(world):
    for stream in ((), (0,)):
        gradient = numbers(3)
        assert start(world, address(gradient), *stream).wait(-1.0)
        assert list(gradient) == [3 * world.size]


def test_wrong_streams_are_wrong_arguments(world):
    gradient = numbers(3)
    with pytest.raises(dtrain.ArgumentError, match="cpu:0 has no stream at"):
        start(world, address(gradient), address(gradient))
    with cpu_device.held():
        work = start(world, address(gradient), cpu_device.STREAM)
        with pytest.raises(dtrain.ArgumentError, match="cpu:0 has no stream at"):
            work.wait_stream(address(gradient))
        with pytest.raises(TypeError):
            work.wait_stream("0")
    assert work.wait(-1.0)
    on_host = array.array("f", [1])
    with pytest.raises(dtrain.ArgumentError, match="no buffer in memory of a device"):
        start(world, on_host.buffer_info()[0], cpu_device.STREAM)
    world.barrier()
