#!/usr/bin/env bash
# Measures the time of `true` on N hosts over ssh, one process each: by dtrain, raw ssh in parallel, pdsh,
# MPICH's hydra and Open MPI, where they are installed. All hosts are one sshd of this machine at 127.0.0.x:
# sshd's work is the same for every launcher, so the differences are the launchers' own. Runs as root, in a
# mount namespace with a home of its own. Prints a Markdown table; CPU ms is the time of the launcher and of
# its children on this machine.
#
#   ssh_hosts.sh [rounds] [hosts…]
set -euo pipefail

if [[ ${1-} != inside ]]; then
  [[ $(id -u) -eq 0 ]] || { echo 'hosts over ssh: needs root, skipped' && exit 0; }
  exec unshare -m "$0" inside "$(realpath "${DTRAIN:-$(dirname "$0")/../../build/release/dtrain}")" "$@"
fi
shift
built=$1
shift
here=$(realpath "$(dirname "$0")")
rounds=${1:-11}
if (($# > 0)); then shift; fi
counts=("$@")
if (($# == 0)); then counts=(1 4 16 64); fi

folder=$(mktemp -d)
trap '[[ -z ${sshd-} ]] || kill "$sshd"; rm -rf "$folder"' EXIT
mount --make-rprivate /
mkdir -p "$folder/home/.ssh" /run/sshd
# Measures a copy, like an installed binary: the linker's own file lies in the page cache in small pages.
install "$built" "$folder/dtrain"
dtrain=$folder/dtrain
ssh-keygen -q -t ed25519 -N '' -f "$folder/home/.ssh/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
cp "$folder/home/.ssh/id_ed25519.pub" "$folder/home/.ssh/authorized_keys"
port=$((20000 + $$ % 10000))
# At SHLVL=5, bash reads no ~/.bashrc, whose time would count too.
cat >"$folder/sshd_config" <<CONFIG
ListenAddress 0.0.0.0:$port
HostKey $folder/host_key
PidFile $folder/sshd.pid
AuthorizedKeysFile $folder/home/.ssh/authorized_keys
StrictModes no
UsePAM no
PrintMotd no
UseDNS no
MaxStartups 1000
SetEnv SHLVL=5
CONFIG
cat >"$folder/home/.ssh/config" <<CONFIG
Host 127.*
  Port $port
CONFIG
for ((i = 2; i < 70; ++i)); do
  echo "[127.0.0.$i]:$port $(cut -d' ' -f1,2 "$folder/host_key.pub")"
done >"$folder/home/.ssh/known_hosts"
/usr/sbin/sshd -D -f "$folder/sshd_config" -E "$folder/sshd.log" &
sshd=$!
until [[ -s $folder/sshd.pid ]]; do sleep 0.05; done
mount --bind "$folder/home" /root
export HOME=/root

# hosts N SUFFIX SEPARATOR: prints N addresses, each with the suffix.
hosts() {
  local i list=
  for ((i = 2; i < 2 + $1; ++i)); do list+="${list:+$3}127.0.0.$i$2"; done
  echo "$list"
}

printf '\n| hosts | launcher | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
for count in "${counts[@]}"; do
  launchers=()
  if command -v mpiexec.hydra >/dev/null; then
    launchers+=("hydra=mpiexec.hydra -launcher ssh -hosts $(hosts "$count" '' ,) -ppn 1 -n $count true")
  fi
  launchers+=("dtrain=$dtrain run -H $(hosts "$count" :1 ,) true")
  launchers+=("dtrain --ssh openssh=$dtrain run --ssh openssh -H $(hosts "$count" :1 ,) true")
  launchers+=("raw ssh=sh -c 'for h in $(hosts "$count" '' ' '); do ssh \$h true & done; wait'")
  if command -v pdsh >/dev/null; then
    launchers+=("pdsh=pdsh -R ssh -f 64 -w $(hosts "$count" '' ,) true")
  fi
  if command -v mpirun.openmpi >/dev/null; then
    launchers+=("openmpi=timeout 30 mpirun.openmpi --allow-run-as-root -H $(hosts "$count" :1 ,) -n $count true")
  fi
  python3 "$here/alternate.py" "$rounds" "$count" "${launchers[@]}"
done
for name in mpiexec.hydra pdsh mpirun.openmpi; do
  command -v "$name" >/dev/null || echo "$name is not installed (apt-get install mpich pdsh openmpi-bin): not compared"
done
