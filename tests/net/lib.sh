# shellcheck shell=bash
# Hosts for tests: network namespaces on a bridge. Each has an sshd, a host key, a home and a name of its own.
# Sourced after tests/cli/lib.sh. Functions:
#
#   hosts_up N             makes node1 … nodeN at 10.77.0.1 … N (and fd77::1 … N), and this machine (in
#                          the namespace "launcher") at 10.77.0.254; skips the test where the kernel
#                          does not allow it or the user is not root
#   on_launcher CMD…       runs it in the launcher's namespace, with a home whose known_hosts has the hosts
#   on_host K CMD…         runs it in node K's namespaces
#   run_on_launcher, start_on_launcher    as `run` and `start` of tests/cli/lib.sh
#   sshd_option K LINE     adds a line to node K's sshd_config and restarts its sshd
#   host_setup K LINE      adds a line of shell, which runs in node K's namespaces before its sshd (for
#                          mounts, for example), and restarts its sshd
#   host_variable K NAME=VALUE    gives all children of node K's sshd a variable, and restarts the sshd
#   private_tmp OPTIONS    prints a line for host_setup that gives the node a /tmp of its own
#   cut_cable K, mend_cable K
#   plug_in K NAME         gives node K a new network card of this name, after `unplug K`
#   unplug K
#   container_bridge K|l   gives it the address that every machine with docker has, 172.17.0.1
#   firewall K|l RULE…     adds an iptables rule for incoming packets; skips where there is no iptables
#   firewall_rule iptables|ip6tables K|l RULE…    the same for one kind of address; drop_on K RULE…
#                          is that for IPv4
#   expect_lines_with N TEXT    N lines of stdout have this text
#   agent_on K, keeper_on K, processes_on K NAME    print pids
#   home_of K, launcher_home    print folders, as paths outside of the namespaces
#
# The processes in the namespaces, the namespaces and their links end with the test.

net=dt$$x$RANDOM
net=${net:0:11}
host_count=0
# A bridge without an address of its own takes the lowest one of its ports. A later port may change it, and hosts that
# have the old one in their ARP cache cannot reach this machine.
bridge_address=02:00:0a:4d:00:fe

launcher_home() { echo "$out/net/launcher/home"; }
home_of() { echo "$out/net/node$1/home"; }

# Makes the namespace "launcher" with the bridge, for hosts_up and for tests/net/pods.sh.
bridge_up() {
  if [[ $(id -u) -ne 0 ]]; then skip 'network namespaces need root'; fi
  if ! ip netns add "$net-l" 2>/dev/null; then skip 'no network namespaces here'; fi
  trap 'hosts_down; end_marked_processes' EXIT
  if ! ip -n "$net-l" link add bridge address "$bridge_address" type bridge 2>/dev/null ||
    ! ip -n "$net-l" link add probe0 type veth peer name probe1 2>/dev/null; then
    skip 'no bridges or veth pairs here'
  fi
  if ! ip netns exec "$net-l" unshare -m -u sh -c 'mount --make-rprivate / && hostname x' 2>/dev/null; then
    skip 'no mount namespaces here'
  fi
  ip -n "$net-l" link set lo up
  ip -n "$net-l" link set bridge up
  ip -n "$net-l" address add 10.77.0.254/24 dev bridge
  ip -n "$net-l" address add fd77::254/64 dev bridge nodad 2>/dev/null || true
}

hosts_up() {
  host_count=$1
  bridge_up
  # At SHLVL=5, bash reads no rc file, which may be slow.
  export SHLVL=5
  mkdir -p "$out/net" /run/sshd
  local k
  ssh-keygen -q -t ed25519 -N '' -f "$out/net/user_key"
  echo '127.0.0.1 localhost' >"$out/net/hosts"
  echo '::1 localhost' >>"$out/net/hosts"
  for ((k = 1; k <= host_count; ++k)); do echo "10.77.0.$k node$k" >>"$out/net/hosts"; done
  for ((k = 1; k <= host_count; ++k)); do host_up "$k"; done
  launcher_up
}

host_up() {
  local k=$1 folder=$out/net/node$1
  mkdir -p "$folder/home/.ssh"
  : >"$folder/setup"
  chmod 700 "$folder/home" "$folder/home/.ssh"
  ip netns add "$net-$k"
  ip -n "$net-$k" link set lo up
  plug_in "$k" eth0
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
  cp "$out/net/user_key.pub" "$folder/home/.ssh/authorized_keys"
  cat >"$folder/sshd_config" <<CONFIG
HostKey $folder/host_key
PidFile $folder/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
UseDNS no
LogLevel VERBOSE
SetEnv SHLVL=5 TEST_MARKER=$TEST_MARKER
CONFIG
  sshd_up "$k"
}

