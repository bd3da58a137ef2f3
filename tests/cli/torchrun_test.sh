#!/usr/bin/env bash
# Command lines of torchrun and mpirun.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # the workers' shell expands it
test_a_command_line_of_torchrun_on_one_machine_runs() {
  run_dtrain run --standalone --nnodes=1 --node_rank=0 --nproc_per_node=2 --master_addr 127.0.0.1 --master_port 29500 \
    --rdzv-backend=c10d --rdzv-endpoint localhost:0 --rdzv-id 7 --max-restarts 0 --no-python --log-dir logs --tee 3 \
    sh -c 'echo $RANK of $WORLD_SIZE'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:0 of 2' '[1]<stdout>:1 of 2'
  expect_stderr ''
  expect_file logs/rank.1/stdout '1 of 2'
  run_dtrain run --nproc-per-node auto --log_dir logs -r 3 echo hi
  expect_status 0
  expect_stdout ''
  expect test "$(cat logs/rank.*/stdout | wc -l)" = "$(nproc)"
}

test_a_command_line_of_torchrun_runs_as_typed() {
  echo 'import os; print(os.environ["RANK"], os.environ["WORLD_SIZE"])' >train.py
  run_dtrain run --standalone --nproc_per_node=2 --no-tag train.py
  expect_status 0
  expect_stdout_lines '0 2' '1 2'
  run_dtrain run --nproc_per_node=cpu --no-tag train.py
  expect_status 0
  expect test "$(wc -l <"$out/stdout")" = "$(nproc)"
  run_dtrain run --standalone --role trainer --max-restarts=3 --no-tag train.py
  expect_status 0
  expect_stdout '0 1'
  expect_stderr 'dtrain: warning: --role trainer: a label of torchrun; these processes are worker here'
}

test_a_range_of_hosts_that_this_machine_meets_is_accepted() {
  run_dtrain run --nnodes 1:4 --nproc-per-node 2 --max-restarts 3 --no-tag sh -c 'echo $WORLD_SIZE'
  expect_status 0
  expect_stdout_lines 2 2
  expect_stderr ''
}

test_redirects_without_a_folder_name_theirs() {
  local folder
  run_dtrain run --nproc-per-node 1 -r 3 echo hi
  expect_status 0
  expect_stdout ''
  folder=$(sed -n 's/^dtrain: warning: -r: the files are in \(.*\); --log-dir DIR .*/\1/p' "$out/stderr")
  expect_file "$folder/rank.0/stdout" hi
  rm -r "$folder"
}

test_redirects_of_local_ranks_hold_on_the_console() {
  # shellcheck disable=SC2016  # for the ranks
  run_dtrain run --nproc-per-node 2 -r 0:1,1:2 --log-dir logs --no-tag sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
  expect_status 0
  expect_stdout 'out 1'
  expect_stderr 'err 0'
  expect_file logs/rank.0/stdout 'out 0'
  expect_file logs/rank.1/stderr 'err 1'
  # --tee shows what it copies.
  # shellcheck disable=SC2016  # for the ranks
  run_dtrain run --nproc-per-node 2 -r 3 -t 1:1 --log-dir logs2 --no-tag sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
  expect_status 0
  expect_stdout 'out 1'
  expect_stderr ''
}

test_a_variable_names_the_interpreter() {
  printf '#!/bin/sh\necho "by $*"\n' >interpreter
  chmod +x interpreter
  run env PYTHON_EXEC="$PWD/interpreter" "$DTRAIN" run --nproc-per-node 1 --no-tag train.py --lr 1
  expect_status 0
  expect_stdout 'by -u train.py --lr 1'
}

test_a_module_is_started_by_python() {
  echo 'import sys; print("module", sys.argv[1:], sys.stdout.write_through)' >train.py
  run_dtrain run --nproc-per-node 1 -x PYTHONUNBUFFERED= --no-tag -m train --lr 1
  expect_status 0
  expect_stdout "module ['--lr', '1'] True"
  run_dtrain run -x PYTHONUNBUFFERED= --no-tag -m train
  expect_status 0
  expect_stdout 'module [] True'
  answered '-m: conflicts with --no-python; give one of them' --no-python -m train
}

