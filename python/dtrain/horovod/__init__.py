"""Horovod's modules by their own names: `python -m dtrain.horovod train.py`.

In that run `import horovod` and its modules are those of this package. `pip install dtrain[horovod]` does it for all.
"""

import importlib
from types import ModuleType

from dtrain.horovod.names import FRAMEWORKS, NOT_HERE, error_of
from dtrain.horovod.runner import run

# The version of the API.
__version__ = "0.28.1"

__all__ = ["__version__", "run"]


def __getattr__(name: str) -> ModuleType:
    """Return the module for `from horovod import torch`, or raise what `import horovod.mxnet` raises."""
    if name in FRAMEWORKS:
        return importlib.import_module(f"dtrain.{name}")
    if name in NOT_HERE:
        raise error_of(f"horovod.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
