#!/usr/bin/env bash
# Jobs in allocations of Slurm, on nodes without an SSH server.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

examples=$(realpath "$(dirname "$0")/../../examples")
collective=$(dirname "$DTRAIN")/tests/programs/collective_worker
steady=$(dirname "$DTRAIN")/tests/programs/steady_worker
# shellcheck disable=SC2016  # for the workers' shells
show_rank='echo $(hostname) $RANK/$WORLD_SIZE $LOCAL_RANK $SLURM_PROCID/$SLURM_NTASKS'

test_a_batch_script_of_one_line_runs_on_all_nodes() {
  slurm_up 3
  run_batch -N3 -n3 <<<"exec $DTRAIN run sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/3 0 0/3' '[1]<stdout>:n2 1/3 0 1/3' '[2]<stdout>:n3 2/3 0 2/3'
  expect_stderr "dtrain: Slurm job $job: n[1-3]"
  expect_no_processes
  # One node needs no step. A node has as many ranks as tasks.
  run_batch -N1 -n1 <<<"exec $DTRAIN run sh -c '$show_rank'"
  expect_status 0
  expect_stdout '[0]<stdout>:n1 0/1 0 0/1'
  run_batch -N2 -n5 -c1 <<<"exec $DTRAIN run sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/5 0 0/5' '[1]<stdout>:n1 1/5 1 1/5' '[2]<stdout>:n1 2/5 2 2/5' \
    '[3]<stdout>:n1 3/5 3 3/5' '[4]<stdout>:n2 4/5 0 4/5'
  expect_no_processes
}

test_fewer_ranks_than_slots_are_on_the_first_nodes() {
  slurm_up 3
  run_batch -N3 --ntasks-per-node=2 -c1 <<<"exec $DTRAIN run -np 2 sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/2 0 0/2' '[1]<stdout>:n1 1/2 1 1/2'
  run_batch -N3 --ntasks-per-node=2 -c1 <<<"exec $DTRAIN run -np 3 sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/3 0 0/3' '[1]<stdout>:n1 1/3 1 1/3' '[2]<stdout>:n2 2/3 0 2/3'
  run_batch -N3 --ntasks-per-node=2 -c1 <<<"exec $DTRAIN run -np 7 true"
  expect_status 2
  expect_stderr_contains "Slurm job $job"
  expect_no_processes
}

test_the_batch_script_of_the_example_runs_on_four_nodes() {
  slurm_up 4
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  ln -s /usr/bin/python3 bin/python
  echo 'import os; print(os.uname().nodename, os.environ["RANK"], "of", os.environ["WORLD_SIZE"])' >train.py
  run_on_login env PATH="$PWD/bin:$PATH" sbatch --wait -o job.out "$examples/slurm/job.sh"
  expect_status 0
  expect test "$(grep -c ' of 4$' job.out)" -eq 4
  expect grep -qxF '[3]<stdout>:n4 3 of 4' job.out
  expect_no_processes
}

test_sbatch_returns_the_status_of_the_job() {
  slurm_up 2
  printf '%s\n' '#!/bin/bash' "exec $DTRAIN run sh -c 'exit \$((7 * RANK))'" >job.sh
  run_on_login sbatch --wait -N2 -n2 -o job.out job.sh
  expect_status 7
  expect grep -q 'rank 1 (host n2, pid ' job.out
  expect_no_processes
}

test_ranks_on_several_nodes_sum_together() {
  slurm_up 3
  run_batch -N3 -n4 <<<"exec $DTRAIN run $collective -1 none none"
  expect_status 0
  expect_lines_with 4 'reached the end'
  expect_no_processes
}

test_options_of_the_batch_scripts_tasks_do_not_limit_the_agents() {
  slurm_gpus 4
  slurm_up 3
  # shellcheck disable=SC2016
  local show_gpus='echo $(hostname) $CUDA_VISIBLE_DEVICES'
  run_batch -N2 --ntasks-per-node=1 --gpus-per-node=2 -c2 <<<"exec $DTRAIN run sh -c '$show_gpus'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0,1' '[1]<stdout>:n2 0,1'
  expect_stderr_lacks CUDA_VISIBLE_DEVICES
  run_batch -N2 --gpus-per-task=1 -n4 <<<"exec $DTRAIN run sh -c '$show_gpus'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0,1,2' '[1]<stdout>:n1 0,1,2' '[2]<stdout>:n1 0,1,2' '[3]<stdout>:n2 0'
  run_batch -N3 --gpus=6 -n3 <<<"exec $DTRAIN run sh -c '$show_gpus'"
  expect_status 0
  # Slurm gives 4 GPUs to one of the nodes.
  expect_lines_with 1 ' 0,1,2,3$'
  expect_lines_with 2 ' 0$'
  expect_no_processes
}

