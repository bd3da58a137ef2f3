"""All operations of torch.distributed, against those of gloo."""

import datetime
import itertools
import os
import time

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from dtrain.torch.distributed import DtrainBackend

INTEGERS = [torch.uint8, torch.int8, torch.int32, torch.int64]
FLOATS = [torch.float32, torch.float64]
TYPES = [*INTEGERS, *FLOATS]
SHAPES = [(), (3,), (2, 3), (0,)]
OPS = [ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX]
BITS = [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]


def tensor_of(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(100 * seed + dist.get_rank())
    return torch.randint(0, 4, shape, generator=generator).to(dtype)


def same(found, expected):
    if isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found.dtype == expected.dtype and torch.equal(found, expected)


def check(groups, call):
    for ours, gloos in groups:
        found, expected = call(ours), call(gloos)
        assert same(found, expected), f"{found} instead of {expected}"


@pytest.mark.parametrize("dtype", TYPES)
def test_all_reduce(groups, dtype):
    for shape, op in itertools.product(SHAPES, [*OPS, *(BITS if dtype in INTEGERS else [])]):

        def call(group, shape=shape, op=op):
            tensor = tensor_of(shape, dtype)
            dist.all_reduce(tensor, op, group=group)
            return tensor

        check(groups, call)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.bool, torch.complex64])
def test_types_that_gloo_lacks_or_rounds(groups, dtype):
    for group, _ in groups:
        size = dist.get_world_size(group)
        tensor = torch.ones(3, dtype=dtype)
        dist.all_reduce(tensor, group=group)
        assert torch.equal(tensor, torch.full((3,), 1 if dtype is torch.bool else size, dtype=dtype))
        parts = [torch.zeros(3, dtype=dtype) for _ in range(size)]
        dist.all_gather(parts, tensor, group=group)
        assert all(torch.equal(part, tensor) for part in parts)


def test_averages_and_factors(groups):
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        tensor = torch.full((3,), float(rank))
        dist.all_reduce(tensor, ReduceOp.AVG, group=group)
        assert torch.allclose(tensor, torch.full((3,), sum(range(size)) / size))
        tensor = torch.ones(3)
        dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5), group=group)
        assert torch.equal(tensor, torch.full((3,), size / 2))


@pytest.mark.parametrize("dtype", TYPES)
def test_moves(groups, dtype):
    for shape in SHAPES:

        def broadcast(group, shape=shape):
            tensor = tensor_of(shape, dtype)
            dist.broadcast(tensor, group=group, group_src=dist.get_world_size(group) - 1)
            return tensor

        def all_gather(group, shape=shape):
            parts = [torch.zeros(shape, dtype=dtype) for _ in range(dist.get_world_size(group))]
            dist.all_gather(parts, tensor_of(shape, dtype), group=group)
            return parts

        def gather(group, shape=shape):
            root = dist.get_rank(group) == 0
            parts = [torch.zeros(shape, dtype=dtype) for _ in range(dist.get_world_size(group))] if root else None
            dist.gather(tensor_of(shape, dtype), parts, group=group, group_dst=0)
            return parts or []

        def scatter(group, shape=shape):
            size = dist.get_world_size(group)
            root = dist.get_rank(group) == size - 1
            parts = [tensor_of(shape, dtype, seed) for seed in range(size)] if root else None
            tensor = torch.zeros(shape, dtype=dtype)
            dist.scatter(tensor, parts, group=group, group_src=size - 1)
            return tensor

        for call in (broadcast, all_gather, gather, scatter):
            check(groups, call)


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions_to_one_and_to_parts(groups, dtype):
    for shape, op in itertools.product(SHAPES, OPS):

        def reduce(group, shape=shape, op=op):
            tensor = tensor_of(shape, dtype)
            dist.reduce(tensor, op=op, group=group, group_dst=0)
            return tensor if dist.get_rank(group) == 0 else torch.zeros(1)

        check(groups, reduce)
    for op in OPS:

        def reduce_scatter(group, op=op):
            output = torch.zeros(4, 2, dtype=dtype)
            parts = [tensor_of((4, 2), dtype, seed) for seed in range(dist.get_world_size(group))]
            dist.reduce_scatter(output, parts, op=op, group=group)
            return output

        def reduce_scatter_tensor(group, op=op):
            output = torch.zeros(4, 2, dtype=dtype)
            dist.reduce_scatter_tensor(
                output, tensor_of((4 * dist.get_world_size(group), 2), dtype), op=op, group=group
            )
            return output

        check(groups, reduce_scatter)
        check(groups, reduce_scatter_tensor)


