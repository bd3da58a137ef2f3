#!/usr/bin/env bash
# The Python package: its wheel, installed into environments that have no other file of ours. python/tests has the
# tests in Python, and this file starts those without TensorFlow.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=../net/pods.sh
. "$(dirname "$0")/../net/pods.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=python_lib.sh
. "$(dirname "$0")/python_lib.sh"
built=$(dirname "$DTRAIN") # the build of these sources, with its examples

# torch_of_debian: uses_wheel python-torch, where Debian's torch is installed.
torch_of_debian() {
  uses_wheel python-torch
  "$python" -c 'import torch' 2>/dev/null || skip "python3-torch is not installed (tools/setup.sh frameworks)"
}

test_the_code_is_formatted_checked_and_typed() {
  uses_wheel python
  cd "$repository"
  run "$tools/ruff" check --no-cache
  expect_status 0
  run "$tools/ruff" format --no-cache --check
  expect_status 0
  run "$tools/mypy" --cache-dir build/mypy
  expect_status 0
}

test_the_wheel_is_for_every_linux_with_glibc_2_34() {
  uses_wheel python
  run "$tools/auditwheel" show "$wheel"
  expect_status 0
  # shellcheck disable=SC2031  # set by the library
  tr '\n' ' ' <"$out/stdout" >shown
  expect grep -qF "is consistent with the following platform tag: \"manylinux_2_34_x86_64\"" shown
  expect test "$(stat -c %s "$wheel")" -le 14000000
  [[ $wheel == *-cp311-abi3-manylinux_2_34_x86_64.whl ]] || fail "the name is $wheel"
}

test_the_wheel_has_one_library_that_hides_what_is_inside() {
  uses_wheel python
  mkdir wheel
  "$python" -m zipfile -e "$wheel" wheel
  find wheel -name '*.so*' -printf '%P\n' | sort >libraries
  expect_file libraries "$(printf 'dtrain/_core.abi3.so\ndtrain/lib/libdtrain.so.0')"
  nm -D --defined-only wheel/dtrain/lib/libdtrain.so.0 | awk '$2 != "A" && $3 !~ /^dtrain_/' >others
  expect_file others ''
  nm -D --defined-only wheel/dtrain/_core.abi3.so | awk '{ print $3 }' >others
  expect_file others PyInit__core
  readelf -dW wheel/dtrain/_core.abi3.so wheel/dtrain/lib/libdtrain.so.0 wheel/dtrain-*.data/scripts/dtrain |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u >needed
  expect test -s needed
  expect_not grep -vE '^(lib(c|m|gcc_s|dtrain)\.so\.[0-9]|ld-linux-x86-64\.so\.2)$' needed
  expect cmp wheel/dtrain/include/dtrain/dtrain.h "$repository/comm/include/dtrain/dtrain.h"
}

# expect_installed_and_removed VENV SCRIPT LINE: the wheel is installed there without a compiler, each of two ranks prints
# the line, and nothing is left when it is removed.
expect_installed_and_removed() {
  mkdir bin
  (cd "$1" && find . -type f | sort) >before
  PATH=$PWD/bin "$1/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --no-index --no-deps \
    --ignore-installed "$wheel"
  run env PATH="$PWD/bin" "$1/bin/dtrain" run -np 2 --no-tag "$1/bin/python" -c "$2"
  expect_status 0
  expect_stdout_lines "$3" "$3"
  PATH=$PWD/bin "$1/bin/python" -m pip uninstall --quiet --yes dtrain
  (cd "$1" && find . -type f | sort) >after
  expect_file after "$(cat before)"
}

test_the_wheel_is_installed_without_a_compiler_and_removed_whole() {
  uses_wheel python
  /usr/bin/python3 -m venv venv
  expect_installed_and_removed venv 'import dtrain; print(bytes(dtrain.init().all_reduce(b"1")))' "b'b'"
}

