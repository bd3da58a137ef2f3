#!/usr/bin/env bash
# MPI programs that dtrain starts like any others: each is an MPI world of its own, and only the launcher can
# detect that. tests/frameworks has the real library.
. "$(dirname "$0")/lib.sh"
# shellcheck source=mpi.sh
. "$(dirname "$0")/mpi.sh"

# Expects the warning, and a job that still reaches its end.
expect_one_warning_of() {
  wait_for stderr_has "dtrain: warning: $1 processes, each alone: MPI was not started by mpirun"
  touch end
  finish
  expect_status 0
  expect_stderr_contains "dtrain run -np 1 -- mpirun -n $1 COMMAND"
  expect test "$(grep -c 'each alone' "$out/stderr")" = 1
  expect_no_processes
}

test_processes_with_mpi_that_mpirun_did_not_start_get_one_warning() {
  make_program libmpi.so.40
  start_dtrain run -np 3 ./alone
  expect_one_warning_of 3
}

test_a_program_that_a_wrapper_starts_is_detected_too() {
  make_program libmpich.so.12
  start_dtrain run -np 2 sh -c './alone; true'
  expect_one_warning_of 2
}

# Rank 0 is the only MPI program without a launcher: that of rank 1 has the variables of an MPI launcher.
test_one_process_alone_and_those_of_a_launcher_of_mpi_get_no_warning() {
  make_program libmpi.so.40
  run_dtrain run -np 3 sh -c 'case $RANK in
    0) exec timeout 2 ./alone ;;
    1) PMI_RANK=0 PMI_FD=9 exec timeout 2 ./alone ;;
    2) exec sleep 2 ;;
  esac' || true
  expect_stderr_lacks 'alone: MPI'
  expect_no_processes
}

run_tests "$@"
