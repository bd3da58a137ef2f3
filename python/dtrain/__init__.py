"""dtrain for Python: collectives and a store for the processes that `dtrain run` starts.

world = dtrain.init()
gradients = world.all_reduce(gradients, dtrain.Op.AVERAGE)
"""

from dtrain._binary import check_versions, get_include
from dtrain._context import Context, init
from dtrain._errors import ArgumentError, Error
from dtrain._options import Compression, Op, Quorum
from dtrain._run import RunError, run
from dtrain._store import Store
from dtrain._version import version as __version__
from dtrain._work import Work

__all__ = [
    "ArgumentError",
    "Compression",
    "Context",
    "Error",
    "Op",
    "Quorum",
    "RunError",
    "Store",
    "Work",
    "__version__",
    "get_include",
    "init",
    "run",
]

# Errors and reprs show the names that programs use.
for _public in (ArgumentError, Compression, Context, Error, Op, Quorum, RunError, Store, Work):
    _public.__module__ = __name__

check_versions()