with_torch='
import dtrain.torch as hvd, sys, torch
hvd.init()
assert hvd.__file__.startswith(sys.prefix + "/"), hvd.__file__
print(torch.__version__, hvd.allreduce(torch.ones(1), op=hvd.Sum).item())'

test_the_wheel_stands_beside_debians_torch_and_is_removed_whole() {
  torch_of_debian
  /usr/bin/python3 -m venv --system-site-packages venv
  expect_installed_and_removed venv "$with_torch" "$(/usr/bin/python3 -c 'import torch; print(torch.__version__)') 2.0"
}

test_the_wheel_stands_beside_pypis_torch_and_is_removed_whole() {
  uses_wheel torch
  /usr/bin/python3 -m venv venv
  # The environment with torch has the package, too; that of this environment comes first.
  echo "${python%/bin/*}/lib/python3.11/site-packages" >venv/lib/python3.11/site-packages/torch.pth
  expect_installed_and_removed venv "$with_torch" "$("$python" -c 'import torch; print(torch.__version__)') 2.0"
}

# Prints the files of a folder from which the wheel is built.
sources_of() {
  (cd "$1" && find base choices cmake cmd comm completions examples gpu launcher man python rendezvous tools \
    pyproject.toml CMakeLists.txt README.md LICENSE -type f -not -path '*/tests/*' -not -name '*.pyc' | sort)
}

test_the_source_distribution_builds_without_a_network() {
  uses_wheel python
  local offline=
  if unshare -n true 2>/dev/null; then offline='unshare -n'; fi
  "$tools/python" -c 'import os, sys, scikit_build_core.build
os.chdir(sys.argv[1])
scikit_build_core.build.build_sdist(sys.argv[2])' "$repository" "$PWD/dist"
  tar -xzf dist/dtrain-*.tar.gz
  sources_of "$repository" >needed
  sources_of dtrain-* >distributed
  expect_file distributed "$(cat needed)"
  if [[ ${DTRAIN_TEST_LONG-} == 1 ]]; then
    run_timeout_s=3600
    run $offline "$tools/python" -m pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir wheels \
      "$PWD"/dist/dtrain-*.tar.gz
    expect_status 0
    expect unzip -qt wheels/dtrain-*.whl
    return
  fi
  # All of it without the compiler: the build is configured, and its steps have the files that they read.
  run $offline cmake -S dtrain-*/ -B configured -G Ninja -DBUILD_TESTING=OFF -DCMAKE_UNITY_BUILD=ON -DDTRAIN_WHEEL=ON \
    -DSKBUILD_SCRIPTS_DIR=bin
  expect_status 0
  run ninja -C configured -n dtrain dtrain_shared dtrain_python
  expect_status 0
  expect_stdout_contains 'Linking CXX shared module python/_core.abi3.so'
}

test_operations_with_several_numbers_of_ranks() {
  uses_wheel python
  run_on_each_number "$repository/python/tests/ranks"
}

test_random_sequences_of_operations() {
  uses_wheel python
  run_timeout_s=$(long_or 600 3600)
  export SEQUENCES
  SEQUENCES=$(long_or 200 20000)
  run_on 3 "$repository/python/tests/ranks/test_sequences.py"
}

test_operations_on_two_hosts() {
  uses_wheel python
  run_on_hosts "$repository/python/tests/ranks"
}

test_horovods_api_on_two_hosts() {
  uses_wheel torch
  run_on_hosts "$repository"/python/tests/torch/test_{operations,order,optimizer}.py
}

test_the_backend_of_torch_distributed_on_two_hosts() {
  uses_wheel torch
  run_on_hosts "$repository/python/tests/torch_distributed/test_collectives.py"
}

test_arrays_of_jax() {
  uses_wheel jax
  run_dtrain run -np 2 --no-tag "$python" "$scripts/dtrain_jax.py"
  expect_status 0
  expect_stdout_lines 'rank 0: 11 types' 'rank 1: 11 types'
  expect_no_processes
}

