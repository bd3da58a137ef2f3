"""Horovod's API for TensorFlow, by dtrain's engine: `import dtrain.tensorflow as hvd`."""

from dtrain.tensorflow import (
    _version,  # raises where TensorFlow is missing or too old
    elastic,
)
from dtrain.tensorflow.compression import Compression
from dtrain.tensorflow.functions import *  # noqa: F403
from dtrain.tensorflow.functions import __all__ as _functions
from dtrain.tensorflow.mpi_ops import *  # noqa: F403
from dtrain.tensorflow.mpi_ops import __all__ as _operations
from dtrain.tensorflow.optimizer import DistributedOptimizer, PartialDistributedOptimizer
from dtrain.tensorflow.sync_batch_norm import SyncBatchNormalization
from dtrain.tensorflow.tape import DistributedGradientTape, PartialDistributedGradientTape
from dtrain.tensorflow.util import _executing_eagerly as _executing_eagerly

__all__ = [  # noqa: PLE0604
    "Compression",
    "DistributedGradientTape",
    "DistributedOptimizer",
    "PartialDistributedGradientTape",
    "PartialDistributedOptimizer",
    "SyncBatchNormalization",
    "_version",
    "elastic",
    *_functions,
    *_operations,
]
