"""Names, orders, mismatches and joins."""

import random

import pytest
import torch

import dtrain.torch as hvd
from dtrain.horovod.common.basics import basics


def sparse(tensor):
    return hvd.synchronize(hvd.sparse_allreduce_async(tensor.to_sparse(1), "layout", hvd.Sum))


WRONG = {
    "shape": lambda odd: hvd.allreduce(torch.ones(3 if odd else 4)),
    "dimensions": lambda odd: hvd.allreduce(torch.ones((2, 6) if odd else (2, 3, 2))),
    "type": lambda odd: hvd.allreduce(torch.ones(3, dtype=torch.float64 if odd else torch.float32)),
    "reduction": lambda odd: hvd.allreduce(torch.ones(3), op=hvd.Sum if odd else hvd.Max),
    "operation": lambda odd: hvd.allreduce(torch.ones(3)) if odd else hvd.broadcast(torch.ones(3), 0),
    "root": lambda odd: hvd.broadcast(torch.ones(3), 1 if odd else 0),
    "scale": lambda odd: hvd.allreduce(torch.ones(3), prescale_factor=2.0 if odd else 3.0),
    "row": lambda odd: hvd.allgather(torch.ones(2, 3 if odd else 4)),
    "type of a row": lambda odd: hvd.allgather(torch.ones(2, dtype=torch.complex64 if odd else torch.int64)),
    "dimensions of a row": lambda odd: hvd.allgather(torch.ones((2, 3) if odd else (2, 3, 1))),
    "row of alltoall": lambda odd: hvd.alltoall(torch.ones(hvd.size(), 3 if odd else 4)),
    "rows of reducescatter": lambda odd: hvd.reducescatter(torch.ones(12 if odd else 13)),
    "layout": lambda odd: sparse(torch.ones(5, 3)) if odd else hvd.allreduce(torch.ones(5, 3), name="layout"),
    "type of a sparse one": lambda odd: sparse(torch.ones(5, 3, dtype=torch.int32 if odd else torch.float32)),
    "shape of a sparse one": lambda odd: sparse(torch.ones(5 if odd else 6, 3)),
    "length of a group": lambda odd: hvd.grouped_allreduce([torch.ones(2)] * (2 if odd else 3)),
    "in a group": lambda odd: hvd.grouped_allreduce([torch.ones(2), torch.ones(3 if odd else 4)]),
}


@pytest.mark.parametrize("what", WRONG)
def test_ranks_that_disagree_get_an_error_and_continue(what):
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(hvd.HorovodInternalError) as caught:
        WRONG[what](hvd.rank() % 2 == 1)
    assert caught.value.code == "mismatch"
    assert caught.value.rank in range(hvd.size())
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


def test_a_name_in_flight_is_refused_and_the_first_call_completes():
    if hvd.size() == 1:
        pytest.skip("the operation of one rank is done at once")
    if hvd.rank() == 0:
        first = hvd.allreduce_async(torch.ones(2), name="twice")
        with pytest.raises(ValueError, match="twice"):
            hvd.allreduce_async(torch.ones(2), name="twice")
        hvd.barrier()
    else:
        # The others submit the name after the barrier, so it has overtaken rank 0's operation.
        hvd.barrier()
        first = hvd.allreduce_async(torch.ones(2), name="twice")
    assert hvd.synchronize(first).tolist() == [1, 1]
    assert hvd.allreduce(torch.ones(2), name="twice").tolist() == [1, 1]


def test_one_name_serves_different_operations_at_once():
    tensor = torch.ones(hvd.size())
    handles = [hvd.allreduce_async(tensor, name="x"), hvd.allgather_async(tensor, name="x")]
    handles += [hvd.alltoall_async(tensor, name="x"), hvd.broadcast_async(tensor, 0, name="x")]
    handles.append(hvd.reducescatter_async(tensor, name="x"))
    for handle in reversed(handles):
        assert hvd.synchronize(handle).eq(1).all()


def test_a_wrong_call_on_one_rank_leaves_the_names_of_others_aligned():
    if hvd.rank() == 0:
        with pytest.raises(ValueError, match="root_rank"):
            hvd.broadcast(torch.ones(2), 99)
        with pytest.raises(ValueError, match="sparse"):
            hvd.allreduce(torch.ones(2).to_sparse())
        with pytest.raises(ValueError, match="meta"):
            hvd.allreduce(torch.ones(2, device="meta"))
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.bfloat16, torch.float64, torch.complex64])
@pytest.mark.parametrize("shape", [(6,), (6, 2), (6, 2, 3), (6, 0)])
def test_sparse_tensors_are_added(dtype, shape):
    for name, dimensions in (("named", 1), (None, len(shape))):
        tensor = torch.ones(shape, dtype=dtype)
        tensor[hvd.rank() % 6 :] = 0  # rank 0 has no values
        found = hvd.sparse_allreduce_async(tensor.to_sparse(dimensions), name, hvd.Sum)()
        if dtype is torch.bool:
            continue  # torch adds none
        total = sum((torch.arange(6) < rank).to(dtype) for rank in range(hvd.size()))
        expected = total.reshape(6, *[1] * (len(shape) - 1)).expand(shape).to(dtype)
        assert found.dtype == dtype
        assert torch.equal(found.to_dense(), expected)


def test_a_layer_with_sparse_gradients_on_one_rank_alone_is_an_error_of_all():
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")
    table = torch.nn.Embedding(4, 2, sparse=hvd.rank() == 0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0), table.named_parameters())
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(hvd.HorovodInternalError) as caught:
        optimizer.step()
    assert caught.value.code == "mismatch"
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


