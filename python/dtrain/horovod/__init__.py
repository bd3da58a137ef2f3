"""Horovod's modules by their own names: `python -m dtrain.horovod train.py`.

In that run `import horovod` and its modules are those of this package. `pip install dtrain[horovod]` does it for all.
"""

from dtrain.horovod.runner import run

# The version of the API.
__version__ = "0.28.1"

__all__ = ["__version__", "run"]
