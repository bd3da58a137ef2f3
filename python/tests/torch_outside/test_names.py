"""Horovod's module names, as `python -m dtrain.horovod` finds them."""

import subprocess
import sys

import pytest

import dtrain.horovod.names

MODULES = {
    "horovod": "run __version__",
    "horovod.torch": "init allreduce DistributedOptimizer SyncBatchNorm elastic Compression",
    "horovod.torch.mpi_ops": "allreduce_async_ synchronize Average rank ProcessSet",
    "horovod.torch.functions": "broadcast_parameters broadcast_object",
    "horovod.torch.optimizer": "DistributedOptimizer",
    "horovod.torch.compression": "Compression Compressor",
    "horovod.torch.sync_batch_norm": "SyncBatchNorm",
    "horovod.torch.elastic": "run run_fn init shutdown TorchState ElasticSampler",
    "horovod.torch.elastic.state": "TorchState get_handler_registry set_handler_registry",
    "horovod.torch.elastic.sampler": "ElasticSampler",
    "horovod.common": "",
    "horovod.common.exceptions": "HorovodInternalError HostsUpdatedInterrupt",
    "horovod.common.util": "split_list num_rank_is_power_2 is_iterable env extension_available check_extension"
    " gpu_available check_installed_version is_version_greater_equal_than",
    "horovod.common.process_sets": "ProcessSet global_process_set add_process_set remove_process_set",
    "horovod.common.basics": "rank size is_initialized",
    "horovod.common.elastic": "State ObjectState run_fn",
    "horovod.runner": "run",
    "horovod.runner.util.threads": "in_thread",
}


def run(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=120)


def test_modules_have_their_names_and_are_those_of_this_package(tmp_path):
    lines = ["import importlib, sys"]
    for module, names in MODULES.items():
        own = dtrain.horovod.names.own_name(module)
        lines.append(f"one = importlib.import_module({module!r})")
        lines.append(f"assert one is importlib.import_module({own!r})")
        lines.append(f"assert one.__spec__.name == one.__name__ == {own!r}")
        lines.extend(f"one.{name}" for name in names.split())
    lines.append("import horovod.torch as hvd")
    lines.append("import horovod")
    lines.append("assert horovod.torch is hvd and horovod.run")
    lines.append("print(sys.argv[1:], __name__)")
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    ended = run("-m", "dtrain.horovod", str(script), "--lr", "1")
    assert ended.stdout == "['--lr', '1'] __main__\n", ended.stderr
    assert run(str(script)).returncode == 1


