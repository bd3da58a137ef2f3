"""The place of this process in its job, as its launcher has written it into the environment."""

from __future__ import annotations

import os

__all__ = ["get_env_rank_and_size"]

_LAUNCHERS = ("HOROVOD", "OMPI_COMM_WORLD", "PMI")


def get_env_rank_and_size() -> tuple[int, int]:
    """Return the rank and the number of ranks before init(). A process without a launcher is rank 0 of 1."""
    for prefix in _LAUNCHERS:
        rank, size = os.environ.get(f"{prefix}_RANK"), os.environ.get(f"{prefix}_SIZE")
        if rank is not None and size is not None:
            return int(rank), int(size)
    return 0, 1
