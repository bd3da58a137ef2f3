"""Sets of ranks that run operations among themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dtrain._errors import ArgumentError
from dtrain.horovod.common.basics import basics, start_timeline_of_environment

__all__ = ["ProcessSet", "add_process_set", "global_process_set", "init", "remove_process_set"]


class ProcessSet:
    """Some ranks of the job. It is usable once init() or add_process_set() has given it a number."""

    mpi_comm: Any = None  # there are no MPI communicators here

    def __init__(self, ranks_or_comm: Any) -> None:
        if not isinstance(ranks_or_comm, Iterable):
            raise ArgumentError("ProcessSet: give a list of ranks; there are no MPI communicators here")
        ranks = list(ranks_or_comm)
        if any(not isinstance(rank, int) for rank in ranks):
            raise ArgumentError(f"ProcessSet: give a list of ranks, which are integers, not {ranks}")
        self.ranks: list[int] = sorted(ranks)
        self.process_set_id: int | None = None

    def size(self) -> int | None:
        """Return the number of ranks; None where the set has no number."""
        return None if self.process_set_id is None else len(basics.group(self.process_set_id).ranks)

    def rank(self) -> int | None:
        """Return the number of this rank within the set; None where the set has no number."""
        if self.process_set_id is None:
            return None
        context = basics.member(self.process_set_id).context
        assert context is not None
        return context.rank

    def included(self) -> bool:
        """Return whether this rank is in the set."""
        return basics.world().rank in (self.ranks if self.process_set_id != 0 else basics.group(0).ranks)

    def __repr__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, mpi_comm={self.mpi_comm})"


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0


class _Registered:
    """The process sets of this job that have numbers."""

    def __init__(self) -> None:
        self.sets: list[ProcessSet] = []


_registered = _Registered()


def _register(sets: Sequence[ProcessSet]) -> None:
    """Give the sets of init() their numbers. Sets of an earlier job lose theirs."""
    for known in _registered.sets:
        known.process_set_id = None
    _registered.sets = []
    global_process_set.ranks = list(basics.group(0).ranks)
    for one in sets:
        if not isinstance(one, ProcessSet):
            raise ArgumentError(f"process_sets: give a list of ProcessSet, not {one!r}")
        _give_number(one)


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Join the other ranks of the job. In a process that has joined it does nothing.

    `process_sets` is a list of ProcessSet, or "dynamic", which is the default here.
    """
    if comm is not None and not _is_all_ranks(comm):
        raise ArgumentError(
            "comm: there are no MPI communicators here, and every rank of the job joins; use process_sets for some of"
            " the ranks"
        )
    if basics.is_initialized():
        return
    sets = _list_of(process_sets)
    basics.join()
    _register(sets)
    start_timeline_of_environment()


def _is_all_ranks(comm: Any) -> bool:
    return isinstance(comm, Sequence) and not comm


def _list_of(process_sets: Any) -> list[Any]:
    if process_sets is None or (isinstance(process_sets, str) and process_sets.lower() == "dynamic"):
        return []
    if isinstance(process_sets, Sequence) and not isinstance(process_sets, str):
        return list(process_sets)
    raise ArgumentError(f'process_sets: give a list of ProcessSet, or "dynamic", not {process_sets!r}')


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Make a process set of a ProcessSet, or of a list of ranks, and return it. All ranks of the job call it."""
    one = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    _give_number(one)
    return one


def remove_process_set(process_set: ProcessSet) -> bool:
    """Remove a process set, and return whether there was one. All ranks of the job call it.

    The set of all ranks cannot be removed.
    """
    number = process_set.process_set_id
    if number is None or number == 0:
        return False
    process_set.process_set_id = None
    return basics.remove(number)


def _give_number(one: ProcessSet) -> None:
    one.process_set_id = basics.add(one.ranks)
    _registered.sets.append(one)
