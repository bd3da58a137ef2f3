import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys

import pytest
from jobs import DTRAIN, run_job, run_python

import dtrain


def test_import_needs_neither_numpy_nor_torch():
    ended = run_python("import sys, dtrain\nassert not {'numpy', 'torch', 'ctypes'} & set(sys.modules)")
    assert ended.status == 0, ended


def test_an_index_can_show_the_description():
    metadata = importlib.metadata.metadata("dtrain")
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert "dtrain run" in text
    # An index has no other file of the repository.
    targets = re.findall(r"\]\(\s*([^)\s]+)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)", text, re.M)
    assert [target for found in targets for target in found if target and not target.startswith("https://")] == []


def test_a_process_without_dtrain_run_is_alone():
    script = """
import array, dtrain
world = dtrain.init()
assert (world.rank, world.size, world.local_size, world.cross_size) == (0, 1, 1, 1)
assert world.all_reduce(array.array("d", [1.5])).tolist() == [1.5]
world.store.set("a", b"b")
assert world.store.get("a") == b"b"
"""
    ended = run_python(script)
    assert ended.status == 0, ended


INIT_TWICE = """
again = dtrain.init()
assert again is world and dtrain.init(timeout=1) is world
assert again.all_gather_object(rank) == [0, 1]
again.finalize()
world = dtrain.init()
assert world is not again and world.all_gather_object(rank) == [0, 1]
print("done")
"""


