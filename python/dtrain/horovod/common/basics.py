"""The job of this process, between init and shutdown."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import dtrain
from dtrain import _gpus
from dtrain._context import Context, init_apart
from dtrain._errors import ArgumentError, Error
from dtrain.horovod.common.exceptions import internal_error
from dtrain.horovod.common.timeline import Timeline

# So many names are remembered before those of operations that are done are dropped.
_NAMED_MIN = 64


class _Operation(Protocol):
    group: Group | None

    def done(self) -> bool: ...


_Started = TypeVar("_Started", bound=_Operation)


@contextmanager
def translated() -> Iterator[None]:
    """Raise failures as HorovodInternalError. Errors of arguments pass."""
    try:
        yield
    except ArgumentError:
        raise
    except Error as error:
        raise internal_error(error) from error


class Group:
    """The ranks of one process set, and the number of their operations without a name."""

    def __init__(self, ranks: list[int], context: Context | None) -> None:
        self.ranks = ranks
        self.context = context
        self._lock = threading.Lock()
        self._unnamed = 0
        self._named: dict[str, _Operation] = {}
        self._named_max = _NAMED_MIN

    def start(self, kind: str, name: str | None, start: Callable[[str], _Started]) -> _Started:
        """Start an operation under its name among all ranks.

        Operations without a name are counted. A call with wrong arguments does not count, because other ranks do not
        learn of it.
        """
        try:
            with self._lock:
                if name is None:
                    started = start(f"noname.{self._unnamed}")
                    self._unnamed += 1
                    return started
                if not isinstance(name, str):
                    raise ArgumentError(f"name: give a str, not {name!r}")
                label = f"{kind}.{name}"
                flying = self._named.get(label)
                if flying is not None and not flying.done():
                    raise _error_of_name(name)
                if len(self._named) >= self._named_max:
                    self._forget_done()
                self._named[label] = started = start(label)
                started.group = self
                return started
        except ArgumentError:
            raise
        except Error as error:  # without translated(), which takes 2 us
            raise internal_error(error) from error

    def forget(self, label: str) -> None:
        """Drop an operation that was waited for, and with it the result, which may be large."""
        self._named.pop(label, None)

    def _forget_done(self) -> None:
        """Drop operations that are done, when there are twice as many as were left at the last time."""
        self._named = {label: one for label, one in self._named.items() if not one.done()}
        self._named_max = max(_NAMED_MIN, 2 * len(self._named))

    def realign(self) -> None:
        """Continue with one number on all ranks: those that had joined have counted less."""
        assert self.context is not None
        number = memoryview(bytearray(8)).cast("q")
        with self._lock:
            number[0] = self._unnamed
            self._unnamed = self.context.all_reduce(number, dtrain.Op.MAX)[0]


def _error_of_name(name: str) -> ArgumentError:
    hint = ""
    if name.startswith(("gradient.", "gradients.")):
        hint = "; two optimizers need different names: give each model.named_parameters(prefix=…) with its own prefix"
    return ArgumentError(f"name: an operation with the name {name!r} is under way on this rank{hint}")


class Basics:
    """The job of this process, and its process sets by their numbers. Set 0 has all ranks."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._groups: dict[int, Group] = {}
        self._next_set = 1
        self._homogeneous = True
        self.timeline: Timeline | None = None

    def join(self) -> None:
        """Join the other ranks of the job. All ranks call it."""
        with self._lock, translated():
            if self._groups:
                return
            world = init_apart()
            sizes = world.all_gather(memoryview(bytearray(world.local_size.to_bytes(4, "little"))).cast("i"))
            self._homogeneous = len(set(sizes)) == 1
            self._groups[0] = Group(list(range(world.size)), world)
            self._next_set = 1

    def leave(self) -> None:
        """Leave the job. Operations under way fail."""
        with self._lock:
            groups, self._groups = self._groups, {}
            if self.timeline is not None:
                self.timeline.close()
                self.timeline = None
            if groups:
                world = groups[0].context
                assert world is not None
                world.finalize()

    def is_initialized(self) -> bool:
        """Return whether this process is in a job."""
        return bool(self._groups)

    def world(self) -> Context:
        """Return the context of all ranks."""
        context = self.group(0).context
        assert context is not None
        return context

    def is_homogeneous(self) -> bool:
        """Return whether every host has the same number of ranks."""
        self.world()
        return self._homogeneous

    def group(self, number: int | None) -> Group:
        """Return the group of a process set."""
        group = self._groups.get(-1 if number is None else number)
        if group is not None:
            return group
        if not self._groups:
            raise ArgumentError("Horovod is not initialized; call hvd.init() first")
        raise ArgumentError("process_set: it is not registered; pass it to hvd.init() or hvd.add_process_set()")

    def member(self, number: int | None) -> Group:
        """Return the group of a process set that has this rank."""
        group = self.group(number)
        if group.context is None:
            raise ArgumentError(f"process_set: rank {self.world().rank} is not among its ranks {group.ranks}")
        return group

    def _get_process_set_ids_and_ranks(self) -> dict[int, list[int]]:
        """Return the ranks of the process sets by their numbers. It has Horovod's name, by which tests ask."""
        return {number: list(group.ranks) for number, group in self._groups.items()}

    def add(self, ranks: Sequence[int]) -> int:
        """Make a process set, and return its number. All ranks of the job call it."""
        with self._lock:
            world = self.world()
            wrong = [rank for rank in ranks if not 0 <= rank < world.size]
            if wrong or len(set(ranks)) != len(ranks) or not ranks:
                raise ArgumentError(f"process_set: give different ranks from 0 to {world.size - 1}, not {list(ranks)}")
            if any(group.ranks == list(ranks) for group in self._groups.values()):
                raise ArgumentError(f"process_set: there is one with the ranks {list(ranks)}")
            with translated():
                context = world.group(ranks)
            number = self._next_set
            self._next_set += 1
            self._groups[number] = Group(list(ranks), context)
            return number

    def remove(self, number: int) -> bool:
        """Remove a process set. All ranks of the job call it, once their operations of the set are done."""
        with self._lock, translated():
            world = self.world()
            group = self._groups.pop(number, None)
            world.barrier()
            if group is not None and group.context is not None:
                group.context.finalize()
            return group is not None


