#!/usr/bin/env bash
# Jobs of nodes in the pods of manifests that dtrain export kubernetes writes.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=manifests.sh
. "$(dirname "$0")/manifests.sh"

needs_yaml() { python3 -c 'import yaml' 2>/dev/null || skip 'no python3-yaml here, which reads the manifests'; }

# Exports a job of three nodes with two ranks each as this kind, and runs its pods.
run_job_as() {
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  # shellcheck disable=SC2016 # for the ranks
  run_dtrain export kubernetes --kind "$1" --image i --nnodes 3 --nproc-per-node 2 --no-tag -x 'NOTE=$(RANK) $$' \
    -x PORT=4 -o pods.yaml "${@:3}" -- sh -c "$2"
  expect_status 0
  run_manifest pods.yaml "$PWD/bin:/usr/bin:/bin"
}

# Node 0 prints all ranks, every other node those of its own.
expect_six_ranks() {
  needs_yaml
  # shellcheck disable=SC2016 # for the ranks
  run_job_as "$1" 'echo "rank $RANK of $WORLD_SIZE on node $GROUP_RANK: $NOTE $PORT ${DTRAIN_NODES_TOKEN-none}"'
  expect_pod_statuses 0 0 0
  local rank node
  for rank in 0 1 2 3 4 5; do
    node=$((rank / 2))
    # shellcheck disable=SC2016 # as the ranks print it
    echo "rank $rank of 6 on node $node: "'$(RANK) $$ 4 none' | tee -a "wanted$((node + 1))" >>all
  done
  mv all wanted1
  for node in 1 2 3; do expect diff "wanted$node" <(sort "pod$node"); done
  expect_no_processes
}

test_an_indexed_job_is_one_job_of_all_its_pods() { expect_six_ranks indexed-job; }
test_a_job_set_is_one_job_of_all_its_pods() { expect_six_ranks jobset; }
test_a_train_job_is_one_job_of_all_its_pods() { expect_six_ranks trainjob; }

test_pods_without_a_token_are_one_job_where_the_user_wants_none() {
  needs_yaml
  run_job_as jobset true --no-token
  expect_pod_statuses 0 0 0
  expect grep -qF -- '--no-token' errors1
  expect_not grep -q secretKeyRef pods.yaml
  expect_no_processes
}

# The launcher prints all ranks. The workers print nothing, and their sessions have none of the launcher's variables.
test_the_launcher_of_an_mpi_job_starts_ranks_on_its_workers() {
  needs_yaml
  # shellcheck disable=SC2016 # for the ranks
  run_job_as mpijob 'echo "rank $RANK of $WORLD_SIZE on $(hostname): $NOTE $PORT ${K_MPI_JOB_ROLE-none}"'
  expect_pod_statuses 0
  local rank
  for rank in 0 1 2 3 4 5; do
    # shellcheck disable=SC2016 # as the ranks print it
    echo "rank $rank of 6 on dtrain-worker-$((rank / 2)): "'$(RANK) $$ 4 none' >>wanted
  done
  expect diff wanted <(sort pod1)
  expect grep -qF 'dtrain: MPIJob: dtrain-worker-[0-2].dtrain.default.svc, 6 slots' errors1
  for rank in 2 3 4; do expect test ! -s "pod$rank"; done
  expect_no_processes
}

test_the_failure_of_a_rank_is_that_of_an_mpi_jobs_launcher() {
  needs_yaml
  # shellcheck disable=SC2016 # for the ranks
  run_job_as mpijob 'test $RANK != 3 || exit 7; exec sleep 60'
  expect_pod_statuses 7
  expect_no_processes
}

test_the_failure_of_a_rank_is_that_of_each_pod() {
  needs_yaml
  # shellcheck disable=SC2016 # for the ranks
  run_job_as jobset 'test $RANK != 3 || exit 7; exec sleep 60'
  expect_pod_statuses 7 7 7
  expect_no_processes
}

run_tests "$@"
