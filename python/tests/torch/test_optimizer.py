"""DistributedOptimizer, against one process that has the batches of all ranks."""

import contextlib
import copy
import warnings

import pytest
import torch
import torch.utils.checkpoint

import dtrain.torch as hvd


def network(seed=7):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.Linear(8, 3))


def batch(rank, step):
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * rank + step))


def loss_of(model, inputs):
    return model(inputs).pow(2).mean()


def single(optimizer_class, steps, passes=1, **options):
    """Return the weights that one process gets with the average of the losses of all ranks."""
    model = network()
    optimizer = optimizer_class(model.parameters(), **options)
    for step in range(steps):
        optimizer.zero_grad()
        for one in range(passes):
            sum(loss_of(model, batch(rank, step * passes + one)) for rank in range(hvd.size())).div(
                hvd.size()
            ).backward()
        optimizer.step()
    return model


def distributed(optimizer_class, steps, passes=1, options=None, **terms):
    model = network()
    optimizer = optimizer_class(model.parameters(), **(options or {"lr": 0.1}))
    optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters(), backward_passes_per_step=passes, **terms)
    for step in range(steps):
        optimizer.zero_grad()
        for one in range(passes):
            loss_of(model, batch(hvd.rank(), step * passes + one)).backward()
        optimizer.step()
    return model, optimizer


def close(model, other, tolerance=1e-5):
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return all(torch.allclose(one, two, rtol=tolerance, atol=tolerance) for one, two in pairs)


TERMS = {
    "plain": {},
    "two groups": {"groups": 2},
    "many groups": {"groups": 100},
    "predivided": {"gradient_predivide_factor": 2.0},
    "sparse as dense": {"sparse_as_dense": True},
}


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("passes", [1, 2])
def test_weights_are_those_of_one_process(terms, passes):
    model, _ = distributed(torch.optim.SGD, 3, passes, **TERMS[terms])
    assert close(model, single(torch.optim.SGD, 3, passes, lr=0.1))


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop])
def test_any_optimizer_can_be_wrapped(kind):
    model, optimizer = distributed(kind, 3)
    assert isinstance(optimizer, kind)
    assert close(model, single(kind, 3, lr=0.1), 1e-4)


@pytest.mark.parametrize("compression", [hvd.Compression.fp16, hvd.Compression.bf16])
@pytest.mark.parametrize("groups", [None, 2])
def test_gradients_are_sent_in_fewer_bits(compression, groups):
    model, _ = distributed(torch.optim.SGD, 3, compression=compression, groups=groups)
    assert close(model, single(torch.optim.SGD, 3, lr=0.1), 0.02)


def test_groups_may_be_lists_of_parameters():
    model = network()
    groups = [[model[0].weight, model[0].bias], [model[2].weight]]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), groups=groups)
    for step in range(3):
        optimizer.zero_grad()
        loss_of(model, batch(hvd.rank(), step)).backward()
        optimizer.step()
    assert close(model, single(torch.optim.SGD, 3, lr=0.1))


def test_gradients_can_be_clipped_before_the_step():
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    loss_of(model, batch(hvd.rank(), 0)).backward()
    optimizer.synchronize()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    assert hvd.allgather(norm.reshape(1)).eq(norm).all()
    with warnings.catch_warnings(), optimizer.skip_synchronize():
        warnings.simplefilter("error")
        optimizer.step()
    optimizer.zero_grad()
    loss_of(model, batch(hvd.rank(), 1)).backward()
    optimizer.synchronize()
    with pytest.warns(UserWarning, match=r"optimizer\.step\(\) called without optimizer\.skip_synchronize\(\)"):
        optimizer.step()


