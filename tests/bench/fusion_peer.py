#!/usr/bin/env python3
"""Measures an all_reduce of each of many tensors by Horovod, or by Gloo in torch.distributed, as `dtrain bench
fusion` does with its own.

    fusion_peer.py horovod|gloo TENSORS STEPS

TENSORS are those of `dtrain bench fusion`: resnet50, bert-large, or a number of tensors of 4 KiB. Rank 0 prints a
line as `dtrain bench --format peers` does. A step begins with a barrier, and ends when the slowest rank has all
results. Horovod's ranks submit in another order each; Gloo needs one order on all.
"""
import random
import statistics
import sys
import time

import torch

WARMUP_STEPS = 5
SMALL_TENSOR = 1024  # elements


def convolution(inputs, outputs, width):
    return [inputs * outputs * width * width, outputs, outputs]


def dense(inputs, outputs):
    return [inputs * outputs, outputs]


def resnet50():
    counts = convolution(3, 64, 7)
    inputs, width = 64, 64
    for blocks in (3, 4, 6, 3):
        for block in range(blocks):
            counts += convolution(inputs, width, 1) + convolution(width, width, 3)
            counts += convolution(width, 4 * width, 1)
            if block == 0:
                counts += convolution(inputs, 4 * width, 1)
            inputs = 4 * width
        width *= 2
    return counts + dense(inputs, 1000)


def bert_large():
    words, hidden = 30522, 1024
    layer = 4 * dense(hidden, hidden) + [hidden, hidden] + dense(hidden, 4 * hidden)
    layer += dense(4 * hidden, hidden) + [hidden, hidden]
    counts = [words * hidden, 512 * hidden, 2 * hidden, hidden, hidden] + 24 * layer
    return counts + dense(hidden, hidden) + [words] + dense(hidden, hidden) + [hidden, hidden] + dense(hidden, 2)


def counts_of(tensors):
    models = {"resnet50": resnet50, "bert-large": bert_large}
    return models[tensors]() if tensors in models else [SMALL_TENSOR] * int(tensors)


class Horovod:
    name = "Horovod"

    def __init__(self):
        import horovod.torch as hvd
        hvd.init()
        self.hvd, self.rank, self.size = hvd, hvd.rank(), hvd.size()

    def barrier(self):
        self.hvd.barrier()

    def order(self, count):
        order = list(range(count))
        random.Random(self.rank).shuffle(order)
        return order

    def submit(self, tensor, index):
        return self.hvd.allreduce_async_(tensor, op=self.hvd.Sum, name=f"tensor{index}")

    def wait(self, handle):
        self.hvd.synchronize(handle)

    def slowest(self, times):
        return self.hvd.allreduce(times, op=self.hvd.Max, name="times")


class Gloo:
    name = "Gloo"

    def __init__(self):
        import torch.distributed as dist
        dist.init_process_group("gloo")
        self.dist, self.rank, self.size = dist, dist.get_rank(), dist.get_world_size()

    def barrier(self):
        self.dist.barrier()

    def order(self, count):
        return range(count)

    def submit(self, tensor, index):
        return self.dist.all_reduce(tensor, async_op=True)

    def wait(self, handle):
        handle.wait()

    def slowest(self, times):
        self.dist.all_reduce(times, op=self.dist.ReduceOp.MAX)
        return times


def main():
    torch.set_num_threads(1)
    library = {"horovod": Horovod, "gloo": Gloo}[sys.argv[1]]()
    counts, steps = counts_of(sys.argv[2]), int(sys.argv[3])
    tensors = [torch.full((count,), float(library.rank + 1)) for count in counts]
    order = library.order(len(tensors))
    times = []
    wrong = 0
    for step in range(WARMUP_STEPS + steps):
        for tensor in tensors:
            tensor.fill_(float(library.rank + 1))
        library.barrier()
        begin = time.perf_counter()
        handles = [library.submit(tensors[index], index) for index in order]
        for handle in handles:
            library.wait(handle)
        times.append(time.perf_counter() - begin)
        total = library.size * (library.size + 1) / 2
        wrong += sum(1 for tensor in tensors if tensor[0] != total or tensor[-1] != total)
    slowest = library.slowest(torch.tensor(times[WARMUP_STEPS:], dtype=torch.float64)).tolist()
    micro = sorted(1e6 * seconds for seconds in slowest)
    fields = [library.name, "fusion", library.size, 4 * sum(counts), steps]
    fields += [f"{value:.2f}" for value in (micro[0], statistics.median(micro), micro[-1], statistics.mean(micro), 0, 0)]
    if library.rank == 0:
        print(*fields, wrong, sep="\t")


if __name__ == "__main__":
    main()