test_a_script_is_started_by_python_whatever_its_mode() {
  printf '#!/bin/sh\necho "shell: $*"\n' >main.py
  chmod +x main.py
  run_dtrain run --nproc-per-node 1 --no-python --no-tag ./main.py --lr 1
  expect_status 0
  expect_stdout 'shell: --lr 1'
  run_dtrain run -np 1 --no-tag ./main.py
  expect_stdout 'shell: '
  echo 'import sys; print("python:", sys.argv[1:], sys.stdout.write_through)' >main.py
  run_dtrain run --nproc-per-node 2 -x PYTHONUNBUFFERED= --no-tag main.py --lr 1
  expect_status 0
  expect_stdout_lines "python: ['--lr', '1'] True" "python: ['--lr', '1'] True"
  expect_stderr ''
  chmod -x main.py
  run_dtrain run --local-ranks-filter 0 -np 1 -x PYTHONUNBUFFERED= --no-tag ./main.py
  expect_status 0
  expect_stdout 'python: [] True'
}

test_torchtitans_line_runs() {
  mkdir torchtitan
  cat >torchtitan/train.py <<'END'
import os
import sys

print("rank", os.environ["RANK"], sys.argv[1:])
print("rank", os.environ["RANK"], "warns", file=sys.stderr)
END
  # As in its run_train.sh.
  run_dtrain run --nproc_per_node=4 --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
    --local-ranks-filter 0 --role rank --tee 3 --log-dir logs -m torchtitan.train --job.config_file debug.toml
  expect_status 0
  expect_stdout "[0]<stdout>:rank 0 ['--job.config_file', 'debug.toml']"
  expect_stderr_contains 'dtrain: warning: --role rank: a label of torchrun; these processes are worker here'
  expect_stderr_contains '[0]<stderr>:rank 0 warns'
  expect_not grep -q '<stderr>:rank [1-3]' "$out/stderr"
  local rank
  for rank in 0 1 2 3; do
    expect_file logs/rank.$rank/stdout "rank $rank ['--job.config_file', 'debug.toml']"
    expect_file logs/rank.$rank/stderr "rank $rank warns"
  done
}

test_the_failure_of_a_rank_that_the_filter_hides_is_shown() {
  run_dtrain run --nproc-per-node 2 --local-ranks-filter 1 sh -c '[ $RANK = 1 ] || { echo why >&2; exit 5; }; sleep 60'
  expect_status 5
  expect_stderr_contains 'dtrain:   why'
  expect_not grep -qF '[0]<stderr>' "$out/stderr"
}

test_a_filter_that_hides_all_output_is_a_warning() {
  run_dtrain run --nproc-per-node 2 --local-ranks-filter 2,3 echo hi
  expect_status 0
  expect_stdout ''
  expect_stderr 'dtrain: warning: --local-ranks-filter: no output is shown, since the local ranks of this job are 0 to 1'
}

test_words_of_torchrun_that_change_nothing_are_accepted() {
  run_dtrain run --nproc-per-node 2 --signals-to-handle SIGTERM,SIGUSR1 --shutdown-timeout 5 --local-addr 127.0.0.1 \
    --log-line-prefix-template '${rank}: ' \
    --event-log-handler null --start-method spawn --logs-specs default --virtual-local-rank=false \
    --numa-binding node --monitor-interval 0.5 --max-restarts 0 --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
  expect_stderr ''
  run_dtrain config show --shutdown_timeout 5
  expect_stdout_contains 'grace = 5'
}

test_numa_binding_binds_where_there_are_no_gpus() {
  run env CUDA_VISIBLE_DEVICES= "$DTRAIN" run -np 2 --numa-binding node --report-bindings true
  expect_status 0
  expect_stderr_contains 'rank 1 on localhost: cpus '
  expect_not grep -qF '(not bound)' "$out/stderr"
}

