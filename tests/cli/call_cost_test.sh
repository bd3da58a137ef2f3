#!/usr/bin/env bash
# The cost of libdtrain's calls in allocations, system calls and wake-ups, in real processes.
. "$(dirname "$0")/lib.sh"

programs=$(dirname "$DTRAIN")/tests/programs

test_a_blocking_call_of_a_lone_rank_needs_no_memory_and_no_system_call() {
  local bytes
  for bytes in 4 4096; do
    run "$programs/call_counter" 334 "$bytes"
    ((status != 77)) || skip 'the kernel allows no tracing here'
    expect_status 0
    expect_stdout 'calls: 1002, allocating: 0, entering the kernel: 0'
  done
}

# calls_that WHAT: how many calls of a rank do it, the maximum of all ranks.
calls_that() {
  sed -n "s/.*$1: \([0-9]*\).*/\1/p" "$out/stdout" | sort -n | tail -n 1
}

# calls_of_two_ranks BYTES: counts the calls of each rank of two, in shared memory.
calls_of_two_ranks() {
  run_dtrain run -np 2 --no-tag "$programs/call_counter" 334 "$1"
  ((status != 77)) || skip 'the kernel allows no tracing here'
  expect_status 0
}

test_a_blocking_call_of_two_ranks_needs_no_memory() {
  local bytes
  for bytes in 4 4096; do
    calls_of_two_ranks $bytes
    expect [ "$(grep -c 'calls: 1002,' "$out/stdout")" -eq 2 ]
    expect [ "$(calls_that allocating)" -eq 0 ]
  done
}

# Over links, queues grow until they have held as many messages at once as they ever will. A rank that is ahead
# makes more of them at some time. So a few calls may allocate, but not one in a hundred.
test_a_blocking_call_over_tcp_needs_no_memory_once_its_queues_have_grown() {
  local bytes
  for bytes in 4 4096; do
    run_dtrain run -np 2 --transport tcp --no-tag "$programs/call_counter" 334 $bytes reduce_scatter
    ((status != 77)) || skip 'the kernel allows no tracing here'
    expect_status 0
    expect [ "$(grep -c 'calls: 1002,' "$out/stdout")" -eq 2 ]
    expect [ "$(calls_that allocating)" -lt 10 ]
  done
}

test_a_blocking_call_of_hosts_with_shared_memory_needs_none_either() {
  # shellcheck disable=SC2016  # expanded by the agent
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  run_dtrain run --rsh-agent "$PWD/rsh" -H 127.0.0.2:2,127.0.0.3:2 --no-tag \
    "$programs/call_counter" 334 4096 reduce_scatter
  ((status != 77)) || skip 'the kernel allows no tracing here'
  expect_status 0
  expect [ "$(grep -c 'calls: 1002,' "$out/stdout")" -eq 4 ]
  expect [ "$(calls_that allocating)" -lt 10 ]
}

# A rank whose peer has lost its core sleeps, so on a busy machine some calls enter the kernel.
test_a_blocking_call_of_two_ranks_mostly_needs_no_system_call() {
  [[ -n ${CALL_COST_TWO_RANKS-} ]] || skip 'set CALL_COST_TWO_RANKS=1 to count the calls of two ranks'
  (($(nproc) > 1)) || skip 'two ranks that share a core enter the kernel to yield it'
  local bytes
  for bytes in 4 4096; do
    calls_of_two_ranks $bytes
    expect [ "$(calls_that 'entering the kernel')" -lt 501 ]
  done
}

test_an_engine_without_work_does_not_wake_up() {
  local transport
  for transport in shm tcp; do
    run_dtrain run -np 2 --no-tag "$programs/idle_worker" "$transport"
    expect_status 0
    expect_stdout_lines 'idle: 0 wake-ups, in recv: 0 wake-ups' 'idle: 0 wake-ups, in recv: 0 wake-ups'
  done
}

test_a_parameter_server_without_requests_does_not_wake_up() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=1 --no-tag \
    --role-command "ps=sh -c 'echo \$\$ >ps.pid; exec \"$DTRAIN\" ps'" "$programs/ps_worker" 10 async 0 "idle=$PWD/ps.pid"
  expect_status 0
  expect_stdout_contains 'server: 0 wake-ups'
}

run_tests "$@"
