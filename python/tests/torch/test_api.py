"""The names, arguments, positions and defaults of Horovod's API."""

import inspect

import pytest

import dtrain.torch as hvd
from dtrain.torch.compression import Compression

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
    "Compression.none.compress": "tensor",
    "Compression.none.decompress": "tensor, ctx",
}
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


@pytest.mark.parametrize("name", CONSTANTS)
def test_reductions_are_numbers(name):
    assert getattr(hvd, name) == CONSTANTS[name]


def test_a_script_that_asks_learns_what_there_is():
    assert not hvd.mpi_built()
    assert not hvd.mpi_enabled()
    assert hvd.gloo_built()
    assert hvd.gloo_enabled()
    assert hvd.nccl_built() == 0
    assert [hvd.ddl_built(), hvd.ccl_built(), hvd.cuda_built(), hvd.rocm_built()] == [False] * 4
    assert hvd.is_homogeneous()
    with pytest.raises(ValueError, match="MPI is not part"):
        hvd.mpi_threads_supported()
    assert issubclass(hvd.HorovodInternalError, RuntimeError)