test_options_of_mpirun_are_understood() {
  run_dtrain run -np 1 -host localhost -wdir / -genv A 'x y' --no-tag sh -c 'pwd; echo $A'
  expect_status 0
  expect_stdout '/
x y'
  run_dtrain run -host localhost --map-by ppr:2:node --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
}

# answered TEXT ARGUMENT…: dtrain ends with 2 and this line, and starts nothing.
answered() {
  local text=$1
  shift
  run_dtrain run "$@" touch started
  expect_status 2
  expect_stderr "dtrain: $text"
  expect_not test -e started
}

test_what_dtrain_cannot_do_is_answered_in_one_line() {
  answered '--nnodes: 2 nodes, but neither their hosts nor the address of node 0 are given. Start dtrain run once with -H HOST,HOST,…, or on each node with --node-rank K and --master-addr HOST' --nproc_per_node 2 --nnodes 2
  answered '--node-rank: a job on one node has the rank 0 alone, not 1; where each node starts dtrain run, give --nnodes N and --master-addr HOST, too' \
    -np 2 --node-rank 1
  answered '--tee: needs a folder for the files; add --log-dir DIR' -np 2 --no-macros --tee 3
  answered '--numa-binding: socket: a socket is mostly one NUMA node; write: --numa-binding node' -np 2 --numa-binding socket
  answered '--signals-to-handle: dtrain passes on SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH; name only these, or leave it out' \
    -np 2 --signals-to-handle SIGTERM,SIGALRM
  answered '--local-ranks-filter: expected local ranks from 0, such as 0,1, got "all"' -np 2 --local-ranks-filter all
  answered '--start-method: expected spawn, fork or forkserver, got "thread"' -np 2 --start-method thread
  answered '--print-completion: write: dtrain completion bash, zsh or fish' --print-completion bash
}

test_mpirun_options_that_are_true_here_are_accepted() {
  run env -u LD_LIBRARY_PATH "$DTRAIN" run -np 2 --allow-run-as-root -bind-to none -map-by slot -x LD_LIBRARY_PATH -x PATH \
    -mca pml ob1 -mca btl ^openib --tag-output --nooversubscribe -genvall -env A b sh -c 'echo $A'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:b' '[1]<stdout>:b'
  expect_stderr_contains 'warning: -mca pml, btl: no effect, since dtrain starts the processes without Open MPI'
  expect_stderr_contains 'warning: -x: LD_LIBRARY_PATH is not set in the environment, so no process gets it'
  printf 'localhost:2\n' >hosts
  run_dtrain run -f hosts --no-tag -D / pwd
  expect_stdout_lines / /
}

test_options_of_mpirun_and_srun_are_answered_by_those_of_dtrain() {
  answered '-mca: btl_tcp_if_include: dtrain'"'"'s option is --network-interfaces NAMES' -np 2 -mca btl_tcp_if_include eth0
  answered '--pernode: write: --ppn 1' --pernode
  answered '-rf: dtrain places processes by --map-by, --rank-by and --role NAME=COUNT@HOSTS; leave it out' -np 2 -rf file
  answered '-w: write: -H HOST,HOST,…, such as -H "$SLURM_JOB_NODELIST"' -n 2 -w node1
  answered '-o: write: --output-dir DIR, which has a folder for each rank' -n 2 -o out.txt
  answered '--export: dtrain forwards its environment; write: -x NAME=VALUE for more, --env-exclude NAME for less' \
    -n 2 --export=ALL
  answered '--bind-to: expected none, core, numa or auto, got "socket"; a socket is mostly one node: write numa' \
    -np 2 --bind-to socket
  answered '-p: expected 1..65535, got "gpu": this is the port of sshd; a partition of Slurm goes to salloc or sbatch' \
    -n 2 -p gpu
  run_dtrain run --ntasks 2 --ntasks-per-node 2 -H localhost -l -K echo up
  expect_status 0
  expect_stdout_lines '[0]<stdout>:up' '[1]<stdout>:up'
}

run_tests "$@"
