"""Parameters, states of optimizers, objects, batch normalisation and elastic state."""

import contextlib
import itertools
import pickle

import pytest
import torch

import dtrain
import dtrain.torch as hvd


def network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))


def test_parameters_become_those_of_one_rank():
    root = hvd.size() - 1
    for given in (
        lambda model: model.state_dict(),
        lambda model: model.named_parameters(),
        lambda model: list(model.parameters()),
    ):
        model = network(hvd.rank())
        hvd.broadcast_parameters(given(model), root_rank=root)
        for one, expected in zip(model.parameters(), network(root).parameters(), strict=True):
            assert torch.equal(one, expected)
    for wrong in (3, "ab", [1, 2], [(1, torch.ones(1))]):
        with pytest.raises(ValueError, match="params"):
            hvd.broadcast_parameters(wrong, 0)


OPTIMIZERS = [
    name
    for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "Rprop", "Adafactor", "Muon")
    if hasattr(torch.optim, name)
]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_state_of_an_optimizer_becomes_that_of_one_rank(name, wrapped):
    model = torch.nn.Linear(4, 4, bias=False)
    options = {"momentum": 0.9} if name == "SGD" else {}
    if name in ("SGD", "Adam", "AdamW"):
        options["weight_decay"] = 0.1
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1 * (1 + hvd.rank()), **options)
    if wrapped:
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    skips = optimizer.skip_synchronize if wrapped else contextlib.nullcontext
    if hvd.rank() == 0:
        for _ in range(2):
            model.weight.grad = torch.full((4, 4), 0.5)
            with skips():
                optimizer.step()
    before = model.weight.detach().clone()
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert torch.equal(model.weight, before)
    assert optimizer.param_groups[0]["lr"] == 0.1
    states = hvd.allgather_object(optimizer.state_dict())
    first = states[0]["state"]
    for state in states:
        assert state["param_groups"] == states[0]["param_groups"]
        assert state["state"].keys() == first.keys()
        for number, values in state["state"].items():
            for key, value in values.items():
                assert type(value) is type(first[number][key])
                assert torch.equal(torch.as_tensor(value), torch.as_tensor(first[number][key]))
    model.weight.grad = torch.full((4, 4), 0.5)
    with skips():
        optimizer.step()


def test_a_new_optimizer_gets_gradients_and_changes_nothing():
    model = network(1)
    model[0].bias.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
    before = [one.detach().clone() for one in model.parameters()]
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert all(torch.equal(one, old) for one, old in zip(model.parameters(), before, strict=True))
    for one in model.parameters():
        assert (one.grad is not None) == one.requires_grad
    with pytest.raises(ValueError, match="LBFGS"):
        hvd.broadcast_optimizer_state(torch.optim.LBFGS(model.parameters()), 0)


