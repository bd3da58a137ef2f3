#!/usr/bin/env bash
# Slots and devices by GPUs, which a fake libnvidia-ml reports (tests/programs/fake_nvml.c). The CPUs are those
# of this machine.
. "$(dirname "$0")/lib.sh"

fakes=$(realpath "${FAKE_NVML_FOLDER:-$(dirname "$DTRAIN")/tests/programs/fake_nvml}")
unset CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES CUDA_DEVICE_ORDER

# with_gpus GPUS ARG…: runs dtrain on a machine with these GPUs.
with_gpus() {
  local world=$1
  shift
  run env LD_LIBRARY_PATH="$fakes" FAKE_NVML="$world" "$DTRAIN" "$@"
}

# Prints the number of processes that this machine gets without -np.
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

test_torchruns_nproc_per_node_takes_the_gpus_of_each_host() {
  with_gpus 'gpu=A gpu=B gpu=C' run --nproc-per-node gpu --no-tag sh -c 'echo $LOCAL_RANK of $LOCAL_WORLD_SIZE'
  expect_status 0
  expect_stdout_lines '0 of 3' '1 of 3' '2 of 3'
  expect_stderr ''
  CUDA_VISIBLE_DEVICES=1,2 with_gpus 'gpu=A gpu=B gpu=C' run --nproc_per_node=auto --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
  with_gpus '' run --nproc-per-node gpu touch started
  expect_status 2
  expect_stderr_contains 'GPU'
  expect_not test -e started
}

test_devices_of_this_machine_that_reach_no_other_host_are_a_warning() {
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  CUDA_VISIBLE_DEVICES=1 run_dtrain run --rsh-agent ./rsh -H there:1 true
  expect_status 0
  expect_stderr 'dtrain: warning: CUDA_VISIBLE_DEVICES=1 holds on this machine alone; -x CUDA_VISIBLE_DEVICES gives it to all hosts'
  CUDA_VISIBLE_DEVICES=1 run_dtrain run --rsh-agent ./rsh -H there:1 -x CUDA_VISIBLE_DEVICES --no-tag sh -c 'echo "<$CUDA_VISIBLE_DEVICES>"'
  expect_status 0
  expect_stderr ''
  expect_stdout '<1>'
  CUDA_VISIBLE_DEVICES=1 run_dtrain run -np 1 --no-tag sh -c 'echo "<$CUDA_VISIBLE_DEVICES>"'
  expect_stdout '<1>'
  expect_stderr ''
}

test_gpus_that_cannot_be_listed_are_reported_once() {
  with_gpus init=18 run -H localhost --no-tag true
  expect_status 0
  expect_stderr "dtrain: warning: localhost: cannot list GPUs: NVML says \"Driver/library version mismatch\"; NVIDIA's driver was updated: reboot the host, or load its kernel modules anew"
  with_gpus 'gpu=A gpu=B lost' run -H localhost --dry-run true
  expect_status 0
  expect_stdout_contains '1 processes on 1 host'
  expect_stderr 'dtrain: warning: localhost: GPU 1 cannot be used: GPU is lost'
}

test_a_driver_that_hangs_is_not_waited_for() {
  with_gpus hang run -H localhost --start-timeout 6s --no-tag true
  expect_status 0
  expect_stderr_contains "cannot list GPUs: NVIDIA's driver has not answered for "
  expect_no_processes
}

asker_runs() { (($(marked_pids | wc -l) >= 3)); }

test_nothing_is_left_of_a_dtrain_that_ends_while_a_driver_hangs() {
  local name
  for name in INT KILL; do
    start env LD_LIBRARY_PATH="$fakes" FAKE_NVML=hang "$DTRAIN" run -H localhost true
    # The launcher, the agent, and the process that queries the driver.
    wait_for asker_runs
    signal $name
    finish
    expect_no_processes
  done
}

test_a_host_without_a_driver_has_no_gpus_and_no_warning() {
  run_dtrain run -H localhost --no-tag true
  expect_status 0
  ldconfig -p | grep -q libnvidia-ml || expect_stderr ''
}

test_the_driver_is_queried_only_where_slots_are_missing() {
  with_gpus hang run -np 1 -H localhost:1 --no-tag echo hi
  expect_status 0
  expect_soon
  expect_stdout hi
}

# Prints the CPUs that this process may use, one a line.
own_cpus() {
  taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r first last; do
    seq "$first" "${last:-$first}"
  done
}

