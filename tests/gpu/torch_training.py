"""Train on one GPU by DDP, FSDP2 and Horovod's optimizer on tensors of the GPU, each rank on its part of every batch.

Compares the weights with those of one process that trains on whole batches, and those of the ranks with each other.
"""

import sys

import torch
import torch.distributed as dist

import dtrain.torch as hvd
import dtrain.torch.distributed  # registers the backend

STEPS = 20
BATCH = 64
DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(96, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, 10),
    ).to(DEVICE)


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def batches(rank, size):
    generator = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        images = torch.randn(BATCH, 96, generator=generator)
        digits = torch.randint(0, 10, (BATCH,), generator=generator)
        yield images.chunk(size)[rank].to(DEVICE), digits.chunk(size)[rank].to(DEVICE)


def train(model, optimizer, rank, size):
    for images, digits in batches(rank, size):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), digits).backward()
        optimizer.step()


def weights_of(model):
    full = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    return torch.cat([weight.detach().flatten() for weight in full])


def by_ddp(rank, size):
    model = torch.nn.parallel.DistributedDataParallel(make_model())
    train(model, make_optimizer(model), rank, size)
    return model


def by_fsdp2(rank, size):
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    train(model, make_optimizer(model), rank, size)
    return model


def by_horovod(rank, size):
    model = make_model()
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(make_optimizer(model), named_parameters=model.named_parameters())
    train(model, optimizer, rank, size)
    return model


def main():
    dist.init_process_group("dtrain")
    hvd.init()
    rank, size = dist.get_rank(), dist.get_world_size()
    alone = make_model()
    train(alone, make_optimizer(alone), 0, 1)
    expected = weights_of(alone)
    failed = 0
    for name, way in (("DDP", by_ddp), ("FSDP2", by_fsdp2), ("Horovod", by_horovod)):
        weights = weights_of(way(rank, size))
        others = [torch.empty_like(weights) for _ in range(size)]
        dist.all_gather(others, weights)
        same = all(torch.equal(weights, other) for other in others)
        apart = (weights - expected).abs().max().item()
        right = same and apart < 1e-4
        failed += not right
        if rank == 0:
            print(f"{name}: {'right' if right else 'wrong'}: {apart:.1e} from one process, ranks equal: {same}")
    dist.destroy_process_group()
    hvd.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
