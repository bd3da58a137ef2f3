#!/usr/bin/env python3
"""Measures an API of PyTorch for collectives on each rank of a job. Rank 0 prints a line for each figure: its name, a
tab, and the median in microseconds of the slowest rank.

    python_speed.py dtrain|horovod|backend|gloo STEPS FIGURE…

dtrain and horovod are dtrain.torch and horovod.torch; backend and gloo are those of torch.distributed. Figures:

    submit     until a named allreduce_async_ of 4 KiB returns
    blocking   an allreduce of 4 bytes, until its result is there
    resnet50   the 161 gradients of ResNet-50 (102 MB), one by one, from the first submission to the last result
    many       1,000 tensors of 4 KiB, in another order on each rank where the API allows it
    training   what DistributedOptimizer, or DistributedDataParallel, adds to forward, backward and step of a model with
               the parameters of ResNet-50
    small      forward, backward and step, with either, of a model with 1,000 parameters of 4 KiB
    import     the API's import, after that of torch
    init       from the last rank's init to the first result on every rank
    reinit     shutdown and init again
    wakeups    waits that end, of all threads of a rank that sleeps, in a second
    counting   the time in which a thread of Python counts while the main thread waits, to that while it sleeps, in %
"""
import importlib
import os
import random
import statistics
import sys
import threading
import time

import torch

from fusion_peer import counts_of

WARMUP_STEPS = 3
COUNTED = 2_000_000


class Model(torch.nn.Module):
    """Parameters of such sizes, each used once: the arithmetic costs little."""

    def __init__(self, tensors):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(count)) for count in counts_of(tensors)])

    def forward(self, factor):
        return sum((weight * factor).sum() for weight in self.weights)


class Horovod:
    """Horovod's API, by Horovod or by dtrain."""

    def __init__(self, module):
        begin = time.perf_counter()
        self.hvd = importlib.import_module(module)
        self.import_s = time.perf_counter() - begin
        self.joined()

    def joined(self):
        self.hvd.init()
        self.rank, self.size = self.hvd.rank(), self.hvd.size()

    def leave(self):
        self.hvd.shutdown()

    def order(self, count):
        order = list(range(count))
        random.Random(self.rank).shuffle(order)
        return order

    def submit(self, tensor, name):
        return self.hvd.allreduce_async_(tensor, op=self.hvd.Sum, name=name)

    def wait(self, handle):
        self.hvd.synchronize(handle)

    def reduce(self, tensor):
        self.hvd.allreduce(tensor, op=self.hvd.Sum, name="blocking")

    def barrier(self):
        self.hvd.barrier()

    def slowest(self, times):
        return self.hvd.allreduce(times, op=self.hvd.Max, name="times")

    def parallel(self, model, optimizer):
        return model, self.hvd.DistributedOptimizer(optimizer, model.named_parameters())


class Distributed:
    """torch.distributed, with one of its backends."""

    def __init__(self, backend):
        begin = time.perf_counter()
        self.dist = importlib.import_module("torch.distributed" if backend == "gloo" else "dtrain.torch.distributed")
        self.import_s = time.perf_counter() - begin
        self.dist = torch.distributed
        self.backend = backend
        self.joined()

    def joined(self):
        self.dist.init_process_group(self.backend)
        self.rank, self.size = self.dist.get_rank(), self.dist.get_world_size()

    def leave(self):
        self.dist.destroy_process_group()

    def order(self, count):
        return range(count)

    def submit(self, tensor, name):
        return self.dist.all_reduce(tensor, async_op=True)

    def wait(self, handle):
        handle.wait()

    def reduce(self, tensor):
        self.dist.all_reduce(tensor)

    def barrier(self):
        self.dist.barrier()

    def slowest(self, times):
        self.dist.all_reduce(times, op=self.dist.ReduceOp.MAX)
        return times

    def parallel(self, model, optimizer):
        return torch.nn.parallel.DistributedDataParallel(model), optimizer


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def submit(api, steps):
    tensor, times = torch.ones(1024), []
    for _ in range(50 * steps):
        tensor.fill_(1)
        begin = time.perf_counter()
        handle = api.submit(tensor, "submitted")
        times.append(time.perf_counter() - begin)
        api.wait(handle)
    return times


def blocking(api, steps):
    tensor = torch.ones(1)
    return [seconds_of(lambda: api.reduce(tensor.fill_(1))) for _ in range(50 * steps)]