def evaluations(model, optimizer, step, synchronizes=False):
    """Return a closure, and the list that grows each time that it is called."""
    calls = []

    def closure():
        calls.append(step)
        optimizer.zero_grad()
        loss = loss_of(model, batch(hvd.rank(), step))
        loss.backward()
        if synchronizes:
            optimizer.synchronize()
        return loss

    return closure, calls


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
@pytest.mark.parametrize("synchronizes", [False, True])
def test_a_closure_computes_the_gradients_of_all_ranks(kind, synchronizes):
    model = network()
    optimizer = hvd.DistributedOptimizer(kind(model.parameters(), lr=0.1), model.named_parameters())
    for step in range(3):
        closure, calls = evaluations(model, optimizer, step, synchronizes)
        with optimizer.skip_synchronize() if synchronizes else contextlib.nullcontext():
            own = optimizer.step(closure)
        assert calls == [step]
        assert own.requires_grad
    assert close(model, single(kind, 3, lr=0.1), 1e-4)


@pytest.mark.parametrize("options", [{"max_iter": 1}, {"max_iter": 8}, {"line_search_fn": "strong_wolfe"}])
def test_an_optimizer_that_calls_its_closure_several_times(options):
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.LBFGS(model.parameters(), **options), model.named_parameters())
    expected = network()
    single = torch.optim.LBFGS(expected.parameters(), **options)

    def closure_of_all():
        single.zero_grad()
        loss = sum(loss_of(expected, batch(rank, 0)) for rank in range(hvd.size())) / hvd.size()
        loss.backward()
        return loss

    closure, calls = evaluations(model, optimizer, 0)
    assert torch.allclose(optimizer.step(closure), single.step(closure_of_all))
    assert hvd.allgather(torch.tensor([len(calls)])).eq(len(calls)).all()
    for parameter in model.parameters():
        assert hvd.broadcast(parameter.detach(), 0).equal(parameter)
    assert close(model, expected, 1e-3)


def test_gradients_may_be_computed_before_a_step_with_a_closure():
    model = network()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), op=hvd.Sum
    )
    loss = loss_of(model, batch(0, 0)).div(hvd.size())
    loss.backward()
    assert optimizer.step(lambda: loss) is loss
    expected = network()
    loss_of(expected, batch(0, 0)).backward()
    torch.optim.SGD(expected.parameters(), lr=0.1).step()
    assert close(model, expected)


@pytest.mark.parametrize("named", [True, False])
def test_parameters_are_added_to_a_wrapped_optimizer(named):
    model = network()
    plain = torch.optim.SGD(model[3].parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(plain, model.named_parameters() if named else None)
    optimizer.add_param_group({"params": model[:3].parameters(), "lr": 0.1})
    for step in range(3):
        optimizer.zero_grad()
        loss_of(model, batch(hvd.rank(), step)).backward()
        assert len(optimizer._dtrain._pending) == 2  # groups of small gradients
        optimizer.step()
    assert close(model, single(torch.optim.SGD, 3, lr=0.1))


def test_a_step_takes_part_for_parameters_without_a_gradient():
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    # Only rank 0 uses the last layer.
    output = model[:3](batch(hvd.rank(), 0))
    (model[3](output) if hvd.rank() == 0 else output).sum().backward()
    optimizer.step()
    for parameter in model.parameters():
        assert hvd.broadcast(parameter.detach(), 0).equal(parameter)


def test_layers_may_be_frozen_and_thawed():
    model = network()
    model[0].weight.requires_grad = False
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    before = model[0].weight.clone()
    for step in range(4):
        model[0].weight.requires_grad = step >= 2
        model[3].weight.requires_grad = step % 2 == 0
        optimizer.zero_grad()
        loss_of(model, batch(hvd.rank(), step)).backward()
        optimizer.step()
        assert model[0].weight.equal(before) == (step < 2)
        for parameter in model.parameters():
            assert hvd.broadcast(parameter.detach(), 0).equal(parameter)


def test_a_parameter_may_be_used_twice_and_recomputed():
    model = network()
    layer = model[2]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    expected = network()

    def loss(net, one, inputs):
        hidden = torch.utils.checkpoint.checkpoint(net[0], inputs.requires_grad_(), use_reentrant=True)
        return net[3](one(one(hidden))).pow(2).mean()

    loss(model, layer, batch(hvd.rank(), 0)).backward()
    optimizer.step()
    sum(loss(expected, expected[2], batch(rank, 0)) for rank in range(hvd.size())).div(hvd.size()).backward()
    with torch.no_grad():
        for parameter in expected.parameters():
            parameter.sub_(0.1 * parameter.grad)
    assert close(model, expected)


def test_sparse_gradients():
    for as_dense in (False, True):
        torch.manual_seed(1)
        table = torch.nn.Embedding(10, 3, sparse=True)
        weights = table.weight.detach().clone()
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(table.parameters(), lr=1.0), table.named_parameters(), sparse_as_dense=as_dense
        )
        table(torch.tensor([hvd.rank(), 9])).sum().backward()
        optimizer.step()
        expected = weights.clone()
        for rank in range(hvd.size()):
            expected[rank] -= 1 / hvd.size()
        expected[9] -= 1
        assert torch.allclose(table.weight, expected)


