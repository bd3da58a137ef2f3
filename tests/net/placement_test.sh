#!/usr/bin/env bash
# Processes, CPUs and GPUs dealt out over several hosts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker
fakes=$(realpath "${FAKE_NVML_FOLDER:-$(dirname "$DTRAIN")/tests/programs/fake_nvml}")

# give_gpus K GPUS: logins on node K get a libnvidia-ml that reports these GPUs.
give_gpus() {
  sed -i "s|^SetEnv |SetEnv LD_LIBRARY_PATH=$fakes \"FAKE_NVML=$2\" |" "$out/net/node$1/sshd_config"
  sshd_option "$1" 'X11Forwarding no'
}

test_ranks_dealt_to_hosts_in_turn_keep_their_streams_apart() {
  hosts_up 2
  # shellcheck disable=SC2016  # for the workers' shells
  run_on_launcher "$DTRAIN" run -H node1:2,node2:3 --map-by node --stdin 3 \
    --output-dir "$out/files" -- sh -c 'echo $(hostname) $LOCAL_RANK $DTRAIN_CROSS_RANK $(cat)' <<<for-rank-3
  expect_status 0
  expect_stdout_lines '[0]<stdout>:node1 0 0' '[1]<stdout>:node2 0 1' '[2]<stdout>:node1 1 0' \
    '[3]<stdout>:node2 1 1 for-rank-3' '[4]<stdout>:node2 2 0'
  expect_file "$out/files/rank.3/stdout" 'node2 1 1 for-rank-3'
  run_on_launcher "$DTRAIN" run -H node1:2,node2:3 --rank-by node "$collective" -1 none none
  expect_status 0
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 5 ]] || fail 'not every rank reached the end'
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1:2,node2:3 --map-by node sh -c '[ $RANK = 3 ] && exit 9; sleep 60'
  expect_status 9
  expect_stderr_contains 'rank 3 (host node2, pid '
  expect_no_processes
}

test_each_host_offers_the_gpus_that_it_has() {
  hosts_up 3
  give_gpus 1 'gpu=A gpu=B'
  give_gpus 2 'gpu=C'
  give_gpus 3 'init=18'
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1,node2,node3 -np 3 --map-by slot --gpu-bind rank --report-bindings --no-tag \
    sh -c 'echo $(hostname) $CUDA_VISIBLE_DEVICES'
  expect_status 0
  expect_stdout_lines 'node1 0' 'node1 1' 'node2 0'
  expect_stderr_contains 'dtrain: warning: node3: cannot list GPUs: NVML says "Driver/library version mismatch"'
  expect_stderr_contains 'dtrain: rank 2 on node2: cpus '
  expect_stderr_contains ', GPU 0 (C)'
  run_on_launcher "$DTRAIN" run -H node1:3,node2:3 --gpu-bind rank true
  expect_status 2
  expect_stderr_contains 'node1: --gpu-bind rank: 3 processes on 2 GPUs; use --ppn 2'
  expect_stderr_contains 'node2: --gpu-bind rank: 3 processes on 1 GPUs; use --ppn 1'
  expect_no_processes
}

test_hosts_without_slots_share_the_processes_evenly() {
  hosts_up 3
  local k
  for k in 1 2 3; do give_gpus $k 'gpu=A gpu=B'; done
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1,node2 -np 2 --no-tag sh -c 'echo $(hostname) $RANK'
  expect_status 0
  expect_stdout_lines 'node1 0' 'node2 1'
  expect_stderr ''
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1,node2 -np 4 --no-tag sh -c 'echo $(hostname) $RANK'
  expect_status 0
  expect_stdout_lines 'node1 0' 'node1 1' 'node2 2' 'node2 3'
  run_on_launcher "$DTRAIN" run -H node1,node2,node3 -np 2 true
  expect_status 0
  expect_stderr 'dtrain: warning: no process for node3: the job has 2 processes on 2 of 3 hosts; leave it out, or start more processes'
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 -np 2 --no-tag hostname
  expect_stdout_lines node1 node1
  expect_stderr ''
}

test_processes_on_other_hosts_are_bound_there() {
  hosts_up 1
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1:1 --bind-to core --report-bindings --no-tag \
    sh -c 'taskset -pc $$ | sed "s/.*: //"'
  expect_status 0
  expect_stderr_contains "dtrain: rank 0 on node1: cpus $(cat "$out/stdout"), NUMA node "
}

run_tests "$@"
