"""Operations, and their results by a fold over the inputs of all ranks, which each rank knows."""

import itertools

import numpy
import pytest
import tensorflow as tf

import dtrain.tensorflow as hvd
from dtrain.tensorflow._reducer import Reducer

INTEGERS = [tf.uint8, tf.int8, tf.int16, tf.uint16, tf.int32, tf.int64]
FLOATS = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
COMPLEX = [tf.complex64, tf.complex128]
MOVED = [tf.bool, *INTEGERS, *FLOATS, *COMPLEX]
SHAPES = [(12,), (12, 2, 3), (0,), (0, 3), (12, 0)]
OPS = [hvd.Sum, hvd.Average, hvd.Min, hvd.Max, hvd.Product]


def input_of(rank, shape, dtype):
    """Return small numbers: sums and products of four are exact in every type."""
    generator = numpy.random.default_rng(rank)
    numbers = generator.integers(0, 4, shape)
    if dtype in COMPLEX:
        numbers = numbers + 1j * generator.integers(0, 4, shape)
    return (numbers % 2 if dtype == tf.bool else numbers).astype(dtype.as_numpy_dtype)


def reduced(inputs, op):
    dtype = inputs[0].dtype
    wide = numpy.stack(inputs).astype(numpy.complex128 if dtype.kind == "c" else numpy.float64)
    if op == hvd.Average:
        result = wide.sum(0) / len(inputs)
        result = numpy.trunc(result) if dtype.kind in "iu" else result
    else:
        fold = {hvd.Sum: wide.sum, hvd.Min: wide.min, hvd.Max: wide.max, hvd.Product: wide.prod}[op]
        result = fold(0)
    return numpy.asarray(result).astype(dtype)


def inputs_of(one_set, shape, dtype):
    return [input_of(rank, shape, dtype) for rank in one_set.ranks]


def same(found, expected):
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    wide = numpy.complex128 if found.dtype.kind == "c" else numpy.float64
    tolerance = 1e-2 if found.dtype.itemsize <= 2 and found.dtype.kind not in "iub" else 1e-6
    return numpy.allclose(found.astype(wide), expected.astype(wide), rtol=tolerance)


def ops_of(dtype):
    if dtype in COMPLEX:
        return [hvd.Sum, hvd.Average]
    return [op for op in OPS if op != hvd.Average] if dtype == tf.bool else OPS


@pytest.mark.parametrize("dtype", MOVED)
def test_allreduce(sets, run, dtype):
    for one_set in sets:
        kinds = list(itertools.product([(), (12, 2), (0, 3)], ops_of(dtype)))
        tensors = [tf.constant(input_of(hvd.rank(), shape, dtype)) for shape, _ in kinds]

        def call(*given, one_set=one_set, kinds=kinds):
            return [
                hvd.allreduce(one, op=op, name=f"place {place}", process_set=one_set)
                for place, (one, (_, op)) in enumerate(zip(given, kinds, strict=True))
            ]

        for found, (shape, op) in zip(run(call, tensors), kinds, strict=True):
            assert same(numpy.asarray(found), reduced(inputs_of(one_set, shape, dtype), op)), (shape, op)


def test_grouped_allreduce(sets, run):
    kinds = [(shape, dtype) for shape in [(), *SHAPES] for dtype in [*INTEGERS, *FLOATS, *COMPLEX]]
    tensors = [tf.constant(input_of(hvd.rank(), *kind)) for kind in kinds]
    for one_set, op in itertools.product(sets, [hvd.Sum, hvd.Average]):

        def call(*given, one_set=one_set, op=op):
            return hvd.grouped_allreduce(list(given), op=op, process_set=one_set)

        for found, kind in zip(run(call, tensors), kinds, strict=True):
            assert same(numpy.asarray(found), reduced(inputs_of(one_set, *kind), op)), kind


