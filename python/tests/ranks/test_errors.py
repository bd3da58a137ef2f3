import array

import numpy as np
import pytest

import dtrain
from dtrain import Op

SHARED = np.zeros(8)
READ_ONLY = np.ones(2)
READ_ONLY.flags.writeable = False

WRONG = [
    (lambda w: w.all_reduce("text"), "tensor: str is no array"),
    (lambda w: w.all_reduce(None), "tensor: NoneType is no array"),
    (lambda w: w.all_reduce([1.0]), "tensor: list is no array"),
    (lambda w: w.all_reduce(np.array(["a"])), "tensor: elements of the format"),
    (lambda w: w.all_reduce(np.array([None])), "tensor: elements of the format"),
    (
        lambda w: w.all_reduce(np.zeros(2, "datetime64[s]")),
        "tensor: elements of kind 'datetime64[s]' and 8 bytes are not supported",
    ),
    (lambda w: w.all_reduce(np.zeros(2, ">f8")), "tensor: elements of the format"),
    (lambda w: w.all_reduce(np.zeros(4)[::-1]), "tensor: the array is not contiguous"),
    (lambda w: w.all_reduce(np.zeros((4, 4))[:, :2]), "tensor: the array is not contiguous"),
    (lambda w: w.all_reduce(np.zeros(2), out=READ_ONLY), "out: the array is read-only"),
    (lambda w: w.all_reduce(np.zeros(2), out=b"12345678"), "out: the array is read-only"),
    (lambda w: w.all_reduce(np.zeros(2), out=np.zeros(3)), "out: its shape is (3,), but the result has the shape (2,)"),
    (lambda w: w.all_reduce(np.zeros(2), out=np.zeros(2, np.float32)), "out: its elements have another type"),
    (lambda w: w.all_reduce(SHARED[:4], out=SHARED[2:6]), "out: it overlaps with tensor"),
    (lambda w: w.all_gather(SHARED[1:3], out=SHARED[: 2 * w.size]), "out: it overlaps with tensor, which"),
    (lambda w: w.all_reduce(np.zeros(2), 99), "op: give one of Op.SUM, Op.AVERAGE"),
    (lambda w: w.all_reduce(np.zeros(2), compression=7), "compression: give one of dtrain.Compression"),
    (lambda w: w.all_reduce(np.zeros(2), prescale=0), "prescale: 0 is no scale"),
    (lambda w: w.all_reduce(np.zeros(2), postscale=float("nan")), "postscale"),
    (lambda w: w.all_reduce(np.zeros(2, bool), Op.AVERAGE), "average"),
    (lambda w: w.all_reduce(np.zeros(2, int), Op.ADASUM), "dasum"),
    (lambda w: w.all_reduce(np.zeros(2), timeout=0), "timeout: give seconds above 0"),
    (lambda w: w.all_reduce(np.zeros(2, complex)), ""),
    (lambda w: w.all_reduce(np.zeros(2), name="a\0b"), None),
    (lambda w: w.broadcast(np.zeros(2), w.size), "rank"),
    (lambda w: w.broadcast(np.zeros(2), -1), "rank"),
    (lambda w: w.reduce(np.zeros(2), 17), "rank"),
    (lambda w: w.send(np.zeros(2), 17), "rank"),
    (lambda w: w.recv(np.zeros(2), -2), "rank"),
    (lambda w: w.recv(READ_ONLY, 0), "out: the array is read-only"),
    (lambda w: w.scatter(None, w.size), "out: ranks other than the root"),
    (lambda w: w.all_gather(np.zeros(2), ragged=True, out=np.zeros(2)), "out: with ragged"),
    (lambda w: w.all_to_all(np.zeros((w.size, 2)), splits=[1] * (w.size + 1)), "splits: give"),
    (lambda w: w.all_to_all(np.zeros((w.size, 2)), splits=[2] * w.size), "splits: give"),
    (lambda w: w.all_to_all(np.zeros((2, 2)), splits=[3] + [-1] * (w.size > 1) + [0] * (w.size - 2)), "splits: give"),
    (lambda w: w.all_to_all(np.zeros(2), splits=[2] + [0] * (w.size - 1), out=np.zeros(2)), "out: with splits"),
    (lambda w: w.reduce_scatter(np.zeros(w.size), splits=[1] * w.size, out=np.zeros(1)), "out: parts that differ"),
    (lambda w: w.split(-1), "color: give a number from 0"),
    (lambda w: w.group([0, 0]), "rank 0 is in the list twice"),
    (lambda w: w.group([99]), "rank 99 is not one of the ranks"),
    (lambda w: w.broadcast_object(None, 99), "root: 99 is not one of the ranks"),
    (lambda w: w.all_gather_object(number for number in ()), "cannot be pickled"),
    (lambda w: w.all_reduce(np.zeros(2), name=7), "name: give a str, not 7"),
    (lambda w: w.barrier(name=b"x"), "name: give a str, not b'x'"),
    (lambda w: w.all_reduce(np.zeros(2), "sum"), "op: give one of Op.SUM"),
    (lambda w: w.all_reduce(np.zeros(2), None), "op: give one of Op.SUM"),
    (lambda w: w.all_reduce(np.zeros(2), prescale="2"), "prescale: give a number, not '2'"),
    (lambda w: w.reduce_scatter(np.zeros(w.size), postscale=[1]), "postscale: give a number, not [1]"),
    (lambda w: w.barrier(timeout="1"), "timeout: give a number, not '1'"),
    (lambda w: w.barrier(timeout=float("nan")), "timeout: give seconds above 0"),
    (lambda w: w.all_reduce_async(np.zeros(2)).wait("1"), "timeout: give a number, not '1'"),
    (lambda w: w.broadcast(np.zeros(2), "0"), "rank: give an integer, not '0'"),
    (lambda w: w.broadcast(np.zeros(2), 2**40), "rank: 1099511627776 is out of range"),
    (lambda w: w.reduce(np.zeros(2), None), "root: give an integer, not None"),
    (lambda w: w.gather(np.zeros(2), 0.5), "rank: give an integer, not 0.5"),
    (lambda w: w.recv(np.zeros(2), "0"), "rank: give an integer, not '0'"),
    (lambda w: w.all_to_all(np.zeros(w.size), splits=w.size), "splits: give a list of numbers, not "),
    (lambda w: w.all_to_all(np.zeros(w.size), splits=[1.0] * w.size), "splits: give an integer, not 1.0"),
    (lambda w: w.reduce_scatter(np.zeros(w.size), splits=["1"] * w.size), "splits: give an integer, not '1'"),
    (lambda w: w.group([0.5]), "ranks: give an integer, not 0.5"),
    (lambda w: w.split("0"), "ranks: give an integer, not '0'"),
    (lambda w: w.split(1.5), "color: give an integer, not 1.5"),
    (lambda w: w.split(0, "x"), "key: give an integer, not 'x'"),
    (lambda w: w.broadcast_object(None, "0"), "root: give an integer, not '0'"),
    (lambda w: w.broadcast_object((i for i in ()), w.rank), "cannot be pickled"),
    (lambda w: w.store.set(3, b""), "key: give a str, not 3"),
    (lambda w: w.store.get(b"k"), "key: give a str, not b'k'"),
    (lambda w: w.store.set("k", 3), "value: give bytes or a str, not 3"),
    (lambda w: w.store.compare_and_set("k", 3, b""), "value: give bytes or a str, not 3"),
    (lambda w: w.store.add("k", 2**63), "number: 9223372036854775808 is out of range"),
    (lambda w: w.store.wait("k", timeout=-1), "timeout: give seconds above 0"),
    (lambda w: w.store.set("", b""), "key"),
    (lambda w: w.store.set("k" * 251, b""), "key"),
    (lambda w: w.store.set("k", b"1" * 1_048_577), "value"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_are_value_errors_at_once(world, number):
    call, message = WRONG[number]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        call(world)
    if message is not None:
        assert isinstance(raised.value, dtrain.ArgumentError)
        assert raised.value.code == "input"
        assert message in str(raised.value)
    assert world.all_reduce(np.ones(1)).tolist() == [world.size]


def test_a_dimension_that_ranks_do_not_divide_is_an_error(world):
    if world.size == 1:
        pytest.skip("one rank divides all")
    with pytest.raises(ValueError, match=f"its first dimension {world.size + 1} is not divisible by {world.size}"):
        world.all_to_all(np.zeros(world.size + 1))


MISMATCHES = [
    lambda w: w.all_reduce(np.zeros(2 + (w.rank == 0))),
    lambda w: w.all_reduce(np.zeros((2, 3) if w.rank == 0 else (3, 2))),
    lambda w: w.all_reduce(np.zeros(2, np.float32 if w.rank == 0 else np.float64)),
    lambda w: w.all_reduce(np.zeros(2), Op.SUM if w.rank == 0 else Op.MAX),
    lambda w: w.all_reduce(np.zeros(2), prescale=2 + w.rank),
    lambda w: w.broadcast(np.zeros(2), min(w.rank, 1)),
    lambda w: w.barrier() if w.rank == 0 else w.all_reduce(np.zeros(2)),
    lambda w: w.all_gather(np.zeros((2, 3 + w.rank)), ragged=True),
    lambda w: w.all_reduce(np.zeros(2), name="same", timeout=60) if w.rank else w.all_gather(np.zeros(2), name="same"),
]


@pytest.mark.parametrize("number", range(len(MISMATCHES)))
def test_every_rank_learns_that_calls_differ(world, number):
    if world.size == 1:
        pytest.skip("one rank differs from none")
    with pytest.raises(dtrain.Error) as raised:
        MISMATCHES[number](world)
    assert raised.value.code == "mismatch"
    assert raised.value.rank in range(world.size)
    assert not isinstance(raised.value, ValueError)
    assert world.all_reduce(np.ones(1)).tolist() == [world.size]


def test_a_failure_is_raised_at_each_wait(world):
    if world.size == 1:
        pytest.skip("one rank differs from none")
    work = world.all_reduce_async(np.zeros(1 + world.rank))
    for _ in range(2):
        with pytest.raises(dtrain.Error) as raised:
            work.wait()
        assert raised.value.code == "mismatch"
        assert work.done()


def test_a_name_in_flight_is_a_value_error_and_the_first_continues(world):
    if world.size == 1:
        pytest.skip("nothing is in flight on one rank")
    if world.rank == 0:
        first = world.all_reduce_async(np.ones(1), name="twice")
        with pytest.raises(ValueError, match="twice"):
            world.all_reduce_async(np.ones(1), name="twice").wait()
        world.barrier()
    else:
        world.barrier()
        first = world.all_reduce_async(np.ones(1), name="twice")
    assert first.wait().tolist() == [world.size]


def test_a_wait_ends_after_its_time_and_the_operation_continues(world):
    if world.size == 1:
        pytest.skip("one rank waits for none")
    if world.rank == 0:
        work = world.all_reduce_async(np.ones(1), name="late")
        for timeout in (0, 0.15):
            with pytest.raises(TimeoutError, match="it continues"):
                work.wait(timeout)
        assert not work.done()
        world.barrier()
    else:
        world.barrier()
        work = world.all_reduce_async(np.ones(1), name="late")
    assert work.wait(30).tolist() == [world.size]


def test_an_array_of_an_operation_under_way_keeps_its_size(world):
    if world.size == 1:
        pytest.skip("nothing is under way on one rank")
    numbers = array.array("d", [1.0, 2.0])
    if world.rank == 0:
        work = world.all_reduce_async(numbers, name="keeps its size")
        with pytest.raises(BufferError):
            numbers.append(3.0)
    world.barrier()
    if world.rank != 0:
        work = world.all_reduce_async(numbers, name="keeps its size")
    assert work.wait().tolist() == [world.size, 2.0 * world.size]
    numbers.append(3.0)


def test_operations_of_a_finalized_group_fail(world):
    group = world.group(range(world.size))
    assert group is not None
    group.finalize()
    group.finalize()
    with pytest.raises(dtrain.Error, match="was finalized") as raised:
        group.barrier()
    assert raised.value.code == "closed"
    world.barrier()
