"""Operations, and their results by a fold over the inputs of all ranks, which each rank knows."""

import itertools

import pytest
import torch

import dtrain.torch as hvd

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
# torch itself hardly computes with them, and before 2.1 it has none.
FLOATS_OF_8_BITS = [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]
MOVED = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
# The first dimension is divisible by 1 to 4 ranks.
SHAPES = [(12,), (12, 2), (12, 2, 3), (0,), (0, 3), (12, 0)]
OPS = [hvd.Sum, hvd.Average, hvd.Min, hvd.Max, hvd.Product]
FORMS = ["plain", "async", "in place", "async in place"]


def input_of(rank, shape, dtype):
    """Return small numbers: sums and products of four are exact in every type."""
    generator = torch.Generator().manual_seed(rank)
    numbers = torch.randint(0, 4, shape, generator=generator)
    if dtype in COMPLEX:
        return torch.complex(numbers.double(), torch.randint(0, 4, shape, generator=generator).double()).to(dtype)
    return (numbers % 2 if dtype is torch.bool else numbers).to(dtype)


def reduced(inputs, op):
    """Return the reduction in the type of the inputs."""
    dtype = inputs[0].dtype
    wide = torch.stack(inputs).to(torch.complex128 if dtype in COMPLEX else torch.float64)
    if op == hvd.Min:
        result = wide.amin(0)
    elif op == hvd.Max:
        result = wide.amax(0)
    elif op == hvd.Product:
        result = wide.prod(0)
    else:
        result = wide.sum(0)
        if op == hvd.Average:
            result = result / len(inputs)
            result = result if dtype.is_floating_point or dtype.is_complex else result.trunc()
    return result.to(dtype)


def inputs_of(one_set, shape, dtype):
    return [input_of(rank, shape, dtype) for rank in one_set.ranks]


def same(found, expected):
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype in FLOATS or found.dtype in COMPLEX:
        return torch.allclose(found, expected, rtol=1e-2 if found.dtype in FLOATS[:2] else 1e-6)
    return torch.equal(found, expected)


def ops_of(dtype):
    if dtype in COMPLEX:
        return [hvd.Sum, hvd.Average]
    return [op for op in OPS if op != hvd.Average] if dtype is torch.bool else OPS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", MOVED)
def test_allreduce(sets, dtype, form):
    for one_set, shape, op in itertools.product(sets, [(), *SHAPES], ops_of(dtype)):
        tensor = input_of(hvd.rank(), shape, dtype)
        before = tensor.clone()
        if form == "plain":
            found = hvd.allreduce(tensor, op=op, process_set=one_set)
        elif form == "async":
            found = hvd.synchronize(hvd.allreduce_async(tensor, op=op, process_set=one_set))
        elif form == "in place":
            found = hvd.allreduce_(tensor, op=op, process_set=one_set)
        else:
            found = hvd.synchronize(hvd.allreduce_async_(tensor, op=op, process_set=one_set))
        expected = reduced(inputs_of(one_set, shape, dtype), op)
        assert same(found, expected), f"{op} of {before}: {found}"
        assert (found is tensor) == ("in place" in form)
        assert "in place" in form or torch.equal(tensor, before)


@pytest.mark.parametrize("form", FORMS)
def test_grouped_allreduce(sets, form):
    call = {
        "plain": hvd.grouped_allreduce,
        "async": lambda *args, **kwargs: hvd.synchronize(hvd.grouped_allreduce_async(*args, **kwargs)),
        "in place": hvd.grouped_allreduce_,
        "async in place": lambda *args, **kwargs: hvd.synchronize(hvd.grouped_allreduce_async_(*args, **kwargs)),
    }[form]
    for one_set, op in itertools.product(sets, [hvd.Sum, hvd.Average]):
        kinds = [(shape, dtype) for shape in [(), *SHAPES] for dtype in [*INTEGERS, *FLOATS, *COMPLEX]]
        tensors = [input_of(hvd.rank(), *kind) for kind in kinds]
        found = call(tensors, op=op, process_set=one_set)
        for kind, tensor, result in zip(kinds, tensors, found, strict=True):
            assert same(result, reduced(inputs_of(one_set, *kind), op))
            assert (result is tensor) == ("in place" in form)