@pytest.mark.parametrize("dtype", TYPES)
def test_exchanges(groups, dtype):
    def all_gather_into_tensor(group):
        output = torch.zeros(3 * dist.get_world_size(group), 2, dtype=dtype)
        dist.all_gather_into_tensor(output, tensor_of((3, 2), dtype), group=group)
        return output

    def equal_parts(group):
        rows = 2 * dist.get_world_size(group)
        output = torch.zeros(rows, 2, dtype=dtype)
        dist.all_to_all_single(output, tensor_of((rows, 2), dtype), group=group)
        return output

    def parts_by_splits(group):
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        # Rank i sends i + j rows to rank j.
        sent, received = [rank + to for to in range(size)], [sender + rank for sender in range(size)]
        output = torch.zeros(sum(received), 2, dtype=dtype)
        dist.all_to_all_single(output, tensor_of((sum(sent), 2), dtype), received, sent, group=group)
        return output

    check(groups, all_gather_into_tensor)
    check(groups, equal_parts)
    check(groups, parts_by_splits)
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        outputs = [torch.zeros(sender + 1, dtype=dtype) for sender in range(size)]
        dist.all_to_all(outputs, [torch.full((rank + 1,), to, dtype=dtype) for to in range(size)], group=group)
        assert all(torch.equal(one, torch.full((sender + 1,), rank, dtype=dtype)) for sender, one in enumerate(outputs))


def test_parts_may_differ_in_size(groups):
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        outputs = [torch.zeros(sender + 1) for sender in range(size)]
        dist.all_gather(outputs, torch.full((rank + 1,), float(rank)), group=group)
        assert all(torch.equal(one, torch.full((sender + 1,), float(sender))) for sender, one in enumerate(outputs))
        output = torch.zeros(rank + 1)
        dist.reduce_scatter(output, [torch.full((to + 1,), float(to)) for to in range(size)], group=group)
        assert torch.equal(output, torch.full((rank + 1,), float(rank * size)))


def test_memory_formats_and_views(groups):
    for group, _ in groups:
        size = dist.get_world_size(group)
        last = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
        dist.all_reduce(last, group=group)
        assert torch.equal(last, torch.full((2, 3, 4, 4), float(size)))
        columns = torch.zeros(4, 6)
        dist.all_reduce(columns[:, ::2].add_(1), group=group)
        assert columns.tolist() == [[size, 0] * 3] * 4


def test_sparse_tensors(groups):
    def call(group):
        tensor = torch.sparse_coo_tensor([[dist.get_rank(group), 4]], [1.0, 2.0], (6,))
        dist.all_reduce(tensor, group=group)
        return tensor.to_dense()

    check(groups, call)


def test_a_sparse_tensor_on_one_rank_alone_is_an_error_of_all(job):
    if dist.get_world_size() == 1 or os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
        pytest.skip("one rank agrees with itself; torch's debug mode takes no sparse tensor")
    tensor = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"(?i)all_?(reduce|gather)"):
        dist.all_reduce(tensor.to_sparse() if dist.get_rank() == 0 else tensor)
    tensor = torch.ones(3)  # what the other one holds after a failure is undefined
    dist.all_reduce(tensor)
    assert tensor.tolist() == [dist.get_world_size()] * 3


def test_several_tensors_at_once(groups):
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        tensors = [torch.full((n,), float(n)) for n in (1, 2, 3)]
        with dist._coalescing_manager(group=group):
            for tensor in tensors:
                dist.all_reduce(tensor, group=group)
        assert all(torch.equal(one, torch.full((n,), float(n * size))) for n, one in enumerate(tensors, 1))
        outputs = [torch.zeros(2 * size), torch.zeros(size, dtype=torch.int64)]
        with dist._coalescing_manager(group=group, async_ops=True) as manager:
            for output, tensor in zip(outputs, [torch.full((2,), float(rank)), torch.tensor([rank])], strict=True):
                dist.all_gather_into_tensor(output, tensor, group=group)
        manager.wait()
        assert outputs[1].tolist() == list(range(size))
        parts = [torch.zeros(2), torch.zeros(1)]
        with dist._coalescing_manager(group=group):
            for part in parts:
                dist.reduce_scatter_tensor(part, torch.ones(part.numel() * size), group=group)
        assert [part.tolist() for part in parts] == [[size, size], [size]]
        grown = torch.zeros(size)
        with dist._coalescing_manager(group=group, device=torch.device("cpu"), async_ops=True) as manager:
            dist.all_gather_into_tensor(grown, torch.tensor([float(rank)]), group=group)
        manager.wait()
        assert grown.tolist() == list(range(size))


