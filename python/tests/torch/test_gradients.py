"""Gradients of operations, against those that autograd finds for the same in one process."""

import pytest
import torch

import dtrain.torch as hvd

SHAPES = [(4,), (4, 3), (4, 3, 2)]


def leaf(rank, shape):
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def weight(rank, shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(100 + rank), dtype=torch.float64)


def check(one_set, shape, call, fold, scale):
    """Compare with one process that has the tensors of all ranks, and the sum of their losses, times `scale`."""
    own = leaf(hvd.rank(), shape)
    found = call(own)
    (found * weight(hvd.rank(), found.shape)).sum().backward()
    leaves = [leaf(rank, shape) for rank in one_set.ranks]
    results = fold(leaves)
    losses = [(out * weight(rank, out.shape)).sum() for rank, out in zip(one_set.ranks, results, strict=True)]
    assert torch.allclose(found, results[one_set.ranks.index(hvd.rank())])
    sum(losses).backward()
    expected = leaves[one_set.ranks.index(hvd.rank())].grad
    expected = torch.zeros_like(own) if expected is None else expected
    assert torch.allclose(own.grad, expected * scale)


@pytest.mark.parametrize("shape", SHAPES)
def test_allreduce(sets, shape):
    for one_set in sets:
        size = len(one_set.ranks)
        check(
            one_set,
            shape,
            lambda own: hvd.allreduce(own, op=hvd.Sum, process_set=one_set),
            lambda leaves: [sum(leaves)] * len(leaves),
            1,
        )
        check(
            one_set,
            shape,
            lambda own: hvd.allreduce(own, process_set=one_set),
            lambda leaves, size=size: [sum(leaves) / size] * size,
            1,
        )
        scales = {"prescale_factor": 0.5, "postscale_factor": 3.0}
        check(
            one_set,
            shape,
            lambda own: hvd.allreduce(own, op=hvd.Sum, process_set=one_set, **scales),
            lambda leaves: [sum(leaves) * 1.5] * len(leaves),
            1,
        )
        check(
            one_set,
            shape,
            lambda own: sum(hvd.grouped_allreduce([own, 2 * own], op=hvd.Sum, process_set=one_set)),
            lambda leaves: [sum(leaves) * 3] * len(leaves),
            1,
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_allgather(sets, shape):
    for one_set in sets:
        size = len(one_set.ranks)
        check(
            one_set,
            shape,
            lambda own: hvd.allgather(own, process_set=one_set),
            lambda leaves: [torch.cat(leaves)] * len(leaves),
            1 / size,
        )
        check(
            one_set,
            shape,
            lambda own: torch.cat(hvd.grouped_allgather([own, own], process_set=one_set)),
            lambda leaves: [torch.cat([*leaves, *leaves])] * len(leaves),
            1 / size,
        )


def test_allgather_of_different_rows(sets):
    for one_set in sets:
        own = torch.ones(hvd.rank() + 1, 2).requires_grad_()
        rows = [torch.full((rank + 1, 2), float(rank)) for rank in one_set.ranks]
        hvd.allgather(own, process_set=one_set).backward(torch.cat(rows))
        assert torch.equal(own.grad, torch.full_like(own, hvd.rank()))


@pytest.mark.parametrize("shape", SHAPES)
def test_broadcast(sets, shape):
    for one_set in sets:
        root = one_set.ranks[-1]
        check(
            one_set,
            shape,
            lambda own: hvd.broadcast(own, root, process_set=one_set),
            lambda leaves: [leaves[-1] * 1] * len(leaves),
            1 / len(one_set.ranks),
        )


@pytest.mark.parametrize("row", [(), (3,), (3, 2)])
def test_alltoall(sets, row):
    for one_set in sets:
        size = len(one_set.ranks)

        def fold(leaves):
            return [torch.cat([one.chunk(len(leaves))[place] for one in leaves]) for place in range(len(leaves))]

        check(one_set, (2 * size, *row), lambda own: hvd.alltoall(own, process_set=one_set), fold, 1)
        # A row that is sent to no rank has no gradient.
        own = leaf(hvd.rank(), (size + 1, *row))
        sent, rows = hvd.alltoall(own, splits=[1] * size, process_set=one_set)
        assert rows.tolist() == [1] * size
        sent.sum().backward()
        assert torch.equal(own.grad[:size], torch.ones_like(own[:size]))
        assert not own.grad[size:].any()


@pytest.mark.parametrize("rows", [12, 13])
@pytest.mark.parametrize("op", [hvd.Sum, hvd.Average])
def test_reducescatter(sets, rows, op):
    for one_set in sets:
        size = len(one_set.ranks)
        parts = [rows // size + (place < rows % size) for place in range(size)]

        def fold(leaves):
            return list(((sum(leaves) / (len(leaves) if op == hvd.Average else 1)) * 1.5).split(parts))

        scales = {"prescale_factor": 0.5, "postscale_factor": 3.0}
        check(one_set, (rows, 2), lambda own: hvd.reducescatter(own, op=op, process_set=one_set, **scales), fold, size)
        check(
            one_set,
            (rows, 2),
            lambda own: hvd.grouped_reducescatter([own, own], op=op, process_set=one_set, **scales)[1],
            fold,
            size,
        )


def test_no_gradient_is_followed_where_none_is_asked_for():
    own = torch.ones(3, requires_grad=True)
    assert hvd.allreduce(own).requires_grad
    with torch.no_grad():
        assert not hvd.allreduce(own).requires_grad
        hvd.allreduce_(own)
    assert not hvd.allreduce(own.detach()).requires_grad
