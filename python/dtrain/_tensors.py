"""The memory of arrays: addresses, counts and types, and new arrays of the same kind.

Nothing here imports torch or numpy: an array of theirs exists only where its library is loaded.
"""

import array as standard
import sys
from collections.abc import Sequence
from math import prod
from typing import Any

from dtrain import _core
from dtrain._errors import ArgumentError

Shape = tuple[int, ...]

_KINDS = {
    **dict.fromkeys("bhilqn", "i"),
    **dict.fromkeys("BHILQNc", "u"),
    **dict.fromkeys("efd", "f"),
    "?": "?",
    "Zf": "c",
    "Zd": "c",
}
_TYPES = {
    ("i", 1): _core.INT8,
    ("i", 2): _core.INT16,
    ("i", 4): _core.INT32,
    ("i", 8): _core.INT64,
    ("u", 1): _core.UINT8,
    ("u", 2): _core.UINT16,
    ("u", 4): _core.UINT32,
    ("u", 8): _core.UINT64,
    ("f", 2): _core.FLOAT16,
    ("f", 4): _core.FLOAT32,
    ("f", 8): _core.FLOAT64,
    ("?", 1): _core.BOOL,
    ("bfloat", 2): _core.BFLOAT16,
    ("float8_e4m3fn", 1): _core.FLOAT8_E4M3,
    ("float8_e5m2", 1): _core.FLOAT8_E5M2,
}
# The names by which ranks compare elements that are moved and never reduced.
_OPAQUE_NAMES = {("c", 8): "complex64", ("c", 16): "complex128"}
# DLPack's codes of types.
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 4: "bfloat", 5: "c", 6: "?", 10: "float8_e4m3fn", 12: "float8_e5m2"}
_DLPACK_CPU = 1
# The default stream of a GPU. For the engine, 0 is none.
LEGACY_STREAM = 1
# The libraries whose arrays never change.
_IMMUTABLE = ("jax", "jaxlib")
_OTHER_WAYS = "send their bytes, such as array.view(numpy.uint8), or the object by broadcast_object"
# By the beginning of a type's name. The names of 8-bit floats are their kinds.
_TORCH_KINDS = {"float8": None, "bfloat": "bfloat", "bool": "?", "float": "f", "uint": "u", "int": "i", "complex": "c"}


class View:
    """The memory of one array. `kept` owns the memory, or keeps it in its place.

    For memory of a GPU, `stream` is the stream whose earlier work writes it; 0 stands for the CPU.
    """

    __slots__ = ("address", "count", "element", "element_bytes", "kept", "shape", "stream", "type")

    def __init__(self, kept: object, address: int, shape: Shape, kind: tuple[str, int], stream: int = 0) -> None:
        self.kept = kept
        self.stream = stream
        self.address = address
        self.shape = shape
        self.count = prod(shape)
        known = _TYPES.get(kind)
        self.type = _core.OPAQUE if known is None else known
        self.element = None if known is not None else _OPAQUE_NAMES.get(kind)
        self.element_bytes = kind[1]
        if known is None and self.element is None:
            raise ArgumentError(
                f"elements of kind {kind[0]!r} and {kind[1]} bytes are not supported; {_OTHER_WAYS}",
            )

    @property
    def bytes(self) -> int:
        """The size of the memory."""
        return self.count * self.element_bytes

    def empty(self, shape: Shape) -> Any:
        """Return a new array of this kind."""
        raise NotImplementedError

    def from_work(self, work: _core.Work, shape: Shape) -> Any:
        """Return an array of this kind over the result of a work."""
        raise NotImplementedError


class MemoryView(View):
    """An object with the buffer protocol. Its results are memoryviews."""

    __slots__ = ("format",)

    def __init__(self, memory: memoryview, shape: Shape, format: str) -> None:
        super().__init__(memory, _core.address(memory), shape, _kind_of(format, memory.itemsize))
        self.format = format

    def empty(self, shape: Shape) -> Any:
        return _cast(memoryview(bytearray(prod(shape) * self.element_bytes)), self.format, shape)

    def from_work(self, work: _core.Work, shape: Shape) -> Any:
        return _cast(memoryview(work), self.format, shape)


class StandardArrayView(MemoryView):
    """An array.array. Its results are arrays, too."""

    __slots__ = ()

    def empty(self, shape: Shape) -> Any:
        return standard.array(self.format, bytes(prod(shape) * self.element_bytes))

    def from_work(self, work: _core.Work, shape: Shape) -> Any:  # noqa: ARG002
        return standard.array(self.format, bytes(memoryview(work)))