basics = Basics()


def shutdown() -> None:
    """Leave the job. Operations under way fail on all ranks. init() joins again."""
    basics.leave()


def is_initialized() -> bool:
    """Return whether init() was called, and shutdown() not since."""
    return basics.is_initialized()


def rank() -> int:
    """Return the number of this rank, from 0."""
    return basics.world().rank


def size() -> int:
    """Return the number of ranks."""
    return basics.world().size


def local_rank() -> int:
    """Return the number of this rank among those of its host."""
    return basics.world().local_rank


def local_size() -> int:
    """Return the number of ranks on this host."""
    return basics.world().local_size


def cross_rank() -> int:
    """Return the index of this host among those that have this local rank."""
    return basics.world().cross_rank


def cross_size() -> int:
    """Return the number of hosts that have this local rank."""
    return basics.world().cross_size


def is_homogeneous() -> bool:
    """Return whether every host has the same number of ranks."""
    return basics.is_homogeneous()


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:  # noqa: ARG001
    """Write the operations of each rank, from now on, as a trace of Chrome.

    Rank 0 writes to `file_path`, and rank 3 to `file_path` with ".3" behind it. The engine has no cycles to mark.
    """
    world = basics.world()
    if basics.timeline is None:
        basics.timeline = Timeline(file_path if world.rank == 0 else f"{file_path}.{world.rank}", world.rank)


def stop_timeline() -> None:
    """End the trace of start_timeline()."""
    basics.world()
    if basics.timeline is not None:
        basics.timeline.close()
        basics.timeline = None


def start_timeline_of_environment() -> None:
    """Start the trace that HOROVOD_TIMELINE names."""
    path = os.environ.get("HOROVOD_TIMELINE", "")
    if path and path.upper() != "DYNAMIC":
        start_timeline(path)


def mpi_threads_supported() -> bool:
    """Raise ValueError: there is no MPI here."""
    basics.world()
    raise ArgumentError("MPI is not part of dtrain, so there is no support of its threads")


def mpi_built() -> bool:
    """Return False: there is no MPI here."""
    return False


def mpi_enabled() -> bool:
    """Return False: there is no MPI here."""
    return False


def gloo_built() -> bool:
    """Return True: scripts ask whether jobs without MPI are possible."""
    return True


def gloo_enabled() -> bool:
    """Return True: scripts ask whether this job works without MPI."""
    return True


def nccl_built() -> int:
    """Return the number of the NCCL that this build can use here, such as 22809, or 0: it can use none."""
    return _gpus.nccl_version()


def ddl_built() -> bool:
    """Return False: there is no DDL here."""
    return False


def ccl_built() -> bool:
    """Return False: there is no oneCCL here."""
    return False


def cuda_built() -> bool:
    """Return whether this build takes tensors of NVIDIA's GPUs as they are."""
    return _gpus.has_gpu_parts()


def rocm_built() -> bool:
    """Return False: no operation runs on a GPU of AMD."""
    return False