# sanitized NAME RUNTIME OPTION: the tests of operations, with the extension and the library of the build NAME.
sanitized() {
  local build=$repository/build/$1 runtime
  uses_wheel python
  [[ -e $build/python/_core.abi3.so ]] || skip "build/$1 has no extension (tools/test.sh builds it)"
  mkdir package
  cp -r "$repository/python/dtrain" "$build/python/_core.abi3.so" "$build/python/_version.py" package/
  mv package/_core.abi3.so package/_version.py package/dtrain/
  runtime=$(c++ -print-file-name="$2"):$(c++ -print-file-name=libstdc++.so)
  # Python is not built with the sanitizer, and frees little at its end.
  run_dtrain run -np 2 --timeout $((run_timeout_s - 20)) env LD_PRELOAD="$runtime" "$3" PYTHONPATH="$PWD/package" OPENBLAS_NUM_THREADS=1 \
    "${fixed_addresses[@]}" "$python" -m pytest -q -x -p no:cacheprovider \
    "$repository"/python/tests/ranks/test_{arrays,contexts,errors,operations,sequences}.py
  expect_all_passed 2
  # shellcheck disable=SC2031  # set by the library
  expect_not grep -qE 'runtime error|Sanitizer' "$out/stderr" "$out/stdout"
}

test_the_extension_under_address_and_undefined_behavior_sanitizers() {
  sanitized asan libasan.so ASAN_OPTIONS=detect_leaks=0
}

test_the_extension_under_the_thread_sanitizer() {
  sanitized tsan libtsan.so TSAN_OPTIONS=exitcode=66
}

# with_cpu_device NAME: uses_wheel, with a copy of the package whose library gives memory of a CPU device to the tests.
with_cpu_device() {
  local library=$built/tests/programs/cpu_device_library/libdtrain.so.0
  uses_wheel "$1"
  [[ -e $library ]] || skip "$library is not there"
  mkdir package
  cp -r "${python%/bin/*}"/lib/python3.*/site-packages/dtrain package/
  cp -f "$library" package/dtrain/lib/
  export PYTHONPATH=$PWD/package NCCL_OF_TESTS=$built/tests/programs/fake_nccl/libnccl.so.2
}

test_arrays_and_streams_of_devices() {
  with_cpu_device python
  run_on_each_number "$repository"/python/tests/devices/test_{arrays,streams}.py
}

test_both_apis_on_memory_of_devices() {
  with_cpu_device torch
  run_on_each_number "$repository"/python/tests/devices/test_{distributed,horovod}.py
}

test_gradients_on_memory_of_devices_by_nccl() {
  with_cpu_device torch
  export DTRAIN_DEVICE_COLLECTIVES=auto DTRAIN_CPU_DEVICES=1 DTRAIN_NCCL_LIB=$NCCL_OF_TESTS
  run_on 2 "$repository"/python/tests/devices/test_{nccl,horovod}.py
}

test_horovods_api_on_memory_of_devices_with_debians_torch() {
  torch_of_debian
  with_cpu_device python-torch
  run_on 2 "$repository/python/tests/devices/test_horovod.py"
}

test_a_rank_that_ends_while_others_wait_for_its_memory_of_a_device() {
  with_cpu_device torch
  run_dtrain run -np 3 --no-tag "$python" "$repository/python/tests/devices/lose_rank.py"
  expect_stdout_lines 'rank 0: peer_lost, rank 2' 'rank 1: peer_lost, rank 2'
  expect_no_processes
}

test_tensors_of_torch() {
  torch_of_debian
  # It has no 8-bit floats, and there is no ml_dtypes for those of numpy.
  run_on 2 "$repository/python/tests/ranks/test_arrays.py" -k 'not 8_bit and not small_floats'
  # shellcheck disable=SC2031  # set by the library
  expect_not grep -q skipped "$out/stdout"
}

