"""Features of torch beside DistributedOptimizer: compiled models, scaled losses, layouts, types, and determinism."""

import json
import time

import pytest
import torch

import dtrain.torch as hvd


def network():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def batch(rank, step):
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * rank + step))


def wrapped(model, **terms):
    return hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), **terms)


def weights_of_ranks(model):
    flat = torch.cat([one.detach().flatten() for one in model.parameters()])
    return hvd.allgather(flat.unsqueeze(0))


def trained(steps=3, change=lambda model: model):
    model = network()
    optimizer = wrapped(model)
    called = change(model)
    for step in range(steps):
        optimizer.zero_grad()
        called(batch(hvd.rank(), step)).pow(2).mean().backward()
        optimizer.step()
    return model


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="this torch compiles nothing")
def test_a_compiled_model_trains_to_the_same_weights():
    compiled = trained(change=lambda model: torch.compile(model, backend="aot_eager"))
    for one, other in zip(compiled.parameters(), trained().parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_two_runs_have_the_same_bits_on_all_ranks():
    first, second = weights_of_ranks(trained()), weights_of_ranks(trained())
    assert torch.equal(first, second)
    assert first.eq(first[0]).all()


def scaler_of():
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", init_scale=64.0)
    return torch.cuda.amp.GradScaler(init_scale=64.0, enabled=torch.cuda.is_available())


def test_a_step_with_an_overflow_on_one_rank_is_skipped_by_all():
    model, scaler = network(), scaler_of()
    optimizer = wrapped(model)
    for step in range(2):
        overflows = step == 0 and scaler.is_enabled() and hvd.rank() == 0
        before = weights_of_ranks(model)
        optimizer.zero_grad()
        scale = float("inf") if overflows else 1.0
        scaler.scale(model(batch(hvd.rank(), step)).pow(2).mean() * scale).backward()
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()
        after = weights_of_ranks(model)
        assert after.eq(after[0]).all()
        assert torch.equal(before, after) == (step == 0 and scaler.is_enabled())
    if scaler.is_enabled():
        assert scaler.get_scale() == 32


def test_gradients_in_another_order_of_memory():
    torch.manual_seed(3)
    model = torch.nn.Conv2d(4, 4, 3).to(memory_format=torch.channels_last)
    optimizer = wrapped(model)
    image = torch.randn(2, 4, 5, 5, generator=torch.Generator().manual_seed(hvd.rank()))
    model(image.to(memory_format=torch.channels_last)).pow(2).sum().backward()
    own = model.weight.grad.clone()
    optimizer.synchronize()
    average = hvd.allreduce(own.contiguous())
    assert torch.allclose(model.weight.grad, average, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.complex64])
@pytest.mark.parametrize("groups", [None, 1])
def test_gradients_of_other_types(dtype, groups):
    weight = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), [("weight", weight)], groups=groups)
    loss = weight * (1 + hvd.rank())
    (loss.abs() if dtype.is_complex else loss).sum().backward()
    optimizer.step()
    expected = 1 - sum(1 + rank for rank in range(hvd.size())) / hvd.size()
    assert weight.dtype == dtype
    assert torch.allclose(weight.detach(), torch.full((3,), expected, dtype=dtype), atol=1e-2)


def test_the_number_of_passes_may_change():
    model = network()
    optimizer = wrapped(model)
    for passes in (1, 3, 2):
        optimizer.set_backward_passes_per_step(passes)
        assert optimizer.backward_passes_per_step == passes
        before = weights_of_ranks(model)
        optimizer.zero_grad()
        for step in range(passes):
            model(batch(hvd.rank(), step)).pow(2).mean().backward()
        optimizer.step()
        after = weights_of_ranks(model)
        assert after.eq(after[0]).all()
        assert not torch.equal(before, after)


def test_the_trace_shows_a_reduction_that_left_before_backward_ended(tmp_path):
    model = network()
    optimizer = wrapped(model, groups=[])
    path = tmp_path / "trace.json"
    hvd.start_timeline(str(path))
    model(batch(hvd.rank(), 0)).sum().backward()
    ended_us = time.monotonic_ns() / 1000
    optimizer.step()
    hvd.stop_timeline()
    own = path if hvd.rank() == 0 else tmp_path / f"trace.json.{hvd.rank()}"
    spans = [row for row in json.loads(own.read_text()) if row["name"] == "NEGOTIATE_ALLREDUCE"]
    assert len(spans) == 4
    assert min(row["ts"] for row in spans) < ended_us