@pytest.mark.parametrize("dtype", MOVED)
def test_allgather(sets, run, dtype):
    for one_set, row in itertools.product(sets, [(), (2, 3), (0,)]):
        inputs = [input_of(rank, (rank + 1, *row), dtype) for rank in one_set.ranks]
        own = tf.constant(inputs[one_set.ranks.index(hvd.rank())])
        (found,) = run(lambda given, one_set=one_set: hvd.allgather(given, process_set=one_set), [own])
        assert same(found, numpy.concatenate(inputs))
        found = run(lambda given, one_set=one_set: hvd.grouped_allgather([given, given], process_set=one_set), [own])
        assert all(same(one, numpy.concatenate(inputs)) for one in found)


@pytest.mark.parametrize("dtype", MOVED)
def test_broadcast(sets, run, dtype):
    for one_set, shape in itertools.product(sets, [(), *SHAPES]):
        root = one_set.ranks[-1]
        own = tf.constant(input_of(hvd.rank(), shape, dtype))
        (found,) = run(
            lambda given, one_set=one_set: hvd.broadcast(given, one_set.ranks[-1], process_set=one_set), [own]
        )
        assert same(numpy.asarray(found), input_of(root, shape, dtype))


@pytest.mark.parametrize("dtype", MOVED)
def test_alltoall(sets, run, dtype):
    for one_set, row in itertools.product(sets, [(), (2,), (0,)]):
        ranks = one_set.ranks
        place = ranks.index(hvd.rank())
        # Rank r sends r + p rows to the rank at place p.
        splits = {rank: [rank + to for to in range(len(ranks))] for rank in ranks}
        inputs = {rank: input_of(rank, (sum(splits[rank]), *row), dtype) for rank in ranks}
        begins = {rank: sum(splits[rank][:place]) for rank in ranks}
        expected = [inputs[rank][begins[rank] : begins[rank] + splits[rank][place]] for rank in ranks]

        def call(given, parts, one_set=one_set):
            return hvd.alltoall(given, parts, process_set=one_set)

        found, received = run(call, [tf.constant(inputs[hvd.rank()]), tf.constant(splits[hvd.rank()], tf.int32)])
        assert same(found, numpy.concatenate(expected))
        assert received.tolist() == [splits[rank][place] for rank in ranks]


def test_alltoall_in_equal_parts(run):
    own = tf.range(2 * hvd.size()) + 100 * hvd.rank()
    (found,) = run(hvd.alltoall, [own])
    assert found.tolist() == [100 * rank + 2 * hvd.rank() + place for rank in range(hvd.size()) for place in (0, 1)]


