"""Horovod's API for PyTorch, by dtrain's engine: `import dtrain.torch as hvd`."""

from dtrain.torch import _version  # raises where torch is missing or too old
from dtrain.torch.compression import Compression
from dtrain.torch.mpi_ops import *  # noqa: F403
from dtrain.torch.mpi_ops import __all__ as _operations

__all__ = ["Compression", "_version", *_operations]  # noqa: PLE0604
