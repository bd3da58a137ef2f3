#!/usr/bin/env python3
"""The host's time until NCCL has queued an all_reduce, with blocking and with non-blocking communicators.

dtrain run -np 2 --gpu-share python3 nccl_cost.py FOLDER, with DTRAIN_NCCL_LIB and an empty FOLDER. The ranks share a GPU,
so only the host's times mean anything. A first sum has the wrong result where NCCL does not work.
"""
import ctypes
import os
import pathlib
import statistics
import sys
import time

import torch

IN_PROGRESS = 7
INTERNAL_ERROR = 3
FLOAT32, SUM = 7, 0
UNDEFINED = -(2**31)
COUNT = 1024
ROUNDS, WARM_ROUNDS = 60, 10


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]


class Config(ctypes.Structure):
    """ncclConfig_t of NCCL 2.28. Newer versions take it, too."""

    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("blocking", ctypes.c_int),
                ("cga", ctypes.c_int), ("min_ctas", ctypes.c_int), ("max_ctas", ctypes.c_int), ("net", ctypes.c_char_p),
                ("split_share", ctypes.c_int), ("traffic", ctypes.c_int), ("name", ctypes.c_char_p), ("collnet", ctypes.c_int),
                ("cta_policy", ctypes.c_int), ("shrink_share", ctypes.c_int), ("nvls_ctas", ctypes.c_int),
                ("channels_per_net_peer", ctypes.c_int), ("nvlink_centric", ctypes.c_int)]


nccl = ctypes.CDLL(os.environ["DTRAIN_NCCL_LIB"])
nccl.ncclGetErrorString.restype = ctypes.c_char_p
nccl.ncclGetLastError.restype = ctypes.c_char_p
rank, size = int(os.environ["DTRAIN_RANK"]), int(os.environ["DTRAIN_SIZE"])


def check(status, communicator=None):
    if status not in (0, IN_PROGRESS):
        sys.exit(f"rank {rank}: {nccl.ncclGetErrorString(status)} {nccl.ncclGetLastError(communicator)}")


def settle(communicator):
    """Waits for the call in progress, as a program with a non-blocking communicator must."""
    state = ctypes.c_int(IN_PROGRESS)
    end = time.monotonic() + 30
    while state.value == IN_PROGRESS and time.monotonic() < end:
        check(nccl.ncclCommGetAsyncError(communicator, ctypes.byref(state)), communicator)
    check(INTERNAL_ERROR if state.value == IN_PROGRESS else state.value, communicator)


def share_id(path):
    """Returns the id that rank 0 makes."""
    unique = Id()
    if rank == 0:
        check(nccl.ncclGetUniqueId(ctypes.byref(unique)))
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(bytes(unique.bytes))
        unfinished.rename(path)
    while not path.exists():
        time.sleep(0.01)
    ctypes.memmove(ctypes.byref(unique), path.read_bytes(), 128)
    return unique


def join(unique, blocking):
    config = Config(ctypes.sizeof(Config), 0xCAFEBEEF, 22809, blocking, *[UNDEFINED] * 3, None, *[UNDEFINED] * 2, None,
                    *[UNDEFINED] * 6)
    communicator = ctypes.c_void_p()
    check(nccl.ncclCommInitRankConfig(ctypes.byref(communicator), size, unique, rank, ctypes.byref(config)))
    settle(communicator)
    return communicator


def queue_times_us(communicator):
    """Returns the times of calls. Each has ended before the next one begins."""
    values = torch.empty(COUNT, device="cuda")
    stream = torch.cuda.Stream()
    at, count, handle = ctypes.c_void_p(values.data_ptr()), ctypes.c_size_t(COUNT), ctypes.c_void_p(stream.cuda_stream)
    times = []
    for _ in range(ROUNDS):
        values.fill_(rank + 1)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        check(nccl.ncclAllReduce(at, at, count, FLOAT32, SUM, communicator, handle), communicator)
        settle(communicator)
        times.append((time.perf_counter() - begin) * 1e6)
        stream.synchronize()
    expected = size * (size + 1) / 2
    if not bool((values == expected).all()):
        sys.exit(f"rank {rank}: a sum is {values[0].item()}, not {expected}")
    return times


def main(folder):
    version = ctypes.c_int()
    nccl.ncclGetVersion(ctypes.byref(version))
    torch.cuda.set_device(0)
    for blocking in (1, 0):
        unique = share_id(folder / f"id{blocking}")
        begin = time.monotonic()
        communicator = join(unique, blocking)
        joined = time.monotonic() - begin
        times = queue_times_us(communicator)
        low, median, high = statistics.quantiles(times[WARM_ROUNDS:], n=4)
        print(f"rank {rank}, NCCL {version.value}, blocking={blocking}: joined in {joined:.2f} s; first call {times[0]:.0f} µs; "
              f"later ones {median:.1f} µs (quartiles {low:.1f} and {high:.1f})", flush=True)
        check(nccl.ncclCommDestroy(communicator))


main(pathlib.Path(sys.argv[1]))