def test_operations_are_asynchronous():
    """Rank 0 has started all of its calls before the others start theirs, so none of them has ended."""
    store = basics.world().store
    tensors = [torch.ones(1000, 10) for _ in range(30)]
    for start in (hvd.allreduce_async, hvd.allgather_async, hvd.reducescatter_async):
        if hvd.rank() > 0:
            store.wait(start.__name__, timeout=60)
        handles = [start(tensor) for tensor in tensors]
        if hvd.rank() == 0:
            assert hvd.size() == 1 or not any(hvd.poll(handle) for handle in handles)
            store.set(start.__name__, b"")
        for handle in handles:
            hvd.synchronize(handle)
            assert hvd.poll(handle)
        hvd.barrier()


def test_a_handle_has_its_result_each_time_and_what_is_none_has_nothing():
    handle = hvd.allreduce_async(torch.ones(2))
    assert hvd.synchronize(handle) is hvd.synchronize(handle)
    assert hvd.synchronize(12345) is None


def test_a_rank_that_has_joined_counts_with_zeros():
    if hvd.size() == 1:
        assert hvd.join() == 0
        return
    for late in (0, hvd.size() - 1):
        if hvd.rank() == late:
            # Operations without a name, and such with one that the others have seen or not.
            first = hvd.allreduce_async(torch.ones(2))
            second = hvd.allreduce_async(torch.ones(3), name=f"new to others {late}", op=hvd.Sum)
            assert torch.allclose(hvd.synchronize(first), torch.full((2,), 1 / hvd.size()))
            assert hvd.synchronize(second).tolist() == [1] * 3
            for wrong in (lambda: hvd.allgather(torch.ones(2)), lambda: hvd.broadcast(torch.ones(2), late)):
                with pytest.raises(hvd.HorovodInternalError, match="join"):
                    wrong()
        assert hvd.join() == late
        # The numbers of operations without a name meet again.
        assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


def test_process_sets_come_and_go():
    if hvd.size() == 1:
        pytest.skip("the only set is that of all ranks")
    size = hvd.size()
    one = hvd.add_process_set([size - 1])
    assert one.process_set_id > 0
    assert one.size() == 1
    assert one.included() == (hvd.rank() == size - 1)
    if one.included():
        assert one.rank() == 0
        assert hvd.allreduce(torch.ones(2), op=hvd.Sum, process_set=one).tolist() == [1, 1]
        hvd.barrier(process_set=one)
    else:
        with pytest.raises(ValueError, match=f"rank {hvd.rank()} is not among"):
            one.rank()
        with pytest.raises(ValueError, match=f"rank {hvd.rank()} is not among"):
            hvd.allreduce(torch.ones(2), process_set=one)
    with pytest.raises(ValueError, match="there is one with the ranks"):
        hvd.add_process_set([size - 1])
    with pytest.raises(ValueError, match=f"from 0 to {size - 1}"):
        hvd.add_process_set([size])
    assert hvd.remove_process_set(one)
    assert not hvd.remove_process_set(one)
    assert one.size() is None
    assert not hvd.remove_process_set(hvd.global_process_set)
    with pytest.raises(ValueError, match="not registered"):
        hvd.allreduce(torch.ones(2), process_set=one)
    again = hvd.add_process_set(hvd.ProcessSet([size - 1]))
    assert again.ranks == [size - 1]
    assert hvd.remove_process_set(again)


class Script:
    """Random operations, the same on each rank but for their order."""

    def __init__(self, seed):
        self.common = random.Random(seed)
        self.own = random.Random(f"{seed} {hvd.rank()}")
        self.number = 0

    def batch(self):
        """Return functions, in another order on each rank. Each makes an operation and a check of its result."""
        calls = []
        for _ in range(self.common.randint(1, 12)):
            self.number += 1
            kind = self.common.choice(["allreduce", "allreduce_", "allgather", "broadcast", "mismatch", "grouped"])
            terms = (f"{kind} {self.number}", self.common.randint(0, 40), self.common.randrange(hvd.size()))
            calls.append((kind, terms))
        self.own.shuffle(calls)
        return calls


def start(kind, name, rows, root):
    tensor = torch.full((rows, 2), float(hvd.rank()))
    total = sum(range(hvd.size()))
    if kind == "allreduce":
        return hvd.allreduce_async(tensor, name=name, op=hvd.Sum), torch.full((rows, 2), float(total))
    if kind == "allreduce_":
        return hvd.allreduce_async_(tensor, name=name), torch.full((rows, 2), total / hvd.size())
    if kind == "grouped":
        handle = hvd.grouped_allreduce_async([tensor, tensor], name=name, op=hvd.Max)
        return handle, torch.full((2, rows, 2), hvd.size() - 1.0)
    if kind == "allgather":
        parts = [torch.full((rows + rank, 2), float(rank)) for rank in range(hvd.size())]
        return hvd.allgather_async(parts[hvd.rank()], name=name), torch.cat(parts)
    if kind == "broadcast":
        return hvd.broadcast_async(tensor, root, name=name), torch.full((rows, 2), float(root))
    return hvd.allreduce_async(torch.ones(rows + 1 + (hvd.rank() == root)), name=name), None


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_names_gives_the_results_of_each(seed):
    script = Script(seed)
    for _ in range(10):
        calls = script.batch()
        pairs = [start(kind, *terms) for kind, terms in calls]
        script.own.shuffle(pairs)
        for handle, expected in pairs:
            if expected is None and hvd.size() > 1:
                with pytest.raises(hvd.HorovodInternalError):
                    hvd.synchronize(handle)
                continue
            found = hvd.synchronize(handle)
            if expected is not None:
                assert torch.equal(torch.stack(found) if isinstance(found, list) else found, expected)
        if script.common.random() < 0.2:
            hvd.join()
