"""The parts of the backend for torch.distributed."""

import torch

from dtrain.torch._version import version


def check_version() -> None:
    """Raise ImportError where torch is too old for a backend in Python."""
    if version(torch.__version__) < (2, 7):
        raise ImportError(f"dtrain.torch.distributed needs PyTorch 2.7 or later, but {torch.__version__} is installed")


check_version()