def test_adasum_combines_the_steps_of_all_ranks():
    model = network()
    before = copy.deepcopy(model)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), op=hvd.Adasum
    )
    # Equal gradients give the step of one rank.
    loss_of(model, batch(0, 0)).backward()
    optimizer.step()
    loss_of(before, batch(0, 0)).backward()
    torch.optim.SGD(before.parameters(), lr=0.1).step()
    assert close(model, before)


def test_a_process_set_has_gradients_of_its_own():
    if hvd.size() == 1:
        pytest.skip("one rank has no set but that of all")
    rest = hvd.add_process_set(range(1, hvd.size()))
    model = network()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), process_set=rest
    )
    loss_of(model, batch(hvd.rank(), 0)).backward()
    own = model[0].weight.grad.clone()
    optimizer.synchronize()
    gradients = hvd.allgather(model[0].weight.grad.unsqueeze(0))
    assert gradients[1:].eq(gradients[1]).all()
    assert (hvd.rank() != 0) or own.equal(model[0].weight.grad)
    hvd.remove_process_set(rest)


class Strict(torch.optim.SGD):
    """An optimizer whose constructor has arguments without defaults."""

    def __init__(self, params, rate, *, note):
        super().__init__(params, lr=rate, momentum=0.9)
        self.note = note


def test_state_hooks_and_class_of_the_optimizer_stay():
    model = network()
    plain = Strict(model.parameters(), 0.1, note="kept")
    loss_of(model, batch(0, 0)).backward()
    plain.step()
    plain.zero_grad()
    state = copy.deepcopy(plain.state_dict())
    wrapped = hvd.DistributedOptimizer(plain, model.named_parameters())
    assert isinstance(wrapped, Strict)
    assert wrapped.note == "kept"
    assert len(wrapped.state_dict()["state"]) == len(state["state"]) == 6
    wrapped.zero_grad(set_to_none=True)
    assert all(parameter.grad is None for parameter in model.parameters())
    if not hasattr(wrapped, "register_step_pre_hook"):
        return
    steps = []
    wrapped.register_step_pre_hook(lambda *_: steps.append("before"))
    wrapped.register_step_post_hook(lambda *_: steps.append("after"))
    for _ in range(2):
        loss_of(model, batch(0, 1)).backward()
        wrapped.step()
        wrapped.load_state_dict(wrapped.state_dict())
    assert steps == ["before", "after"] * 2


@pytest.mark.filterwarnings("default")
def test_schedulers_and_scaled_losses():
    model = network()
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(plain, 1, gamma=0.5)
    optimizer = hvd.DistributedOptimizer(plain, model.named_parameters())
    second = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    warnings.simplefilter("error")  # such as one that the scheduler was called before the optimizer
    loss_of(model, batch(hvd.rank(), 0)).backward()
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    second.step()
    for parameter in model.parameters():
        assert hvd.broadcast(parameter.detach(), 0).equal(parameter)
    if not hasattr(torch, "amp") or not hasattr(torch.amp, "GradScaler"):
        return
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    optimizer.zero_grad()
    scaler.scale(loss_of(model, batch(hvd.rank(), 1))).backward()
    optimizer.synchronize()
    scaler.unscale_(optimizer)
    with optimizer.skip_synchronize():
        scaler.step(optimizer)
    scaler.update()
    for parameter in model.parameters():
        assert hvd.broadcast(parameter.detach(), 0).equal(parameter)