test_8_bit_floats_of_torch() {
  uses_wheel torch
  run_on 2 "$repository/python/tests/ranks/test_arrays.py" -k 8_bit_floats_of_torch
  # shellcheck disable=SC2031  # set by the library
  expect_not grep -q skipped "$out/stdout"
}

test_horovods_api_on_debians_torch() {
  torch_of_debian
  run_on 2 "$repository/python/tests/torch"
}

test_horovods_operations_on_debians_torch_with_other_numbers_of_ranks() {
  torch_of_debian
  local np
  for np in $(long_or 3 '1 3 4'); do
    run_on "$np" "$repository"/python/tests/torch/test_{order,optimizer,features}.py
  done
}

test_horovods_api_with_several_numbers_of_ranks() {
  uses_wheel torch
  run_on_each_number "$repository/python/tests/torch"
}

test_horovods_api_without_numpy() {
  uses_wheel torch
  printf '%s\n' 'import sys' 'sys.modules["numpy"] = None' 'import pytest' 'sys.exit(pytest.main(sys.argv[1:]))' >without.py
  run_dtrain run -np 2 --timeout $((run_timeout_s - 20)) "$python" without.py -q -x -p no:cacheprovider \
    "$repository"/python/tests/torch/test_{functions,operations,optimizer}.py
  expect_all_passed 2
}

test_the_backend_of_torch_distributed_with_several_numbers_of_ranks() {
  uses_wheel torch
  run_on_each_number "$repository/python/tests/torch_distributed"
}

test_the_backend_of_torch_distributed_in_torchs_debug_mode() {
  uses_wheel torch
  TORCH_DISTRIBUTED_DEBUG=DETAIL run_on 2 "$repository/python/tests/torch_distributed/test_collectives.py"
}

test_the_backend_names_the_version_of_torch_that_it_needs() {
  torch_of_debian
  run "$python" -c 'import dtrain.torch.distributed'
  expect_status 1
  # shellcheck disable=SC2031  # set by the library
  expect grep -q 'ImportError: dtrain.torch.distributed needs PyTorch 2.7 or later, but 1.13' "$out/stderr"
}

test_the_package_and_its_jobs_from_outside() {
  uses_wheel python
  run "$python" -m pytest -q -p no:cacheprovider "$repository/python/tests/outside"
  expect_status 0
  expect_no_processes
}

test_jobs_with_torch_from_outside() {
  uses_wheel torch
  run "$python" -m pytest -q -p no:cacheprovider "$repository/python/tests/torch_outside"
  expect_status 0
  expect_no_processes
}

test_the_import_names_of_horovod_can_be_installed() {
  uses_wheel torch
  "$python" -m venv --system-site-packages venv
  echo "$(dirname "$python")/../lib/python3.11/site-packages" >venv/lib/python3.11/site-packages/torch.pth
  venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
    "$repository"/build/dist/dtrain_horovod-*.whl
  run venv/bin/python -c 'import horovod.torch as hvd, horovod, dtrain.torch; print(hvd is dtrain.torch, horovod.run)'
  expect_status 0
  # shellcheck disable=SC2031  # set by the library
  expect grep -q '^True <function run' "$out/stdout"
  mkdir venv/lib/python3.11/site-packages/horovod-0.28.1.dist-info
  printf 'Metadata-Version: 2.1\nName: horovod\nVersion: 0.28.1\n' \
    >venv/lib/python3.11/site-packages/horovod-0.28.1.dist-info/METADATA
  run venv/bin/python -c 'import horovod'
  expect_status 1
  # shellcheck disable=SC2031  # set by the library
  expect grep -q 'ImportError: both dtrain-horovod and horovod 0.28.1 are installed' "$out/stderr"
}

test_an_example_with_numpy() {
  uses_wheel python
  run_readme python_numpy
  expect_status 0
  expect_readme python_numpy
  expect_stderr ''
  expect_no_processes
}