test_a_heterogeneous_job_runs_on_the_nodes_of_all_groups() {
  slurm_up 4
  run_batch -N1 -n1 : -N2 -n4 <<<"exec $DTRAIN run sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/5 0 0/5' '[1]<stdout>:n2 1/5 0 1/5' '[2]<stdout>:n2 2/5 1 2/5' \
    '[3]<stdout>:n2 3/5 2 3/5' '[4]<stdout>:n3 4/5 0 4/5'
  run_batch -N2 -n2 : -N2 -n2 <<<"exec $DTRAIN run sh -c '$show_rank'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/4 0 0/4' '[1]<stdout>:n2 1/4 0 1/4' '[2]<stdout>:n3 2/4 0 2/4' \
    '[3]<stdout>:n4 3/4 0 3/4'
  expect_no_processes
}

test_salloc_and_an_interactive_step_run_jobs_too() {
  slurm_up 2
  run_on_login salloc -N2 -n2 "$DTRAIN" run sh -c "$show_rank"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/2 0 0/2' '[1]<stdout>:n2 1/2 0 1/2'
  # Within a step on n1, which holds all resources of the job there.
  run_on_login salloc -N2 -n2 srun -N1 -n1 "$DTRAIN" run sh -c "$show_rank"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1 0/2 0 0/2' '[1]<stdout>:n2 1/2 0 1/2'
  expect_no_processes
}

test_srun_starts_the_nodes_of_a_job_where_nnodes_counts_them() {
  slurm_up 3
  "$DTRAIN" token >shared
  chmod 600 shared
  cat >nodes.sh <<JOB
#!/bin/bash
head=\$(scontrol show hostnames "\$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks-per-node=1 "$DTRAIN" run --nnodes "\$SLURM_NNODES" --rdzv-backend c10d --rdzv-endpoint "\$head:29500" \\
  --token-file "$PWD/shared" --nproc-per-node 2 --no-tag "\$@" sh -c 'echo \$(hostname) \$RANK/\$WORLD_SIZE \$LOCAL_RANK'
JOB
  chmod +x nodes.sh
  run_batch -N3 -n3 <<<"exec $PWD/nodes.sh"
  expect_status 0
  expect_stderr_contains 'dtrain: node 0 of 3 (it has the address n1); waiting for 2 nodes at port 29500'
  # srun passes on what node 0 prints for all ranks, and what the others print for their own.
  # shellcheck disable=SC2031  # set by the library
  sort -u "$out/stdout" >lines
  expect_file lines "$(printf '%s\n' 'n1 0/6 0' 'n1 1/6 1' 'n2 2/6 0' 'n2 3/6 1' 'n3 4/6 0' 'n3 5/6 1')"
  # shellcheck disable=SC2031
  expect test "$(wc -l <"$out/stdout")" -eq 10
  expect_no_processes
  # The second node of the step is node 0 where the endpoint names it. The others keep Slurm's order.
  sed -i 's/head -n 1/sed -n 2p/' nodes.sh
  run_batch -N3 -n3 <<<"exec $PWD/nodes.sh"
  expect_status 0
  expect_stderr_contains 'dtrain: node 0 of 3 (it has the address n2); waiting for 2 nodes at port 29500'
  # shellcheck disable=SC2031  # set by the library
  sort -u "$out/stdout" >lines
  expect_file lines "$(printf '%s\n' 'n1 2/6 0' 'n1 3/6 1' 'n2 0/6 0' 'n2 1/6 1' 'n3 4/6 0' 'n3 5/6 1')"
  expect_no_processes
  # Without --nnodes, each task would be a job of its own.
  run_batch -N2 -n2 <<<"srun --ntasks-per-node=1 $DTRAIN run touch $PWD/started"
  expect_status 2
  expect_stderr_contains 'srun has started dtrain run 2 times'
  expect_not test -e started
  # Two tasks on a node are no two nodes.
  run_batch -N1 -n2 <<<"DTRAIN_NODES_TOKEN=\$(cat shared) srun -n2 $DTRAIN run --nnodes 2 --master-addr n1 touch $PWD/started"
  expect_status 2
  expect_stderr_contains 'srun has started 2 tasks on 1 node, and dtrain run is started once on each node'
  expect_not test -e started
  expect_no_processes
}

test_a_shell_on_a_node_runs_jobs_too() {
  slurm_up 2
  command -v script >/dev/null || skip 'no script(1): bsdutils'
  run_on_login script -qec "salloc -N2 -n2 srun -N1 -n1 --pty bash -ic '$DTRAIN run --color never hostname'" typescript
  expect_status 0
  expect_stdout_contains '[0]<stdout>:n1'
  expect_stdout_contains '[1]<stdout>:n2'
  expect_no_processes
}

# Stands in for pyxis, which Debian lacks: srun's tasks enter mount namespaces. These have the file /mnt/container,
# and no file of dtrain without --container-mounts.
container_srun() {
  mkdir bin app
  cp "$DTRAIN" app/dtrain
  cat >bin/srun <<SRUN
#!/bin/bash
keep='' words=()
while [[ \$1 != /bin/sh ]]; do
  case \$1 in
    --container-image=*) ;;
    --container-mounts=*) keep=\${1#*:} ;;
    *) words+=("\$1") ;;
  esac
  shift
