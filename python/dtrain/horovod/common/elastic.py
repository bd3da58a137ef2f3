"""State of elastic training, and the loop around it. Jobs have a fixed size."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dtrain.horovod.common.basics import shutdown
from dtrain.horovod.common.exceptions import HostsUpdatedInterrupt
from dtrain.horovod.common.process_sets import init

__all__ = ["ObjectState", "State", "run", "run_fn"]


class State:
    """The state that a training continues from. To be derived from."""

    def __init__(self, bcast_object: Callable[[Any], Any], get_rank: Callable[[], int]) -> None:
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._reset_callbacks: list[Callable[[], object]] = []

    def register_reset_callbacks(self, callbacks: Sequence[Callable[[], object]]) -> None:
        """Call these functions after the job has joined again."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """Take notice that the job has joined again."""
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def commit(self) -> None:
        """Save the state, and look for changes of the hosts."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Look for changes of the hosts: a job of fixed size has none."""

    def on_hosts_updated(self, timestamp: float, update_res: int) -> None:
        """Take notice of changes of the hosts, which a job of fixed size has not."""

    def save(self) -> None:
        """Keep a copy of the state."""
        raise NotImplementedError

    def restore(self) -> None:
        """Bring the last copy back."""
        raise NotImplementedError

    def sync(self) -> None:
        """Give every rank the state of rank 0."""
        raise NotImplementedError

    def reset(self) -> None:
        """Change what depends on the ranks of the job."""


class ObjectState(State):
    """Values that can be pickled. Each is an attribute."""

    def __init__(self, bcast_object: Callable[[Any], Any], get_rank: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(bcast_object, get_rank)
        self._saved_state = dict(kwargs)
        self._set_attributes()

    def save(self) -> None:
        """Keep the values."""
        self._saved_state = {name: getattr(self, name) for name in self._saved_state}

    def restore(self) -> None:
        """Bring the values back."""
        self._set_attributes()

    def sync(self) -> None:
        """Give every rank the values of rank 0."""
        if self._saved_state:
            self._saved_state = self._bcast_object(self._saved_state)
            self._set_attributes()

    def _set_attributes(self) -> None:
        for name, value in self._saved_state.items():
            setattr(self, name, value)


def run_fn(func: Callable[..., Any], reset: Callable[[], object]) -> Callable[..., Any]:
    """Return a function that synchronizes its state first. After HostsUpdatedInterrupt it calls `reset`, and repeats.

    A rank that fails ends a job of fixed size, so HorovodInternalError is not caught.
    """

    @functools.wraps(func)
    def call(state: State, *args: Any, **kwargs: Any) -> Any:
        skip_sync = False
        while True:
            if not skip_sync:
                state.sync()
            try:
                return func(state, *args, **kwargs)
            except HostsUpdatedInterrupt as interrupt:
                skip_sync = interrupt.skip_sync
            reset()
            state.on_reset()

    return call


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a training, whose first argument is a State, with the loop of elastic training."""
    return run_fn(func, _join_again)


def _join_again() -> None:
    shutdown()
    init()