test_a_process_is_bound_to_one_core() {
  local cpus
  mapfile -t cpus < <(own_cpus)
  ((${#cpus[@]} >= 2)) || skip 'there is only one CPU'
  run_dtrain run -np 2 --bind-to core --report-bindings --no-tag \
    sh -c 'echo "$RANK $(nproc) $(taskset -pc $$ | sed "s/.*: //") $OMP_NUM_THREADS"'
  expect_status 0
  [[ $(wc -l <"$out/stdout") -eq 2 && $(awk '{ print $3 }' "$out/stdout" | sort -u | wc -l) -eq 2 ]] ||
    fail 'expected two processes on two cores'
  expect test -z "$(awk '$2 != $4' "$out/stdout")"
  while read -r rank _ allowed _; do
    expect_stderr_contains "dtrain: rank $rank on localhost: cpus $allowed, NUMA node "
  done <"$out/stdout"
}

test_binding_keeps_to_the_affinity_that_was_inherited() {
  local cpus last
  mapfile -t cpus < <(own_cpus)
  last=${cpus[-1]}
  for how in core numa auto; do
    run taskset -c "$last" "$DTRAIN" run -np 1 --bind-to $how --no-tag sh -c 'taskset -pc $$'
    expect_status 0
    expect_stdout_contains ": $last"
  done
  run taskset -c "$last" "$DTRAIN" run -np 64 --bind-to core true
  expect_status 2
  expect_stderr_contains 'dtrain: localhost: --bind-to core: 64 processes on 1 cores; use --bind-to auto'
}

test_auto_binds_none_when_processes_exceed_cores() {
  local cpus
  mapfile -t cpus < <(own_cpus)
  run taskset -c "${cpus[0]}" "$DTRAIN" run -np 2 --bind-to auto --verbose true
  expect_status 0
  expect_stderr_contains 'dtrain: localhost: 2 processes on 1 cores are not bound'
}

test_a_process_is_not_bound_unless_it_is_asked_for() {
  run_dtrain run -np 2 --no-tag grep Cpus_allowed_list /proc/self/status
  expect_status 0
  expect test "$(sort -u "$out/stdout")" = "$(grep Cpus_allowed_list /proc/self/status)"
}

# Prints the GPUs that each rank sees.
devices_of() {
  with_gpus "$@" --no-tag sh -c 'echo "$RANK ${CUDA_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset}"'
}

test_a_gpu_for_each_local_rank() {
  devices_of 'gpu=A gpu=B gpu=C' run -np 2 --gpu-bind rank
  expect_status 0
  expect_stdout_lines '0 0 PCI_BUS_ID' '1 1 PCI_BUS_ID'
  CUDA_VISIBLE_DEVICES=2,0 devices_of 'gpu=A gpu=B gpu=C' run -np 2 --gpu-bind rank
  expect_stdout_lines '0 2 unset' '1 0 unset'
  devices_of 'gpu=A gpu=B gpu=C' run -np 2 -x CUDA_VISIBLE_DEVICES=1,2 --gpu-bind rank
  expect_stdout_lines '0 1 unset' '1 2 unset'
  devices_of 'gpu=A mig=2' run -H localhost --gpu-bind rank
  expect_stdout_lines '0 MIG-000000b0-0000-4000-8000-000000000000 PCI_BUS_ID' \
    '1 MIG-000000b0-0000-4000-8000-000000000001 PCI_BUS_ID'
}

test_gpus_are_left_as_they_are_by_default() {
  devices_of 'gpu=A gpu=B' run -np 2
  expect_stdout_lines '0 unset unset' '1 unset unset'
  CUDA_VISIBLE_DEVICES=1 devices_of 'gpu=A gpu=B' run -np 1
  expect_stdout '0 1 unset'
}

test_more_processes_than_gpus_are_refused_before_anything_starts() {
  devices_of 'gpu=A gpu=B' run -np 3 --gpu-bind rank
  expect_status 2
  expect_stdout ''
  expect_stderr 'dtrain: localhost: --gpu-bind rank: 3 processes on 2 GPUs; use --ppn 2 or --gpu-bind none, or for tests --gpu-share'
  devices_of init=9 run -np 1 --gpu-bind rank
  expect_status 2
  expect_stderr_contains 'dtrain: localhost: --gpu-bind rank: cannot list GPUs: NVML says "Driver Not Loaded"'
  [[ $(wc -l <"$out/stderr") -eq 1 ]] || fail 'reported more than once'
}

test_ranks_share_gpus_where_the_user_permits_it() {
  # shellcheck disable=SC2016  # the task's shell expands it
  with_gpus 'gpu=A gpu=B' run -np 3 --gpu-bind rank --gpu-share --no-tag \
    sh -c 'echo "$RANK $CUDA_VISIBLE_DEVICES ${NCCL_HOSTID##*-} $NCCL_SOCKET_IFNAME $DTRAIN_GPU_SHARE"'
  expect_status 0
  expect_stdout_lines '0 0 0 =lo 1' '1 1 1 =lo 1' '2 0 2 =lo 1'
  expect_stderr_contains '--gpu-share is for tests'
  with_gpus '' run -np 2 --gpu-bind rank --gpu-share true
  expect_status 2
}

test_bindings_are_reported_without_a_start_too() {
  with_gpus 'gpu=A gpu=B' run -np 2 --gpu-bind rank --report-bindings --dry-run touch started
  expect_status 0
  expect_stderr_contains 'dtrain: rank 1 on localhost: cpus '
  expect_stderr_contains ' (not bound), NUMA node 0, GPU 1 (B)'
  expect_stdout_contains '2 processes on 1 host: touch started'
  expect_not test -e started
}

# Prints the GPUs that each task of these roles sees.
devices_of_roles() {
  with_gpus "$@" --no-tag sh -c 'echo "$DTRAIN_ROLE:$DTRAIN_TASK_INDEX ${CUDA_VISIBLE_DEVICES-unset}"'
}

test_gpus_of_roles_are_dealt_to_their_tasks() {
  devices_of_roles 'gpu=A gpu=B gpu=C gpu=D' run --role worker=2 --role ps=1 --success all --role-gpus worker=2,ps=0
  expect_status 0
  expect_stdout_lines 'ps:0 ' 'worker:0 0,1' 'worker:1 2,3'
  # shellcheck disable=SC2016  # the task's shell expands it
  with_gpus 'gpu=A gpu=B' run -np 3 --role-gpus worker=0.5 --no-tag \
    sh -c 'echo "$RANK $CUDA_VISIBLE_DEVICES $DTRAIN_GPU_SHARE"'
  expect_status 0
  expect_stdout_lines '0 0 1' '1 0 1' '2 1 1'
  printf '%s\n' 'schema = 1' 'no_tag = true' 'command = "echo $RANK $CUDA_VISIBLE_DEVICES"' '[roles.worker]' \
    'replicas = 2' 'resources = {gpus = 1}' >job.toml
  with_gpus 'gpu=A gpu=B' job run job.toml
  expect_stdout_lines '0 0' '1 1'
}

test_more_gpus_of_roles_than_there_are_is_an_error() {
  devices_of_roles 'gpu=A gpu=B' run --role worker=2 --role ps=1 --role-gpus worker=1,ps=1
  expect_status 2
  expect_stdout ''
  expect_stderr 'dtrain: localhost: the roles ask for 3 GPUs (worker 2 x 1, ps 1 x 1), but 2 can be used there'
  printf '%s\n' 'schema = 1' 'command = "true"' '[roles.worker]' 'replicas = 2' 'resources = {gpus = "two"}' >job.toml
  run_dtrain job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:5:14: gpus: expected a whole number of GPUs'
}

test_cores_of_roles_are_dealt_to_their_tasks() {
  local cpus
  mapfile -t cpus < <(own_cpus)
  ((${#cpus[@]} >= 2)) || skip 'there is only one CPU'
  run_dtrain run --role worker=1 --role helper=1 --role-cpus worker=1,helper=1 --success all --report-bindings --no-tag \
    sh -c 'echo "$DTRAIN_ROLE $(nproc) $(taskset -pc $$ | sed "s/.*: //") $OMP_NUM_THREADS"'
  expect_status 0
  expect test "$(awk '{ print $3 }' "$out/stdout" | sort -u | wc -l)" = 2
  expect test -z "$(awk '$2 != $4' "$out/stdout")"
  expect_stderr_contains "dtrain: helper:0 on localhost: cpus $(awk '$1 == "helper" { print $3 }' "$out/stdout"), NUMA node "
  run_dtrain run -np 2 --role-cpus worker=4000 true
  expect_status 2
  expect_stderr_contains 'dtrain: localhost: the roles ask for 8000 cores (worker 2 x 4000), but '
}

test_memory_of_roles_is_limited_or_one_warning_names_the_hosts() {
  run_dtrain run -np 2 --role-memory worker=64M --no-tag sh -c 'cat /proc/self/cgroup'
  expect_status 0
  if grep -q 'may not limit the memory' "$out/stderr"; then
    expect test "$(grep -c 'warning: localhost: dtrain may not limit the memory of tasks there' "$out/stderr")" = 1
    skip 'cgroups do not let us limit memory here'
  fi
  expect test "$(sort -u "$out/stdout" | wc -l)" = 2
  run_dtrain run -np 1 --role-memory worker=64M --no-tag python3 -c 'b = bytearray(200 << 20)'
  expect_status 137
}

test_more_memory_than_a_host_has_is_an_error() {
  run_dtrain run -np 2 --role-memory worker=900000G true
  expect_status 2
  expect_stderr_contains 'dtrain: localhost: the roles ask for 1800000G of memory (worker 2 x 900000G), but '
}

test_resources_of_roles_are_in_the_plan() {
  run_dtrain run --role worker=2 --role ps=1 --role-gpus worker=0.5 --role-cpus ps=2 --dry-run train
  expect_status 0
  expect_stdout_contains 'each worker gets gpus 0.5'
  expect_stdout_contains 'each ps gets cpus 2'
}

run_tests "$@"
