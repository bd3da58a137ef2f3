"""The extension: libdtrain by addresses, counts and names. See python/core/."""

from collections.abc import Callable

from typing_extensions import Buffer

INT8: int
UINT8: int
INT16: int
UINT16: int
INT32: int
UINT32: int
INT64: int
UINT64: int
FLOAT16: int
BFLOAT16: int
FLOAT32: int
FLOAT64: int
BOOL: int
OPAQUE: int
FLOAT8_E4M3: int
FLOAT8_E5M2: int
SUM: int
AVERAGE: int
MIN: int
MAX: int
PRODUCT: int
ADASUM: int
ERROR_INPUT: int
ERROR_SYSTEM: int
ERROR_UNREACHABLE: int
ERROR_REFUSED: int
ERROR_CLOSED: int
ERROR_TIMEOUT: int
ERROR_PROTOCOL: int
ERROR_MISMATCH: int
ERROR_PEER_LOST: int

# (name, timeout_ms, prescale, postscale, shape, average_over, compression, element, element_bytes, counts)
HostOptions = tuple[
    str | None,
    int,
    float,
    float,
    tuple[int, ...] | None,
    int,
    int,
    str | None,
    int,
    tuple[int, ...] | None,
]
# The same with a stream of the buffers' device; 0 is none.
StreamOptions = tuple[
    str | None,
    int,
    float,
    float,
    tuple[int, ...] | None,
    int,
    int,
    str | None,
    int,
    tuple[int, ...] | None,
    int,
]
Options = HostOptions | StreamOptions

# (input, output, count, type, argument, root, options, kept)
Operation = Callable[[int, int, int, int, int, int, Options, object], Work]

def version() -> str: ...
def nccl_version() -> int: ...
def init(timeout_ms: int, /) -> Context: ...
def wait_any(works: list[Work], seconds: float, /) -> int | None: ...
def address(view: Buffer, /) -> int: ...
def capsule(capsule: object, /) -> tuple[int, tuple[int, ...], int, int, int, int, bool]: ...
def loaded_libraries(part: str, /) -> list[str]: ...

class Work:
    def done(self) -> bool: ...
    def wait(self, seconds: float, /) -> bool: ...
    def wait_stream(self, stream: int, /) -> None: ...
    def counts(self) -> tuple[int, ...]: ...
    def times(self) -> tuple[int, int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Context:
    def finalize(self) -> None: ...
    def numbers(self) -> tuple[int, int, int, int, int, int, str]: ...
    def algorithms(self) -> str: ...
    def uses_nccl(self) -> bool: ...
    def split(self, color: int, key: int, timeout_ms: int, /) -> Context | None: ...
    def group(self, ranks: tuple[int, ...], timeout_ms: int, /) -> Context | None: ...
    all_reduce: Operation
    broadcast: Operation
    reduce_scatter: Operation
    gather: Operation
    scatter: Operation
    send: Operation
    recv: Operation
    all_gather: Operation
    all_gather_v: Operation
    all_to_all: Operation
    all_to_all_v: Operation
    reduce_scatter_v: Operation
    def all_reduce_list(
        self,
        tensors: tuple[
            tuple[int, int, int, int, tuple[int, ...]] | tuple[int, int, int, int, tuple[int, ...], str], ...
        ],
        op: int,
        options: Options,
        kept: object,
        /,
    ) -> Work: ...
    def all_reduce_quorum(
        self,
        tensor: tuple[int, int, int, int, tuple[int, ...]],
        op: int,
        quorum: tuple[int, int, int, int],
        options: Options,
        kept: object,
        /,
    ) -> Work: ...
    reduce: Operation
    barrier: Operation
    join: Operation
    def store_set(self, key: str, value: bytes, timeout_ms: int, /) -> None: ...
    def store_get(self, key: str, timeout_ms: int, /) -> bytes | None: ...
    def store_wait(self, key: str, timeout_ms: int, /) -> bytes: ...
    def store_add(self, key: str, number: int, timeout_ms: int, /) -> int: ...
    def store_compare_and_set(
        self, key: str, expected: bytes | None, desired: bytes, timeout_ms: int, /
    ) -> tuple[bool, bytes | None]: ...
    def store_erase(self, key: str, timeout_ms: int, /) -> bool: ...
