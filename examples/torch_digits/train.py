"""Trains a small network on images of digits with Horovod's PyTorch interface.

Each batch is the same for any number of ranks, and each rank takes its share of it, so that the loss at the end
is that of one process.
"""
import csv
import pathlib

import dtrain.torch as hvd
import torch

EPOCHS = 12
BATCH = 96  # divides by 1, 2, 3, 4, 6, 8 ranks
TRAINING_IMAGES = 1440


def load_digits():
    path = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits.csv"
    with open(path, newline="") as file:
        rows = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    return rows[:, :-1] / 16, rows[:, -1].long()


def main():
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(hvd.rank())  # so that the broadcast has something to do
    images, labels = load_digits()
    network = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Linear(48, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=network.named_parameters())
    hvd.broadcast_parameters(network.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    order = torch.Generator().manual_seed(1)
    for _ in range(EPOCHS):
        shuffled = torch.randperm(TRAINING_IMAGES, generator=order)
        for batch in shuffled.split(BATCH):
            share = batch[hvd.rank()::hvd.size()]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(images[share]), labels[share])
            loss.backward()
            optimizer.step()

    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(network(images[:TRAINING_IMAGES]), labels[:TRAINING_IMAGES])
        correct = (network(images[TRAINING_IMAGES:]).argmax(1) == labels[TRAINING_IMAGES:]).float().mean()
    losses = hvd.allgather(loss.reshape(1))
    assert torch.equal(losses, losses[:1].expand(hvd.size())), f"the ranks have drifted apart: {losses}"
    if hvd.rank() == 0:
        ranks = "1 rank" if hvd.size() == 1 else f"{hvd.size()} ranks"
        print(f"{ranks}: loss {loss:.4f}, accuracy {100 * correct:.1f} %")


main()
