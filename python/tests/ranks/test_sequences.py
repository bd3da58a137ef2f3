"""Random sequences of named operations, in another order on each rank, with mismatches and joins among them.

Rank 0 draws them and gives them to all ranks, so that a failure is reduced to a short sequence. SEQUENCES is their
number.
"""

import os
from dataclasses import dataclass

import numpy as np
from folds import input_of, reduced
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dtrain
from dtrain import Op

COUNT = int(os.environ.get("SEQUENCES", "20"))
MOVES = ("broadcast", "all_gather", "all_to_all")
KINDS = (*MOVES, "all_reduce", "in place", "scatter", "mismatch", "kinds differ")
TYPES = (np.int32, np.float32, np.float64, np.uint8)
OPS = (Op.SUM, Op.AVERAGE, Op.MIN, Op.MAX, Op.PRODUCT)


@dataclass(frozen=True)
class Call:
    """One named operation of all ranks."""

    kind: str
    rows: int
    dtype: type
    op: Op
    root: int


@dataclass(frozen=True)
class Plan:
    """Operations, the order in which each rank starts them, and that in which it waits for them.

    Rank `absent` joins before the operations with these numbers, and makes only those before.
    """

    calls: list[Call]
    starts: list[list[int]]
    waits: list[list[int]]
    absent: int | None
    missing: frozenset[int]

    def made_by(self, rank: int) -> list[int]:
        return [number for number in self.starts[rank] if rank != self.absent or number not in self.missing]


def plans(size: int) -> st.SearchStrategy[Plan]:
    call = st.builds(
        Call,
        st.sampled_from(KINDS if size > 1 else KINDS[:-2]),
        st.integers(0, 40),
        st.sampled_from(TYPES),
        st.sampled_from(OPS),
        st.integers(0, size - 1),
    )

    @st.composite
    def plan(draw: st.DrawFn) -> Plan:
        calls = draw(st.lists(call, min_size=1, max_size=12))
        order = st.permutations(range(len(calls)))
        orders = st.lists(order, min_size=size, max_size=size)
        absent = draw(st.none() | st.integers(0, size - 1)) if size > 1 else None
        missing = draw(st.frozensets(st.integers(0, len(calls) - 1)))
        return Plan(calls, draw(orders), draw(orders), absent, missing)

    return plan()


def rows_of(call: Call, size: int) -> int:
    """Return the rows, or as many of them as the ranks divide."""
    return call.rows - call.rows % size if call.kind == "all_to_all" else call.rows


def start(world: dtrain.Context, call: Call, name: str) -> dtrain.Work:
    tensor = input_of(world.rank, (rows_of(call, world.size),), call.dtype)
    longer = np.zeros(call.rows + (world.rank == call.root))
    starts = {
        "all_reduce": lambda: world.all_reduce_async(tensor, call.op, name=name),
        "in place": lambda: world.all_reduce_async(tensor, call.op, out=tensor, name=name),
        "scatter": lambda: world.reduce_scatter_async(tensor, call.op, splits=splits_of(call, world.size), name=name),
        "broadcast": lambda: world.broadcast_async(tensor, call.root, name=name),
        "all_gather": lambda: world.all_gather_async(tensor[world.rank :], ragged=True, name=name),
        "all_to_all": lambda: world.all_to_all_async(tensor, name=name),
        "mismatch": lambda: world.all_reduce_async(longer, name=name),
        "kinds differ": lambda: world.all_reduce_async(tensor, call.op, name=name),
    }
    if call.kind == "kinds differ" and world.rank == call.root:
        return world.barrier_async(name=name)
    return starts[call.kind]()


def splits_of(call: Call, size: int) -> list[int]:
    return [call.rows if rank == call.root else 0 for rank in range(size)]


def expected_of(world: dtrain.Context, plan: Plan, number: int) -> np.ndarray | None:
    """Return the result by numpy; None where the operation fails."""
    call = plan.calls[number]
    active = [rank for rank in range(world.size) if rank != plan.absent or number not in plan.missing]
    joined = len(active) < world.size
    if call.kind == "mismatch":
        differ = call.root in active and len(active) > 1
        return None if differ else np.zeros(call.rows + (world.rank == call.root))
    if (call.kind == "kinds differ" and call.root in active) or (joined and call.kind in MOVES):
        return None
    rows = rows_of(call, world.size)
    inputs = [input_of(rank, (rows,), call.dtype) for rank in range(world.size)]
    if call.kind == "broadcast":
        return inputs[call.root]
    if call.kind == "all_gather":
        return np.concatenate([one[rank:] for rank, one in enumerate(inputs)])
    if call.kind == "all_to_all":
        return np.concatenate([np.split(one, world.size)[world.rank] for one in inputs])
    present = [inputs[rank] for rank in active]
    if joined and call.op is Op.AVERAGE:
        present.append(np.zeros_like(inputs[0]))  # a rank that has joined counts
    total = reduced(present, call.op)
    return total if call.kind != "scatter" or world.rank == call.root else total[:0]


def outcome(work: dtrain.Work) -> np.ndarray | None:
    try:
        return np.asarray(work.wait(60))
    except dtrain.Error as error:
        return None if error.code == "mismatch" else np.array(str(error))


def complaint(world: dtrain.Context, plan: Plan, prefix: str) -> str | None:
    """Run a plan, and return what this rank has found wrong."""
    own = plan.made_by(world.rank)
    works = {number: start(world, plan.calls[number], f"{prefix} {number}") for number in own}
    if world.rank == plan.absent:
        joining = world.join_async()
    wrong = None
    for number in plan.waits[world.rank]:
        if number in works:
            expected, found = expected_of(world, plan, number), outcome(works[number])
            same = found is expected or (found is not None and np.array_equal(found, expected))
            if not same:
                wrong = wrong or f"rank {world.rank}, operation {number}: expected {expected}, found {found}"
    if plan.absent is not None:
        last = joining.wait(60) if world.rank == plan.absent else world.join()
        if last not in range(world.size):
            wrong = wrong or f"rank {world.rank}: rank {last} has joined last"
    return wrong


def run(world: dtrain.Context, plan: Plan | None, number: int) -> list[str]:
    """Give a plan of rank 0 to all ranks, run it there, and return the complaints of all."""
    plan = world.broadcast_object(plan)
    if plan is None:
        return ["the end"]
    complaints = world.all_gather_object(complaint(world, plan, str(number)))
    return [one for one in complaints if one is not None]


def test_any_sequence_has_the_results_of_its_operations(world):
    numbers = iter(range(1_000_000))

    @settings(
        max_examples=COUNT,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(world.size))
    def follow(plan: Plan) -> None:
        assert run(world, plan, next(numbers)) == []

    if world.rank == 0:
        try:
            follow()
        finally:
            assert run(world, None, 0) == ["the end"]
        assert next(numbers) >= COUNT
    else:  # a failure is rank 0's
        while "the end" not in run(world, None, next(numbers)):
            pass