def test_a_second_init_gives_the_context_that_is_there():
    ended = run_job(2, INIT_TWICE)
    assert ended.lines() == ["done", "done"], ended
    alone = run_python("import dtrain\nassert dtrain.init() is dtrain.init()")
    assert alone.status == 0, alone


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_child_that_imports_its_script_again_gets_a_sentence(method, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(f"""
import dtrain, multiprocessing
world = dtrain.init()
if __name__ == "__main__":
    child = multiprocessing.get_context("{method}").Process(target=print)
    child.start()
    child.join()
    print(child.exitcode)
""")
    begun = subprocess.run(
        [DTRAIN, "run", "-np", "1", "--no-tag", "--", sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert begun.stdout == "1\n", begun
    assert 'put dtrain.init() and the training below `if __name__ == "__main__":`' in begun.stderr


@pytest.mark.parametrize("name", ["WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_init_refuses_a_process_of_another_launcher(name):
    ended = run_python("import dtrain; dtrain.init()", RANK="0", **{name: "4"})
    assert ended.status == 1
    assert f"dtrain.ArgumentError: {name}=4 shows that another launcher has started this" in ended.stderr
    assert "dtrain run -np 4" in ended.stderr
    assert run_python("import dtrain; dtrain.init()", **{name: "1"}).status == 0


def test_operations_show_their_parameters():
    parameters = inspect.signature(dtrain.Context.reduce).parameters
    assert list(parameters)[:5] == ["self", "tensor", "root", "op", "out"]
    for name, operation in vars(dtrain.Context.__mro__[1]).items():
        if hasattr(operation, "__signature__"):
            own, started = inspect.signature(operation), inspect.signature(getattr(dtrain.Context, f"{name}_async"))
            assert own.parameters == started.parameters
            assert own.return_annotation != started.return_annotation
    assert inspect.signature(dtrain.Context.join).return_annotation is int


FAILS = """
def user():
    world.all_reduce(memoryview(bytearray(8 + rank)))
user()
"""


def test_a_failure_names_the_line_of_the_user():
    ended = run_job(2, FAILS)
    found = re.search(r"^dtrain:   dtrain\.Error: all_reduce #1: .* \((.*)\)$", ended.stderr, re.M)
    assert found, ended.stderr
    assert re.fullmatch(r"<string>:\d+", found[1])
    assert "_collectives.py" not in ended.stderr


def test_init_names_missing_variables():
    ended = run_python("import dtrain; dtrain.init()", DTRAIN_RANK="0")
    assert "DTRAIN_TOKEN" in ended.stderr


def test_a_time_limit_of_init_names_the_missing_ranks():
    script = "import os, time\ntime.sleep(4) if os.environ['RANK'] == '1' else __import__('dtrain').init(timeout=1)"
    ended = run_job(2, "")
    assert ended.status == 0, ended
    begun = subprocess.run(
        [DTRAIN, "run", "-np", "2", "--", sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert begun.returncode == 1
    assert "worker:1" in begun.stderr or "rank 1" in begun.stderr


def test_the_package_is_the_program_too():
    program = subprocess.run([DTRAIN, "version"], capture_output=True, text=True, check=True).stdout
    module = subprocess.run([sys.executable, "-m", "dtrain", "version"], capture_output=True, text=True, check=True)
    assert module.stdout == program == f"dtrain {dtrain.__version__}\n"
    # The program itself and no script, which would start an interpreter first.
    with open(DTRAIN, "rb") as file:
        assert file.read(4) == b"\x7fELF"


def test_programs_in_c_share_the_library(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no compiler")
    (tmp_path / "a.c").write_text(
        "#include <dtrain/dtrain.h>\n#include <stdio.h>\nint main(void) { puts(dtrain_version()); }\n"
    )
    library = os.path.join(os.path.dirname(dtrain.__file__), "lib")
    words = ["cc", "a.c", "-I", dtrain.get_include(), f"-L{library}", "-l:libdtrain.so.0", f"-Wl,-rpath,{library}"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert subprocess.run(["./a.out"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip() == (
        dtrain.__version__
    )


@pytest.fixture
def copied(tmp_path):
    """Return a prefix with a copy of the package and a program."""
    target = tmp_path / "lib" / "python3" / "site-packages" / "dtrain"
    shutil.copytree(os.path.dirname(dtrain.__file__), target)
    (tmp_path / "bin").mkdir()
    return tmp_path


def import_from(prefix):
    return run_python("import dtrain", PYTHONPATH=str(prefix / "lib" / "python3" / "site-packages"))


def test_import_names_a_library_of_another_version(copied):
    (copied / "lib/python3/site-packages/dtrain/_version.py").write_text('version = "9.9.9"\n')
    ended = import_from(copied)
    assert f"has version 9.9.9, but its library libdtrain.so.0 has {dtrain.__version__}" in ended.stderr


def test_a_target_folder_has_the_program_beside_the_package(copied):
    site = copied / "lib" / "python3" / "site-packages"
    (site / "bin").mkdir()
    program = shutil.copy(DTRAIN, site / "bin" / "dtrain")
    ended = run_python("import dtrain._binary as b; print(b.find_binary())", PYTHONPATH=str(site))
    assert ended.stdout.strip() == str(program), ended


def test_import_names_a_program_of_another_version(copied):
    program = copied / "bin" / "dtrain"
    program.write_text("#!/bin/sh\necho dtrain 9.9.9\n")
    program.chmod(0o755)
    ended = import_from(copied)
    assert f"has version {dtrain.__version__}, but the program {program} has 9.9.9" in ended.stderr


def test_torch_that_is_missing_or_too_old_is_named(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no such library')\n")
    ended = run_python("import dtrain.torch", PYTHONPATH=str(tmp_path))
    assert "ImportError: dtrain.torch needs PyTorch, which cannot be imported (no such library)" in ended.stderr
    (tmp_path / "torch.py").write_text("__version__ = '1.12.1'\n")
    ended = run_python("import dtrain.torch", PYTHONPATH=str(tmp_path))
    assert "ImportError: dtrain.torch needs PyTorch 1.13 or later, but 1.12.1 is installed" in ended.stderr


def test_numpy_that_is_missing_is_named_where_it_is_needed(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('no such library')\n")
    script = """
import array, dtrain
class Foreign:
    def __dlpack__(self): return None
world = dtrain.init()
assert world.all_reduce(array.array("d", [1.5])).tolist() == [1.5]
try: world.all_reduce(Foreign())
except ValueError as error: print(error)
"""
    ended = run_python(script, PYTHONPATH=str(tmp_path))
    assert ended.stdout == (
        "tensor: results for Foreign are arrays of numpy, which is not imported; import numpy first\n"
    ), ended


def test_the_extension_of_another_processor_is_named(copied):
    extension = copied / "lib/python3/site-packages/dtrain/_core.abi3.so"
    content = bytearray(extension.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64, the processor in the header of ELF
    extension.write_bytes(content)
    ended = import_from(copied)
    assert ended.status == 1
    assert re.search(r"ImportError: .*_core\.abi3\.so: ", ended.stderr), ended


def test_the_wheel_of_another_processor_is_refused(tmp_path):
    wheel = tmp_path / "dtrain-1-cp311-abi3-manylinux_2_34_sparc64.whl"
    wheel.write_bytes(b"")
    words = [sys.executable, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", str(wheel)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "is not a supported wheel on this platform" in ended.stderr


def test_two_copies_of_the_library_are_an_error(tmp_path):
    library = os.path.join(os.path.dirname(dtrain.__file__), "lib", "libdtrain.so.0")
    shutil.copy(library, tmp_path)
    (tmp_path / "same").symlink_to(library)
    load = "import ctypes, dtrain\nctypes.CDLL({!r})\nprint(dtrain.init().size)"
    ended = run_python(load.format(str(tmp_path / "libdtrain.so.0")))
    assert "dtrain.Error: this process has two copies of libdtrain: " in ended.stderr
    assert library in ended.stderr
    assert str(tmp_path / "libdtrain.so.0") in ended.stderr
    assert run_python(load.format(str(tmp_path / "same"))).stdout == "1\n"


def test_a_subinterpreter_gets_a_sentence():
    script = """
import _xxsubinterpreters as interpreters
one = interpreters.create()
interpreters.run_string(one, '''
try:
    import dtrain
except ImportError as error:
    print(error)
''')
"""
    if sys.version_info >= (3, 13):
        pytest.skip("the module has another name")
    ended = run_python(script)
    assert "main interpreter only" in ended.stdout, ended
