"""The training of examples/digits in PyTorch: the same images in the same order, from the same weights.

`dtrain_digits.py horovod|ddp EPOCHS` prints the loss at the end, and a hash of the weights' bits.
"""
import csv
import hashlib
import pathlib
import sys

import torch

HIDDEN = 256
BATCH = 128
SPLIT_SEED = 1998
SEED = 1
BITS = 2**64 - 1


class Random64:
    """The generator std::mt19937_64 (Nishimura, 2000)."""

    def __init__(self, seed):
        self.state = [seed & BITS]
        for i in range(1, 312):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ (last >> 62)) + i) & BITS)
        self.place = 312

    def __call__(self):
        if self.place == 312:
            self._refill()
        x = self.state[self.place]
        self.place += 1
        x ^= (x >> 29) & 0x5555555555555555
        x ^= (x << 17) & 0x71D67FFFEDA60000
        x ^= (x << 37) & 0xFFF7EEE000000000
        return x ^ (x >> 43)

    def _refill(self):
        for i in range(312):
            x = (self.state[i] & 0xFFFFFFFF80000000) | (self.state[(i + 1) % 312] & 0x7FFFFFFF)
            self.state[i] = self.state[(i + 156) % 312] ^ (x >> 1) ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        self.place = 0


def shuffled(count, seed):
    order, random = list(range(count)), Random64(seed)
    for left in range(count, 1, -1):
        other = random() % left
        order[left - 1], order[other] = order[other], order[left - 1]
    return order


def training_images():
    path = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "digits.csv"
    with open(path, newline="") as file:
        rows = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    rows = rows[shuffled(len(rows), SPLIT_SEED)][: len(rows) * 4 // 5]
    return rows[:, :-1] / 16, rows[:, -1].long()


def network_of(seed):
    random = Random64(seed)
    network = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    with torch.no_grad():
        for layer in (network[0], network[2]):
            limit = (6 / layer.in_features) ** 0.5
            units = [(random() >> 11) * 2.0**-53 for _ in range(layer.weight.numel())]
            layer.weight.copy_((2 * torch.tensor(units) - 1).mul(limit).reshape(layer.in_features, -1).t())
            layer.bias.zero_()
    return network


def by_horovod(network):
    import dtrain.torch as hvd

    hvd.init()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=network.named_parameters())
    hvd.broadcast_parameters(network.state_dict(), root_rank=0)
    return hvd.rank(), hvd.size(), network, optimizer


def by_ddp(network):
    import dtrain.torch.distributed

    torch.distributed.init_process_group("dtrain")
    parallel = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    return torch.distributed.get_rank(), torch.distributed.get_world_size(), parallel, optimizer


def main(api, epochs):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    images, labels = training_images()
    network = network_of(SEED)
    rank, size, parallel, optimizer = {"horovod": by_horovod, "ddp": by_ddp}[api](network)
    for epoch in range(epochs):
        order = shuffled(len(images), (SEED * 0x9E3779B97F4A7C15 + epoch) & BITS)
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            own = batch[rank::size]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(parallel(images[own]), labels[own], reduction="sum")
            # The average of the ranks' gradients is then the gradient of the batch, whose parts differ in size.
            (loss * size / len(batch)).backward()
            optimizer.step()
    if rank == 0:
        with torch.no_grad():
            loss = torch.nn.functional.cross_entropy(network(images), labels)
        bits = b"".join(bytes(one.detach().flatten().view(torch.uint8).tolist()) for one in network.parameters())
        print(f"training loss {loss:.6f} weights {hashlib.sha256(bits).hexdigest()}")


main(sys.argv[1], int(sys.argv[2]))
