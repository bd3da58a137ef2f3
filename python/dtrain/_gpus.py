"""The abilities of libdtrain with GPUs."""

import os
import sys
import warnings

from dtrain import _core
from dtrain._context import joined
from dtrain._version import cuda

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
    shared = os.environ.get("DTRAIN_GPU_SHARE") == "1"
    wish = os.environ.get("DTRAIN_DEVICE_COLLECTIVES") or ("staged" if shared else "auto")
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
    return _core.nccl_version() if has_gpu_parts() else 0
