# shellcheck shell=bash
# The pods of manifests for Kubernetes, on nodes of lib.sh. Sourced after tests/cli/lib.sh and lib.sh. Functions:
#
#   run_manifest FILE PATH   runs each pod of a manifest on a node of its own, to its end; PATH is that of the pods.
#                            ${pod_status[K]} has the status of pod K, from 1, and podK and errorsK its output
#   expect_pod_statuses S…   those of pods 1, 2, …
#
# A pod has its host name, which all others know, and only its own variables. tests/cli/kubernetes/ reads the manifest.
net_tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
pod_status=()

# shellcheck disable=SC2031 # the library sets `out`
run_manifest() {
  local count k token
  local -a pids=()
  token=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
  POD_PATH=$2 PYTHONDONTWRITEBYTECODE=1 python3 "$net_tests/../cli/kubernetes/pod_scripts.py" "$1" "$token" "$PWD" \
    >names || fail 'no scripts of pods'
  count=$(wc -l <names)
  hosts_up "$count"
  cat names >>"$out/net/hosts"
  for ((k = 1; k <= count; ++k)); do
    on_host "$k" timeout "$run_timeout_s" sh "$PWD/pod$k.sh" >"pod$k" 2>"errors$k" &
    pids[k]=$!
  done
  for k in "${!pids[@]}"; do
    pod_status[k]=0
    wait "${pids[k]}" || pod_status[k]=$?
  done
}

expect_pod_statuses() {
  local k=0 wanted
  for wanted in "$@"; do
    k=$((k + 1))
    [[ ${pod_status[k]} == "$wanted" ]] ||
      fail "pod $k: the status ${pod_status[k]}, not $wanted" "$(tail -n 5 "pod$k" "errors$k")"
  done
}
