"""Operations, and their results by numpy: each rank knows the inputs of all others."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dtrain
from dtrain import Op

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]
TYPES = [np.bool_, *INTEGERS, *FLOATS]
# The first dimension is divisible by 1 to 4 ranks.
SHAPES = [(), (12,), (12, 2), (12, 2, 3), (0,), (0, 3), (12, 0)]


def input_of(rank: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return small numbers: sums and products of four are exact in every type."""
    numbers = np.random.default_rng(rank).integers(0, 4, shape)
    return np.asarray(numbers % 2 if dtype is np.bool_ else numbers).astype(dtype)


def reduced(inputs: list[np.ndarray], op: Op) -> np.ndarray:
    """Return the reduction, in the type of the inputs."""
    if op is Op.AVERAGE:
        total = reduced(inputs, Op.SUM)
        if inputs[0].dtype.kind == "f":
            return np.asarray((total / inputs[0].dtype.type(len(inputs))).astype(total.dtype))
        return np.asarray(np.trunc(total / len(inputs)).astype(total.dtype))
    function = {Op.SUM: np.add, Op.PRODUCT: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum}[op]
    return np.asarray(functools.reduce(lambda a, b: function(a, b, dtype=a.dtype), inputs))


def ops_of(dtype: Any) -> list[Op]:
    ops = [Op.SUM, Op.AVERAGE, Op.MIN, Op.MAX, Op.PRODUCT]
    if dtype is np.bool_:
        ops.remove(Op.AVERAGE)
    return ops


def rows(array: np.ndarray) -> np.ndarray:
    return array.reshape(array.shape or (1,))


@dataclass
class Operation:
    """One operation: its arguments, and the results by rank that numpy finds."""

    name: str
    arguments: tuple[Any, ...]
    fold: Callable[[list[np.ndarray]], list[np.ndarray | None]]
    in_place: bool = False
    scalars: bool = True  # takes a tensor without dimensions


def operations(size: int, dtype: Any) -> list[Operation]:
    root = size - 1

    def everywhere(value: np.ndarray) -> list[np.ndarray | None]:
        return [value] * size

    def at_root(value: np.ndarray) -> list[np.ndarray | None]:
        return [value if rank == root else None for rank in range(size)]

    def joined(inputs: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([rows(one) for one in inputs])

    def exchanged(inputs: list[np.ndarray]) -> list[np.ndarray | None]:
        parts = [np.split(one, size) for one in inputs]
        return [np.concatenate([parts[sender][rank] for sender in range(size)]) for rank in range(size)]

    all_of_them = [
        Operation("broadcast", (root,), lambda inputs: everywhere(inputs[root]), in_place=True),
        Operation("all_gather", (), lambda inputs: everywhere(joined(inputs))),
        Operation("gather", (root,), lambda inputs: at_root(joined(inputs))),
        Operation("all_to_all", (), exchanged, in_place=True, scalars=False),
    ]
    for op in ops_of(dtype):
        all_of_them += [
            Operation("all_reduce", (op,), lambda inputs, op=op: everywhere(reduced(inputs, op)), in_place=True),
            Operation("reduce", (root, op), lambda inputs, op=op: at_root(reduced(inputs, op)), in_place=True),
            Operation(
                "reduce_scatter",
                (op,),
                lambda inputs, op=op: list(np.split(reduced(inputs, op), size)),
                scalars=False,
            ),
        ]
    return all_of_them


def equal(found: Any, expected: np.ndarray | None) -> bool:
    if expected is None or found is None:
        return found is expected
    array = np.asarray(found)
    return array.dtype == expected.dtype and array.shape == expected.shape and bool(np.array_equal(array, expected))


def call(world: dtrain.Context, operation: Operation, tensor: Any, *, waits: bool, **options: Any) -> Any:
    """Call the form that waits, or the other one."""
    if waits:
        return getattr(world, operation.name)(tensor, *operation.arguments, **options)
    return getattr(world, f"{operation.name}_async")(tensor, *operation.arguments, **options).wait(60)
