#!/usr/bin/env bash
# Jobs of nodes: each pod starts the same command by itself, in any order, and nobody can log in.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=pods.sh
. "$(dirname "$0")/pods.sh"

test_three_pods_with_torchruns_words_are_one_job() {
  pods_up 3
  new_token
  start_nodes --nproc-per-node 2 --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0 0
  expect_all_ranks 3 2
  expect_pod 0 stderr 'dtrain: node 0 of 3 (--node-rank); waiting for 2 nodes at port 29500'
  local k
  for k in 0 1 2; do expect_pod_lacks "$k" stderr "$token"; done
  expect_no_processes
}

# Each pod would be a namespace: these are processes of one pod. tests/bench/nodes.sh measures them.
test_64_nodes_on_loopback_are_one_job() {
  local node="$DTRAIN run --nnodes 64 --master-addr 127.0.0.1 --no-tag --node-rank"
  pods_up 1
  new_token
  # shellcheck disable=SC2016  # for the ranks
  local rank='sh -c '\''echo "$RANK of $WORLD_SIZE"'\'
  run_in_pod 0 bash -c "for k in {1..63}; do $node \$k $rank >own.\$k & nodes+=(\$!); done
    $node 0 $rank || exit; for k in \${nodes[@]}; do wait \$k || exit; done"
  expect_status 0
  mapfile -t lines < <(seq -f '%g of 64' 0 63)
  expect_stdout_lines "${lines[@]}"
  expect grep -qx '63 of 64' "$(pod_folder 0)/home/own.63"
  expect_no_processes
}

test_the_variables_of_a_trainjob_are_enough() {
  pods_up 2
  new_token
  publish 0
  train_job_variables 2
  start_pods "$DTRAIN" run --no-tag -- "${show_rank[@]}"
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 2
  expect_pod 0 stderr 'dtrain: node 0 of 2 (PET_NODE_RANK); waiting for 1 node at port 29400'
  expect_no_processes
}