plug_in() {
  ip -n "$net-l" link add "port$1" type veth peer name "$2" netns "$net-$1"
  ip -n "$net-l" link set "port$1" master bridge up
  ip -n "$net-$1" link set "$2" up
  ip -n "$net-$1" address add "10.77.0.$1/24" dev "$2"
  ip -n "$net-$1" address add "fd77::$1/64" dev "$2" nodad 2>/dev/null || true
}
unplug() { ip -n "$net-l" link del "port$1"; }

container_bridge() {
  ip -n "$net-$1" link add docker0 type bridge
  ip -n "$net-$1" link set docker0 up
  ip -n "$net-$1" address add 172.17.0.1/16 dev docker0
}

firewall() {
  firewall_rule iptables "$@"
  firewall_rule ip6tables "$@"
}
firewall_rule() {
  local command=$1 where=$2
  shift 2
  ip netns exec "$net-$where" "$command" -A INPUT "$@" 2>"$out/firewall" ||
    skip "no firewall here: $(head -n 1 "$out/firewall")"
}
drop_on() { firewall_rule iptables "$@"; }

# Runs a command in new namespaces of the host: one of mounts, where /root is its home, and one of its name.
enter_host() {
  local k=$1
  shift
  # shellcheck disable=SC2016  # expanded inside
  ip netns exec "$net-$k" unshare -m -u bash -c '
    mount --make-rprivate / && mount --bind "$1/home" /root && mount --bind "$2" /etc/hosts &&
      hostname "$3" && bash -e "$1/setup" && shift 3 && exec "$@"' \
    enter "$out/net/node$k" "$out/net/hosts" "node$k" "$@"
}

on_host() {
  local k=$1
  shift
  nsenter --target "$(cat "$out/net/node$k/sshd.pid")" --mount --uts --net "$@"
}

sshd_up() {
  local folder=$out/net/node$1
  rm -f "$folder/sshd.pid"
  enter_host "$1" /usr/sbin/sshd -f "$folder/sshd_config" -E "$folder/sshd.log"
  wait_for test -s "$folder/sshd.pid"
}

sshd_option() {
  echo "$2" >>"$out/net/node$1/sshd_config"
  sshd_again "$1"
}

# sshd reads only one SetEnv line.
host_variable() {
  sed -i "s%^SetEnv %&$2 %" "$out/net/node$1/sshd_config"
  sshd_again "$1"
}

host_setup() {
  echo "$2" >>"$out/net/node$1/setup"
  sshd_again "$1"
}

# The test's own files must stay visible, even if they are in /tmp.
private_tmp() {
  local own=${out%/*}
  echo "mount --bind $own /mnt && mount -t tmpfs -o $1 tmp /tmp && mkdir -p $own && mount --bind /mnt $own"
}

# A pid file that is removed shows that the port is free. The process itself may remain as a zombie for a while.
sshd_again() {
  kill "$(cat "$out/net/node$1/sshd.pid")"
  wait_for test ! -e "$out/net/node$1/sshd.pid"
  sshd_up "$1"
}

launcher_up() {
  local home k
  home=$(launcher_home)
  mkdir -p "$home/.ssh"
  chmod 700 "$home" "$home/.ssh"
  cp "$out/net/user_key" "$home/.ssh/id_ed25519"
  for ((k = 1; k <= host_count; ++k)); do
    echo "node$k,10.77.0.$k,fd77::$k $(cut -d' ' -f1,2 "$out/net/node$k/host_key.pub")"
  done >"$home/.ssh/known_hosts"
  # `run` and `start` need a program that becomes the command by exec. It sets HOME, because that of
  # tests/cli/lib.sh would hide the ssh configuration.
  cat >"$out/net/on_launcher" <<SCRIPT
#!/bin/bash
exec ip netns exec $net-l unshare -m bash -c '
  mount --make-rprivate / && mount --bind "\$1" /root && mount --bind "\$2" /etc/hosts &&
    shift 2 && exec env HOME=/root "\$@"' enter "$home" "$out/net/hosts" "\$@"
SCRIPT
  chmod +x "$out/net/on_launcher"
}

on_launcher() { "$out/net/on_launcher" "$@"; }
run_on_launcher() { run "$out/net/on_launcher" "$@"; }
start_on_launcher() { start "$out/net/on_launcher" "$@"; }

agent_on() { processes_on "$1" dtrain-agent; }
keeper_on() { processes_on "$1" dtrain-keeper; }
processes_on() {
  local pid
  for pid in $(ip netns pids "$net-$1"); do
    if [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$2" ]]; then echo "$pid"; fi
  done
}

cut_cable() { ip -n "$net-l" link set "port$1" down; }
mend_cable() { ip -n "$net-l" link set "port$1" up; }

expect_lines_with() {
  [[ $(grep -c "$2" "$out/stdout") -eq $1 ]] || fail "expected $1 lines of stdout with: $2"
}

hosts_down() {
  local k pids
  for k in l $(seq "$host_count"); do
    pids=$(ip netns pids "$net-$k" 2>/dev/null) || true
    # shellcheck disable=SC2086  # one word a pid
    [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$net-$k" 2>/dev/null || true
  done
}
