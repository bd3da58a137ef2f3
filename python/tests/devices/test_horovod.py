"""Horovod's API on tensors in memory of devices: the results have the bits of the same call on the CPU."""

import os
from types import SimpleNamespace

import cpu_device
import device_tensors
import pytest
import torch

import dtrain.torch as hvd
from dtrain import _gpus
from dtrain.torch import _memory

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool]


@pytest.fixture(scope="module", autouse=True)
def job():
    device_tensors.install()
    torch.set_num_threads(1)
    hvd.init()
    yield
    hvd.shutdown()


def numbers(*shape, dtype=torch.float32, seed=0):
    made = torch.rand(shape, generator=torch.Generator().manual_seed(100 * seed + hvd.rank())) * 9
    return made.to(dtype)


def same(result, expected):
    return result.dtype == expected.dtype and torch.equal(result, expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (1000, 3), (300_000,)])
def test_an_allreduce(shape, dtype):
    given = numbers(*shape, dtype=dtype)
    tensor = device_tensors.on_device(given)
    expected = hvd.allreduce(given, op=hvd.Sum)
    result = hvd.allreduce(tensor, op=hvd.Sum)
    assert same(result, expected)
    assert same(tensor, given)
    assert device_tensors.is_there(result) == (tensor.numel() > 0)
    assert hvd.allreduce_(tensor, op=hvd.Sum) is tensor
    assert same(tensor, expected)


def test_tensors_that_need_a_copy_have_it_on_their_device(monkeypatch):
    monkeypatch.setattr(_memory, "empty_on_host", None)
    for given in (numbers(4, 6).T, torch.complex(numbers(5), numbers(5, seed=1))):
        tensor = device_tensors.on_device(given)
        expected = hvd.allreduce(given)
        assert same(hvd.allreduce(tensor), expected)
        assert same(hvd.allreduce_(tensor), expected)
        assert same(tensor, expected)
        assert same(hvd.broadcast(tensor, 0), expected)


def test_lists_and_scales():
    given = [numbers(3), numbers(40_000), numbers(2, 2)]
    tensors = [device_tensors.on_device(one) for one in given]
    expected = hvd.grouped_allreduce(given, prescale_factor=0.5, postscale_factor=3.0)
    for results in (
        hvd.grouped_allreduce(tensors, prescale_factor=0.5, postscale_factor=3.0),
        hvd.grouped_allreduce_(tensors, prescale_factor=0.5, postscale_factor=3.0),
    ):
        assert all(map(same, results, expected))
        assert all(map(device_tensors.is_there, results))
    assert all(map(same, tensors, expected))


def test_a_list_of_both_memories_is_a_wrong_argument():
    with pytest.raises(ValueError, match="all buffers of an operation must lie in one place"):
        hvd.grouped_allreduce([device_tensors.on_device(numbers(3)), numbers(3)])


def test_operations_that_move():
    given = numbers(2 * hvd.size(), 3)
    tensor = device_tensors.on_device(given)
    root = hvd.size() - 1
    assert same(hvd.broadcast(tensor, root), hvd.broadcast(given, root))
    assert same(hvd.broadcast_(tensor.clone(), root), hvd.broadcast(given, root))
    # The results of these lie in memory of the host, from where they are copied.
    assert same(hvd.allgather(tensor), hvd.allgather(given))
    assert same(hvd.alltoall(tensor), hvd.alltoall(given))
    assert same(hvd.reducescatter(tensor), hvd.reducescatter(given))
    assert same(hvd.broadcast_(tensor, root), hvd.broadcast(given, root))


def test_a_start_does_not_wait_for_the_stream_and_reads_what_that_writes():
    late = torch.full((1000,), float(hvd.rank() + 1))
    tensor = device_tensors.on_device(torch.zeros(1000))
    with cpu_device.held():
        cpu_device.queue_copy(tensor.data_ptr(), late.data_ptr(), 4000)
        handle = hvd.allreduce_async_(tensor, op=hvd.Sum)
        other = hvd.allreduce_async(tensor, op=hvd.Sum)
        assert not hvd.poll(handle)
        del tensor  # the handles keep it
    total = hvd.size() * (hvd.size() + 1) / 2
    assert hvd.synchronize(handle).tolist() == [total] * 1000
    hvd.synchronize(other)


def test_names_in_other_orders_while_the_stream_of_one_rank_is_late():
    tensors = {f"order {place}": device_tensors.on_device(numbers(500, seed=place)) for place in range(6)}
    expected = {name: hvd.allreduce(tensor.clone(), name=name) for name, tensor in tensors.items()}
    names = list(tensors)[:: -1 if hvd.rank() % 2 else 1]
    if hvd.rank() == 0:
        with cpu_device.held():
            handles = {name: hvd.allreduce_async(tensors[name], name=name) for name in names}
    else:
        handles = {name: hvd.allreduce_async(tensors[name], name=name) for name in names}
    for name, handle in handles.items():
        assert same(hvd.synchronize(handle), expected[name])