def step_of(api, tensors):
    """Reduces tensors that are all under way at once, and checks their sums."""
    for tensor in tensors:
        tensor.fill_(1)
    order = api.order(len(tensors))
    api.barrier()
    begin = time.perf_counter()
    handles = [api.submit(tensors[place], f"tensor {place}") for place in order]
    for handle in handles:
        api.wait(handle)
    took = time.perf_counter() - begin
    assert all(tensor[0] == tensor[-1] == api.size for tensor in tensors)
    return took


def resnet50(api, steps):
    tensors = [torch.empty(count) for count in counts_of("resnet50")]
    return [step_of(api, tensors) for _ in range(WARMUP_STEPS + steps)][WARMUP_STEPS:]


def many(api, steps):
    tensors = [torch.empty(1024) for _ in range(1000)]
    return [step_of(api, tensors) for _ in range(WARMUP_STEPS + steps)][WARMUP_STEPS:]


def trained(model, optimizer):
    optimizer.zero_grad()
    model(torch.tensor(2.0)).backward()
    optimizer.step()


def model_of(api, tensors, parallel):
    model = Model(tensors)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    return api.parallel(model, optimizer) if parallel else (model, optimizer)


def training(api, steps):
    """The time that the steps with other ranks take longer than those alone, which are in turn with them."""
    pairs = [model_of(api, "resnet50", parallel) for parallel in (False, True)]
    times = []
    for _ in range(WARMUP_STEPS + steps):
        api.barrier()
        alone = seconds_of(lambda: trained(*pairs[0]))
        api.barrier()
        times.append(seconds_of(lambda: trained(*pairs[1])) - alone)
    return times[WARMUP_STEPS:]


def small(api, steps):
    pair, times = model_of(api, "1000", True), []
    for _ in range(WARMUP_STEPS + steps):
        api.barrier()
        times.append(seconds_of(lambda: trained(*pair)))
    return times[WARMUP_STEPS:]


def switches():
    """Counts the waits of all threads of this process that have ended."""
    total = 0
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status", encoding="ascii") as lines:
            total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
    return total


def wakeups(api, steps):
    api.reduce(torch.ones(1))
    api.barrier()
    time.sleep(0.1)
    before = switches()
    time.sleep(1)
    return [1e-6 * (switches() - before - 1)]  # less the one of this sleep


def count_once():
    number = 0
    while number < COUNTED:
        number += 1


def counting(api, steps):
    """Both ranks count. Rank 0 waits meanwhile for the others, which come when they have counted."""
    counted = []
    for waits in (False, True):
        thread = threading.Thread(target=lambda: counted.append(seconds_of(count_once)))
        api.barrier()
        handle = api.submit(torch.ones(1), f"counting {waits}") if waits and api.rank == 0 else None
        thread.start()
        if handle is not None:
            api.wait(handle)
        thread.join()
        if waits and handle is None:
            api.wait(api.submit(torch.ones(1), f"counting {waits}"))
    return [1e-4 * counted[1] / counted[0] if api.rank == 0 else 0.0]


def reinit(api, steps):
    times = []
    for _ in range(3 * steps):
        api.barrier()
        times.append(seconds_of(lambda: (api.leave(), api.joined())))
    return times


FIGURES = {one.__name__: one for one in
           (submit, blocking, resnet50, many, training, small, wakeups, counting, reinit)}


def main():
    name, steps, figures = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    began = time.time()
    api = {"dtrain": lambda: Horovod("dtrain.torch"), "horovod": lambda: Horovod("horovod.torch"),
           "backend": lambda: Distributed("dtrain"), "gloo": lambda: Distributed("gloo")}[name]()
    api.reduce(torch.ones(1))
    ended = time.time()
    last = api.slowest(torch.tensor([began + api.import_s, ended], dtype=torch.float64))
    lines = {"import": api.import_s, "init": float(last[1] - last[0])}
    for figure in figures:
        if figure in FIGURES:
            lines[figure] = statistics.median(FIGURES[figure](api, steps))
    slowest = api.slowest(torch.tensor([lines[figure] for figure in figures], dtype=torch.float64))
    if api.rank == 0:
        for figure, value in zip(figures, slowest.tolist()):
            print(f"{figure}\t{1e6 * value:.2f}", flush=True)
    api.barrier()
    api.leave()


if __name__ == "__main__":
    main()