def test_messages(groups):
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        if size == 1:
            continue
        received = torch.zeros(3)
        works = [
            dist.isend(torch.full((3,), float(rank)), group=group, group_dst=(rank + 1) % size, tag=7),
            dist.irecv(received, group=group, group_src=(rank - 1) % size, tag=7),
        ]
        for work in works:
            work.wait()
        assert received.tolist() == [(rank - 1) % size] * 3
        received = torch.zeros(2, 2).t()
        to, source = dist.get_global_rank(group, (rank + 1) % size), dist.get_global_rank(group, (rank - 1) % size)
        operations = [
            dist.P2POp(dist.isend, torch.ones(2, 2), to, group),
            dist.P2POp(dist.irecv, received, source, group),
        ]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        assert received.tolist() == [[1, 1], [1, 1]]


def test_messages_of_any_source(groups):
    if os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
        pytest.skip("torch wants as many messages of each rank there")
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        if size == 1:
            with pytest.raises(RuntimeError, match="no other rank"):
                dist.recv(torch.zeros(1), group=group)
            continue
        for _ in range(3):
            dist.barrier(group)
            if rank != 0:
                for part in range(2):
                    dist.send(torch.tensor([rank, part]), group=group, group_dst=0)
                continue
            received = [torch.zeros(2, dtype=torch.int64) for _ in range(2 * (size - 1))]
            first = dist.irecv(received[0], group=group)
            sources = [dist.recv(tensor, group=group) for tensor in received[1:]]
            first.wait()
            assert first.result()[0] is received[0]
            sources.insert(0, dist.get_global_rank(group, first.source_rank()))
            assert sorted(tensor.tolist() for tensor in received) == sorted(
                [one, part] for one in range(1, size) for part in (0, 1)
            )
            assert sources == [dist.get_global_rank(group, int(tensor[0])) for tensor in received]
        # A receive with a source gets a message that an earlier one without it waits for, if it is of that kind.
        if rank == 0:
            tensors = torch.zeros(2, 2, dtype=torch.int64)
            first, second = dist.irecv(tensors[0], group=group), dist.irecv(tensors[1], group=group, group_src=size - 1)
            with pytest.raises(ValueError, match=r"rank \d with 2 elements of torch.int64 and tag 0; the messages"):
                dist.irecv(torch.zeros(3), group=group, group_src=size - 1)
        dist.barrier(group)
        if rank == 0:
            first.wait()
            second.wait()
            assert tensors.tolist() == [[size - 1, 8], [size - 1, 9]]
        elif rank == size - 1:
            dist.send(torch.tensor([rank, 8]), group=group, group_dst=0)
            dist.send(torch.tensor([rank, 9]), group=group, group_dst=0)


def test_tags_of_messages_must_have_one_order(job):
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        pytest.skip("one rank sends nothing")
    group = dist.new_group()
    if rank < 2:
        move = dist.isend if rank == 0 else dist.irecv
        works = [move(torch.ones(2), 1 - rank, group=group, tag=tag) for tag in ((1, 2) if rank == 0 else (2, 1))]
        for work in works:
            with pytest.raises(RuntimeError, match=r'"tag 1", .* the name "tag 2"|"tag 2", .* the name "tag 1"'):
                work.wait()
            assert not work.is_success()
            assert "tag" in str(work.exception())
    dist.barrier()


def test_objects(groups):
    for group, _ in groups:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        objects = [None] * size
        dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank}, group=group)
        assert objects == [{"rank": one, "text": "x" * one} for one in range(size)]
        shared = [rank, "of rank"]
        dist.broadcast_object_list(shared, group=group, group_src=size - 1)
        assert shared == [size - 1, "of rank"]


def test_works_and_futures(groups):
    for group, _ in groups:
        size = dist.get_world_size(group)
        tensor = torch.ones(4)
        work = dist.all_reduce(tensor, group=group, async_op=True)
        future = work.get_future().then(lambda done: done.value()[0] * 2)
        assert torch.equal(future.wait(), torch.full((4,), 2.0 * size))
        assert work.get_future().done()
        assert work.wait()
        works = [dist.all_reduce(torch.ones(100), group=group, async_op=True) for _ in range(20)]
        for done in torch.futures.wait_all([one.get_future() for one in works]):
            assert done[0][0] == size


