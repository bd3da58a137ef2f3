import array
import sys

import numpy as np
import pytest
from folds import SHAPES

import dtrain
from dtrain import Op


class OnlyDlpack:
    """An array of a library that has DLPack alone."""

    def __init__(self, content):
        self.content = content
        self.dtype = content.dtype

    def __dlpack__(self, **options):
        return self.content.__dlpack__(**options)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_arrays_of_the_standard_library(world, code):
    numbers = array.array(code, [1, 2, 3])
    total = world.all_reduce(numbers)
    assert total == array.array(code, [world.size * number for number in (1, 2, 3)])
    assert total.typecode == code
    world.all_reduce(numbers, Op.MAX, out=numbers)
    assert world.all_gather(numbers).tolist() == [1, 2, 3] * world.size
    assert len(world.all_gather(numbers[: world.rank], ragged=True)) == sum(min(3, rank) for rank in range(world.size))
    assert world.all_reduce(array.array(code)) == array.array(code)


def test_memoryviews_and_bytes(world):
    content = bytearray(b"\1\2\3\4")
    total = world.all_reduce(memoryview(content).cast("B", (2, 2)))
    assert isinstance(total, memoryview)
    assert total.shape == (2, 2)
    assert total.tolist() == [[world.size, 2 * world.size], [3 * world.size, 4 * world.size]]
    assert bytes(world.broadcast(b"from root" if world.rank == 0 else bytes(9), 0)) == b"from root"
    assert bytes(world.all_gather(b"x" * world.rank, ragged=True)) == b"x" * sum(range(world.size))
    assert world.all_reduce(memoryview(bytearray(0))).nbytes == 0


def test_arrays_by_dlpack_have_results_of_numpy(world):
    total = world.all_reduce(OnlyDlpack(np.arange(6.0).reshape(2, 3)))
    assert total.tolist() == (np.arange(6.0).reshape(2, 3) * world.size).tolist()
    with pytest.raises(ValueError, match="OnlyDlpack cannot be written"):
        world.all_reduce(np.zeros(2), out=OnlyDlpack(np.zeros(2)))
    with pytest.raises(ValueError, match="not contiguous"):
        world.all_reduce(OnlyDlpack(np.zeros((4, 4))[:, :2]))


class OtherType:
    """A type of another library, which numpy does not know."""


class Tensorflow:
    """A type as those of TensorFlow."""

    as_numpy_dtype = np.float32


@pytest.mark.parametrize("other", [OtherType(), Tensorflow()])
def test_arrays_by_dlpack_may_have_types_of_their_library(world, other):
    tensor = OnlyDlpack(np.ones(2, np.float32))
    tensor.dtype = other
    total = world.all_reduce(tensor)
    assert (total.dtype, total.tolist()) == (np.float32, [world.size] * 2)


@pytest.mark.parametrize(
    ("array", "way"),
    [
        (np.ma.masked_array([1.0, 2.0], [0, 1]), r"\.filled\("),
        (np.ones(2, np.longdouble), r"broadcast_object"),
        (np.ones(2, ">f4"), r"\.view\(numpy\.uint8\)"),
        (np.array(["2026-01-01"], "datetime64[D]"), r"broadcast_object"),
        (np.array(["text"]), r"broadcast_object"),
        (np.ones(2, [("x", "f4"), ("n", "i8")]), r"broadcast_object"),
        (3.5, r"numpy\.asarray"),
    ],
)
def test_arrays_that_are_refused_get_another_way(world, array, way):
    with pytest.raises(ValueError, match=way):
        world.broadcast(array, 0)


def test_complex_numbers_are_moved(world):
    tensor = np.full(2, world.rank + 1j, np.complex64)
    for reduce in (world.all_reduce, world.reduce_scatter, lambda given: world.reduce(given, 0)):
        with pytest.raises(ValueError, match=r"array\.view\(array\.real\.dtype\)"):
            reduce(np.ones(world.size, np.complex64))
    assert world.broadcast(tensor, 0).tolist() == [1j, 1j]
    assert world.all_gather(tensor)[::2].tolist() == [rank + 1j for rank in range(world.size)]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_of_numpy(world, name):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    total = world.all_reduce(np.full((2, 3), 0.5, dtype))
    assert total.dtype == dtype
    assert total.astype(float).tolist() == np.full((2, 3), world.size / 2).tolist()
    assert world.all_reduce(np.full(1, world.rank, dtype), Op.MAX).astype(float).tolist() == [world.size - 1]
    joined = world.all_gather(np.full(world.rank + 1, world.rank, dtype), ragged=True)
    assert joined.dtype == dtype
    assert joined.astype(int).tolist() == [rank for rank in range(world.size) for _ in range(rank + 1)]