@pytest.mark.parametrize("what", ["shape", "memory"])
def test_ranks_that_disagree_get_an_error_and_continue(what):
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")
    odd = hvd.rank() % 2 == 1
    given = numbers(4 if what == "shape" and odd else 3)
    tensor = given if what == "memory" and odd else device_tensors.on_device(given)
    with pytest.raises(hvd.HorovodInternalError) as caught:
        hvd.allreduce(tensor)
    assert caught.value.code == "mismatch"
    assert hvd.allreduce(device_tensors.on_device(torch.ones(2)), op=hvd.Sum).tolist() == [hvd.size()] * 2


def train(place, prefix):
    """Return the weights after some steps, with gradients in memory that `place` makes."""
    torch.manual_seed(7)
    # The weights of the first layer are reduced alone, and the others together.
    model = torch.nn.Sequential(torch.nn.Linear(60, 400), torch.nn.ReLU(), torch.nn.Linear(400, 3))
    for parameter in model.parameters():
        parameter.grad = place(torch.zeros_like(parameter))
    named = [(f"{prefix}.{name}", parameter) for name, parameter in model.named_parameters()]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), named)
    for step in range(4):
        for parameter in model.parameters():
            parameter.grad.zero_()
        model(numbers(8, 60, seed=step)).pow(2).mean().backward()
        optimizer.step()
    return list(model.parameters())


def test_an_optimizer_ends_with_the_weights_of_the_cpu():
    weights = train(device_tensors.on_device, "device")
    assert device_tensors.is_there(weights[0].grad)
    assert all(map(same, weights, train(torch.clone, "cpu")))


def test_nccl_is_there_where_the_build_has_gpu_parts_and_it_can_be_loaded(monkeypatch, tmp_path):
    monkeypatch.setenv("DTRAIN_NCCL_LIB", os.environ["NCCL_OF_TESTS"])
    monkeypatch.setattr(_gpus, "cuda", "13.0")
    assert hvd.cuda_built() is True
    assert hvd.nccl_built() >= 21403
    monkeypatch.setattr(_gpus, "cuda", "")
    assert [hvd.cuda_built(), hvd.nccl_built()] == [False, 0]
    monkeypatch.setattr(_gpus, "cuda", "13.0")
    monkeypatch.setenv("DTRAIN_NCCL_LIB", str(tmp_path / "absent"))
    assert hvd.nccl_built() == 0


class OfGpu:
    """As much of a tensor as shows where it is."""

    is_cpu, is_cuda, device = False, True, "cuda:0"


def test_the_stream_is_the_current_one_of_the_tensors_gpu(monkeypatch):
    streams = {"cuda:0": 0, "cuda:1": 4711}
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=streams[device]))
    monkeypatch.setattr(_memory, "_TAKES_GPUS", True)
    other = OfGpu()
    other.device = "cuda:1"
    found = [device_tensors.stream_of_torch(one) for one in (torch.ones(1), OfGpu(), other, torch.ones(1).to("meta"))]
    assert found == [0, 1, 4711, None]
    monkeypatch.setattr(_memory, "_TAKES_GPUS", False)
    assert device_tensors.stream_of_torch(OfGpu()) is None


@pytest.mark.parametrize(
    ("wish", "share", "way"),
    [
        ("", "0", "are for NCCL, once it has connected all ranks (DTRAIN_DEVICE_COLLECTIVES=auto)"),
        ("", "1", "pass through the memory of the host; DTRAIN_DEVICE_COLLECTIVES=auto uses NCCL"),
        ("staged", "0", "pass through the memory of the host; DTRAIN_DEVICE_COLLECTIVES=auto uses NCCL"),
        ("nccl", "1", "are for NCCL, once it has connected all ranks (DTRAIN_DEVICE_COLLECTIVES=nccl)"),
    ],
)
def test_rank_0_reports_the_way_of_tensors_of_gpus_once(monkeypatch, capsys, wish, share, way):
    monkeypatch.setattr(_gpus, "_reported", False)
    monkeypatch.setenv("DTRAIN_GPU_SHARE", share)
    monkeypatch.setenv("DTRAIN_DEVICE_COLLECTIVES", wish)
    for _ in range(2):
        _gpus.report_way(True)
    expected = f"dtrain: tensors of GPUs {way}\n" if hvd.rank() == 0 else ""
    assert capsys.readouterr().err == expected


def test_rank_0_warns_once_where_the_build_takes_no_tensors_of_gpus(monkeypatch, recwarn):
    monkeypatch.setattr(_gpus, "_reported", False)
    monkeypatch.setattr(_memory, "_TAKES_GPUS", False)
    for _ in range(2):
        device_tensors.stream_of_torch(OfGpu())
    assert ["has no parts for these GPUs" in str(one.message) for one in recwarn] == [True] * (hvd.rank() == 0)
