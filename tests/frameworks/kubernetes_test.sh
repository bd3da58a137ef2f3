#!/usr/bin/env bash
# Manifests of dtrain export kubernetes, judged by the strict schemas of Kubernetes 1.30 and of the newest one that
# kubernetes-validate has. Their pods run on nodes of tests/net/lib.sh, with the real torchrun and PyTorch.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=../net/manifests.sh
. "$(dirname "$0")/../net/manifests.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$scripts/../cli/kubernetes PYTHONDONTWRITEBYTECODE=1

# Judges these files by both versions.
judge() {
  local version
  for version in 1.30 newest; do
    run "$python" "$scripts/kubernetes_judge.py" "$version" "$@"
    expect_status 0
  done
}

# Writes each kind with all parts that a pod may have: code, mounts of each kind, claims, resources, variables.
write_manifests() {
  mkdir -p code/pkg
  echo 'import pkg.a' >code/train.py
  printf '\377\0' >code/pkg/a.bin
  chmod 755 code/train.py
  # shellcheck disable=SC2016 # Kubernetes would replace them
  printf '%s\n' 'schema = 1' 'name = "whole"' 'image = "reg/train:v1"' 'command = ["python", "train.py", "$(X)"]' \
    'nnodes = "2:3"' 'max_restarts = 2' 'timeout = "1h"' 'env = { NOTE = "$(Y)", PORT = "4" }' '[code]' 'path = "code"' \
    '[[mounts]]' 'source = "nfs://store/data"' 'target = "/data"' 'read_only = true' '[[mounts]]' 'source = "/srv"' \
    'target = "/srv/host"' '[roles.worker]' 'replicas = 6' 'resources = { cpus = 2, gpus = 1, memory = "1G" }' >job.toml
  printf '%s\n' 'schema = 1' 'name = "roles"' 'image = "tf:v1"' 'command = ["x"]' '[roles.ps]' 'replicas = 2' \
    'restart = "on-failure:3"' '[roles.worker]' 'replicas = 3' '[roles.chief]' 'replicas = 1' >roles.toml
  local kind
  for kind in indexed-job jobset trainjob mpijob; do
    run_dtrain export kubernetes job.toml --kind $kind --queue team --claim disk:/out --claim read:/in:ro \
      --with-secret -o $kind.yaml
    expect_status 0
    run_dtrain export kubernetes job.toml --kind $kind --without-dtrain -o plain-$kind.yaml
    expect_status 0
  done
  run_dtrain export kubernetes roles.toml --kind jobset -o roles.yaml
  expect_status 0
  run_dtrain export kubernetes job.toml --kind trainjob --runtime torch-distributed --secret token -o runtime.yaml
  expect_status 0
  run_dtrain export kubernetes --nnodes 3 --nproc-per-node 1 --kind indexed-job --image i --without-dtrain -o one.yaml \
    -- python train.py
  expect_status 0
}

test_every_kind_fits_the_schemas_of_kubernetes() {
  uses kubernetes
  write_manifests
  judge ./*.yaml
}

test_the_examples_fit_the_schemas_of_kubernetes() {
  uses kubernetes
  judge "$examples"/kubernetes/*.yaml
}

test_an_inserted_typo_is_caught_by_the_schemas_of_kubernetes() {
  uses kubernetes
  write_manifests
  local typo file
  for typo in 's/restartPolicy/restartPolici/' 's/mountPath/mountpath/' 's/containers:/container:/' \
    's/terminationGracePeriodSeconds: .*/terminationGracePeriodSeconds: soon/'; do
    for file in indexed-job jobset; do
      sed "$typo" $file.yaml >broken.yaml
      expect_not cmp -s $file.yaml broken.yaml
      run "$python" "$scripts/kubernetes_judge.py" 1.30 broken.yaml
      expect_status 1
      expect_stderr_contains 'broken.yaml: '
    done
  done
  for typo in 's/completionMode/completionmode/' 's/clusterIP/clusterIp/' 's/stringData/stringdata/' \
    's/binaryData/binarydata/'; do
    sed "$typo" indexed-job.yaml >broken.yaml
    expect_not cmp -s indexed-job.yaml broken.yaml
    run "$python" "$scripts/kubernetes_judge.py" 1.30 broken.yaml
    expect_status 1
    expect_stderr_contains 'broken.yaml: '
  done
}

# run_pods PATH: those of pods.yaml, to their ends. Two faults of PyTorch, neither of which is dtrain's, get one more try:
# torchrun hung once in many runs; and DistributedDataParallel keeps its process group, whose thread aborts when it frees
# a tensor while the interpreter ends (pytorch#179291).
run_pods() {
  run_manifest pods.yaml "$1"
  [[ -n ${hang_status-} && " ${pod_status[*]} " == *" $hang_status "* ]] ||
    grep -q 'terminate called without an active exception' errors? || return 0
  echo "PyTorch has hung or aborted; once more. Pods ended with ${pod_status[*]}:"
  tail -n 20 pod? errors?
  run_manifest_again
}

# Runs pods without dtrain. Stdout is that of the first.
run_pods_alone() {
  run_pods "${python%/*}:/usr/bin:/bin"
  [[ ${pod_status[*]} =~ ^[0\ ]+$ ]] || fail "pods ended with ${pod_status[*]}:" "$(tail -n 20 pod? errors?)"
  # shellcheck disable=SC2031 # the library sets it
  cp pod1 "$out/stdout"
}

