#!/usr/bin/env bash
# Parallel jobs of Grid Engine, by Debian's programs: each host has an execution daemon and an sshd.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

setup=$(realpath "$(dirname "$0")/../../tools/setup.sh")

# grid_engine_up N: a cluster of N hosts with two slots each. Its master, where jobs are submitted, is node1. The
# hosts reach each other by ssh. The parallel environment "spread" fills the slots host by host in turn.
grid_engine_up() {
  local k hosts
  hosts_up "$1"
  "$setup" grid_engine || skip 'Grid Engine cannot be installed here'
  hosts=$(seq -s, -f 'node%g' "$1")
  export SGE_ROOT=$PWD/sge SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445
  cell_config
  daemon_on 1 sge_qmaster
  wait_for master_answers
  change_config conf global "s%^execd_spool_dir .*%execd_spool_dir $SGE_ROOT/execd%; s/^\(min_[ug]id\) .*/\1 0/"
  change_config sconf '' 's/^schedule_interval .*/schedule_interval 0:0:1/; s/^\(flush_.*_sec\) .*/\1 1/'
  on_host 1 qconf -ah "$hosts" >setup.log
  on_host 1 qconf -as node1 >setup.log
  for ((k = 1; k <= $1; ++k)); do
    cp "$(launcher_home)/.ssh/id_ed25519" "$(launcher_home)/.ssh/known_hosts" "$(home_of "$k")/.ssh/"
    daemon_on "$k" sge_execd
  done
  add_environment
  add_queue "${hosts//,/ }"
  wait_for hosts_report "$1"
}

# The daemons are no processes of the job under test.
daemon_on() {
  local k=$1
  shift
  on_host "$k" env -u TEST_MARKER "$@" >setup.log 2>&1 || fail "$1 on node$k: $(cat setup.log)"
}

master_answers() { on_host 1 qconf -sh >setup.log 2>&1; }
hosts_report() { [[ $(on_host 1 qstat -f | grep -c "^all.q@.* lx-") -eq $1 ]]; }

cell_config() {
  local name
  mkdir -p "$SGE_ROOT/default/common" "$SGE_ROOT/qmaster/job_scripts" "$SGE_ROOT/db" "$SGE_ROOT/execd"
  for name in bin lib util utilbin; do ln -s "/var/lib/gridengine/$name" "$SGE_ROOT/$name"; done
  echo node1 >"$SGE_ROOT/default/common/act_qmaster"
  cat >"$SGE_ROOT/default/common/bootstrap" <<BOOTSTRAP
admin_user none
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params $SGE_ROOT/db
binary_path /usr/sbin
qmaster_spool_dir $SGE_ROOT/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
BOOTSTRAP
  on_host 1 /usr/share/gridengine/scripts/init_cluster "$SGE_ROOT" default "$SGE_ROOT/db" root >setup.log
}

# change_config KIND NAME SED: changes what `qconf -sKIND NAME` prints. The file has the name that qconf expects.
change_config() {
  # shellcheck disable=SC2086  # no word, where there is no name
  on_host 1 qconf "-s$1" $2 | sed "$3" >"${2:-$1}"
  on_host 1 qconf "-M$1" "$PWD/${2:-$1}" >setup.log
}

add_environment() {
  printf '%s\n' 'pe_name spread' 'slots 99' 'user_lists NONE' 'xuser_lists NONE' 'start_proc_args NONE' \
    'stop_proc_args NONE' 'allocation_rule $round_robin' 'control_slaves FALSE' 'job_is_first_task TRUE' \
    'urgency_slots min' 'qsort_args NONE' 'accounting_summary FALSE' >spread
  on_host 1 qconf -Ap "$PWD/spread" >setup.log
}

add_queue() {
  on_host 1 qconf -sq | sed "s/^qname .*/qname all.q/; s/^hostlist .*/hostlist $1/; s/^pe_list .*/pe_list spread/
    s/^slots .*/slots 2/; s/^load_thresholds .*/load_thresholds NONE/; s/^notify .*/notify 00:00:20/" >queue
  on_host 1 qconf -Aq "$PWD/queue" >setup.log
}

# submit OPTION… <<JOB: submits the script JOB. Its number is in $job; its output is in the files of `run`.
submit() {
  { echo '#!/bin/bash' && cat; } >job.sh
  last_command="qsub $*: $(tail -n 1 job.sh)"
  unset status elapsed_ms
  : >"$out/stdout"
  : >"$out/stderr"
  job=$(on_host 1 qsub -terse -wd "$PWD" -o "$out/stdout" -e "$out/stderr" -v "TEST_MARKER=$TEST_MARKER" "$@" "$PWD/job.sh")
}
job_has_ended() { ! on_host 1 qstat -j "$job" >setup.log 2>&1; }
ranks_began() { [[ $(grep -c began "$out/stdout") -eq $1 ]]; }

test_a_parallel_job_runs_on_all_its_hosts() {
  grid_engine_up 3
  # shellcheck disable=SC2016  # the workers' shell expands it
  submit -pe spread 5 <<<"exec $DTRAIN run --no-tag sh -c 'echo \$RANK of \$WORLD_SIZE; hostname >>hosts.\$(hostname)'"
  wait_for job_has_ended
  expect_stdout_lines '0 of 5' '1 of 5' '2 of 5' '3 of 5' '4 of 5'
  # The scheduler decides which host comes first, and which has one slot.
  expect test "$(cat hosts.node1 hosts.node2 hosts.node3 | wc -l)" -eq 5
  expect_stderr_contains "dtrain: Grid Engine job $job: "
  expect_stderr_contains ', 5 slots'
  expect_no_processes
}

test_qdel_leaves_no_process_on_any_host() {
  grid_engine_up 3
  submit -pe spread 3 <<<"exec $DTRAIN run sh -c 'setsid sleep 600 & echo began; exec sleep 600'"
  wait_for ranks_began 3
  on_host 1 qdel "$job"
  wait_for job_has_ended
  expect_no_processes
}

# With -notify, qdel sends SIGUSR2 before it kills.
test_the_notice_of_qdel_reaches_each_rank() {
  grid_engine_up 3
  submit -notify -pe spread 3 <<<"exec $DTRAIN run sh -c 'trap \"echo saved; exit 0\" USR2; echo began; while :; do sleep 0.05; done'"
  wait_for ranks_began 3
  on_host 1 qdel "$job"
  wait_for job_has_ended
  expect_lines_with 3 saved
  expect_no_processes
}

run_tests "$@"
