import itertools
import sys

import numpy as np
import pytest
from folds import FLOATS, INTEGERS, SHAPES, TYPES, call, equal, input_of, operations, reduced

from dtrain import ArgumentError, Compression, Error, Op, Quorum


def cases(world, dtype):
    """Each operation and shape, with the tensor of this rank and the result by numpy."""
    for operation, shape in itertools.product(operations(world.size, dtype), SHAPES):
        if shape == () and not operation.scalars:
            continue
        inputs = [input_of(rank, shape, dtype) for rank in range(world.size)]
        yield operation, inputs[world.rank], operation.fold(inputs)[world.rank]


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_results_are_those_of_numpy(world, dtype, waits):
    for operation, tensor, expected in cases(world, dtype):
        before = tensor.copy()
        found = call(world, operation, tensor, waits=waits)
        assert equal(found, expected), f"{operation} of {tensor}: {found}"
        assert np.array_equal(tensor, before)
        assert found is None or isinstance(found, np.ndarray)


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_results_go_into_the_array_of_the_caller(world, dtype, waits):
    for operation, tensor, expected in cases(world, dtype):
        out = np.full_like(expected, 1) if expected is not None else None
        found = call(world, operation, tensor, waits=waits, out=out)
        assert equal(found, expected), f"{operation} of {tensor}: {found}"
        assert found is out


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_operations_work_in_place(world, dtype, waits):
    for operation, tensor, expected in cases(world, dtype):
        if not operation.in_place:
            continue
        found = call(world, operation, tensor, waits=waits, out=tensor)
        assert equal(found, expected), f"{operation}: {found}"
        assert expected is None or found is tensor


