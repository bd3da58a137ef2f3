"""The exceptions of Horovod's API."""

from dtrain._errors import Error

__all__ = ["HorovodInternalError", "HorovodVersionMismatchError", "HostsUpdatedInterrupt"]


class HorovodInternalError(Error):
    """A collective has failed: a rank died or left, or the ranks disagree. It has code, rank, host and cause."""


class HostsUpdatedInterrupt(RuntimeError):  # noqa: N818
    """The hosts of an elastic job have changed. With `skip_sync`, no rank needs the state of another."""

    def __init__(self, skip_sync: bool) -> None:
        super().__init__("the hosts of the job have changed")
        self.skip_sync = skip_sync


class HorovodVersionMismatchError(ImportError):
    """Exists for scripts that name it. This package works with every version, and never raises it."""


def internal_error(failure: Error) -> HorovodInternalError:
    """Return the failure as the class that Horovod's scripts catch."""
    return HorovodInternalError(str(failure), failure.code, failure.rank)
