"""The abilities of libdtrain with GPUs."""

import glob
import os
import sys
import warnings

from dtrain._context import joined
from dtrain._version import cuda

_SONAME = "libnccl.so.2"
# An older one is refused.
_NCCL_MIN = 21403
_reported = False


def has_gpu_parts() -> bool:
    """Return whether this build of libdtrain takes memory of GPUs."""
    return bool(cuda)


def report_way(as_they_are: bool) -> None:
    """Report on rank 0, at the first tensor of a GPU, which way these tensors take."""
    global _reported  # noqa: PLW0603  # a process reports once
    world = None if _reported else joined()
    if world is None:
        return
    _reported = True
    if world.rank != 0:
        return
    wish = os.environ.get("DTRAIN_DEVICE_COLLECTIVES", "")
    if not as_they_are:
        text = "this build of dtrain has no parts for these GPUs; their tensors are copied to the CPU and back"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return
    way = "pass through the memory of the host; DTRAIN_DEVICE_COLLECTIVES=auto uses NCCL"
    if wish in ("auto", "nccl"):
        way = f"are for NCCL, once it has connected all ranks (DTRAIN_DEVICE_COLLECTIVES={wish})"
    print(f"dtrain: tensors of GPUs {way}", file=sys.stderr, flush=True)


def nccl_version() -> int:
    """Return the number of the NCCL that libdtrain loads, such as 22809, or 0 where it can use none."""
    if not has_gpu_parts():
        return 0
    import ctypes  # noqa: PLC0415  # few programs ask

    for path in _nccl_paths():
        try:
            library = ctypes.CDLL(path)
            version = ctypes.c_int()
            library.ncclGetVersion(ctypes.byref(version))
        except (OSError, AttributeError):
            continue
        return version.value if version.value >= _NCCL_MIN else 0
    return 0


def _nccl_paths() -> list[str]:
    """Return the places where libdtrain searches, in its order."""
    chosen = os.environ.get("DTRAIN_NCCL_LIB")
    if chosen:
        return [chosen]
    paths = [_SONAME]
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(name)
        if prefix:
            paths += glob.glob(f"{glob.escape(prefix)}/lib/python3*/site-packages/nvidia/nccl/lib/{_SONAME}")
    return [*paths, *(f"{home}/lib64/{_SONAME}" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home)]
