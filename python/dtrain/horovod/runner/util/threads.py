"""Threads for scripts that take them from Horovod."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["in_thread"]


def in_thread(
    target: Callable[..., Any], args: Sequence[Any] = (), name: str | None = None, daemon: bool = True
) -> threading.Thread:
    """Start a function on a new thread, which is returned."""
    thread = threading.Thread(target=target, args=tuple(args), name=name, daemon=daemon)
    thread.start()
    return thread