done
exec $(command -v srun) "\${words[@]}" $PWD/bin/enter "\$keep" "\$@"
SRUN
  cat >bin/enter <<ENTER
#!/bin/sh
exec unshare --mount sh -c '
  touch /tmp/kept.\$\$ && mount --bind $PWD/app/dtrain /tmp/kept.\$\$ && mount -t tmpfs none $PWD/app &&
  if [ -n "\$1" ]; then touch "\$1" && mount --bind /tmp/kept.\$\$ "\$1"; fi &&
  umount /tmp/kept.\$\$ && rm /tmp/kept.\$\$ && mount -t tmpfs none /mnt && touch /mnt/container &&
  shift && exec "\$@"' enter "\$@"
ENTER
  chmod +x bin/*
}

test_srun_args_start_an_agent_in_a_container_on_each_node() {
  slurm_up 2
  container_srun
  local run="PATH=$PWD/bin:\$PATH exec $PWD/app/dtrain run --srun-args"
  local mount=--container-mounts=$PWD/app/dtrain:$PWD/app/dtrain
  local show="sh -c 'ls /mnt/container; hostname'"
  run_batch -N2 -n2 <<<"$run '--container-image=img $mount' $show"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:/mnt/container' '[0]<stdout>:n1' '[1]<stdout>:/mnt/container' '[1]<stdout>:n2'
  expect_no_processes
  run_batch -N1 -n1 <<<"$run '--container-image=img $mount' $show"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:/mnt/container' '[0]<stdout>:n1'
  expect_no_processes
  run_batch -N2 -n2 <<<"$run --container-image=img $show"
  expect_status 3
  expect_stderr_contains "n1, n2: its container has no dtrain; add --container-mounts=$PWD/app/dtrain:"
  expect_no_processes
}

# Stands in for `apptainer exec --contain img.sif`: its namespaces, and file systems that only it has.
test_a_command_may_give_each_rank_a_container() {
  slurm_up 2
  cat >apptainer <<'APPTAINER'
#!/bin/sh
shift 2
exec unshare --user --map-root-user --pid --fork --ipc --uts --mount sh -c '
  mount -t tmpfs none /dev/shm && mount -t tmpfs none /mnt && touch /mnt/container && exec "$@"' enter "$@"
APPTAINER
  chmod +x apptainer
  touch stop # the ranks end after one sum
  run_batch -N2 -n4 -c1 <<<"exec $DTRAIN run ./apptainer exec img.sif sh -c 'ls /mnt/container; exec $steady stop'"
  expect_status 0
  expect_lines_with 4 ':/mnt/container$'
  expect_lines_with 4 'all sums were right$'
  expect_stderr "dtrain: Slurm job $job: n[1-2], 4 slots"
  expect_no_processes
}

test_check_examines_the_nodes_of_the_job() {
  slurm_up 2
  run_batch -N2 -n2 <<<"exec $DTRAIN check"
  expect_status 0
  expect_stdout_contains 'n2'
  expect_no_processes
}

run_tests "$@"
