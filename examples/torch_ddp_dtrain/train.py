"""Trains a small network on images of digits with PyTorch's DistributedDataParallel on dtrain's engine.

Each batch is the same for any number of ranks, and each rank takes its share of it, so that the loss at the end
is that of one process.
"""
import csv
import pathlib

import torch
import torch.distributed

import dtrain.torch.distributed  # registers the backend

EPOCHS = 12
BATCH = 96  # divides by 1, 2, 3, 4, 6, 8 ranks
TRAINING_IMAGES = 1440


def load_digits():
    path = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits.csv"
    with open(path, newline="") as file:
        rows = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    return rows[:, :-1] / 16, rows[:, -1].long()


def main():
    torch.distributed.init_process_group("dtrain")  # env:// is the default
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(rank)  # DistributedDataParallel begins with rank 0's weights
    images, labels = load_digits()
    network = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Linear(48, 10))
    network = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)

    order = torch.Generator().manual_seed(1)
    for _ in range(EPOCHS):
        shuffled = torch.randperm(TRAINING_IMAGES, generator=order)
        for batch in shuffled.split(BATCH):
            share = batch[rank::size]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(images[share]), labels[share])
            loss.backward()
            optimizer.step()

    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(network(images[:TRAINING_IMAGES]), labels[:TRAINING_IMAGES])
        correct = (network(images[TRAINING_IMAGES:]).argmax(1) == labels[TRAINING_IMAGES:]).float().mean()
    losses = [torch.empty_like(loss) for _ in range(size)]
    torch.distributed.all_gather(losses, loss)
    assert all(torch.equal(other, loss) for other in losses), f"the ranks have drifted apart: {losses}"
    if rank == 0:
        ranks = "1 rank" if size == 1 else f"{size} ranks"
        print(f"{ranks}: loss {loss:.4f}, accuracy {100 * correct:.1f} %")

    torch.distributed.barrier()  # no rank leaves while another needs it
    torch.distributed.destroy_process_group()


main()
