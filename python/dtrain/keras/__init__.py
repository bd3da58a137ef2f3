"""Horovod's API for Keras, by dtrain's engine: `import dtrain.keras as hvd`.

It has what dtrain.tensorflow.keras has.
"""

from typing import Any

import dtrain.tensorflow.keras as _own
from dtrain.keras import callbacks as callbacks
from dtrain.keras import elastic as elastic


def __getattr__(name: str) -> Any:
    """Return an attribute of dtrain.tensorflow.keras."""
    return getattr(_own, name)


def __dir__() -> list[str]:
    return dir(_own)