test_horovods_script_with_one_line_changed() {
  uses_wheel torch
  diff "$examples/horovod_torch/train.py" "$examples/torch_digits/train.py" >difference || true
  expect_file difference "$(printf '9c9\n< import horovod.torch as hvd\n---\n> import dtrain.torch as hvd')"
  local np
  for np in 1 2; do
    run_dtrain run -np "$np" --no-tag "$python" "$examples/torch_digits/train.py"
    expect_status 0
    expect_training_result "$np"
  done
  run_readme torch_digits
  expect_status 0
  expect_training_result 4
  expect_no_processes
}

test_horovods_script_with_no_line_changed() {
  uses_wheel torch
  run_dtrain run -np 2 --no-tag "$python" -m dtrain.horovod "$examples/horovod_torch/train.py"
  expect_status 0
  expect_training_result 2
}

# shellcheck disable=SC2031  # the library sets them
test_horovods_script_with_no_line_changed_on_pods() {
  local k script
  uses_wheel torch
  script=("$python" -m dtrain.horovod "$examples/horovod_torch/train.py")
  pods_up 3
  new_token
  start_nodes --no-tag "${script[@]}"
  finish_pods
  expect_pods 0 0 0
  cp "$(pod_folder 0)/stdout" "$out/stdout"
  expect_training_result 3
  publish 0
  for k in 0 1 2; do
    pod_variable "$k" PET_NNODES=3
    pod_variable "$k" "PET_NODE_RANK=$k"
    pod_variable "$k" PET_NPROC_PER_NODE=1
    pod_variable "$k" "PET_MASTER_ADDR=$(pod_name 0)"
  done
  start_pods "$DTRAIN" run --no-tag -- "${script[@]}"
  finish_pods
  expect_pods 0 0 0
  cp "$(pod_folder 0)/stdout" "$out/stdout"
  expect_training_result 3
  expect_no_processes
}

test_horovods_script_continues_from_its_checkpoint_after_restarts() {
  torch_of_debian
  expect_resumed_training -np 2 "$python" -m dtrain.horovod "$scripts/horovod_restarts.py"
}

test_ddp_on_the_engine() {
  uses_wheel torch
  local np
  for np in 1 2; do
    run_dtrain run -np "$np" --no-tag "$python" "$examples/torch_ddp_dtrain/train.py"
    expect_status 0
    expect_training_result "$np"
  done
  run_readme torch_ddp_dtrain
  expect_status 0
  expect_training_result 4
  expect_no_processes
}

# The program in C++ trains on the same images in the same order, from the same weights.
test_the_digits_in_python_end_with_the_loss_in_cpp() {
  local api loss
  uses_wheel torch
  [[ -x $built/examples/digits ]] || skip "no examples in $built"
  run_dtrain run -np 2 --no-tag "$built/examples/digits" --epochs 5
  expect_status 0
  # shellcheck disable=SC2031  # set by the library
  loss=$(sed -n 's/^training loss //p' "$out/stdout")
  for api in horovod ddp; do
    run_dtrain run -np 2 --no-tag "$python" "$scripts/dtrain_digits.py" "$api" 5
    expect_status 0
    # shellcheck disable=SC2031  # set by the library
    cp "$out/stdout" first
    read -r _ _ found _ <first
    awk -v a="$loss" -v b="$found" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 <= 1e-8) }' ||
      fail "expected losses within 1e-4: $loss in C++, $found by $api"
    run_dtrain run -np 2 --no-tag "$python" "$scripts/dtrain_digits.py" "$api" 5
    expect_status 0
    expect_stdout "$(cat first)"
  done
}

test_the_tour_of_the_readme() {
  uses_wheel python
  awk '/^```$/ { inside = 0 } inside { print } /^```python$/ { inside = 1 }' "$repository/docs/python.md" >tour.py
  expect test -s tour.py
  run_dtrain run -np 3 --no-tag "$python" tour.py
  expect_status 0
  expect_stderr ''
}

# TSan fails under a kernel that randomises addresses with many bits.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi
install_wheel python python-torch torch jax
run_tests "$@"
