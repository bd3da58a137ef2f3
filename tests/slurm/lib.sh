# shellcheck shell=bash disable=SC2034,SC2154  # variables of tests/cli/lib.sh and tests/net/lib.sh
# A Slurm cluster for tests: its real programs, each node a network namespace on a bridge. No node has an sshd.
# Sourced after tests/cli/lib.sh and tests/net/lib.sh. Functions:
#
#   slurm_up N               makes the nodes n1 … nN at 10.77.0.1 … N, with 4 CPUs each, and the controller (and
#                            login node) at 10.77.0.254; skips the test where a program is missing
#   slurm_gpus N             called before slurm_up: each node has N GPUs, for which terminals stand in
#   node_folder              a folder that each node has for itself; it is $cluster/own/nK
#   expect_node_folders_empty N     nothing is in that of any of the nodes n1 … nN
#   on_login CMD…            runs it on the login node
#   run_on_login, start_on_login    as `run` and `start` of tests/cli/lib.sh
#   run_batch ARG… <<JOB     submits the script JOB, for bash, with these arguments of sbatch, and waits for its end.
#                            $status is the job's; its output is in the files of `run`.
#   start_batch ARG… <<JOB   the same in the background, with its number in $job; finish_batch waits for its end
#
# The daemons, the namespaces and their links end with the test.

gpu_count=0
node_folder=/mnt

slurm_gpus() { gpu_count=$1; }

slurm_up() {
  node_count=$1
  local program k
  for program in munged slurmctld slurmd sbatch srun; do
    command -v "$program" >/dev/null || skip "no $program here: tools/setup.sh ci installs Slurm"
  done
  if [[ $(id -u) -ne 0 ]]; then skip 'network namespaces need root'; fi
  if ! ip netns add "$net-l" 2>/dev/null; then skip 'no network namespaces here'; fi
  # A short name: it is part of the names of sockets.
  cluster=$(mktemp -d /tmp/dtrain-slurm.XXXXXX)
  trap 'slurm_down; end_marked_processes' EXIT
  if ! ip -n "$net-l" link add bridge address "$bridge_address" type bridge 2>/dev/null; then
    skip 'no bridges here'
  fi
  # At SHLVL=5, bash reads no rc file, which may be slow.
  export SHLVL=5 SLURM_CONF=$cluster/slurm.conf
  mkdir -p "$cluster/state" "$cluster/home" "$cluster/own/login"
  ip -n "$net-l" link set lo up
  ip -n "$net-l" link set bridge up
  ip -n "$net-l" address add 10.77.0.254/24 dev bridge
  printf '%s\n' '127.0.0.1 localhost' '10.77.0.254 login' >"$cluster/hosts"
  for ((k = 1; k <= node_count; ++k)); do echo "10.77.0.$k n$k" >>"$cluster/hosts"; done
  slurm_config
  login_up
  start_daemon l login munged --force --key-file="$cluster/munge.key" --socket="$cluster/munge.sock" \
    --pid-file="$cluster/munged.pid" --log-file="$cluster/munged.log" --seed-file="$cluster/munge.seed"
  start_daemon l login slurmctld -c
  for ((k = 1; k <= node_count; ++k)); do
    mkdir "$cluster/n$k" "$cluster/own/n$k"
    ip netns add "$net-$k"
    ip -n "$net-$k" link set lo up
    plug_in "$k" eth0
    start_daemon "$k" "n$k" slurmd -N "n$k"
  done
  wait_for nodes_are_idle
}

slurm_config() {
  head -c 1024 /dev/urandom >"$cluster/munge.key"
  chmod 600 "$cluster/munge.key"
  local gpus=''
  if ((gpu_count > 0)); then
    gpus="Gres=gpu:$gpu_count"
    echo "NodeName=n[1-$node_count] Name=gpu File=/dev/tty[10-$((9 + gpu_count))]" >"$cluster/gres.conf"
  fi
  cat >"$SLURM_CONF" <<CONFIG
ClusterName=test
SlurmctldHost=login(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=1
ReturnToService=2
KillWait=5
MailProg=/bin/true
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.%n.log
${gpus:+GresTypes=gpu}
NodeName=n[1-$node_count] NodeAddr=10.77.0.[1-$node_count] CPUs=4 RealMemory=1000 $gpus State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONFIG
}

# Runs a command in a namespace of the network, as a machine of this name. `ip netns exec` would mount another /sys,
# in which slurmd finds no cgroups.
in_namespace() {
  local namespace=$1 name=$2
  shift 2
  # shellcheck disable=SC2016  # expanded inside
  nsenter --net="/run/netns/$net-$namespace" unshare --uts --mount sh -c '
    hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount --bind "$2/home" /root &&
    mount --bind "$2/own/$1" /mnt && shift 2 && exec "$@"' \
    enter "$name" "$cluster" "$@"
}

# The daemons are no processes of the job under test.
start_daemon() {
  local namespace=$1 name=$2
  shift 2
  in_namespace "$namespace" "$name" env -u TEST_MARKER "$@" >"$cluster/daemon" 2>&1 ||
    skip "$1 does not start here: $(tail -n 1 "$cluster/daemon")"
}

# `run` and `start` need a program that becomes the command by exec.
login_up() {
  cat >"$cluster/on_login" <<SCRIPT
#!/bin/bash
$(declare -f in_namespace)
net=$net cluster=$cluster
in_namespace l login "\$@"
SCRIPT
  sed -i 's/^ *nsenter /exec &/' "$cluster/on_login"
  chmod +x "$cluster/on_login"
}

on_login() { "$cluster/on_login" "$@"; }
run_on_login() { run "$cluster/on_login" "$@"; }
start_on_login() { start "$cluster/on_login" "$@"; }
expect_node_folders_empty() {
  local k
  for ((k = 1; k <= $1; ++k)); do expect test -z "$(ls -A "$cluster/own/n$k")"; done
}
nodes_are_idle() { [[ $(on_login sinfo -h -t idle -o %D 2>/dev/null) == "$node_count" ]]; }

start_batch() {
  { echo '#!/bin/bash' && cat; } >job.sh
  last_command="sbatch $*: $(tail -n 1 job.sh)"
  unset status elapsed_ms
  : >"$out/stdout"
  : >"$out/stderr"
  job=$(on_login sbatch --parsable -o "$out/stdout" -e "$out/stderr" "$@" job.sh)
  since_ms=$(now_ms)
}
batch_has_ended() {
  on_login scontrol show job "$job" >"$out/job" && ! grep -qE 'JobState=(PENDING|RUNNING|COMPLETING)' "$out/job"
}
# `sbatch --wait` asks every few seconds only.
finish_batch() {
  wait_for batch_has_ended
  elapsed_ms=$(($(now_ms) - since_ms))
  status=$(sed -n '0,/ExitCode=/s/.* ExitCode=\([0-9]*\):.*/\1/p' "$out/job")
}
run_batch() {
  start_batch "$@"
  finish_batch
}

slurm_down() {
  local k pids
  for k in l $(seq "$node_count"); do
    pids=$(ip netns pids "$net-$k" 2>/dev/null) || true
    # shellcheck disable=SC2086  # one word a pid
    [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$net-$k" 2>/dev/null || true
  done
  rm -rf "${cluster:?}"
}
