"""The class from which the backend derives.

Since 2.14, Python may derive from torch's class Backend, which is the part of a process group for some devices. Older
versions allow that for the class ProcessGroup alone. There, the backend is the whole process group. Before 2.7, C++
does not keep the Python part of a work for which it waits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C._distributed_c10d import Backend, ProcessGroup


def may_derive_from_backend() -> bool:
    """Return whether torch calls the methods of classes in Python that derive from its class Backend."""
    try:
        type("Probe", (Backend,), {})(0, 1)
    except TypeError:
        return False
    return True


class WholeGroup(ProcessGroup):
    """A process group without backends in C++. It has the methods by which torch asks for these."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._name_of_group = ""
        self._description = ""

    @property
    def group_name(self) -> str:
        """The name by which torch finds the group."""
        return self._name_of_group

    @property
    def group_desc(self) -> str:
        """The description of the group."""
        return self._description

    def _set_group_name(self, name: str) -> None:
        self._name_of_group = name

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def getGroupName(self) -> str:  # noqa: N802
        """Return the name to C++."""
        return self._name_of_group

    def getGroupDesc(self) -> str:  # noqa: N802
        """Return the description to C++."""
        return self._description

    @property
    def _device_types(self) -> list[Any]:
        return [torch.device("cpu"), torch.device("cuda")]

    def _get_backend(self, device: Any) -> WholeGroup:  # noqa: ARG002
        return self

    def eager_connect_single_device(self, device: Any) -> None:
        """Connect nothing: the ranks are connected."""

    def supports_tensor_alloc(self, device: Any) -> bool:  # noqa: ARG002
        """Return False: the group has no memory of its own for tensors."""
        return False


Base: Any = Backend if may_derive_from_backend() else WholeGroup
