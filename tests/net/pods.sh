# shellcheck shell=bash
# Pods for tests: network namespaces on a bridge, without sshd. Nobody can log in: each pod starts its own command.
# Each has a host name, /etc/hosts, a home, a /dev/shm, a Secret and variables of its own.
# Sourced after tests/cli/lib.sh and tests/net/lib.sh. Functions:
#
#   pods_up N              makes pods 0 … N-1 at 10.77.0.10 … (and fd77::10 …), with the host names train-0 …, which
#                          no other pod knows; skips where the kernel does not allow it or the user is not root
#   pod_name K             prints the name that DNS publishes for it
#   publish K [IN]         all pods, or only pod IN, find the name of pod K in /etc/hosts
#   pod_host K HOST DOMAIN        its host name is HOST from now on, and all pods find it as HOST.DOMAIN
#   dns_up, dns_publish K  answers the pods' questions for names from now on; a name is known once it is published
#   pod_variable K NAME=VALUE     for the commands that start later; K may be "all"
#   train_job_variables G  gives all pods the variables of a TrainJob whose nodes have G processes each
#   new_token              gives all pods the same token, and sets $token
#   start_pod K CMD…       starts it in the pod; its output goes to $out/pods/K/stdout and stderr
#   start_pods CMD…        the same in each of $pod_order, which is 0 … N-1 unless the test sets it
#   run_in_pod K CMD…      as `run` of tests/cli/lib.sh
#   finish_pods            waits for all; ${pod_status[K]} has the status of each
#   signal_pod K NAME
#   pod_has K STREAM TEXT  true or false, for wait_for
#   expect_pods N…         the statuses of pods 0, 1, …
#   expect_pod K STREAM TEXT, expect_pod_lacks K STREAM TEXT
#   expect_pod_lines K LINE…      its stdout has these lines in any order, and no others
#   start_node K ARG…, start_nodes ARG…     `dtrain run` with the words of a job of all pods, of which pod 0 is node 0
#   "${show_rank[@]}"      a command for ranks; expect_all_ranks N G expects its lines from N nodes with G ranks each:
#                          node 0 has all of them, every other one those of its own
#   "${up[@]}"             a command for ranks that prints "up", and that only a signal ends
#
# The processes in the namespaces, the namespaces and their links end with the test.

pod_count=0
pod_order=()
pod_pid=()
pod_status=()
pod_address() { echo "10.77.0.$((10 + $1))"; }
pod_name() { echo "train-$1.train.ns.svc"; }
pod_folder() { echo "$out/pods/$1"; }

pods_up() {
  local k
  pod_count=$1
  bridge_up
  trap 'pods_down; end_marked_processes' EXIT
  mkdir -p "$out/pods/names"
  echo 'hosts: files dns' >"$out/pods/nsswitch.conf"
  echo 'nameserver 10.77.0.254' >"$out/pods/resolv.conf"
  for ((k = 0; k < pod_count; ++k)); do
    pod_up "$k"
    pod_order+=("$k")
  done
}

pod_up() {
  local k=$1 folder
  folder=$(pod_folder "$k")
  mkdir -p "$folder/home"
  echo "train-$k" >"$folder/name"
  ip netns add "$net-$k"
  ip -n "$net-$k" link set lo up
  ip -n "$net-l" link add "port$k" type veth peer name eth0 netns "$net-$k"
  ip -n "$net-l" link set "port$k" master bridge up
  ip -n "$net-$k" link set eth0 up
  ip -n "$net-$k" address add "$(pod_address "$k")/24" dev eth0
  ip -n "$net-$k" address add "fd77::1$k/64" dev eth0 nodad 2>/dev/null || true
  printf '%s\n' '127.0.0.1 localhost' '::1 localhost' >"$folder/hosts"
  publish "$k" "$k"
  printf '%s\n' "PATH=$PATH" HOME=/root LC_ALL=C.UTF-8 "TEST_MARKER=$TEST_MARKER" "HOSTNAME=train-$k" >"$folder/variables"
  cat >"$folder/enter" <<SCRIPT
#!/bin/bash
# Becomes the command in the pod.
exec ip netns exec $net-$k unshare -m -u bash -c '
  mount --make-rprivate / && mount --bind "\$1/home" /root && mount --bind "\$1/hosts" /etc/hosts &&
    mount --bind "\$1/../nsswitch.conf" /etc/nsswitch.conf && mount --bind "\$1/../resolv.conf" /etc/resolv.conf &&
    mount -t tmpfs memory /dev/shm && hostname "\$(cat "\$1/name")" && cd /root && mapfile -t variables <"\$1/variables" &&
    shift && exec env -i "\${variables[@]}" "\$@"' enter "$folder" "\$@"
SCRIPT
  chmod +x "$folder/enter"
}

publish() {
  local k
  for k in ${2-$(seq 0 $((pod_count - 1)))}; do
    echo "$(pod_address "$1") $(pod_name "$1") train-$1" >>"$(pod_folder "$k")/hosts"
  done
}

pod_host() {
  local k
  echo "$2" >"$(pod_folder "$1")/name"
  pod_variable "$1" "HOSTNAME=$2"
  for ((k = 0; k < pod_count; ++k)); do echo "$(pod_address "$1") $2.$3 $2" >>"$(pod_folder "$k")/hosts"; done
}

dns_up() {
  command -v dnsmasq >/dev/null || skip 'no dnsmasq; run: tools/setup.sh ci'
  env -u TEST_MARKER ip netns exec "$net-l" dnsmasq --no-daemon --conf-file=/dev/null --user=root --pid-file= --no-resolv \
    --no-hosts --local=/svc/ --no-negcache --hostsdir="$out/pods/names" --listen-address=10.77.0.254 --bind-interfaces \
    >"$out/pods/dns" 2>&1 &
  disown $!
  wait_for grep -q 'started, version' "$out/pods/dns"
}
dns_publish() {
  echo "$(pod_address "$1") $(pod_name "$1")" >"$out/pods/$1.name"
  mv "$out/pods/$1.name" "$out/pods/names/"
}