def test_8_bit_floats_that_are_too_large_become_the_largest(world):
    types = pytest.importorskip("ml_dtypes")
    for dtype, largest in [(types.float8_e4m3fn, 448), (types.float8_e5m2, 57344)]:
        for factor in [1, -1]:
            product = world.all_reduce(np.full(2, factor * largest, dtype), prescale=2.0)
            assert product.astype(float).tolist() == [factor * largest] * 2
    with pytest.raises(ValueError, match="float8_e4m3b11fnuz"):
        world.all_reduce(np.ones(2, types.float8_e4m3b11fnuz))


def torch_or_skip():
    return pytest.importorskip("torch", exc_type=ImportError)


def test_neither_torch_nor_numpy_is_needed():
    assert "numpy" not in dtrain.__dict__
    assert "torch" not in dtrain.__dict__


TORCH_TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_8_bit_floats_of_torch(world, name):
    # torch itself hardly computes with them.
    torch = torch_or_skip()
    if not hasattr(torch, name):
        pytest.skip("this torch has no 8-bit floats")
    dtype = getattr(torch, name)
    tensor = torch.full((2, 3), 0.5, dtype=dtype)
    total = world.all_reduce(tensor)
    assert total.dtype == dtype
    assert total.float().tolist() == [[world.size / 2] * 3] * 2
    world.all_reduce_async(tensor, Op.AVERAGE, out=tensor).wait()
    assert tensor.float().tolist() == [[0.5] * 3] * 2
    own = torch.full((world.rank + 1, 2), float(world.rank), dtype=dtype)
    joined = world.all_gather(own, ragged=True)
    assert joined.dtype == dtype
    assert joined.float()[:, 0].tolist() == [rank for rank in range(world.size) for _ in range(rank + 1)]


@pytest.mark.parametrize("name", TORCH_TYPES)
def test_tensors_of_torch(world, name):
    torch = torch_or_skip()
    dtype = getattr(torch, name)
    for shape in SHAPES:
        tensor = torch.ones(shape, dtype=dtype)
        found = world.all_reduce(tensor)
        assert found.dtype == dtype
        assert found.shape == shape
        assert (found == torch.full(shape, 1 if name == "bool" else world.size, dtype=dtype)).all()
        world.all_reduce_async(tensor, out=tensor).wait()
        assert torch.equal(tensor, found)
        world.broadcast(tensor, 0, out=tensor)
    own = torch.full((world.rank + 1, 2), world.rank % 2, dtype=dtype)
    joined = world.all_gather(own, ragged=True)
    assert joined.dtype == dtype
    assert joined.shape == (sum(range(1, world.size + 1)), 2)
    joined += 1 if name != "bool" else True
    received, rows = world.all_to_all(own, splits=[0] * (world.size - 1) + [world.rank + 1])
    assert received.shape == ((sum(rows)), 2)
    assert world.all_gather(torch.zeros((0, 3), dtype=dtype), ragged=True).shape == (0, 3)


def test_tensors_of_torch_that_are_wrong(world):
    torch = torch_or_skip()
    leaf = torch.ones(2, requires_grad=True)
    conjugated = torch.tensor([1 + 2j, 3 + 4j]).conj()
    for call, message in [
        (lambda: world.all_reduce(torch.ones(4, 4).t()), "not contiguous"),
        (lambda: world.all_reduce(torch.ones(2).to_sparse()), "the tensor is sparse"),
        (lambda: world.all_reduce(torch.ones(2, device="meta")), "the tensor is on meta"),
        (lambda: world.all_reduce(torch.ones(2), out=leaf), "requires grad"),
        (lambda: world.broadcast(conjugated, 0), r"tensor: the tensor is conjugated.*resolve_conj\(\)"),
        (lambda: world.broadcast(conjugated.resolve_conj(), 0, out=conjugated), r"out: .*resolve_conj\(\)"),
        (lambda: world.all_reduce(conjugated.imag), r"tensor: the tensor is negated.*resolve_neg\(\)"),
        (lambda: world.recv(torch.ones(2, dtype=torch.complex64).conj().imag, 0), r"out: .*resolve_neg\(\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with torch.no_grad():
        world.all_reduce(leaf, out=leaf)
    assert leaf.tolist() == [world.size] * 2
    assert "torch" in sys.modules