@pytest.mark.parametrize("dtype", MOVED)
def test_allgather(sets, dtype):
    for one_set, row in itertools.product(sets, [(), (2,), (2, 3), (0,)]):
        inputs = [input_of(rank, (rank + 1, *row), dtype) for rank in one_set.ranks]
        own = inputs[one_set.ranks.index(hvd.rank())]
        expected = torch.cat(inputs)
        assert same(hvd.allgather(own, process_set=one_set), expected)
        assert same(hvd.synchronize(hvd.allgather_async(own, process_set=one_set)), expected)
        pair = hvd.grouped_allgather([own, own[:0]], process_set=one_set)
        assert same(pair[0], expected)
        assert same(pair[1], expected[:0])
        handle = hvd.grouped_allgather_async([own], process_set=one_set)
        assert same(hvd.synchronize(handle)[0], expected)


@pytest.mark.parametrize("dtype", MOVED)
def test_broadcast(sets, dtype):
    for one_set, shape in itertools.product(sets, [(), *SHAPES]):
        root = one_set.ranks[-1]
        expected = input_of(root, shape, dtype)
        tensor = input_of(hvd.rank(), shape, dtype)
        before = tensor.clone()
        assert same(hvd.broadcast(tensor, root, process_set=one_set), expected)
        assert same(hvd.synchronize(hvd.broadcast_async(tensor, root, process_set=one_set)), expected)
        assert torch.equal(tensor, before)
        assert hvd.broadcast_(tensor, root, process_set=one_set) is tensor
        assert same(tensor, expected)
        tensor = before.clone()
        assert hvd.synchronize(hvd.broadcast_async_(tensor, root, process_set=one_set)) is tensor
        assert same(tensor, expected)


@pytest.mark.parametrize("dtype", MOVED)
def test_alltoall(sets, dtype):
    for one_set, row in itertools.product(sets, [(), (2,), (2, 3), (0,)]):
        ranks = one_set.ranks
        place = ranks.index(hvd.rank())
        # Rank i sends i + j rows to the rank in place j.
        splits = {rank: [rank + to for to in range(len(ranks))] for rank in ranks}
        inputs = {rank: input_of(rank, (sum(splits[rank]), *row), dtype) for rank in ranks}
        expected = torch.cat([inputs[rank].split(splits[rank])[place] for rank in ranks])
        received = [splits[rank][place] for rank in ranks]
        own = inputs[hvd.rank()]
        for given in (splits[hvd.rank()], torch.tensor(splits[hvd.rank()], dtype=torch.int32)):
            found, rows = hvd.alltoall(own, splits=given, process_set=one_set)
            assert same(found, expected)
            assert rows.dtype is torch.int32
            assert rows.tolist() == received
        equal = input_of(hvd.rank(), (2 * len(ranks), *row), dtype)
        parts = [input_of(rank, (2 * len(ranks), *row), dtype)[2 * place : 2 * place + 2] for rank in ranks]
        assert same(hvd.alltoall(equal, process_set=one_set), torch.cat(parts))
        assert same(hvd.synchronize(hvd.alltoall_async(equal, process_set=one_set)), torch.cat(parts))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *COMPLEX])
