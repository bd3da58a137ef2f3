"""Horovod's module names for TensorFlow and Keras, as `python -m dtrain.horovod` finds them."""

import os
import subprocess
import sys

import dtrain.horovod.names

MODULES = {
    "horovod.tensorflow": "init allreduce DistributedOptimizer DistributedGradientTape Compression elastic join"
    " BroadcastGlobalVariablesHook broadcast_variables broadcast_object_fn SyncBatchNormalization",
    "horovod.tensorflow.mpi_ops": "allgather rank_op size_op ProcessSet check_num_rank_power_of_2",
    "horovod.tensorflow.functions": "broadcast_variables allgather_object",
    "horovod.tensorflow.compression": "Compression Compressor",
    "horovod.tensorflow.elastic": "run TensorFlowState TensorFlowKerasState",
    "horovod.tensorflow.sync_batch_norm": "SyncBatchNormalization",
    "horovod.tensorflow.keras": "DistributedOptimizer load_model callbacks elastic broadcast",
    "horovod.tensorflow.keras.callbacks": "MetricAverageCallback LearningRateWarmupCallback BestModelCheckpoint",
    "horovod.tensorflow.keras.elastic": "KerasState CommitStateCallback run",
    "horovod.runner.common.util.env": "get_env_rank_and_size",
    "horovod.keras": "PartialDistributedOptimizer init callbacks",
    "horovod.keras.callbacks": "BroadcastGlobalVariablesCallback",
    "horovod.keras.elastic": "KerasState",
}


def run(*words):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=120, env=environment
    )


def test_modules_have_their_names_and_are_those_of_this_package(tmp_path):
    lines = ["import importlib"]
    for module, names in MODULES.items():
        own = dtrain.horovod.names.own_name(module)
        lines.append(f"one = importlib.import_module({module!r})")
        lines.append(f"assert one is importlib.import_module({own!r})")
        lines.extend(f"one.{name}" for name in names.split())
    lines += ["from horovod import tensorflow, keras", "import horovod.tensorflow.keras as hvd"]
    lines += ["try: import horovod.tensorflow.data.compute_service", "except ImportError as error: print(error)"]
    lines.append("print(hvd.__name__)")
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    ended = run("-m", "dtrain.horovod", str(script))
    assert ended.stdout.splitlines()[-1:] == ["dtrain.tensorflow.keras"], ended.stderr
    assert "horovod.tensorflow.data is not part of dtrain, which has horovod.torch" in ended.stdout


def test_the_package_itself_imports_no_framework():
    ended = run("-c", "import dtrain, dtrain.horovod, sys; print({'tensorflow', 'keras', 'numpy'} & set(sys.modules))")
    assert ended.stdout == "set()\n", ended.stderr


def test_versions_that_are_too_old_get_a_sentence():
    ended = run("-c", "import tensorflow\ntensorflow.__version__ = '2.12.1'\nimport dtrain.tensorflow")
    assert "ImportError: dtrain.tensorflow needs TensorFlow 2.13 or later, but 2.12.1 is installed" in ended.stderr
