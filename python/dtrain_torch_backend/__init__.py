"""The entry point of PyTorch 2.5 and later: `init_process_group("dtrain")` after nothing but `import torch`.

PyTorch calls register() at the end of its import. So nothing of the package dtrain is imported before its first use.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any


def register() -> None:
    """Register the backend "dtrain". It never raises, because `import torch` would fail with it."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    with contextlib.suppress(Exception):
        if module is not None:
            module.Backend.register_backend("dtrain", _create, extended_api=True, devices=["cpu", "cuda"])


def _create(options: Any, backend_options: Any) -> Any:
    from dtrain.torch.distributed import create  # noqa: PLC0415

    return create(options, backend_options)