@pytest.mark.parametrize("dtype", [tf.int32, tf.float16, tf.float32, tf.complex64])
def test_reducescatter(sets, run, dtype):
    for one_set, rows, op in itertools.product(sets, [12, 7, 0], [hvd.Sum, hvd.Average]):
        place, ranks = one_set.ranks.index(hvd.rank()), len(one_set.ranks)
        counts = [rows // ranks + (rank < rows % ranks) for rank in range(ranks)]
        begin = sum(counts[:place])
        own = tf.constant(input_of(hvd.rank(), (rows, 3), dtype))
        expected = reduced(inputs_of(one_set, (rows, 3), dtype), op)[begin : begin + counts[place]]
        (found,) = run(lambda given, op=op, s=one_set: hvd.reducescatter(given, op=op, process_set=s), [own])
        assert same(found, expected)
        call = lambda given, op=op, s=one_set: hvd.grouped_reducescatter([given, given], op=op, process_set=s)  # noqa: E731
        assert all(same(one, expected) for one in run(call, [own]))


def test_scales_and_compression(run):
    own = tf.fill([5], float(hvd.rank() + 1))
    total = hvd.size() * (hvd.size() + 1) / 2
    (found,) = run(lambda one: hvd.allreduce(one, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0), [own])
    assert numpy.allclose(found, total * 1.5)
    for compression in (hvd.Compression.fp16, hvd.Compression.bf16):
        (found,) = run(lambda one, c=compression: hvd.allreduce(one, op=hvd.Sum, compression=c), [own])
        assert found.dtype == numpy.float32
        assert numpy.allclose(found, total)


def test_sparse_rows(run):
    rank = hvd.rank()

    def call(values, indices):
        slices = tf.IndexedSlices(values, indices, tf.constant([6, 2]))
        total, average = hvd.allreduce(slices, op=hvd.Sum), hvd.allreduce(slices)
        return tf.convert_to_tensor(total), tf.convert_to_tensor(average)

    values = tf.ones([rank, 2]) * (rank + 1)
    found, average = run(call, [values, tf.range(rank)])
    expected = numpy.zeros((6, 2), numpy.float32)
    for other in range(hvd.size()):
        expected[:other] += other + 1
    assert numpy.allclose(found, expected)
    assert numpy.allclose(average, expected / hvd.size())


def test_large_tensors_keep_their_results(run):
    """Memory of results is used again, but not while a tensor has it."""
    own = tf.fill([100_000], float(hvd.rank() + 1))
    total = hvd.size() * (hvd.size() + 1) / 2
    kept = [run(lambda one, f=factor: hvd.allreduce(one * f, op=hvd.Sum), [own])[0] for factor in (1.0, 2.0, 3.0)]
    assert [one[0] for one in kept] == [total, 2 * total, 3 * total]
    assert all((one == one[0]).all() for one in kept)
    assert (own.numpy() == hvd.rank() + 1).all()
    tensors = [hvd.allreduce(tf.cast(own * f, tf.bfloat16), op=hvd.Sum) for f in (1.0, 2.0, 3.0)]
    assert [float(one[-1]) for one in tensors] == [total, 2 * total, 3 * total]


def test_join():
    for step in range(hvd.rank() + 1):
        found = hvd.allreduce(tf.ones(3), op=hvd.Sum, name=f"step {step}")
        assert found.numpy().tolist() == [hvd.size() - step] * 3
    assert hvd.join() in range(hvd.size())
    assert hvd.allreduce(tf.ones(1), op=hvd.Sum).numpy().tolist() == [hvd.size()]


def test_large_results_begin_where_operations_of_tensorflow_need_it():
    """On other memory, a slice aborts the process."""
    for count in (20_000, 20_001, 20_003):
        gathered = hvd.allgather(tf.fill([count, 3], float(hvd.rank())))
        parts = [tf.slice(gathered, [rank * count, 0], [count, 3]) for rank in range(hvd.size())]
        assert [float(tf.reduce_max(part)) for part in parts] == list(range(hvd.size()))
        scattered = hvd.reducescatter(tf.ones([count * hvd.size(), 3]))
        assert float(tf.reduce_sum(tf.slice(scattered, [1, 0], [count - 1, 3]))) == 3 * (count - 1)


# Small tensors of one type are sent as one where their shapes are known.
MIXED = [
    ((), "float32"),
    ((3,), "float32"),
    ((2, 0), "float32"),
    ((2, 3), "bfloat16"),
    ((5,), "int64"),
    ((4,), "complex64"),
    ((300, 100), "float32"),
    ((2,), "float32"),
    ((3, 1), "bfloat16"),
]


@pytest.mark.parametrize("names", ["places", "list"])
@pytest.mark.parametrize("known", [True, False])
def test_lists_of_all_sizes_and_types(known, names):
    shapes = [tf.TensorShape(shape if known else None) for shape, _ in MIXED]
    signature = [tf.TensorSpec(shape, dtype) for shape, (_, dtype) in zip(shapes, MIXED, strict=True)]
    given = [tf.cast(tf.fill(shape, hvd.rank() + place), dtype) for place, (shape, dtype) in enumerate(MIXED)]
    reducer = Reducer(op=hvd.Sum)

    @tf.function(input_signature=signature)
    def reduce(*tensors):
        return reducer.reduce(tensors) if names == "places" else hvd.grouped_allreduce(tensors, op=hvd.Sum)

    for _ in range(2):
        for place, (result, (shape, dtype)) in enumerate(zip(reduce(*given), MIXED, strict=True)):
            total = sum(rank + place for rank in range(hvd.size()))
            assert result.dtype == dtype
            assert result.shape == shape
            assert numpy.array_equal(result.numpy(), numpy.full(shape, total, result.numpy().dtype))
    assert [one.shape for one in reduce.get_concrete_function().outputs] == shapes