DEVICES = ["meta", *(["cuda:0"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", [{}, {"capturable": True}], ids=str)
def test_the_state_of_an_optimizer_is_on_the_device_of_its_parameter(device, options):
    """Rank 0 has parameters on the CPU. Parameters on a meta device have no memory, and show where they are."""
    own = torch.nn.Linear(4, 4, bias=False, dtype=torch.bfloat16)
    if hvd.rank() > 0:
        own = own.to(device)
    optimizer = torch.optim.Adam(own.parameters(), lr=0.1)
    wide = {"exp_avg": torch.full((4, 4), 1 / 3), "parts": [torch.ones(2, dtype=torch.int64), None]}
    optimizer.state[own.weight] = {"step": torch.tensor(2.0), **wide}
    optimizer.param_groups[0].update(options)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    state = optimizer.state[own.weight]
    assert (state["exp_avg"].dtype, state["parts"][0].dtype) == (torch.float32, torch.int64)
    assert state["exp_avg"].device == state["parts"][0].device == own.weight.device
    assert state["step"].device.type == (own.weight.device.type if options else "cpu")
    assert options or state["step"] == 2
    if own.weight.device.type != "meta":
        assert torch.equal(state["exp_avg"].cpu(), wide["exp_avg"])


def test_objects():
    value = {"rank": hvd.rank(), "text": "x" * hvd.rank()}
    assert hvd.broadcast_object(value, root_rank=0) == {"rank": 0, "text": ""}
    assert hvd.broadcast_object(value if hvd.rank() == 0 else None, 0, name="named") == {"rank": 0, "text": ""}
    assert [one["rank"] for one in hvd.allgather_object(value)] == list(range(hvd.size()))
    assert hvd.allgather_object(lambda x: x + 1, name="functions")[0](1) == 2
    with pytest.raises(ValueError, match="pickled"):
        hvd.allgather_object(iter(open(__file__)))  # noqa: SIM115


def test_bytes_that_no_rank_has_sealed_are_not_unpickled():
    content = torch.tensor(list(pickle.dumps("text")) + [0] * 32, dtype=torch.uint8)
    if hvd.rank() == 0:
        parts = {"size": torch.tensor([content.numel()]), "content": content}
        for place, tensor in parts.items():
            hvd.broadcast(tensor, 0, f"object.forged.{place}")
        for place, tensor in parts.items():
            hvd.allgather(tensor, f"object.forged.{place}")
        return
    with pytest.raises(hvd.HorovodInternalError, match="the object of rank 0 is not unpickled"):
        hvd.broadcast_object(None, 0, "forged")
    with pytest.raises(hvd.HorovodInternalError, match="the object of rank 0 is not unpickled"):
        hvd.allgather_object(None, "forged")


@pytest.mark.parametrize("shape", [(6, 4), (6, 4, 5), (6, 4, 3, 3)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_is_that_of_the_whole_batch(shape, affine):
    inputs = [torch.randn(shape, generator=torch.Generator().manual_seed(rank)) * (rank + 1) for rank in range(4)]
    inputs = inputs[: hvd.size()]
    kind = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[len(shape)]
    whole, ours = kind(4, affine=affine), hvd.SyncBatchNorm(4, affine=affine)
    weights = torch.randn(hvd.size() * shape[0], *shape[1:], generator=torch.Generator().manual_seed(9))
    joined = torch.cat(inputs).requires_grad_()
    own = inputs[hvd.rank()].clone().requires_grad_()
    rows = slice(hvd.rank() * shape[0], (hvd.rank() + 1) * shape[0])
    for _ in range(2):
        expected, found = whole(joined), ours(own)
    assert torch.allclose(found, expected[rows], atol=1e-5)
    (expected * weights).sum().backward()
    (found * weights[rows]).sum().backward()
    assert torch.allclose(own.grad, joined.grad[rows], atol=1e-5)
    assert torch.allclose(ours.running_mean, whole.running_mean, atol=1e-5)
    assert torch.allclose(ours.running_var, whole.running_var, atol=1e-5)
    if affine:
        total = hvd.allreduce(ours.weight.grad, op=hvd.Sum)
        assert torch.allclose(total, whole.weight.grad, atol=1e-4)
    ours.eval()
    whole.eval()
    assert torch.allclose(ours(own), whole(own), atol=1e-5)


def test_elastic_state_is_saved_restored_and_synchronized():
    model = network(hvd.rank())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = hvd.elastic.TorchState(model, optimizer, batch=hvd.rank(), epoch=3)
    state.sync()
    assert (state.batch, state.epoch) == (0, 3)
    first = [one.detach().clone() for one in model.parameters()]
    assert torch.equal(first[0], network(0)[0].weight)
    with torch.no_grad():
        model[0].weight.add_(1)
    state.batch = 5
    state.restore()
    assert state.batch == 0
    assert torch.equal(model[0].weight, first[0])
    state.batch = 6
    state.commit()
    state.batch = 7
    state.restore()
    assert state.batch == 6


def test_an_elastic_sampler_continues_after_what_was_processed():
    data = list(range(8 * hvd.size()))
    sampler = hvd.elastic.ElasticSampler(data, shuffle=True)
    parts = hvd.allgather_object(list(sampler))
    assert sorted(itertools.chain(*parts)) == data
    sampler.record_batch(0, 2)
    assert sampler.processed_num == 2 * hvd.size()
    state = hvd.elastic.TorchState(sampler=sampler)
    state.sync()
    assert len(sampler) == 6
    assert len(set(itertools.chain(*hvd.allgather_object(list(sampler))))) == 6 * hvd.size()
    sampler.set_epoch(1)
    assert len(sampler) == 8


def test_elastic_runs_repeat_after_changes_of_hosts_and_raise_failures():
    from dtrain.horovod.common.exceptions import HostsUpdatedInterrupt

    state = hvd.elastic.TorchState(step=hvd.rank())
    calls = []
    state.register_reset_callbacks([lambda: calls.append("reset")])

    @hvd.elastic.run
    def train(state, last):
        calls.append(state.step)
        if len(calls) == 1:
            hvd.barrier()
            raise HostsUpdatedInterrupt(False)
        return last

    assert train(state, "done") == "done"
    assert calls == [0, "reset", 0]

    @hvd.elastic.run
    def fail(_):
        raise hvd.HorovodInternalError("a rank was lost", "peer_lost", 1)

    with pytest.raises(dtrain.Error, match="a rank was lost"):
        fail(state)