class NumpyView(View):
    """An array of numpy, or one of another library, whose results are arrays of numpy."""

    __slots__ = ("dtype",)

    def __init__(self, kept: object, address: int, shape: Shape, kind: tuple[str, int], dtype: Any) -> None:
        super().__init__(kept, address, shape, kind)
        self.dtype = dtype

    def empty(self, shape: Shape) -> Any:
        return sys.modules["numpy"].empty(shape, self.dtype)

    def from_work(self, work: _core.Work, shape: Shape) -> Any:
        return sys.modules["numpy"].frombuffer(work, self.dtype).reshape(shape)


class GpuView(View):
    """An array in memory of a GPU, of a library that the package does not know. So it makes no results."""

    __slots__ = ()

    def empty(self, shape: Shape) -> Any:
        raise ArgumentError(
            f"{type(self.kept).__name__} is in memory of a GPU, where dtrain makes no arrays; give the array for the"
            f" result, of the shape {shape}, as out; out=tensor works in place"
        )


class TorchView(View):
    """A tensor of torch on the CPU or a GPU of NVIDIA."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any, stream: int) -> None:
        name = str(tensor.dtype).removeprefix("torch.")
        kind = _torch_kind(name, tensor.element_size())
        super().__init__(tensor, tensor.data_ptr(), tuple(tensor.shape), kind, stream)
        self.tensor = tensor

    def empty(self, shape: Shape) -> Any:
        return sys.modules["torch"].empty(shape, dtype=self.tensor.dtype, device=self.tensor.device)

    def from_work(self, work: _core.Work, shape: Shape) -> Any:
        if prod(shape) == 0:
            return self.empty(shape)
        return sys.modules["torch"].frombuffer(work, dtype=self.tensor.dtype).reshape(shape)


def describe(array: Any, *, writable: bool = False, what: str = "tensor") -> View:
    """Return the view of an array, or raise what makes it unusable."""
    try:
        return _view_of(array, writable)
    except ArgumentError as error:
        raise ArgumentError(f"{what}: {error}") from None


def describe_numbers(tensor: Any) -> View:
    """Return the view of an array whose elements are reduced."""
    view = describe(tensor)
    if view.element is not None:
        raise ArgumentError(
            f"tensor: elements of {view.element} are moved, and not reduced; reduce their parts, such as"
            " array.view(array.real.dtype) or torch.view_as_real(tensor)"
        )
    return view


def _view_of(array: Any, writable: bool) -> View:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch_view(torch, array, writable)
    if hasattr(array, "filled") and hasattr(array, "mask"):
        raise ArgumentError("the array has a mask, which is not sent; give array.filled(value), or array.data")
    try:
        memory = memoryview(array)
    except TypeError:
        return _foreign_view(array, writable)
    except (ValueError, BufferError):  # numpy and JAX have types without a code of the buffer protocol
        views = _interface_view if hasattr(array, "__array_interface__") else _foreign_view
        return views(array, writable)
    if writable and memory.readonly:
        raise ArgumentError("the array is read-only")
    _check_contiguous(memory.c_contiguous)
    shape = memory.shape or ()
    if isinstance(array, standard.array):
        return StandardArrayView(memory, shape, array.typecode)
    dtype = getattr(array, "dtype", None)
    if dtype is None or "numpy" not in sys.modules:
        return MemoryView(memory, shape, memory.format)
    kind = _kind_of(memory.format, memory.itemsize)
    return NumpyView(memory, _core.address(memory), shape, kind, _numpy_type(dtype, kind))


def _torch_view(torch: Any, tensor: Any, writable: bool) -> TorchView:
    if tensor.layout is not torch.strided:
        raise ArgumentError(f"the tensor is sparse ({tensor.layout}); make it dense by .to_dense()")
    if tensor.device.type != "cpu" and (tensor.device.type != "cuda" or torch.version.cuda is None):
        raise ArgumentError(f"the tensor is on {tensor.device}; copy it to the CPU")
    # Such a tensor shows the memory of another one with the sign of its numbers changed.
    if tensor.is_conj():
        raise ArgumentError("the tensor is conjugated, which its memory is not; copy it by .resolve_conj()")
    if tensor.is_neg():
        raise ArgumentError("the tensor is negated, which its memory is not; copy it by .resolve_neg()")
    _check_contiguous(tensor.is_contiguous())
    if writable and tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError("a tensor that requires grad is written within torch.no_grad() only, or by .detach()")
    stream = 0
    if tensor.device.type == "cuda":
        _check_gpu_parts()
        stream = torch.cuda.current_stream(tensor.device).cuda_stream or LEGACY_STREAM
    return TorchView(tensor, stream)


def _torch_kind(name: str, item_bytes: int) -> tuple[str, int]:
    for prefix, kind in _TORCH_KINDS.items():
        if name.startswith(prefix):
            return kind or name, item_bytes
    return name, item_bytes


def _interface_view(array: Any, writable: bool) -> View:
    """Return the view of an array of numpy whose type the buffer protocol does not have, such as bfloat16."""
    interface: dict[str, Any] = array.__array_interface__
    address, readonly = interface["data"]
    if writable and readonly:
        raise ArgumentError("the array is read-only")
    _check_contiguous(interface.get("strides") is None)
    kind = "bfloat" if array.dtype.name == "bfloat16" else array.dtype.name
    return NumpyView(array, address, interface["shape"], (kind, array.dtype.itemsize), array.dtype)


def _gpu_view(array: Any, writable: bool) -> GpuView:
    """Return the view of an array of CuPy, Numba, JAX or another library, in memory of a GPU."""
    interface: dict[str, Any] = array.__cuda_array_interface__
    _check_gpu_parts()
    address, readonly = interface["data"]
    if writable and (readonly or type(array).__module__.partition(".")[0] in _IMMUTABLE):
        raise ArgumentError("the array is read-only")
    shape, code = tuple(interface["shape"]), interface["typestr"]
    kind = "?" if code[1] == "b" else code[1], int(code[2:])
    strides = interface.get("strides")
    sizes = [kind[1] * prod(shape[place + 1 :]) for place in range(len(shape))]
    _check_contiguous(strides is None or list(strides) == sizes)
    return GpuView(array, address, shape, kind, interface.get("stream") or LEGACY_STREAM)


def _check_gpu_parts() -> None:
    from dtrain import _gpus  # noqa: PLC0415  # it imports the contexts, which import this

    if not _gpus.has_gpu_parts():
        raise ArgumentError("the array is in memory of a GPU, and this build of dtrain has no GPU parts; copy it")
    _gpus.report_way(True)


def _foreign_view(array: Any, writable: bool) -> View:
    """Return the view of an array of another library by DLPack, or of one in memory of a GPU."""
    if hasattr(array, "__cuda_array_interface__"):
        return _gpu_view(array, writable)
    if not hasattr(array, "__dlpack__"):
        raise ArgumentError(
            f"{type(array).__name__} is no array: it has neither the buffer protocol nor __dlpack__; give"
            " numpy.asarray(value), or send it by broadcast_object or all_gather_object"
        )
    if writable:
        raise ArgumentError(f"{type(array).__name__} cannot be written; take the returned array")
    if "numpy" not in sys.modules:
        raise ArgumentError(
            f"results for {type(array).__name__} are arrays of numpy, which is not imported; import numpy first"
        )
    capsule = array.__dlpack__()
    address, shape, code, bits, lanes, device, contiguous = _core.capsule(capsule)
    if device != _DLPACK_CPU:
        raise ArgumentError("the array is on a device, and has no __cuda_array_interface__; copy it to the CPU")
    _check_contiguous(contiguous)
    kind = (_DLPACK_KINDS.get(code, f"DLPack {code}"), bits * lanes // 8)
    return NumpyView((array, capsule), address, shape, kind, _numpy_type(array.dtype, kind))


def _numpy_type(dtype: Any, kind: tuple[str, int]) -> Any:
    """Return the type of numpy for that of another library, which may have another name for it."""
    numpy = sys.modules["numpy"]
    if isinstance(dtype, numpy.dtype):
        return dtype
    try:
        return numpy.dtype(getattr(dtype, "as_numpy_dtype", dtype))  # the attribute is TensorFlow's
    except TypeError:
        if kind[0] not in "iufc?":
            raise ArgumentError(f"numpy has no type for {dtype}; {_OTHER_WAYS}") from None
        return numpy.dtype("?" if kind[0] == "?" else f"{kind[0]}{kind[1]}")


def _kind_of(format: str, item_bytes: int) -> tuple[str, int]:
    code = format.lstrip("@=<") if sys.byteorder == "little" else format.lstrip("@=>!")
    kind = _KINDS.get(code)
    if kind is None:
        raise ArgumentError(f"elements of the format {format!r} are not supported; {_OTHER_WAYS}")
    return kind, item_bytes


def _check_contiguous(contiguous: bool) -> None:
    if not contiguous:
        raise ArgumentError("the array is not contiguous; make a copy that is, such as numpy.ascontiguousarray(array)")


def _cast(memory: memoryview, format: str, shape: Sequence[int]) -> memoryview:
    flat = memory.cast("B")
    code = format.lstrip("@=<>!")
    # A memoryview cannot have a shape with a zero, nor be cast while it is empty and has several dimensions.
    if 0 in shape or len(shape) == 1:
        return flat.cast(code)  # type: ignore[call-overload, no-any-return]
    return flat.cast(code, shape)  # type: ignore[call-overload, no-any-return]