def test_gradients_leave_before_backward_has_ended():
    model = network()
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(plain, model.named_parameters(), groups=[])
    seen = []

    def see(_):
        seen.append(len(optimizer._dtrain._pending))

    model[0].weight.register_hook(see)
    loss_of(model, batch(0, 0)).backward()
    assert 0 < seen[0] < 6
    optimizer.step()


def test_small_gradients_are_reduced_together():
    small = [torch.nn.Parameter(torch.ones(2, 3)) for _ in range(70)]
    large, double = torch.nn.Parameter(torch.ones(20000)), torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    parameters = [*small[:40], large, double, *small[40:]]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=1.0, weight_decay=0.5))
    frozen = small[3]
    frozen.requires_grad = False
    sum((one * (1 + hvd.rank())).sum() for one in parameters).backward()
    # The large one, the double one and the second group have left. The first group waits for the frozen one.
    assert len(optimizer._dtrain._pending) == 3
    optimizer.step()
    assert frozen.grad is None
    average = (1 + hvd.size()) / 2
    for one in parameters:
        assert one.detach().eq(1.0 if one is frozen else 1 - average - 0.5).all()


WRONG = {
    "names twice": lambda model, plain: hvd.DistributedOptimizer(plain, [("x", p) for p in model.parameters()]),
    "missing names": lambda model, plain: hvd.DistributedOptimizer(plain, list(model.named_parameters())[1:]),
    "no pairs": lambda model, plain: hvd.DistributedOptimizer(plain, list(model.parameters())),
    "overlapping groups": lambda model, plain: hvd.DistributedOptimizer(
        plain, groups=[[model[0].weight], [model[0].weight]]
    ),
    "no groups": lambda _, plain: hvd.DistributedOptimizer(plain, groups=[["x"]]),
    "a negative number of groups": lambda _, plain: hvd.DistributedOptimizer(plain, groups=-1),
    "groups that are no list": lambda _, plain: hvd.DistributedOptimizer(plain, groups="ab"),
    "a reduction by its name": lambda _, plain: hvd.DistributedOptimizer(plain, op="sum"),
    "an unknown compression": lambda _, plain: hvd.DistributedOptimizer(plain, compression="fp16"),
    "no process set": lambda _, plain: hvd.DistributedOptimizer(plain, process_set=[0]),
    "a process set of no job": lambda _, plain: hvd.DistributedOptimizer(
        plain, process_set=hvd.ProcessSet([hvd.rank()])
    ).synchronize(),
    "a factor of 0": lambda _, plain: hvd.DistributedOptimizer(plain, gradient_predivide_factor=0),
    "no passes": lambda _, plain: hvd.DistributedOptimizer(plain, backward_passes_per_step=0),
    "a factor without an average": lambda _, plain: hvd.DistributedOptimizer(
        plain, op=hvd.Sum, gradient_predivide_factor=2.0
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments(what):
    model = network()
    with pytest.raises(ValueError, match=r"."):
        WRONG[what](model, torch.optim.SGD(model.parameters(), lr=0.1))


def test_calls_in_a_wrong_order():
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    loss_of(model, batch(0, 0)).backward()
    with pytest.raises(AssertionError, match="zero_grad"):
        optimizer.zero_grad()
    optimizer.step()
    loss_of(model, batch(0, 0)).backward()
    with pytest.raises(AssertionError, match="backward_passes_per_step"):
        loss_of(model, batch(0, 0)).backward()
    optimizer.synchronize()