# The published lines, with `dtrain run` in the place of torchrun.
test_the_lines_of_skypilot_and_dstack_run() {
  pods_up 2
  new_token
  local k line
  # shellcheck disable=SC2016
  local lines=(
    'dtrain run --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE --node_rank=${SKYPILOT_NODE_RANK}
      --master_addr=$(echo "$SKYPILOT_NODE_IPS" | tr " " "\n" | head -n1) --master_port=12375 main.py --epochs 2'
    'dtrain run --nproc-per-node=$DSTACK_GPUS_PER_NODE --node-rank=$DSTACK_NODE_RANK --nnodes=$DSTACK_NODES_NUM
      --master-addr=$DSTACK_MASTER_NODE_IP --master-port=12345 main.py --epochs 2')
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  for k in 0 1; do
    pod_variable "$k" "PATH=$PWD/bin:$PATH"
    pod_variable "$k" "SKYPILOT_NODE_IPS=$(pod_address 0) $(pod_address 1)"
    for line in SKYPILOT_NUM_NODES=2 SKYPILOT_NUM_GPUS_PER_NODE=2 "SKYPILOT_NODE_RANK=$k" DSTACK_GPUS_PER_NODE=2 \
      "DSTACK_NODE_RANK=$k" DSTACK_NODES_NUM=2 "DSTACK_MASTER_NODE_IP=$(pod_address 0)"; do
      pod_variable "$k" "$line"
    done
    echo 'import os, sys; print(os.environ["RANK"], "of", os.environ["WORLD_SIZE"], sys.argv[1:])' >"$(pod_folder $k)/home/main.py"
  done
  for line in "${lines[@]}"; do
    start_pods sh -c "${line//$'\n'/ }"
    finish_pods
    expect_pods 0 0
    expect_pod_lines 0 "[0]<stdout>:0 of 4 ['--epochs', '2']" "[1]<stdout>:1 of 4 ['--epochs', '2']" \
      "[2]<stdout>:2 of 4 ['--epochs', '2']" "[3]<stdout>:3 of 4 ['--epochs', '2']"
    expect_pod_lines 1 "[2]<stdout>:2 of 4 ['--epochs', '2']" "[3]<stdout>:3 of 4 ['--epochs', '2']"
  done
  expect_no_processes
}

# The SDK has the source of a function in the command of the pods, and `torchrun` behind it.
test_the_command_of_kubeflows_sdk_runs() {
  pods_up 2
  new_token
  publish 0
  train_job_variables 2
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  pod_variable all "PATH=$PWD/bin:$PATH"
  local lines=("read -r -d '' SCRIPT << EOM" '' 'def train(steps):' '    import os'
    '    print(os.environ["RANK"], "of", os.environ["WORLD_SIZE"], steps)' '' "train(**{'steps': 3})" '' EOM
    'printf "%s" "$SCRIPT" > "train_of_sdk.py"' 'dtrain run "train_of_sdk.py"')
  start_pods bash -c $'\n'"$(printf '%s\n' "${lines[@]}")"
  finish_pods
  expect_pods 0 0
  expect_pod_lines 0 '[0]<stdout>:0 of 4 3' '[1]<stdout>:1 of 4 3' '[2]<stdout>:2 of 4 3' '[3]<stdout>:3 of 4 3'
  expect_pod_lines 1 '[2]<stdout>:2 of 4 3' '[3]<stdout>:3 of 4 3'
  expect_no_processes
}

test_the_rank_of_an_indexed_job_is_its_index_where_that_is_named() {
  pods_up 2
  new_token
  local k
  for k in 0 1; do pod_variable "$k" "JOB_COMPLETION_INDEX=$k"; done
  start_pods "$DTRAIN" run --nnodes 2 --node-rank env:JOB_COMPLETION_INDEX --master-addr "$(pod_address 0)" --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 1
  # Without that word, the index is never a rank.
  start_pods "$DTRAIN" run --nnodes 2 --master-addr "$(pod_address 0)" touch started
  finish_pods
  expect_pods 2 2
  expect_pod 1 stderr 'dtrain: --nnodes: 2 nodes, but the rank of this one is missing: give --node-rank K of 0..1'
}

test_c10d_makes_the_pod_with_the_address_node_0() {
  pods_up 3
  new_token
  start_pods "$DTRAIN" run --nnodes 3 --rdzv-backend c10d --rdzv-endpoint "$(pod_address 1)" --nproc-per-node 2 --no-tag \
    sh -c 'echo "$RANK"'
  finish_pods
  expect_pods 0 0 0
  expect_pod_lines 1 0 1 2 3 4 5
  expect_pod 1 stderr 'waiting for 2 nodes at port 29400'
  # The order of addresses gives the others their ranks.
  expect_pod_lines 0 2 3
  expect_pod_lines 2 4 5
  expect_no_processes
}

test_the_pods_may_start_in_any_order() {
  pods_up 3
  new_token
  local order k
  for order in '0 1 2' '2 1 0' '1 2 0' '1 0 2' '2 0 1'; do
    for k in $order; do
      start_node "$k" --no-tag "${show_rank[@]}"
      sleep 0.7
    done
    finish_pods
    expect_pods 0 0 0
    expect_all_ranks 3 1
  done
  expect_no_processes
}

test_a_name_that_dns_publishes_late_is_awaited() {
  pods_up 2
  new_token
  dns_up
  start_pods "$DTRAIN" run --nnodes 2 --node-rank env:K --master-addr "$(pod_name 0)" touch started
  finish_pods
  expect_pods 2 2
  local k
  for k in 0 1; do pod_variable "$k" "K=$k"; done
  start_pods "$DTRAIN" run --nnodes 2 --node-rank env:K --master-addr "$(pod_name 0)" --no-tag "${show_rank[@]}"
  # Longer than the 5 s after which a node names what it waits for.
  wait_for_pod 1 stderr "dtrain: waiting for node 0 at $(pod_name 0):29500: "
  dns_publish 0
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 1
  expect_no_processes
}

test_each_node_exits_with_the_status_of_the_job() {
  pods_up 3
  new_token
  start_nodes --no-tag sh -c '[ $RANK != 2 ] || exit 5; exec sleep 60'
  finish_pods
  expect_pods 5 5 5
  expect_pod 0 stderr 'exit status 5'
  expect_no_processes
}

test_each_node_has_its_own_variables_and_then_those_of_x() {
  pods_up 2
  new_token
  pod_variable 0 SHARED=zero
  pod_variable 1 SHARED=one
  pod_variable 1 OWN=secret-of-one
  # shellcheck disable=SC2016
  start_nodes --no-tag -x FROM_X=x sh -c 'echo "$RANK $SHARED ${OWN-none} $FROM_X"; env | grep -c NODES_TOKEN || true'
  finish_pods
  expect_pod_lines 0 '0 zero none x' 0 '1 one secret-of-one x' 0
  expect_no_processes
}

test_quiet_nodes_print_no_lines_of_ranks() {
  pods_up 2
  new_token
  start_nodes --quiet echo hi
  finish_pods
  expect_pods 0 0
  local k
  for k in 0 1; do expect test ! -s "$(pod_folder $k)/stdout"; done
}

test_a_filter_of_local_ranks_holds_on_all_nodes() {
  pods_up 2
  new_token
  # shellcheck disable=SC2016  # for the ranks
  start_nodes --nproc-per-node 2 --local-ranks-filter 1 --no-tag sh -c 'echo "rank $RANK"'
  finish_pods
  expect_pods 0 0
  expect_pod_lines 0 'rank 1' 'rank 3'
  expect_pod_lines 1 'rank 3'
}

test_a_mounted_secret_is_the_token() {
  pods_up 2
  local k
  "$DTRAIN" token >shared
  for k in 0 1; do
    mkdir -p "$(pod_folder $k)/home/secret"
    cp shared "$(pod_folder $k)/home/secret/token"
    chmod 644 "$(pod_folder $k)/home/secret/token"
  done
  start_nodes --token-file secret/token --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 1
}

# The command lines in the namespaces of all pods, which each user of a machine may read.
command_lines() {
  local k pid
  for ((k = 0; k < pod_count; ++k)); do
    for pid in $(ip netns pids "$net-$k"); do tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null && echo; done
  done
}

test_no_command_line_has_the_secret() {
  local k words
  pods_up 2
  new_token
  for k in 0 1; do
    echo "$token" >"$(pod_folder "$k")/home/shared"
    chmod 600 "$(pod_folder "$k")/home/shared"
  done
  for words in '' '--token-file shared'; do
    # shellcheck disable=SC2086  # words
    start_nodes $words "${up[@]}"
    for k in 0 1; do wait_for_pod "$k" stdout up; done
    command_lines >lines
    expect test "$(grep -c 'dtrain run --nnodes 2' lines)" -ge 2
    expect test "$(grep -c 'sleep 600' lines)" -ge 2
    expect_not grep -F "$token" lines
    signal_pod 0 TERM
    finish_pods
  done
  expect_no_processes
}

test_nodes_without_a_token_join_only_those_that_want_none() {
  pods_up 2
  start_nodes --no-token --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 1
  expect_pod 0 stderr 'warning: --no-token: each process that reaches port 29500'
  new_token
  start_node 0 --start-timeout 8s touch started
  start_pod 1 env -u DTRAIN_NODES_TOKEN "$DTRAIN" run --nnodes 2 --node-rank 1 --master-addr "$(pod_address 0)" --no-token \
    --start-timeout 8s touch started
  finish_pods
  expect test "${pod_status[0]}" -ne 0
  expect test "${pod_status[1]}" -ne 0
  expect_not test -e "$(pod_folder 0)/home/started" -o -e "$(pod_folder 1)/home/started"
}

test_workers_have_another_master_port_than_the_nodes() {
  pods_up 2
  new_token
  # shellcheck disable=SC2016
  start_nodes --no-tag sh -c 'echo "$MASTER_PORT"'
  finish_pods
  expect_pods 0 0
  expect test "$(sort -u "$(pod_folder 0)/stdout" | wc -l)" = 1
  expect_pod_lacks 0 stdout 29500
  expect grep -qxE '[0-9]+' "$(pod_folder 1)/stdout"
}

test_fewer_nodes_than_the_most_start_without_the_rest() {
  pods_up 3
  new_token
  local k
  for k in 0 1; do
    start_pod "$k" "$DTRAIN" run --nnodes 2:3 --node-rank "$k" --master-addr "$(pod_address 0)" --start-timeout 50s --no-tag \
      "${show_rank[@]}"
  done
  finish_pods
  expect test "${pod_status[*]}" = '0 0'
  expect_all_ranks 2 1
  expect_no_processes
}

test_ranks_of_nodes_sum_together() {
  pods_up 3
  new_token
  start_nodes --nproc-per-node 2 "$(dirname "$DTRAIN")/tests/programs/collective_worker" -1 none none
  finish_pods
  expect_pods 0 0 0
  expect_no_processes
}

test_another_command_is_one_warning() {
  pods_up 2
  new_token
  start_node 0 --no-tag echo zero
  start_node 1 --no-tag echo one
  finish_pods
  expect_pods 0 0
  expect_pod_lines 0 zero one
  expect_pod_lines 1 one
  expect_pod 0 stderr 'train-1 runs its own command: echo one; node 0 runs: echo zero'
  expect test "$(grep -c warning "$(pod_folder 0)/stderr")" = 1
}

test_a_job_file_of_nodes_is_kept_on_node_0() {
  local k
  pods_up 2
  new_token
  cat >job.toml <<'END'
schema = 1
name = "mini"
command = ["sh", "-c", "echo rank $RANK of $WORLD_SIZE; sleep 600"]
nnodes = "2"
node-rank = "env:K"
master-addr = "10.77.0.10"
END
  for k in 0 1; do
    pod_variable "$k" "K=$k"
    cp job.toml "$(pod_folder "$k")/home"
  done
  run_in_pod 1 "$DTRAIN" job run --detach job.toml
  expect_status 2
  expect_stderr_contains 'dtrain: --detach: this is node 1, and the job is kept on node 0; leave --detach out here'
  for k in 0 1; do sed '/rank =/d' job.toml >"$(pod_folder "$k")/home/c10d.toml"; done
  run_in_pod 1 "$DTRAIN" job run --detach c10d.toml --rdzv-backend c10d
  expect_status 2
  expect_stderr_contains 'dtrain: --detach: node 0 keeps the job, and without its rank a node learns only later'
  start_pod 1 "$DTRAIN" job run job.toml
  run_in_pod 0 "$DTRAIN" job run --detach job.toml
  expect_status 0
  expect_stdout mini-1
  wait_for_pod 1 stdout '[1]<stdout>:rank 1 of 2'
  run_in_pod 0 "$DTRAIN" job status mini-1
  expect_stdout_contains 'mini-1: running'
  run_in_pod 0 "$DTRAIN" job stop mini-1
  expect_status 0
  finish_pods
  expect test "${pod_status[1]}" = 143
  run_in_pod 0 "$DTRAIN" job logs mini-1
  expect_stdout_contains 'rank 0 of 2'
  expect_stdout_contains 'rank 1 of 2'
  expect_not grep -rqs "$token" "$(pod_folder 0)/home/.local"
  # A node that does not keep the job has no folder of it.
  expect_not test -e "$(pod_folder 1)/home/.local"
  start_pods "$DTRAIN" job run c10d.toml --rdzv-backend c10d -- echo hi
  finish_pods
  expect_pods 0 0
  expect test -s "$(pod_folder 0)/home/.local/state/dtrain/jobs/mini-2/report.json"
  expect_not test -e "$(pod_folder 1)/home/.local/state/dtrain/jobs/mini-1"
  expect_no_processes
}

test_a_dry_run_awaits_no_other_node() {
  local k
  pods_up 2
  new_token
  for k in 0 1; do
    run_in_pod "$k" "$DTRAIN" run --dry-run --nnodes 2 --node-rank "$k" --master-addr "$(pod_address 0)" \
      --nproc-per-node cpu touch started
    expect_status 0
    expect_stdout_contains 'node 1'
    expect_stderr 'dtrain: warning: --dry-run: other nodes are not asked, and are shown with the CPUs and GPUs of this one'
  done
  run_in_pod 0 "$DTRAIN" run --dry-run --nnodes 2 --node-rank 0 --master-addr "$(pod_address 0)" --nproc-per-node 2 touch started
  expect_status 0
  expect_stderr ''
  expect_not test -e "$(pod_folder 0)/home/started"
}

test_a_node_whose_reader_is_gone_stays_in_the_job() {
  local k command
  pods_up 2
  new_token
  # shellcheck disable=SC2016  # for the ranks
  command="$DTRAIN run --nnodes 2 --master-addr $(pod_address 0) --no-tag --node-rank"
  start_pod 0 sh -c "$command 0 sh -c 'seq 20000; echo last \$RANK'"
  start_pod 1 bash -c "$command 1 sh -c 'seq 20000; echo last \$RANK' | head -n 1; exit \${PIPESTATUS[0]}"
  finish_pods
  expect_pods 0 0
  expect test "$(wc -l <"$(pod_folder 0)/stdout")" = 40002
  for k in 0 1; do expect_pod 0 stdout "last $k"; done
  expect_pod_lines 1 1
  expect_pod 1 stderr 'warning: standard output has no reader any more: what the tasks of this node print is not shown here'
  expect_no_processes
}

test_a_command_of_the_role_is_each_nodes_own() {
  pods_up 2
  new_token
  start_node 0 --no-tag --role-command 'worker=echo zero'
  start_node 1 --no-tag --role-command 'worker=echo one'
  finish_pods
  expect_pods 0 0
  expect_pod_lines 0 zero one
  expect_pod_lines 1 one
  expect_pod 0 stderr 'train-1 runs its own command: echo one; node 0 runs: echo zero'
  start_node 0 --no-tag --role-command 'worker=echo zero'
  start_node 1 --no-tag echo one
  finish_pods
  expect_pods 0 0
  expect_pod_lines 1 one
}

test_a_signal_to_node_0_ends_all() {
  pods_up 2
  new_token
  start_nodes --no-tag "${up[@]}"
  local k
  for k in 0 1; do wait_for_pod "$k" stdout up; done
  signal_pod 0 TERM
  finish_pods
  expect_pods 143 143
  expect_no_processes
}

test_a_failed_rank_starts_all_nodes_again() {
  pods_up 2
  new_token
  # shellcheck disable=SC2016
  start_nodes --max-restarts 1 --no-tag sh -c 'echo $RANK in $DTRAIN_GENERATION; [ $RANK$DTRAIN_GENERATION != 11 ] || exit 7'
  finish_pods
  expect_pods 0 0
  expect_pod 0 stdout '0 in 2'
  expect_pod 1 stdout '1 in 1'
  expect_pod 1 stdout '1 in 2'
  expect_pod 0 stderr 'restart 1 of 1 after rank 1 on train-1: exit status 7'
  expect_pod_lacks 1 stdout '0 in'
  expect_no_processes
}

test_a_pod_that_comes_back_takes_its_place_again() {
  pods_up 3
  new_token
  # shellcheck disable=SC2016
  local command=(--max-restarts 1 --no-tag sh -c 'echo $RANK in $DTRAIN_GENERATION; [ $DTRAIN_GENERATION = 2 ] || exec sleep 600')
  start_nodes "${command[@]}"
  local k
  for k in 0 1 2; do wait_for_pod "$k" stdout "$k in 1"; done
  signal_pod 1 TERM
  wait "${pod_pid[1]}" || expect test $? -eq 143
  start_node 1 "${command[@]}"
  finish_pods
  expect_pods 0 0 0
  for k in 0 1 2; do expect_pod "$k" stdout "$k in 2"; done
  expect_pod_lacks 1 stdout '1 in 1'
  expect_pod 0 stderr 'restart 1 of 1'
  expect_no_processes
}

# The job has gone on without it, and it tries for longer than its --start-timeout.
test_a_pod_that_comes_back_late_waits_for_the_next_restart() {
  pods_up 3
  new_token
  # shellcheck disable=SC2016
  local command=(--start-timeout 15s --max-restarts 3 --no-tag sh -c 'echo $RANK of $WORLD_SIZE in $DTRAIN_GENERATION
    [ $DTRAIN_GENERATION = 3 ] || if [ $RANK = 0 ]; then until [ -e ~/go-$DTRAIN_GENERATION ]; do sleep 0.1; done; exit 7
    else exec sleep 600; fi')
  local k
  start() { start_pod "$1" "$DTRAIN" run --nnodes 2:3 --node-rank "$1" --master-addr "$(pod_address 0)" "${command[@]}"; }
  for k in 0 1 2; do start "$k"; done
  for k in 0 1 2; do wait_for_pod "$k" stdout "$k of 3 in 1"; done
  signal_pod 2 KILL
  wait "${pod_pid[2]}" || true
  wait_for_pod 0 stdout '1 of 2 in 2'
  start 2
  wait_for_pod 0 stderr 'node 2 (train-2) takes its place at the next restart'
  sleep 16
  touch "$(pod_folder 0)/home/go-2"
  finish_pods
  expect_pods 0 0 0
  for k in 0 1 2; do expect_pod "$k" stdout "$k of 3 in 3"; done
  expect_no_processes
}

run_tests "$@"
