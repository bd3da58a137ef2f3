"""Checks each operation of Horovod's PyTorch interface against a known result."""
import horovod.torch as hvd
import torch

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert (hvd.local_rank(), hvd.local_size()) == (rank, size)
assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)

total = size * (size - 1) / 2
assert torch.equal(hvd.allreduce(torch.full((1000,), float(rank)), op=hvd.Sum), torch.full((1000,), total))
assert hvd.allreduce(torch.tensor(float(rank)), op=hvd.Average).item() == total / size
assert hvd.allgather(torch.tensor([rank])).tolist() == list(range(size))
assert hvd.broadcast(torch.tensor([rank]), root_rank=size - 1).item() == size - 1
assert hvd.alltoall(torch.arange(size) + 10 * rank).tolist() == [10 * i + rank for i in range(size)]
assert hvd.broadcast_object({"from": rank}, root_rank=0) == {"from": 0}

# A group of every other rank, then the whole job again: both use the rendezvous again.
if size > 2:
    hvd.shutdown()
    even = hvd.ProcessSet(range(0, size, 2))
    hvd.init(process_sets=[even])
    if even.included():
        assert hvd.allgather(torch.tensor([rank]), process_set=even).tolist() == list(range(0, size, 2))
# No rank may shut down while others still gather. From here on, operations need names: the ranks' counters differ.
hvd.allreduce(torch.ones(1), name="all are here")
hvd.shutdown()
hvd.init()
assert hvd.allreduce(torch.tensor(1.0), op=hvd.Sum, name="once more").item() == size
print(f"rank {rank} of {size} is content")
