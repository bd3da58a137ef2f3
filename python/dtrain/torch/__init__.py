"""Horovod's API for PyTorch, by dtrain's engine: `import dtrain.torch as hvd`."""

from dtrain.torch import (
    _version,  # raises where torch is missing or too old
    elastic,
)
from dtrain.torch.compression import Compression
from dtrain.torch.functions import (
    allgather_object,
    broadcast_object,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from dtrain.torch.mpi_ops import *  # noqa: F403
from dtrain.torch.mpi_ops import __all__ as _operations
from dtrain.torch.optimizer import DistributedOptimizer
from dtrain.torch.sync_batch_norm import SyncBatchNorm

__all__ = [  # noqa: PLE0604
    "Compression",
    "DistributedOptimizer",
    "SyncBatchNorm",
    "_version",
    "allgather_object",
    "broadcast_object",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "elastic",
    *_operations,
]
