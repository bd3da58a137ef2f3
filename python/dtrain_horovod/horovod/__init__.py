"""The import names of Horovod, for the package dtrain. It has no code of its own."""

import importlib.metadata
import sys


def _check_alone() -> None:
    try:
        found = importlib.metadata.version("horovod")
    except importlib.metadata.PackageNotFoundError:
        return
    raise ImportError(
        f"both dtrain-horovod and horovod {found} are installed, and have the same import names; remove one of them:"
        " pip uninstall dtrain-horovod, or pip uninstall horovod (and then install dtrain-horovod again)"
    )


_check_alone()

import dtrain.horovod.names  # noqa: E402

dtrain.horovod.names.install()
sys.modules[__name__] = dtrain.horovod
