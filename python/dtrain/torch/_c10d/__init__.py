"""The parts of the backend for torch.distributed."""

import torch

_NEEDED = (
    "dtrain.torch.distributed needs a PyTorch whose class Backend can be derived from in Python, such as 2.15; the"
    f" installed one is {torch.__version__}"
)


def check_version() -> None:
    """Raise ImportError where torch is too old for a backend in Python."""
    try:
        from torch._C._distributed_c10d import Backend  # noqa: PLC0415

        type("Probe", (Backend,), {})(0, 1)
    except (ImportError, TypeError) as error:
        raise ImportError(_NEEDED) from error


check_version()
