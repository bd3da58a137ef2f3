"""Finds the modules of Horovod in this package."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

NOT_HERE = ("mxnet", "spark", "ray", "data", "_keras")
# Modules that lie in the package beside Horovod's own.
FRAMEWORKS = ("torch", "tensorflow", "keras")
HERE = "horovod.torch, horovod.tensorflow and horovod.keras"


class Names:
    """A finder and loader of the names that begin with horovod. A module has one object under both names."""

    def __init__(self) -> None:
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how a module is loaded; None for those of others. The import of one that is not here raises."""
        parts = name.split(".")
        if parts[0] != "horovod":
            return None
        is_strange = len(parts) > 1 and parts[1] in NOT_HERE
        # A script that asks importlib.util.find_spec() whether there is a module wants None, and no error.
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            if is_strange or importlib.util.find_spec(own_name(name)) is None:
                return None
        elif is_strange:
            raise error_of(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module of this package."""
        own = own_name(spec.name)
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name == own:
                raise error_of(spec.name) from None
            raise
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification again: it is already executed."""
        for name, own in list(self._specs.items()):
            if own is not None and own_name(name) == module.__name__:
                module.__spec__ = own


def error_of(name: str) -> ModuleNotFoundError:
    """Return the error for a module of Horovod that is not here."""
    return ModuleNotFoundError(
        f"{name} is not part of dtrain, which has {HERE}; `dtrain run` starts the real Horovod, too", name=name
    )


def own_name(name: str) -> str:
    """Return the name of a module of Horovod in this package."""
    if any(name == f"horovod.{one}" or name.startswith(f"horovod.{one}.") for one in FRAMEWORKS):
        return f"dtrain{name.removeprefix('horovod')}"
    return f"dtrain.{name}"


def install() -> None:
    """Find Horovod's names here from now on, before a real Horovod."""
    if not any(isinstance(finder, Names) for finder in sys.meta_path):
        sys.meta_path.insert(0, Names())
