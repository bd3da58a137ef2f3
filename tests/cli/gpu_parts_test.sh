#!/usr/bin/env bash
# The GPU parts of the binary, where a CUDA Toolkit was found, and the messages of a build without one.
. "$(dirname "$0")/lib.sh"
source_dir=$(realpath "$(dirname "$0")/../..")

# field FILTER: prints a value of `dtrain version --json`.
field() { "$DTRAIN" version --json | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

test_version_lists_the_gpu_parts_or_has_none() {
  if [[ $(field 'd["cuda"]') == None ]]; then skip 'this build has no GPU parts'; fi
  expect test "$(field '" ".join(d["cuda"]["architectures"])')" = \
    'sm_75 sm_80 sm_89 sm_90 sm_100 sm_120 compute_90'
  expect test "$(field 'float(d["cuda"]["toolkit"]) >= 12.8')" = True
}

# make_toolkit VERSION: a folder that has the files that CMake searches.
make_toolkit() {
  mkdir -p toolkit/bin toolkit/include toolkit/lib64
  printf '#!/bin/sh\n' >toolkit/bin/nvcc && chmod +x toolkit/bin/nvcc
  echo "#define CUDART_VERSION  $1" >toolkit/include/cuda_runtime_api.h
  : >toolkit/lib64/libcudart_static.a
}

# configure OPTIONS…: runs the toolkit's part of the configuration, on a machine that has none in the usual places.
configure() {
  cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(part LANGUAGES CXX)
set(DTRAIN_CUDA AUTO CACHE STRING "")
file(READ $source_dir/cmake/cuda.cmake code)
string(REPLACE " /usr/local/cuda " " " code "\${code}")
file(WRITE \${CMAKE_BINARY_DIR}/cuda.cmake "\${code}")
include(\${CMAKE_BINARY_DIR}/cuda.cmake)
message(STATUS "result: \${dtrain_cuda} \${dtrain_cuda_version}")
END
  rm -rf build
  run env -u CUDA_HOME -u CUDA_PATH -u CUDAToolkit_ROOT cmake --no-warn-unused-cli -S . -B build -D DTRAIN_NVCC_IN_PATH= "$@"
}

test_a_build_without_a_toolkit_says_in_one_line_how_to_get_one() {
  configure --log-level=NOTICE
  expect_status 0
  expect_stderr 'dtrain: the GPU parts are off: there is no CUDA Toolkit 12.8 or newer. To get one below build/: make gpu-toolkit'
}

test_a_toolkit_that_is_too_old_is_named() {
  make_toolkit 12040
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit"
  expect_stdout_contains 'result: OFF'
  expect_stderr "dtrain: the GPU parts are off: there is no CUDA Toolkit 12.8 or newer; $PWD/toolkit has 12.4. To get one below build/: make gpu-toolkit"
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit" -D DTRAIN_CUDA=ON
  expect_status 1
  expect_stderr_contains 'DTRAIN_CUDA=ON, but no CUDA Toolkit 12.8 or newer was found'
}

test_a_toolkit_is_found_in_its_root_and_off_means_off() {
  make_toolkit 12080
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit"
  expect_stdout_contains 'result: ON 12.8'
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit" -D DTRAIN_CUDA=OFF
  expect_stdout_contains 'result: OFF'
  expect_stderr ''
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit" -D DTRAIN_SANITIZE=thread
  expect_stdout_contains 'result: OFF'
  configure -D "CUDAToolkit_ROOT=$PWD/toolkit" -D DTRAIN_SANITIZE=thread -D DTRAIN_CUDA=ON
  expect_status 1
}

run_tests "$@"