def test_works_answer_as_those_of_gloo(groups):
    def answers(work, exception_of):
        found = [work.is_success(), exception_of(work)]
        deadline = time.monotonic() + 60
        while not work.is_completed() and time.monotonic() < deadline:
            time.sleep(0.001)
        return [*found, work.is_completed(), work.is_success(), exception_of(work), work.result()]

    def exception_of_gloo(work):
        try:
            return work.exception()
        except TypeError:  # older versions of torch have no conversion of it
            return None

    for ours, gloos in groups:
        for call in (
            lambda group: dist.all_reduce(torch.ones(2), group=group, async_op=True),
            lambda group: dist.broadcast(torch.ones(2), group=group, group_src=0, async_op=True),
            lambda group: dist.all_gather(
                list(torch.zeros(dist.get_world_size(group), 2)), torch.ones(2), group=group, async_op=True
            ),
            lambda group: dist.barrier(group, async_op=True),
        ):
            found = answers(call(ours), lambda work: work.exception())
            expected = answers(call(gloos), exception_of_gloo)
            assert found[:-1] == expected[:-1]
            assert same(found[-1], expected[-1])
    for ours, _ in groups:
        work = dist.all_reduce(torch.ones(2), group=ours, async_op=True)
        work.wait()
        assert work.is_completed()
        with pytest.raises(RuntimeError, match="receive"):
            work.source_rank()


def test_groups_come_and_go(job):
    size, rank = dist.get_world_size(), dist.get_rank()
    for _ in range(3):
        alone = [dist.new_group([one]) for one in range(size)]
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=alone[rank])
        assert tensor.tolist() == [1, 1]
        # Only its members ask for this group.
        own = dist.new_group([rank, (rank + 1) % size] if size == 2 else [rank], use_local_synchronization=True)
        dist.all_reduce(tensor, group=own)
        assert tensor.tolist() == [2 if size == 2 else 1] * 2
        dist.barrier()
        dist.destroy_process_group(alone[rank])
        dist.destroy_process_group(own)


def test_a_group_is_split(job):
    if isinstance(dist.group.WORLD, DtrainBackend):
        pytest.skip("before 2.14, torch splits groups of NCCL alone")
    size, rank = dist.get_world_size(), dist.get_rank()
    half = max(1, size // 2)
    ranks = [list(range(half)), list(range(half, size))]
    part = dist.split_group(split_ranks=[one for one in ranks if one])
    tensor = torch.ones(2)
    dist.all_reduce(tensor, group=part)
    assert tensor.tolist() == [len(ranks[0] if rank < half else ranks[1])] * 2


def test_ranks_that_disagree_get_an_error_and_continue(job):
    if dist.get_world_size() == 1:
        pytest.skip("one rank agrees with itself")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"(?i)all_?reduce"):
            dist.all_reduce(torch.ones(2 + dist.get_rank() % 2))
        with pytest.raises(RuntimeError, match=r"(?i)all_?reduce"):  # noqa: PT012
            # Torch's debug mode compares the calls itself, and raises in the first line.
            work = dist.all_reduce(torch.ones(2 + dist.get_rank() % 2), async_op=True)
            work.get_future().wait()
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [dist.get_world_size()] * 2


def test_a_timeout_ends_the_operation_of_a_group(job):
    if dist.get_world_size() == 1:
        pytest.skip("one rank waits for no other")
    if os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
        pytest.skip("a barrier of torch ends the operation first")
    dist.barrier()  # the time limit is that of making the group, too
    group = dist.new_group(timeout=datetime.timedelta(seconds=10))
    if dist.get_rank() == 0:
        with pytest.raises(RuntimeError, match=r"10s: rank.*; give new_group .* timeout "):
            dist.all_reduce(torch.ones(2), group=group)
    dist.barrier()
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [dist.get_world_size()] * 2


WRONG = {
    "float bits": lambda: dist.all_reduce(torch.ones(2), ReduceOp.BAND),
    "maximum of complex": lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), ReduceOp.MAX),
    "too small an output": lambda: dist.all_gather_into_tensor(torch.ones(1), torch.ones(2)),
    "too large an output": lambda: dist.reduce_scatter_tensor(torch.ones(9), torch.ones(2)),
    "a sparse tensor of an exchange": lambda: dist.all_to_all_single(torch.ones(4), torch.ones(4).to_sparse()),
    "splits with another sum": lambda: dist.all_to_all_single(
        torch.ones(4), torch.ones(4), [9] * dist.get_world_size(), [9] * dist.get_world_size()
    ),
    "no tensors": lambda: dist.all_gather([], torch.ones(2)),
    "a root that is no rank": lambda: dist.broadcast(torch.ones(2), 99),
    "no tensor": lambda: dist.all_reduce([1.0]),
    "an object that cannot be pickled": lambda: dist.broadcast_object_list([iter([dist])], dist.get_rank()),
    "ranks that are not there": lambda: dist.new_group([0, 99]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_an_error_at_once(job, what):
    with pytest.raises((ValueError, RuntimeError, NotImplementedError, TypeError)):
        WRONG[what]()
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [dist.get_world_size()] * 2