def test_reducescatter(sets, dtype):
    shapes = [*SHAPES, (13,), (13, 2), (1, 2)]
    for one_set, shape, op in itertools.product(sets, shapes, [hvd.Sum, hvd.Average]):
        size, place = len(one_set.ranks), one_set.ranks.index(hvd.rank())
        rows = [shape[0] // size + (rank < shape[0] % size) for rank in range(size)]
        expected = reduced(inputs_of(one_set, shape, dtype), op).split(rows)[place]
        own = input_of(hvd.rank(), shape, dtype)
        assert same(hvd.reducescatter(own, op=op, process_set=one_set), expected)
        assert same(hvd.synchronize(hvd.reducescatter_async(own, op=op, process_set=one_set)), expected)
        for found in hvd.grouped_reducescatter([own, own], op=op, process_set=one_set):
            assert same(found, expected)
        assert same(hvd.grouped_reducescatter_async([own], op=op, process_set=one_set).wait()[0], expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_factors_scale_inputs_and_results(sets, dtype):
    for one_set in sets:
        tensor = input_of(hvd.rank(), (4,), dtype)
        expected = reduced(inputs_of(one_set, (4,), dtype), hvd.Sum)
        scales = {"prescale_factor": 0.5, "postscale_factor": 4.0}
        assert same(hvd.allreduce(tensor, op=hvd.Sum, process_set=one_set, **scales), expected * 2)
        found = hvd.grouped_allreduce([tensor], op=hvd.Sum, process_set=one_set, **scales)
        assert same(found[0], expected * 2)


def test_integers_are_scaled_in_float64_and_truncated():
    tensor = torch.full((2,), 3, dtype=torch.int32)
    assert hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.5).tolist() == [hvd.size()] * 2
    negative = torch.tensor([-1 - 2 * hvd.rank()])
    total = -sum(1 + 2 * rank for rank in range(hvd.size()))
    assert hvd.allreduce(negative).tolist() == [-(-total // hvd.size())]


@pytest.mark.parametrize("compression", [hvd.Compression.fp16, hvd.Compression.bf16])
def test_floats_are_sent_in_fewer_bits(compression):
    tensor = torch.full((3,), 1 + 2**-20)
    assert hvd.allreduce(tensor, compression=compression).tolist() == [1] * 3
    assert hvd.allreduce(tensor, compression=compression).dtype is torch.float32
    whole = torch.full((3,), 2**20)
    assert hvd.allreduce(whole, compression=compression).tolist() == [2**20] * 3
    assert hvd.grouped_allreduce([tensor], compression=compression)[0].tolist() == [1] * 3
    assert hvd.reducescatter(tensor.repeat(hvd.size()), compression=compression).tolist() == [1] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_adasum_adds_what_is_orthogonal_and_averages_what_is_parallel(dtype):
    orthogonal = torch.zeros(4, dtype=dtype)
    orthogonal[hvd.rank()] = 3
    expected = torch.tensor([3.0] * hvd.size() + [0.0] * (4 - hvd.size()), dtype=dtype)
    assert torch.allclose(hvd.allreduce(orthogonal, op=hvd.Adasum), expected)
    parallel = torch.full((5,), 2, dtype=dtype)
    assert torch.allclose(hvd.allreduce(parallel, op=hvd.Adasum), parallel)


def test_memory_formats_and_views_are_kept():
    shape = (2, 3, 4, 5)
    inputs = [input_of(rank, shape, torch.float32) for rank in range(hvd.size())]
    expected = reduced(inputs, hvd.Sum)
    # The ranks need not have one format.
    own = inputs[hvd.rank()]
    last = own.to(memory_format=torch.channels_last) if hvd.rank() % 2 == 0 else own.clone()
    strides = last.stride()
    assert torch.equal(hvd.allreduce(last, op=hvd.Sum), expected)
    assert torch.equal(hvd.allreduce_(last, op=hvd.Sum), expected)
    assert last.stride() == strides
    assert torch.equal(hvd.broadcast_(last, 0), expected)
    columns = torch.zeros(4, 6)
    hvd.allreduce_(columns[:, ::2].add_(1), op=hvd.Sum)
    assert columns.tolist() == [[hvd.size(), 0] * 3] * 4
    conjugate = torch.complex(torch.ones(3), torch.ones(3)).conj()
    assert torch.equal(hvd.allreduce(conjugate), conjugate)
    assert torch.equal(hvd.allgather(conjugate), torch.cat([conjugate] * hvd.size()))


def test_sparse_tensors(sets):
    for one_set, op in itertools.product(sets, [hvd.Sum, hvd.Average]):

        def sparse(rank):
            return torch.sparse_coo_tensor([[rank, 4, 4]], [1.0, 2.0, rank], (6,))

        found = hvd.sparse_allreduce_async(sparse(hvd.rank()), "sparse", op, one_set)()
        assert found.is_sparse
        expected = sum(sparse(rank).to_dense() for rank in one_set.ranks)
        scale = len(one_set.ranks) if op == hvd.Average else 1
        assert torch.allclose(found.to_dense(), expected / scale)
        handle = hvd.sparse_allreduce_async(sparse(hvd.rank()), None, op, one_set)
        assert torch.allclose(hvd.synchronize(handle).to_dense(), expected / scale)


@pytest.mark.parametrize("dtype", FLOATS_OF_8_BITS)
def test_floats_of_8_bits(dtype):
    tensor = torch.full((5,), 0.5).to(dtype)
    for compression in [hvd.Compression.none, hvd.Compression.fp16, hvd.Compression.bf16]:
        found = hvd.allreduce(tensor, op=hvd.Sum, compression=compression)
        assert found.dtype == dtype
        assert found.float().tolist() == [hvd.size() / 2] * 5
    largest = torch.full((2,), -torch.finfo(dtype).max).to(dtype)
    assert hvd.allreduce(largest, op=hvd.Sum).float().tolist() == largest.float().tolist()
    assert hvd.allgather(tensor).float().tolist() == [0.5] * 5 * hvd.size()
    assert hvd.broadcast(tensor, 0).dtype == dtype
