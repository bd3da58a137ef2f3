"""The names, arguments, positions and defaults of Horovod's API."""

import inspect

import pytest
import torch

import dtrain.torch as hvd
from dtrain._version import cuda
from dtrain.horovod.common.exceptions import HostsUpdatedInterrupt
from dtrain.horovod.runner import run
from dtrain.torch.compression import Compression, Compressor
from dtrain.torch.elastic.state import get_handler_registry, set_handler_registry

SCALES = "prescale_factor=1.0, postscale_factor=1.0"
SET = "process_set=all"
NAMED = f"name=None, {SET}"
REDUCED = f"average=None, name=None, op=None, {SCALES}, {SET}"
COMPRESSED = f"average=None, name=None, compression=none, op=None, {SCALES}, {SET}"
SCATTERED = f"name=None, compression=none, op=0, {SET}, {SCALES}"
SIGNATURES = {
    "init": "comm=None, process_sets=None",
    **dict.fromkeys(
        [
            *("shutdown", "is_initialized", "rank", "size", "local_rank", "local_size", "cross_rank", "cross_size"),
            *("is_homogeneous", "mpi_threads_supported", "mpi_built", "mpi_enabled", "gloo_built", "gloo_enabled"),
            *("nccl_built", "ddl_built", "ccl_built", "cuda_built", "rocm_built", "stop_timeline"),
        ],
        "",
    ),
    "start_timeline": "file_path, mark_cycles=False",
    "allreduce": f"tensor, {COMPRESSED}",
    "allreduce_": f"tensor, {REDUCED}",
    "allreduce_async": f"tensor, {REDUCED}",
    "allreduce_async_": f"tensor, {REDUCED}",
    "grouped_allreduce": f"tensors, {COMPRESSED}",
    "grouped_allreduce_": f"tensors, {REDUCED}",
    "grouped_allreduce_async": f"tensors, {REDUCED}",
    "grouped_allreduce_async_": f"tensors, {REDUCED}",
    "sparse_allreduce_async": f"tensor, name, op, {SET}",
    "allgather": f"tensor, {NAMED}",
    "allgather_async": f"tensor, {NAMED}",
    "grouped_allgather": f"tensors, {NAMED}",
    "grouped_allgather_async": f"tensors, {NAMED}",
    "broadcast": f"tensor, root_rank, {NAMED}",
    "broadcast_": f"tensor, root_rank, {NAMED}",
    "broadcast_async": f"tensor, root_rank, {NAMED}",
    "broadcast_async_": f"tensor, root_rank, {NAMED}",
    "alltoall": f"tensor, splits=None, {NAMED}",
    "alltoall_async": f"tensor, splits=None, {NAMED}",
    "reducescatter": f"tensor, {SCATTERED}",
    "reducescatter_async": f"tensor, name=None, op=0, {SET}, {SCALES}",
    "grouped_reducescatter": f"tensors, {SCATTERED}",
    "grouped_reducescatter_async": f"tensors, name=None, op=0, {SET}, {SCALES}",
    "join": "device=-1",
    "barrier": SET,
    "poll": "handle",
    "synchronize": "handle",
    "ProcessSet": "ranks_or_comm",
    "add_process_set": "process_set",
    "remove_process_set": "process_set",
    "broadcast_parameters": "params, root_rank",
    "broadcast_optimizer_state": "optimizer, root_rank, model=None",
    "broadcast_object": f"obj, root_rank=0, name=None, {SET}",
    "allgather_object": "obj, name=None",
    "DistributedOptimizer": "optimizer, named_parameters=None, compression=none, backward_passes_per_step=1, op=0,"
    f" gradient_predivide_factor=1.0, num_groups=0, groups=None, sparse_as_dense=False, {SET}",
    "SyncBatchNorm": "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True",
    "elastic.run": "func",
    "elastic.ElasticSampler": "dataset, shuffle=True, seed=0",
    **{f"Compression.{kind}.compress": "tensor" for kind in ("none", "fp16", "bf16")},
    **{f"Compression.{kind}.decompress": "tensor, ctx" for kind in ("none", "fp16", "bf16")},
    **dict.fromkeys(["ProcessSet.rank", "ProcessSet.size", "ProcessSet.included"], "self"),
    **{f"elastic.TorchState.{name}": "self" for name in ("save", "restore", "sync", "commit", "on_reset")},
    "elastic.TorchState.check_host_updates": "self",
    "elastic.TorchState.register_reset_callbacks": "self, callbacks",
    **dict.fromkeys(["elastic.ElasticSampler.state_dict", "elastic.ElasticSampler.reset"], "self"),
    "elastic.ElasticSampler.set_epoch": "self, epoch",
    "elastic.ElasticSampler.record_batch": "self, batch_idx, batch_size",
    "elastic.ElasticSampler.load_state_dict": "self, state_dict",
}
METHODS_OF_OPTIMIZERS = {
    "synchronize": "",
    "skip_synchronize": "",
    "step": "closure=None",
    "set_backward_passes_per_step": "passes",
    "load_state_dict": "state_dict",
}
ARGUMENTS_OF_RUN = (
    "func, args=(), kwargs=None, num_proc=1, min_num_proc=None, max_num_proc=None, slots=None, reset_limit=None,"
    " cooldown_range=None, hosts=None, hostfile=None, host_discovery_script=None, start_timeout=None, ssh_port=None,"
    " ssh_identity_file=None, disable_cache=None, output_filename=None, verbose=None, use_gloo=None, use_mpi=None,"
    " mpi_args=None, network_interface=None, network_interfaces=None, executable=None, np=None, min_np=None,"
    " max_np=None"
)
# The names of the package that are no functions.
OTHER_NAMES = {"Compression", "HorovodInternalError", "_version", "elastic", "global_process_set"}
CONSTANTS = {"Average": 0, "Sum": 1, "Adasum": 2, "Min": 3, "Max": 4, "Product": 5}
NAMES = {id(hvd.global_process_set): "all", id(Compression.none): "none"}


