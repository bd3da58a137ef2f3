"""Memory and streams of a CPU device, which takes the place of a GPU.

The package's libdtrain is that of tests/programs/cpu_device_library.cc.
"""

import contextlib
import ctypes

import dtrain  # noqa: F401  # has the library loaded

_library = ctypes.CDLL("libdtrain.so.0")
_address, _size = ctypes.c_void_p, ctypes.c_size_t


def _function(name, result, *arguments):
    function = getattr(_library, f"dtrain_test_{name}")
    function.restype, function.argtypes = result, arguments
    return function


_allocate = _function("allocate", _address, _size)
_hold = _function("hold", None, _address)
_open = _function("open", None)
_copy = _function("copy", None, _address, _address, _address, _size)
_done = _function("done", ctypes.c_bool, _address)
STREAM = _function("make_stream", _address)()
_ranges = []


def allocate(size):
    """Return the bytes of new memory of the device."""
    address = _allocate(max(1, size))
    _ranges.append(range(address, address + max(1, size)))
    return (ctypes.c_char * size).from_address(address)


def has(address):
    """Return whether an address lies in memory of the device."""
    return any(address in one for one in _ranges)


@contextlib.contextmanager
def held():
    """Let later work of the stream wait until the end of the block."""
    _hold(STREAM)
    try:
        yield
    finally:
        _open()


def queue_copy(to, source, size):
    """Copy between addresses in the order of the stream."""
    _copy(STREAM, to, source, size)


def is_idle():
    """Return whether all work of the stream is done."""
    return _done(STREAM)