# Writes a manifest of train.py in pods without dtrain. The script comes by a ConfigMap, and its data with the image.
export_training() {
  mkdir -p code/scripts in_pods/data
  cp "$examples/pytorch_ddp/train.py" code/scripts
  cp "$examples/data/digits.csv" in_pods/data
  run_dtrain export kubernetes --image i --without-dtrain -o pods.yaml --sync-from code --sync-to "$PWD/in_pods" "$@" \
    -- python3 scripts/train.py
  expect_status 0
}

test_torchrun_trains_in_the_pods_of_an_indexed_job() {
  uses torch
  export_training --kind indexed-job --nnodes 2 --nproc-per-node 2
  hang_status=124 run_timeout_s=120 run_pods_alone
  expect_training_result 4
}

test_pytorch_trains_in_pods_of_one_process_without_a_launcher() {
  uses torch
  export_training --kind jobset --nnodes 3
  run_pods_alone
  expect_training_result 3
}

# run_in_pods_of KIND SCRIPT: three pods, each with a rank that dtrain starts. Stdout is that of the first, without the
# lines of Gloo.
run_in_pods_of() {
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  run_dtrain export kubernetes --kind "$1" --image i --nnodes 3 --nproc-per-node 1 --no-tag -o pods.yaml -- "$python" "$2"
  expect_status 0
  run_pods "$PWD/bin:/usr/bin:/bin"
  # The workers of an MPIJob have no end of their own.
  if [[ $1 == mpijob ]]; then expect_pod_statuses 0; else expect_pod_statuses 0 0 0; fi
  # shellcheck disable=SC2031
  grep -v '^\[Gloo\] ' pod1 >"$out/stdout"
  expect_no_processes
}

pytorch_trains_in_pods_of() {
  uses torch
  run_in_pods_of "$1" "$examples/pytorch_ddp/train.py"
  expect_training_result 3
}
test_pytorch_trains_in_the_pods_of_an_indexed_job() { pytorch_trains_in_pods_of indexed-job; }
test_pytorch_trains_in_the_pods_of_a_job_set() { pytorch_trains_in_pods_of jobset; }
test_pytorch_trains_in_the_pods_of_a_train_job() { pytorch_trains_in_pods_of trainjob; }
test_pytorch_trains_in_the_pods_of_an_mpi_job() { pytorch_trains_in_pods_of mpijob; }

test_mpirun_starts_the_ranks_in_the_pods_of_an_mpi_job_without_dtrain() {
  uses mpi
  echo 'from mpi4py.MPI import COMM_WORLD as world; print(f"{world.allreduce(world.rank)} of {world.size}")' >code.py
  run_dtrain export kubernetes --kind mpijob --without-dtrain --image i --nnodes 3 --nproc-per-node 1 -o pods.yaml \
    -- "$python" "$PWD/code.py"
  expect_status 0
  sed -i 's/^  slotsPerWorker:/  mpiImplementation: MPICH\n&/' pods.yaml # by default it is Open MPI
  run_manifest pods.yaml "${python%/*}:/usr/bin:/bin"
  expect_pod_statuses 0
  expect_file pod1 "$(printf '%s\n' '3 of 3' '3 of 3' '3 of 3')"
  expect_no_processes
}

horovod_trains_in_pods_of() {
  uses horovod-torch
  run_in_pods_of "$1" "$examples/horovod_torch/train.py"
  expect_training_result 3
}
test_horovod_trains_in_the_pods_of_an_indexed_job() { horovod_trains_in_pods_of indexed-job; }
test_horovod_trains_in_the_pods_of_a_job_set() { horovod_trains_in_pods_of jobset; }
test_horovod_trains_in_the_pods_of_a_train_job() { horovod_trains_in_pods_of trainjob; }
test_horovod_trains_in_the_pods_of_an_mpi_job() { horovod_trains_in_pods_of mpijob; }

jax_gathers_in_pods_of() {
  uses jax
  run_in_pods_of "$1" "$examples/jax_allgather/gather.py"
  expect_stdout_lines 'process '{0,1,2}' of 3: the squares are [0, 1, 4]'
}
test_jax_gathers_in_the_pods_of_an_indexed_job() { jax_gathers_in_pods_of indexed-job; }
test_jax_gathers_in_the_pods_of_a_job_set() { jax_gathers_in_pods_of jobset; }
test_jax_gathers_in_the_pods_of_a_train_job() { jax_gathers_in_pods_of trainjob; }
test_jax_gathers_in_the_pods_of_an_mpi_job() { jax_gathers_in_pods_of mpijob; }

test_tensorflow_trains_in_the_pods_of_different_roles() {
  uses tensorflow
  mkdir code
  cp "$examples/tensorflow_mwms/train.py" code
  run_dtrain export kubernetes --kind jobset --image i --role chief=1,worker=2 --env-set none,tf \
    -x TF_USE_LEGACY_KERAS=1 -x TF_CPP_MIN_LOG_LEVEL=3 --sync-from code --sync-to "$PWD/in_pods" -o pods.yaml \
    -- python3 train.py
  expect_status 0
  run_pods_alone
  local k
  for k in '1 0' '2 0' '3 1'; do
    expect grep -qxE "worker ${k#* } of 3: y = 2\.[0-9]+ x \+ 10\.[0-9]+" "pod${k% *}"
  done
}

run_tests "$@"