def shown(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={NAMES.get(id(parameter.default), repr(parameter.default))}"


def found(path: str):
    value = hvd
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_are_those_of_horovod(name):
    parameters = inspect.signature(found(name)).parameters.values()
    assert ", ".join(shown(one) for one in parameters) == SIGNATURES[name]
    assert all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)


def test_the_table_has_every_name_of_the_package():
    listed = {name.split(".")[0] for name in SIGNATURES} | CONSTANTS.keys() | OTHER_NAMES
    assert listed == set(hvd.__all__)


def shown_of(function) -> str:
    return ", ".join(shown(one) for one in inspect.signature(function).parameters.values())


def test_a_wrapped_optimizer_has_the_methods_of_horovods():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=0.1))
    assert isinstance(optimizer, torch.optim.SGD)
    assert {name: shown_of(getattr(optimizer, name)) for name in METHODS_OF_OPTIMIZERS} == METHODS_OF_OPTIMIZERS
    assert optimizer._parameter_names == {weight: "allreduce.noname.0.0"}
    optimizer.zero_grad(set_to_none=True)
    assert optimizer.step(lambda: 3.5) == 3.5


def test_process_sets_compressors_exceptions_and_handlers_are_those_of_horovod():
    assert (hvd.global_process_set.ranks, hvd.global_process_set.process_set_id) == (list(range(hvd.size())), 0)
    assert (hvd.global_process_set.rank(), hvd.global_process_set.size()) == (hvd.rank(), hvd.size())
    assert issubclass(Compression.fp16, Compressor)
    small, context = Compression.fp16.compress(torch.ones(2, dtype=torch.float64))
    assert (small.dtype, Compression.fp16.decompress(small, context).dtype) == (torch.float16, torch.float64)
    assert Compression.fp16.compress(torch.ones(2, dtype=torch.int32))[0].dtype == torch.int32
    assert issubclass(HostsUpdatedInterrupt, RuntimeError)
    assert HostsUpdatedInterrupt(skip_sync=True).skip_sync
    known = get_handler_registry()
    assert [kind for kind, _ in known] == [torch.nn.Module, torch.optim.Optimizer, hvd.elastic.ElasticSampler]
    set_handler_registry(known[:1])
    assert get_handler_registry() == known[:1]
    set_handler_registry(known)


def test_the_arguments_of_run_are_those_of_horovod():
    assert shown_of(run) == f"{ARGUMENTS_OF_RUN}, env=None"


@pytest.mark.parametrize("name", CONSTANTS)
def test_reductions_are_numbers(name):
    assert getattr(hvd, name) == CONSTANTS[name]


def test_a_script_that_asks_learns_what_there_is():
    assert not hvd.mpi_built()
    assert not hvd.mpi_enabled()
    assert hvd.gloo_built()
    assert hvd.gloo_enabled()
    assert hvd.cuda_built() == (cuda != "")
    assert hvd.nccl_built() == 0 or hvd.cuda_built()
    assert [hvd.ddl_built(), hvd.ccl_built(), hvd.rocm_built()] == [False] * 3
    assert hvd.is_homogeneous()
    with pytest.raises(ValueError, match="MPI is not part"):
        hvd.mpi_threads_supported()
    assert issubclass(hvd.HorovodInternalError, RuntimeError)
