# shellcheck shell=bash
# The pods of manifests for Kubernetes, on nodes of lib.sh. Sourced after tests/cli/lib.sh and lib.sh. Functions:
#
#   run_manifest FILE PATH   runs each pod of a manifest on a node of its own, to its end; PATH is that of the pods.
#                            ${pod_status[K]} has the status of pod K, from 1, and podK and errorsK its output
#   run_manifest_again       runs them once more
#   expect_pod_statuses S…   those of pods 1, 2, …
#
# A pod has its host name, which all others know, and only its own variables. tests/cli/kubernetes/ reads the manifest.
# Pod 1 of an MPIJob is its launcher. The others are deleted when it has ended, as the MPI Operator does it.
net_tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
pod_status=()
pod_count=0
is_mpi=false

# shellcheck disable=SC2031 # the library sets `out`
run_manifest() {
  local token
  token=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
  POD_PATH=$2 PYTHONDONTWRITEBYTECODE=1 python3 "$net_tests/../cli/kubernetes/pod_scripts.py" "$1" "$token" "$PWD" \
    >names || fail 'no scripts of pods'
  pod_count=$(wc -l <names)
  hosts_up "$pod_count"
  cat names >>"$out/net/hosts"
  if grep -qx 'kind: MPIJob' "$1"; then is_mpi=true && mpi_image "$pod_count"; fi
  run_manifest_again
}

run_manifest_again() {
  local k
  local -a pids=()
  rm -f sshd*.pid
  for ((k = pod_count; k >= 1; --k)); do
    # launcherCreationPolicy: WaitForWorkersReady.
    if ((k == 1)) && $is_mpi; then wait_for workers_listen; fi
    on_host "$k" timeout "$run_timeout_s" sh "$PWD/pod$k.sh" >"pod$k" 2>"errors$k" &
    pids[k]=$!
  done
  for k in "${!pids[@]}"; do
    pod_status[k]=0
    wait "${pids[k]}" || pod_status[k]=$?
    if ((k == 1)) && $is_mpi; then delete_workers "$pod_count"; fi
  done
}

workers_listen() {
  local k
  for ((k = 2; k <= pod_count; ++k)); do [[ -s sshd$k.pid ]] || return 1; done
}

# mpi_image N: what N pods of an MPIJob have from their image and from the operator: an SSH server and client at port
# 2222, and one key for all of them.
mpi_image() {
  local k folder
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f operator_key
  printf '%s\n' 'Host *' 'Port 2222' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' >ssh_config
  for ((k = 1; k <= $1; ++k)); do
    folder=$(home_of "$k")/.ssh
    cp operator_key "$folder/id_rsa"
    cp operator_key.pub "$folder/id_rsa.pub"
    cp operator_key.pub "$folder/authorized_keys"
    printf '%s\n' 'Port 2222' "HostKey $PWD/operator_key" "PidFile $PWD/sshd$k.pid" 'StrictModes no' 'UsePAM no' \
      "SetEnv SHLVL=5 TEST_MARKER=$TEST_MARKER" >"sshd_config$k"
    host_setup "$k" "mount --bind $PWD/ssh_config /etc/ssh/ssh_config &&
      mount --bind $PWD/sshd_config$k /etc/ssh/sshd_config"
  done
}

delete_workers() {
  local k
  for ((k = 2; k <= $1; ++k)); do kill "$(cat "sshd$k.pid")"; done
}

expect_pod_statuses() {
  local k=0 wanted
  for wanted in "$@"; do
    k=$((k + 1))
    [[ ${pod_status[k]} == "$wanted" ]] ||
      fail "pod $k: the status ${pod_status[k]}, not $wanted" "$(tail -n 5 "pod$k" "errors$k")"
  done
}
