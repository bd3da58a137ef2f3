#!/usr/bin/env bash
# The launcher of an MPIJob: the hostfile, the key and the ssh configuration as the MPI Operator and its images have
# them. /etc/hosts has the place of the cluster's DNS, whose names are published late.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

examples=$(realpath "$(dirname "$0")/../../examples")
worker() { echo "job-worker-$1.job.ns.svc"; }
publish() { echo "10.77.0.$1 $(worker "$1")" >>"$out/net/hosts"; }

# pods_up N: N workers with an sshd at port 2222, and a launcher without one. All have the Secret's key, which is also
# the host key of the workers. No name is published. The programs "pod" and "pod_without_dns" run a command on the
# launcher. The first finds no DNS to ask, the second knows that there are no other names.
pods_up() {
  local k home
  hosts_up "$1"
  home=$(launcher_home)
  ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f secret
  rm "$home/.ssh/id_ed25519" "$home/.ssh/known_hosts"
  cp secret "$home/.ssh/id_rsa"
  for ((k = 1; k <= $1; ++k)); do
    cp secret "$out/net/node$k/host_key"
    cp secret.pub "$(home_of "$k")/.ssh/authorized_keys"
    sshd_option "$k" 'Port 2222'
  done
  printf '%s\n' 'Host *' 'Port 2222' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' >ssh_config
  echo 'nameserver 127.0.0.1' >resolv.conf
  echo 'hosts: files dns' >dns
  echo 'hosts: files' >no_dns
  pod_program pod dns
  pod_program pod_without_dns no_dns
}

pod_program() {
  cat >"$1" <<SCRIPT
#!/bin/bash
exec "$out/net/on_launcher" unshare -m -u bash -c '
  hostname job-launcher && mount --bind "$PWD/ssh_config" /etc/ssh/ssh_config &&
    mount --bind "$PWD/resolv.conf" /etc/resolv.conf && mount --bind "$PWD/$2" /etc/nsswitch.conf && exec "\$@"' \
  pod env KUBERNETES_SERVICE_HOST=10.96.0.1 "\$@"
SCRIPT
  chmod +x "$1"
}

# hostfile SLOTS K…: writes "hostfile" with these workers, in Open MPI's form.
hostfile() {
  local k slots=$1
  shift
  for k in "$@"; do echo "$(worker "$k") slots=$slots"; done >hostfile
}
open_mpi=(OMPI_MCA_orte_keep_fqdn_hostnames=true OMPI_MCA_orte_default_hostfile=hostfile K_MPI_JOB_ROLE=launcher)

waiting() { stderr_has 'still waiting'; }

# The first worker's name is unknown, the second's sshd refuses, and no packet reaches the third.
test_workers_that_come_late_are_named_and_waited_for() {
  pods_up 3
  local way command
  for way in pod:libssh2 pod_without_dns:openssh; do
    echo '127.0.0.1 localhost' >"$out/net/hosts"
    publish 2
    publish 3
    hostfile 2 1 2 3
    kill "$(cat "$out/net/node2/sshd.pid")"
    wait_for test ! -e "$out/net/node2/sshd.pid"
    unplug 3
    # The kernel must look for the new card. Packets to the old one would be lost, which TCP notices late.
    ip -n "$net-l" neigh flush dev bridge
    command=(run --ssh "${way#*:}" --no-tag --allow-run-as-root -bind-to none -map-by slot -mca pml ob1 --
      sh -c 'echo $RANK on $DTRAIN_HOSTNAME')
    start "./${way%:*}" "${open_mpi[@]}" "$DTRAIN" "${command[@]}"
    wait_for waiting
    publish 1
    sshd_up 2
    plug_in 3 eth0
    finish
    expect_status 0
    expect_stdout_lines "0 on $(worker 1)" "1 on $(worker 1)" "2 on $(worker 2)" "3 on $(worker 2)" \
      "4 on $(worker 3)" "5 on $(worker 3)"
    expect_stderr_contains 'dtrain: MPIJob: job-worker-[1-3].job.ns.svc, 6 slots'
    expect_stderr_contains 'dtrain: still waiting for job-worker-[1-3].job.ns.svc'
    expect_stderr_contains 'warning: -mca pml: no effect'
    expect_no_processes
  done
}

test_a_launcher_in_the_hostfile_runs_its_processes_without_sshd_and_name() {
  pods_up 1
  publish 1
  local variable
  printf '%s\n' job-launcher.job.ns.svc:1 "$(worker 1):2" >hostfile
  for variable in HYDRA_HOST_FILE I_MPI_HYDRA_HOST_FILE; do
    # shellcheck disable=SC2016  # the workers' shell expands it
    run ./pod $variable=hostfile "$DTRAIN" run --no-tag sh -c 'echo $RANK at $(hostname)'
    expect_status 0
    expect_stdout_lines '0 at job-launcher' '1 at node1' '2 at node1'
    expect_not stderr_has 'its host key'
  done
  # A launcher that is meant by an address of its own, under another name.
  printf '%s\n' "$(worker 1) slots=1" 'other.job.ns.svc slots=1' >hostfile
  echo '10.77.0.254 other.job.ns.svc' >>"$out/net/hosts"
  # shellcheck disable=SC2016
  run ./pod "${open_mpi[@]}" "$DTRAIN" run --no-tag sh -c 'echo $RANK at $(hostname)'
  expect_status 0
  expect_stdout_lines '0 at node1' '1 at job-launcher'
  expect_no_processes
}

test_the_manifest_of_the_example_has_the_launchers_command() {
  pods_up 2
  publish 1
  publish 2
  hostfile 2 1 2
  local words
  IFS=', ' read -ra words < <(sed -n 's/^ *command: \[\(dtrain.*\)\]$/\1/p' "$examples/mpi_job/mpijob.yaml")
  expect test "${words[0]}" = dtrain
  # shellcheck disable=SC2016  # the workers' shell expands it
  run ./pod "${open_mpi[@]}" "$DTRAIN" "${words[@]:1}" sh -c 'echo $RANK'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:0' '[1]<stdout>:1' '[2]<stdout>:2' '[3]<stdout>:3'
  expect_no_processes
}

test_workers_that_stay_missing_are_named_with_the_reason() {
  pods_up 3
  publish 1
  publish 3
  hostfile 1 1 2 3
  unplug 3
  run ./pod_without_dns "${open_mpi[@]}" "$DTRAIN" run --start-timeout 20s touch started
  expect_status 3
  expect_stderr_contains 'dtrain: still waiting for job-worker-[2-3].job.ns.svc'
  expect_stderr_contains "dtrain: $(worker 2): cannot look up '$(worker 2)': Name or service not known"
  expect_stderr_contains "dtrain: $(worker 3): "
  expect_not test -e started
  expect_no_processes
}

test_the_job_ends_with_the_status_of_its_workers_or_its_signal() {
  pods_up 2
  publish 1
  publish 2
  hostfile 1 1 2
  run ./pod "${open_mpi[@]}" "$DTRAIN" run sh -c 'exit $((RANK + 4 * RANK))'
  expect_status 5
  start ./pod "${open_mpi[@]}" "$DTRAIN" run sh -c 'echo up; exec sleep 600'
  wait_for stdout_has '[1]<stdout>:up'
  signal TERM
  finish
  expect_status 143
  start ./pod "${open_mpi[@]}" "$DTRAIN" run sh -c 'echo up; exec sleep 600'
  wait_for stdout_has '[1]<stdout>:up'
  signal KILL
  finish
  expect_status 137
  expect_no_processes
}

run_tests "$@"
