#!/usr/bin/env bash
# Slots and devices by GPUs, which a fake libnvidia-ml shows (tests/programs/fake_nvml.c); CPUs by
# what this machine has.
. "$(dirname "$0")/lib.sh"

fakes=$(realpath "${FAKE_NVML_FOLDER:-$(dirname "$DTRAIN")/tests/programs/fake_nvml}")
unset CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES CUDA_DEVICE_ORDER

# dtrain on a machine with these GPUs: with_gpus WORLD ARG…
with_gpus() {
  local world=$1
  shift
  run env LD_LIBRARY_PATH="$fakes" FAKE_NVML="$world" "$DTRAIN" "$@"
}

# How many processes this machine gets when nobody says how many.
slots_of() {
  with_gpus "$@" run -H localhost --no-tag sh -c 'echo $DTRAIN_LOCAL_SIZE'
  expect_status 0
  sort -u "$out/stdout"
}

test_a_host_without_slots_offers_its_gpus() {
  expect test "$(slots_of 'gpu=A gpu=B gpu=C')" = 3
  expect test "$(slots_of 'gpu=A mig=2 gpu=B')" = 3
  expect test "$(slots_of 'gpu=A denied gpu=B')" = 1
  expect test "$(slots_of '')" = "$(nproc)"
}

test_only_gpus_that_were_left_to_us_count() {
  expect test "$(CUDA_VISIBLE_DEVICES=2,0 slots_of 'gpu=A gpu=B gpu=C')" = 2
  expect test "$(CUDA_VISIBLE_DEVICES=GPU-000000a1 slots_of 'gpu=A gpu=B')" = 1
  expect test "$(CUDA_VISIBLE_DEVICES='' slots_of 'gpu=A gpu=B gpu=C')" = "$(nproc)"
  expect test "$(NVIDIA_VISIBLE_DEVICES=void slots_of 'gpu=A gpu=B gpu=C')" = "$(nproc)"
}

test_gpus_that_cannot_be_listed_are_told_once() {
  with_gpus init=18 run -H localhost --no-tag true
  expect_status 0
  expect_stderr "dtrain: warning: localhost: cannot list GPUs: NVML says \"Driver/library version mismatch\"; NVIDIA's driver was updated: reboot the host, or load its kernel modules anew"
  with_gpus 'gpu=A gpu=B lost' run -H localhost --dry-run true
  expect_status 0
  expect_stdout_contains '1 processes on 1 host'
  expect_stderr 'dtrain: warning: localhost: GPU 1 cannot be used: GPU is lost'
}

test_a_driver_that_hangs_is_not_waited_for() {
  with_gpus hang run -H localhost --start-timeout 2s --no-tag true
  expect_status 0
  expect_stderr_contains "cannot list GPUs: NVIDIA's driver has not answered for "
  expect_no_processes
}

test_a_host_without_a_driver_has_no_gpus_and_no_warning() {
  run_dtrain run -H localhost --no-tag true
  expect_status 0
  ldconfig -p | grep -q libnvidia-ml || expect_stderr ''
}

test_the_driver_is_asked_only_where_slots_are_missing() {
  with_gpus hang run -np 1 -H localhost:1 --no-tag echo hi
  expect_status 0
  expect_within_ms 5000
  expect_stdout hi
}

run_tests "$@"