def test_scripts_may_ask_whether_a_module_is_there(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
from importlib.util import find_spec
names = "horovod", "horovod.torch", "horovod.runner", "horovod.spark", "horovod.tensorflow", "horovod.mxnet"
print([name for name in names if find_spec(name)])
try:
    import horovod.spark
except ImportError as error:
    print(error)
""")
    ended = run("-m", "dtrain.horovod", str(script))
    there, sentence = ended.stdout.splitlines()
    assert there == "['horovod', 'horovod.torch', 'horovod.runner', 'horovod.tensorflow']"
    assert sentence.startswith(
        "horovod.spark is not part of dtrain, which has horovod.torch, horovod.tensorflow and horovod.keras"
    )


def test_a_module_is_run_too(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("import horovod.torch, sys\nprint(sys.argv[1:])\n")
    monkeypatch.chdir(tmp_path)
    ended = run("-m", "dtrain.horovod", "-m", "train", "x")
    assert ended.stdout == "['x']\n", ended.stderr
    for words in ([], ["--lr"], ["-m"]):
        ended = run("-m", "dtrain.horovod", *words)
        assert ended.returncode == 1
        assert ended.stderr.startswith("usage: python -m dtrain.horovod")


CHILD = """
import multiprocessing, sys
import horovod.common.util as util
def work(queue):
    import horovod
    queue.put((horovod.__name__, util.__name__))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    child.join()
    print(child.exitcode, queue.get() if child.exitcode == 0 else None)
"""


@pytest.mark.parametrize(("method", "as_module"), [("spawn", False), ("forkserver", False), ("forkserver", True)])
def test_children_find_the_modules(method, as_module, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(CHILD)
    monkeypatch.chdir(tmp_path)
    ended = run("-m", "dtrain.horovod", *(["-m", "train"] if as_module else ["train.py"]), method)
    assert ended.stdout == "0 ('dtrain.horovod', 'dtrain.horovod.common.util')\n", ended.stderr


@pytest.mark.parametrize("name", ["mxnet", "spark", "ray"])
def test_other_frameworks_get_a_sentence(name, tmp_path):
    script = tmp_path / "script.py"
    for line in (f"import horovod.{name}", f"from horovod import {name}", f"import horovod.{name}.elastic"):
        script.write_text(line)
        ended = run("-m", "dtrain.horovod", str(script))
        assert f"ModuleNotFoundError: horovod.{name}" in ended.stderr
        assert "is not part of dtrain" in ended.stderr


@pytest.mark.parametrize("line", ["import horovod.tensorflow", "from horovod import keras"])
def test_tensorflow_that_is_not_installed_gets_a_sentence(line, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(line)
    ended = run("-m", "dtrain.horovod", str(script))
    assert "ImportError: dtrain.tensorflow needs TensorFlow, which cannot be imported" in ended.stderr


UTIL = """
import os
from horovod import torch
from horovod.common import util
os.environ["A"] = "before"
with util.env(A="1", B="2", C=None):
    assert (os.environ["A"], os.environ["B"], "C" in os.environ) == ("1", "2", False)
assert os.environ["A"] == "before" and "B" not in os.environ
assert util.extension_available("torch") and not util.extension_available("mxnet")
assert util.is_version_greater_equal_than("1.13.0a0", "1.9.1")
assert not util.is_version_greater_equal_than("1.9.1", "1.13.0")
util.check_extension("horovod.torch", "", "")
print(torch.__name__)
import horovod.runner.launch
"""


def test_small_functions_and_modules_that_are_not_here(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UTIL)
    ended = run("-m", "dtrain.horovod", str(script))
    assert ended.stdout == "dtrain.torch\n", ended.stderr
    assert "ModuleNotFoundError: horovod.runner.launch is not part of dtrain" in ended.stderr


RUN = """
import horovod, sys
def job(x, y=0):
    import horovod.torch as hvd
    hvd.init()
    return hvd.rank(), hvd.size(), x + y
if __name__ == "__main__":
    expected = [(0, 2, 3), (1, 2, 3)]
    assert horovod.run(job, (1,), {{"y": 2}}, 2) == expected
    assert horovod.run(job, args=(1,), kwargs={{"y": 2}}, np=2, hosts="localhost:2", use_gloo=True, verbose=1,
                       disable_cache=True, start_timeout=60, executable=sys.executable, output_filename={folder!r},
                       network_interfaces=["lo"], ssh_port=22) == expected
    for wrong in ({{"use_mpi": True}}, {{"mpi_args": "-x A"}}, {{"min_num_proc": 1}}, {{"max_np": 3}}, {{"slots": 2}},
                  {{"host_discovery_script": "x"}}, {{"hosts": "a", "hostfile": "b"}}):
        try: horovod.run(job, (1,), **wrong)
        except ValueError as error: assert next(reversed(wrong)).replace("max_np", "max_num_proc") in str(error), error
        else: raise AssertionError(wrong)
    print("all")
"""


def test_horovod_run_takes_the_arguments_of_horovod(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(RUN.format(folder=str(tmp_path / "files")))
    ended = run("-m", "dtrain.horovod", str(script))
    assert ended.stdout.splitlines()[-1:] == ["all"], ended
    assert (tmp_path / "files" / "rank.1" / "stdout").exists()


BACKEND_ALONE = """
import sys, torch
imported = {name.split(".")[0] for name in sys.modules}
assert "dtrain_torch_backend" in imported and "dtrain" not in imported
assert torch.distributed.is_backend_available("dtrain")
torch.distributed.init_process_group("dtrain", store=torch.distributed.HashStore(), rank=0, world_size=1)
tensor = torch.ones(2)
torch.distributed.all_reduce(tensor)
assert torch.distributed.get_backend() == "dtrain"
print(tensor.tolist())
"""


def test_torch_alone_finds_the_backend(monkeypatch):
    ended = run("-c", BACKEND_ALONE)
    assert ended.stdout == "[1.0, 1.0]\n", ended.stderr
    # A package that is damaged, or a torch that is unknown, stops no other program.
    ended = run(
        "-c",
        "import dtrain_torch_backend, sys\nsys.modules['torch.distributed.distributed_c10d'] = 1\n"
        "dtrain_torch_backend.register()",
    )
    assert ended.returncode == 0, ended.stderr