def test_a_gather_takes_its_part_in_place(world):
    joined = np.zeros((2 * world.size, 3))
    part = joined[2 * world.rank : 2 * world.rank + 2]
    part[:] = world.rank
    world.all_gather(part, out=joined)
    assert joined[::2, 0].tolist() == list(range(world.size))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_scatter_gives_each_rank_its_part(world, dtype):
    root = world.size - 1
    for shape in [(12,), (12, 2), (12, 2, 3), (0, 3)]:
        whole = input_of(root, shape, dtype)
        expected = np.split(whole, world.size)[world.rank]
        out = None if world.rank == root else np.empty_like(expected)
        assert equal(world.scatter(whole if world.rank == root else None, root, out=out), expected)
        out = np.empty_like(expected)
        work = world.scatter_async(whole if world.rank == root else None, root, out=out)
        assert work.wait() is out
        assert equal(out, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_first_dimensions_may_differ(world, dtype):
    for row in [(), (2,), (2, 3)]:
        inputs = [input_of(rank, (rank + 1, *row), dtype) for rank in range(world.size)]
        assert equal(world.all_gather(inputs[world.rank], ragged=True), np.concatenate(inputs))
        assert equal(world.all_gather_async(inputs[world.rank], ragged=True).wait(), np.concatenate(inputs))
    empty = world.all_gather(np.zeros((0, 3), dtype), ragged=True)
    assert empty.shape == (0, 3)
    scalars = world.all_gather(np.array(1, dtype), ragged=True)
    assert scalars.shape == (world.size,)


@pytest.mark.parametrize("dtype", TYPES)
def test_ranks_exchange_parts_of_any_size(world, dtype):
    # Rank i sends i + j rows to rank j.
    splits = [[sender + to for to in range(world.size)] for sender in range(world.size)]
    inputs = [input_of(rank, (sum(splits[rank]), 2), dtype) for rank in range(world.size)]
    parts = [np.split(one, np.cumsum(splits[rank])[:-1]) for rank, one in enumerate(inputs)]
    expected = np.concatenate([parts[sender][world.rank] for sender in range(world.size)])
    for found, received in (
        world.all_to_all(inputs[world.rank], splits=splits[world.rank]),
        world.all_to_all_async(inputs[world.rank], splits=splits[world.rank]).wait(),
    ):
        assert equal(found, expected)
        assert received == [splits[sender][world.rank] for sender in range(world.size)]


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_a_reduce_scatter_has_parts_that_differ(world, dtype):
    inputs = [input_of(rank, (world.size + 1, 2), dtype) for rank in range(world.size)]
    total = reduced(inputs, Op.SUM)
    first = 2 if world.rank == 0 or world.size == 1 else 1
    begin = 0 if world.rank == 0 else world.rank + 1
    assert equal(world.reduce_scatter(inputs[world.rank]), total[begin : begin + first])
    splits = [0] * (world.size - 1) + [world.size + 1]
    expected = total if world.rank == world.size - 1 else total[:0]
    assert equal(world.reduce_scatter(inputs[world.rank], splits=splits), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_messages_pass_from_rank_to_rank(world, dtype):
    if world.size == 1:
        pytest.skip("a rank sends nothing to itself")
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    for shape in SHAPES:
        out = np.ones(shape, dtype)
        sent = world.send_async(input_of(world.rank, shape, dtype), to, name="ring")
        assert world.recv(out, source, name="ring") is out
        assert sent.wait() is None
        assert equal(out, input_of(source, shape, dtype))
    if world.rank == 0:
        world.send(np.arange(3.0), 1)
    elif world.rank == 1:
        out = np.empty(3)
        assert world.recv_async(out, 0).wait() is out
        assert out.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", FLOATS)
def test_inputs_and_results_are_scaled(world, dtype):
    tensor = np.full(4, world.rank + 1, dtype)
    found = world.all_reduce(tensor, prescale=0.5, postscale=4)
    assert found.tolist() == [2.0 * sum(range(1, world.size + 1))] * 4
    part = world.reduce_scatter(np.repeat(tensor, world.size), postscale=2)
    assert part.tolist() == [2.0 * sum(range(1, world.size + 1))] * 4


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_scaled_and_truncated(world, dtype):
    found = world.all_reduce(np.full(2, 3, dtype), prescale=0.5)
    assert found.tolist() == [world.size] * 2


@pytest.mark.parametrize("compression", [Compression.FLOAT16, Compression.BFLOAT16])
def test_a_reduction_can_be_compressed(world, compression):
    tensor = np.full(3, 1 + 2**-20, np.float32)
    assert world.all_reduce(tensor, compression=compression).tolist() == [world.size] * 3


def test_adasum_adds_what_is_orthogonal(world):
    tensor = np.zeros(4)
    tensor[world.rank] = 3
    assert np.allclose(world.all_reduce(tensor, Op.ADASUM), [3] * world.size + [0] * (4 - world.size))


def test_named_operations_match_in_any_order(world):
    names = [f"gradient {i}" for i in range(20)]
    order = names if world.rank % 2 == 0 else names[::-1]
    works = {name: world.all_reduce_async(np.full(3, names.index(name)), name=name) for name in order}
    for name, work in works.items():
        assert work.wait(30).tolist() == [names.index(name) * world.size] * 3
        assert work.done()
        assert work.result is work.wait()
        submitted, _, ended = work.times
        assert 0 < submitted <= ended


def test_a_rank_that_has_joined_changes_no_sum(world):
    if world.rank > 0:
        total = world.all_reduce(np.ones(2), name="while others have joined")
        assert total.tolist() == [world.size - 1] * 2
        average = world.all_reduce(np.ones(2), Op.AVERAGE, name="active", over_active_ranks=True)
        assert average.tolist() == [1, 1]
    last = world.join()
    assert last in range(world.size)
    assert world.all_gather_object(last) == [last] * world.size


def test_a_work_that_is_dropped_frees_its_arrays_when_it_is_done(world):
    tensor = np.ones(1000)
    before = sys.getrefcount(tensor)
    for i in range(100):
        world.all_reduce_async(tensor, name=f"dropped {i}")
    # Named operations end at any time, and each call frees some that have. All ranks make equally many calls.
    for _ in range(100_000):
        if world.all_reduce(np.array([sys.getrefcount(tensor) - before]), Op.MAX)[0] == 0:
            break
    assert sys.getrefcount(tensor) == before


def test_a_quorum_does_not_wait_for_the_late_rank(world):
    late = world.size - 1
    quorum = Quorum(ranks=max(1, late))

    def step():
        work = world.all_reduce_async(np.array([world.rank + 1.0]), name="quorum", quorum=quorum)
        return work.wait()[0], sorted(work.contributors)

    # The first step of a name waits for all.
    assert step() == (sum(range(1, world.size + 1)), list(range(world.size)))
    if world.size == 1:
        return
    if world.rank == late:
        world.store.wait("quorum is decided")
    assert step() == (sum(range(1, world.size)), list(range(late)))
    world.store.set("quorum is decided", b"")
    world.barrier()


def test_a_wrong_quorum_is_refused(world):
    with pytest.raises(ArgumentError, match=r"give a dtrain\.Quorum, not 3"):
        world.all_reduce(np.zeros(2), name="step", quorum=3)
    with pytest.raises(ArgumentError, match="give 1 to"):
        world.all_reduce(np.zeros(2), name="step", quorum=Quorum(ranks=world.size + 1))
    with pytest.raises(ArgumentError, match="need a name"):
        world.all_reduce(np.zeros(2), quorum=Quorum(ranks=1))
    with pytest.raises(Error):
        _ = world.all_reduce_async(np.zeros(2)).contributors