pod_variable() {
  local k
  for k in $(if [[ $1 == all ]]; then seq 0 $((pod_count - 1)); else echo "$1"; fi); do
    echo "$2" >>"$(pod_folder "$k")/variables"
  done
}

train_job_variables() {
  local k
  for ((k = 0; k < pod_count; ++k)); do
    pod_variable "$k" "PET_NNODES=$pod_count"
    pod_variable "$k" "PET_NODE_RANK=$k"
    pod_variable "$k" "PET_NPROC_PER_NODE=$1"
    pod_variable "$k" "PET_MASTER_ADDR=$(pod_name 0)"
    pod_variable "$k" PET_MASTER_PORT=29400
  done
}

new_token() {
  token=$("$DTRAIN" token)
  pod_variable all "DTRAIN_NODES_TOKEN=$token"
}

start_pod() {
  local k=$1 folder
  folder=$(pod_folder "$k")
  shift
  last_pod_command="$*"
  : >"$folder/stdout"
  : >"$folder/stderr"
  env --default-signal=INT,QUIT "$folder/enter" "$@" >"$folder/stdout" 2>"$folder/stderr" &
  pod_pid[k]=$!
}
start_pods() {
  local k
  for k in "${pod_order[@]}"; do start_pod "$k" "$@"; done
}
run_in_pod() {
  local k=$1
  shift
  run "$(pod_folder "$k")/enter" "$@"
}

finish_pods() {
  local k limit=$(($(now_ms) + run_timeout_s * 1000))
  pod_status=()
  for k in "${!pod_pid[@]}"; do
    while kill -0 "${pod_pid[k]}" 2>/dev/null; do
      if (($(now_ms) > limit)); then pod_fail "pod $k still runs after $run_timeout_s s"; fi
      sleep 0.02
    done
    pod_status[k]=0
    wait "${pod_pid[k]}" || pod_status[k]=$?
  done
  pod_pid=()
}

signal_pod() { kill -s "$2" "${pod_pid[$1]}" || pod_fail "no process of pod $1 for the signal $2"; }

pod_has() { grep -qF -- "$3" "$(pod_folder "$1")/$2"; }

# A wait that fails shows the output of all pods.
wait_for_pod() {
  local limit=$(($(now_ms) + run_timeout_s * 1000))
  until pod_has "$@"; do
    if (($(now_ms) > limit)); then pod_fail "not within $run_timeout_s s in the $2 of pod $1: $3"; fi
    sleep 0.02
  done
}

pod_fail() {
  local k stream
  printf '  %s\n' "$@" "command: ${last_pod_command-}"
  for ((k = 0; k < pod_count; ++k)); do
    for stream in stdout stderr; do
      printf '  pod %s, status %s, %s:\n' "$k" "${pod_status[k]-none yet}" "$stream"
      head -c 3000 "$(pod_folder "$k")/$stream" 2>/dev/null | sed 's/^/    | /'
    done
  done
  exit 1
}

expect_pods() { [[ ${pod_status[*]} == "$*" ]] || pod_fail "expected the statuses $*, not ${pod_status[*]}"; }
expect_pod() { pod_has "$@" || pod_fail "expected in the $2 of pod $1: $3"; }
expect_pod_lacks() { ! pod_has "$@" || pod_fail "not expected in the $2 of pod $1: $3"; }
expect_pod_lines() {
  local k=$1
  shift
  diff <(printf '%s\n' "$@" | sort) <(sort "$(pod_folder "$k")/stdout") >"$out/difference" ||
    pod_fail "expected lines in the stdout of pod $k (<), found (>):" "$(head -c 2000 "$out/difference")"
}

pods_down() {
  local k pids
  for k in l $(seq 0 $((pod_count - 1))); do
    pids=$(ip netns pids "$net-$k" 2>/dev/null) || true
    # shellcheck disable=SC2086  # one word a pid
    [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$net-$k" 2>/dev/null || true
  done
}

# What each rank prints. Its shell expands it.
# shellcheck disable=SC2016
show_rank=(sh -c 'echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE on $GROUP_RANK at $(hostname)')
# The lines of pod K of N with G ranks each.
lines_of() {
  local k=$1 n=$2 g=$3 i
  for ((i = 0; i < g; ++i)); do echo "$((k * g + i)) of $((n * g)), $i of $g on $k at train-$k"; done
}

# expect_all_ranks N G: node 0 has the lines of all ranks, every other one those of its own.
expect_all_ranks() {
  local n=$1 g=$2 k
  mapfile -t all < <(for ((k = 0; k < n; ++k)); do lines_of "$k" "$n" "$g"; done)
  expect_pod_lines 0 "${all[@]}"
  for ((k = 1; k < n; ++k)); do
    mapfile -t own < <(lines_of "$k" "$n" "$g")
    expect_pod_lines "$k" "${own[@]}"
  done
}

# start_node K ARG…: `dtrain run` with the words of a static job of all pods.
start_node() {
  local k=$1
  shift
  start_pod "$k" "$DTRAIN" run --nnodes "$pod_count" --node-rank "$k" --master-addr "$(pod_address 0)" "$@"
}
start_nodes() {
  local k
  for k in "${pod_order[@]}"; do start_node "$k" "$@"; done
}

# A rank that only a signal ends.
up=(sh -c 'echo up; exec sleep 600')
