"""The backend of torch.distributed on tensors in memory of devices: results have the bits of the same call on the CPU.

A wait is one of the stream, as with NCCL.
"""

import time

import cpu_device
import device_tensors
import pytest
import torch
import torch.distributed as dist

import dtrain
import dtrain.torch.distributed


@pytest.fixture(scope="module", autouse=True)
def job():
    torch.set_num_threads(1)
    device_tensors.install()
    dist.init_process_group("dtrain")
    yield
    dist.barrier()
    dist.destroy_process_group()


def numbers(*shape, seed=0, dtype=torch.float32):
    made = torch.rand(shape, generator=torch.Generator().manual_seed(100 * seed + dist.get_rank())) * 9
    return made.to(dtype)


def send_round(tensor):
    size, rank = dist.get_world_size(), dist.get_rank()
    work = dist.isend(tensor, (rank + 1) % size)
    got = device_tensors.on_device(torch.zeros_like(tensor)) if device_tensors.is_there(tensor) else tensor.clone()
    dist.recv(got, (rank - 1) % size)
    work.wait()
    settle()  # torch's copies between tensors of a GPU run on its stream
    tensor.copy_(got)


def join(tensor):
    place = device_tensors.on_device if device_tensors.is_there(tensor) else torch.clone
    joined = place(torch.zeros(dist.get_world_size(), *tensor.shape))
    dist.all_gather_into_tensor(joined, tensor)
    part = place(torch.zeros_like(tensor))
    dist.reduce_scatter_tensor(part, joined)
    settle()
    assert device_tensors.is_there(part) == device_tensors.is_there(tensor)
    tensor.copy_(part)


def exchange(tensor):
    rows = tensor.flatten()[: tensor.numel() // dist.get_world_size() * dist.get_world_size()].contiguous()
    got = torch.zeros_like(rows)
    dist.all_to_all_single(got, rows)
    listed = [torch.zeros_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(listed, tensor)
    tensor.copy_(sum(listed))
    tensor.view(-1)[: got.numel()] += got


CALLS = {
    "all_reduce": dist.all_reduce,
    "average": lambda tensor: dist.all_reduce(tensor, dist.ReduceOp.AVG),
    "broadcast": lambda tensor: dist.broadcast(tensor, dist.get_world_size() - 1),
    "reduce": lambda tensor: dist.reduce(tensor, 0),
    "messages": send_round,
    "parts": join,
    "parts by the host": exchange,
}


def settle():
    """Wait for the stream, as a program does before its host reads a result."""
    while not cpu_device.is_idle():
        time.sleep(0.001)


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("shape", [(7, 3), (50_000,)])
def test_results_are_those_of_the_cpu(what, shape):
    if what == "messages" and dist.get_world_size() == 1:
        pytest.skip("one rank sends no messages")
    given = numbers(*shape)
    tensor = device_tensors.on_device(given)
    CALLS[what](tensor)
    settle()
    CALLS[what](given)
    assert torch.equal(tensor, given)


def test_tensors_with_strides_and_complex_ones():
    for given in (numbers(4, 6).T, torch.complex(numbers(5), numbers(5, seed=1))):
        tensor = device_tensors.on_device(given)
        for one in (tensor, given):
            dist.all_reduce(one)
            settle()
        assert torch.equal(tensor, given)


def test_a_wait_is_one_of_the_stream():
    tensor = device_tensors.on_device(torch.zeros(1000))
    late = torch.full((1000,), float(dist.get_rank() + 1))
    seen = torch.zeros(1000)
    with cpu_device.held():
        cpu_device.queue_copy(tensor.data_ptr(), late.data_ptr(), 4000)
        work = dist.all_reduce(tensor, async_op=True)
        assert not work.is_completed()
    assert work.wait()
    assert work.wait()
    cpu_device.queue_copy(seen.data_ptr(), tensor.data_ptr(), 4000)
    del work  # the group keeps it
    settle()
    assert seen.tolist() == [dist.get_world_size() * (dist.get_world_size() + 1) / 2] * 1000


def test_a_future_has_the_outputs_that_are_complete():
    tensor = device_tensors.on_device(torch.ones(1000))
    with cpu_device.held():
        future = dist.all_reduce(tensor, async_op=True).get_future()
        assert not future.done()
    (output,) = future.wait()
    assert output.tolist() == [dist.get_world_size()] * 1000


def test_messages_that_are_submitted_together():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        pytest.skip("one rank sends no messages")
    tensor, got = (device_tensors.on_device(torch.full((9,), float(rank))) for _ in range(2))
    operations = [dist.P2POp(dist.isend, tensor, (rank + 1) % size), dist.P2POp(dist.irecv, got, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    settle()
    assert got.tolist() == [(rank - 1) % size] * 9


def test_the_failure_of_an_operation_is_one_of_its_wait():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        pytest.skip("one rank agrees with itself")
    group = dist.new_group()
    tensor = device_tensors.on_device(torch.ones(3 + (rank == 1)))
    with cpu_device.held():
        work = dist.all_reduce(tensor, group=group, async_op=True)
    with pytest.raises(dtrain.Error, match=r"all_reduce #\d: .* sent float32\[4\]") as caught:
        work.wait()
    assert caught.value.code == "mismatch"
    future = work.get_future()
    with pytest.raises(RuntimeError):
        future.wait()
    dist.barrier(group)
    dist.barrier()
