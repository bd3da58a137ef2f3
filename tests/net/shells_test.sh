#!/usr/bin/env bash
# Arguments and variables reach a worker unchanged, with any login shell and any output of that shell. Only
# variables that belong to another host or job stay behind.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Sets `odd` to every byte that an argument or a variable can have, and `odd_name` to every one that
# a file name can.
set_odd() {
  local n byte
  odd='' odd_name=''
  for n in {1..255}; do
    # shellcheck disable=SC2059  # a byte by its number
    printf -v byte "\\x$(printf %02x "$n")"
    odd+=$byte
    [[ $n -eq 47 ]] || odd_name+=$byte
  done
}

# set_login_shell SHELL: makes it the login shell of root and of the unprivileged user tester, on host 1.
set_login_shell() {
  local passwd=$out/net/passwd
  sed "s%^root:.*%root:x:0:0:root:/root:$1%" /etc/passwd >"$passwd"
  echo "tester:*:12345:12345::/mnt/tester:$1" >>"$passwd"
  host_setup 1 "mount --bind $passwd /etc/passwd
    mount -t tmpfs home /mnt && cp -r /root /mnt/tester && chown -R 12345:12345 /mnt/tester"
}

# Makes the rc files of all shells print much, and not only in lines.
make_noise() {
  local home=$1 file
  mkdir -p "$home/.config/fish"
  for file in .bashrc .zshenv .tcshrc .config/fish/config.fish; do
    cat >"$home/$file" <<'NOISE'
echo "Welcome; dtrain-agent is not what this machine is called"
head -c 3000000 /dev/zero | tr "\0" x
head -c 1000000 /dev/urandom | tee /dev/stderr
printf "no end of this line"
NOISE
  done
}

# Runs a program with an odd name in an odd folder, with odd arguments and variables.
expect_all_bytes_arrive() {
  local folder=$PWD/$odd_name variables words=("$odd" '' ' ' '*' "'" '"' "\\" '!!' $'\n' -x "$odd")
  mkdir -p "$folder"
  printf '#!/bin/sh\ncat /proc/$$/cmdline >arguments\ncat /proc/$$/environ >variables\n' >"$folder/$odd_name"
  chmod +x "$folder/$odd_name"
  ODD=$odd run_on_launcher "$DTRAIN" run -H node1:1 --env "GIVEN=$odd" "$@" -- \
    "./$odd_name" "${words[@]}"
  expect_status 0
  expect cmp <(printf '%s\0' /bin/sh "$folder/./$odd_name" "${words[@]}") "$folder/arguments"
  mapfile -d '' -t variables <"$folder/variables"
  local name variable found=0
  for variable in "${variables[@]}"; do
    for name in "ODD=$odd" "GIVEN=$odd" "PWD=$folder"; do
      if [[ $variable == "$name" ]]; then found=$((found + 1)); fi
    done
  done
  [[ $found -eq 3 ]] || fail 'a variable has changed on its way'
  rm -r "$folder"
}

expect_no_difference_under() { # R27
  command -v "$1" >/dev/null || skip "no $1 here"
  hosts_up 1
  set_odd
  sed -i 's/SHLVL=5 //' "$out/net/node1/sshd_config"
  make_noise "$(home_of 1)"
  set_login_shell "$(command -v "$1")"
  expect_all_bytes_arrive --chdir "$PWD/$odd_name"
  mkdir -p "$odd_name"
  (cd "$odd_name" && PWD=${PWD%/*} expect_all_bytes_arrive)
  run_on_launcher "$DTRAIN" run -H tester@node1:1 sh -c 'id -u; pwd'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:12345' '[0]<stdout>:/mnt/tester'
  expect_stderr_contains 'cannot be entered on node1; workers start in the home directory there'
}

test_bash_changes_nothing() { expect_no_difference_under bash; }
test_dash_changes_nothing() { expect_no_difference_under dash; }
test_zsh_changes_nothing() { expect_no_difference_under zsh; }
test_tcsh_changes_nothing() { expect_no_difference_under tcsh; }
test_fish_changes_nothing() { expect_no_difference_under fish; }

test_variables_of_this_machine_or_of_an_outer_job_stay_here() {
  hosts_up 1
  host_variable 1 SSH_TESTED=theirs
  local -a staying=(NVIDIA_VISIBLE_DEVICES= NVIDIA_DRIVER_CAPABILITIES= KUBERNETES_PORT=x K_MPI_JOB_ROLE=launcher
    SSH_TESTED=ours SSH_AUTH_SOCK=/x PMI_RANK=7 PMI2_X=7 PMIX_RANK=7 OMPI_COMM_WORLD_RANK=7 PRTE_X=7
    SLURM_PROCID=7 SLURM_STEP_ID=7 PORT=7 OLDPWD=/x RANK=7 DTRAIN_TOKEN=7 HOSTNAME=ours XDG_RUNTIME_DIR=/ours
    HOROVOD_RANK=7 TF_CONFIG=x TMPDIR=/ours SECRET_KEY=x POD_IP=7 ROCR_VISIBLE_DEVICES=7 SLURM_JOB_GPUS=7
    DMLC_ROLE=7 PADDLE_TRAINER_ID=7)
  local -a going=(MINE=1 SLURM_JOB_ID=5 PMT=1 http_proxy=http://p:1 HTTPS_PROXY=http://p:2 LC_MINE=x PYTHONPATH=/lib)
  run env "${staying[@]}" "${going[@]}" "$out/net/on_launcher" "$DTRAIN" run -H node1:1 --env-exclude 'SECRET_*' env
  expect_status 0
  local entry
  for entry in "${staying[@]}"; do ! grep -qxF "[0]<stdout>:$entry" "$out/stdout" || fail "$entry was forwarded"; done
  for entry in "${going[@]}"; do grep -qxF "[0]<stdout>:$entry" "$out/stdout" || fail "$entry was not forwarded"; done
  for entry in SSH_TESTED=theirs HOSTNAME=node1 HOME=/root RANK=0 OMPI_COMM_WORLD_RANK=0; do
    grep -qxF "[0]<stdout>:$entry" "$out/stdout" || fail "expected $entry"
  done
}

run_tests "$@"
