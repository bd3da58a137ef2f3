"""Training by DDP, FSDP2 and others on the backend: the gradients are those that gloo gives."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel


def network():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.Linear(16, 4))


def batch(step, rows=6):
    generator = torch.Generator().manual_seed(1000 * dist.get_rank() + step)
    return torch.randn(rows, 8, generator=generator)


def close(found, expected):
    if dist.get_world_size() <= 2:
        return torch.equal(found, expected)
    return torch.allclose(found, expected, rtol=1e-6, atol=1e-6)


def same_gradients(ours, gloos):
    pairs = zip(ours.parameters(), gloos.parameters(), strict=True)
    return all(close(one.grad, other.grad) for one, other in pairs)


def pair(gloo, **options):
    return [DistributedDataParallel(network(), process_group=group, **options) for group in (None, gloo)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"static_graph": True},
        {"find_unused_parameters": True},
        {"gradient_as_bucket_view": True},
        {"bucket_cap_mb": 0.001},
    ],
    ids=str,
)
def test_ddp_has_the_gradients_of_gloo(gloo, options):
    ours, gloos = pair(gloo, **options)
    for step in range(3):
        for model in (ours, gloos):
            model.zero_grad()
            model(batch(step)).pow(2).sum().backward()
        assert same_gradients(ours, gloos)


def test_ddp_accumulates_without_sync(gloo):
    ours, gloos = pair(gloo)
    for model in (ours, gloos):
        with model.no_sync():
            model(batch(0)).pow(2).sum().backward()
        model(batch(1)).pow(2).sum().backward()
    assert same_gradients(ours, gloos)


def test_ddp_joins_with_uneven_inputs(gloo):
    models = pair(gloo)
    for model in models:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with Join([model]):
            for step in range(2 + dist.get_rank()):
                optimizer.zero_grad()
                model(batch(step)).pow(2).sum().backward()
                optimizer.step()
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert close(one, other)


HOOKS = {
    "fp16": lambda model, group: model.register_comm_hook(group, default_hooks.fp16_compress_hook),
    "bf16": lambda model, group: model.register_comm_hook(group, default_hooks.bf16_compress_hook),
    "allreduce": lambda model, group: model.register_comm_hook(group, default_hooks.allreduce_hook),
    "PowerSGD": lambda model, group: model.register_comm_hook(
        power.PowerSGDState(group, matrix_approximation_rank=2, start_powerSGD_iter=2), power.powerSGD_hook
    ),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_ddp_with_a_hook(gloo, hook):
    exact = DistributedDataParallel(network())
    ours = DistributedDataParallel(network())
    HOOKS[hook](ours, dist.group.WORLD)
    for step in range(4):
        for model in (exact, ours):
            model.zero_grad()
            model(batch(step)).pow(2).mean().backward()
    gradients = [one.grad for one in ours.parameters()]
    for own in gradients:
        shared = own.clone()
        dist.broadcast(shared, 0)
        assert torch.equal(own, shared)
    if hook != "PowerSGD":
        for own, other in zip(gradients, exact.parameters(), strict=True):
            assert torch.allclose(own, other.grad, rtol=0.02, atol=0.02)


def test_ddp_with_a_hook_that_torch_has_in_cpp():
    model = DistributedDataParallel(network())
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.ALLREDUCE)
    model(batch(0)).sum().backward()
    model = DistributedDataParallel(network())
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    # It wants a list of tensors in C++, which no future from Python has.
    with pytest.raises(RuntimeError, match="TensorList"):
        model(batch(0)).sum().backward()


def test_ddp_buckets_leave_before_backward_has_ended():
    model = DistributedDataParallel(network(), bucket_cap_mb=0.0005, gradient_as_bucket_view=True)
    order = []

    def hook(state, bucket):
        order.append(f"bucket {bucket.index()}")
        return default_hooks.allreduce_hook(None, bucket)

    model.register_comm_hook(None, hook)
    for _ in range(2):  # buckets have their final order from the second step on
        order.clear()
        next(model.parameters()).register_post_accumulate_grad_hook(lambda _: order.append("first layer"))
        model(batch(0)).sum().backward()
    assert order.index("bucket 0") < order.index("first layer")


def test_buffers_and_weights_begin_as_those_of_rank_0():
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4))
    model[1].running_mean.fill_(dist.get_rank())
    ddp = DistributedDataParallel(model)
    ddp(batch(0))
    for tensor in [*model.parameters(), *model.buffers()]:
        shared = tensor.detach().clone()
        dist.broadcast(shared, 0)
        if tensor is not model[1].running_mean and tensor is not model[1].running_var:
            assert torch.equal(tensor, shared)


def plain_steps(gloo, steps):
    """Return the weights after steps on the average gradient, by gloo."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        model(batch(step)).pow(2).mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=gloo)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_fsdp2_trains_to_the_same_weights(gloo):
    model = network()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(3):
        optimizer.zero_grad()
        model(batch(step)).pow(2).mean().backward()
        optimizer.step()
    for own, expected in zip(model.parameters(), plain_steps(gloo, 3), strict=True):
        assert torch.allclose(own.full_tensor(), expected, rtol=1e-5, atol=1e-6)


def test_an_optimizer_with_divided_state_trains_to_the_same_weights(gloo):
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for step in range(3):
        optimizer.zero_grad()
        model(batch(step)).pow(2).mean().backward()
        optimizer.step()
    for own, expected in zip(model.parameters(), plain_steps(gloo, 3), strict=True):
        assert torch.allclose(own, expected, rtol=1e-5, atol=1e-6)


def test_tensor_parallel_layers_beside_data_parallel_ones():
    if dist.get_world_size() != 4:
        pytest.skip("the mesh has 2x2 ranks")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    expected, model = network(), network()
    plan = {"2": ColwiseParallel(), "3": RowwiseParallel()}
    parallelize_module(model, mesh["tensor"], plan)
    inputs = torch.randn(5, 8, generator=torch.Generator().manual_seed(3))
    assert torch.allclose(model(inputs), expected(inputs), rtol=1e-5, atol=1e-6)
    model(inputs).pow(2).sum().backward()
    expected(inputs).pow(2).sum().backward()
    assert torch.allclose(model[0].weight.grad, expected[0].weight.grad, rtol=1e-4, atol=1e-5)
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total, group=mesh["data"].get_group())
    assert total.item() == dist.get_rank() % 2 * 2 + 2
