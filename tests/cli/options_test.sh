#!/usr/bin/env bash
# Options that other launchers have, too; their sources; and hosts in every dialect.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # the workers' shell expands it
test_a_command_line_of_horovodrun_runs_and_tunes_its_library() {
  run_dtrain run -np 2 -H localhost:2 --gloo --disable-cache -p 22 -i key --network-interface lo \
    --fusion-threshold-mb 32 --cycle-time-ms=3.5 --no-autotune --no-stall-check \
    --log-without-timestamp --timeline-filename t.json --start-timeout 30 --log-level debug --tcp -- sh -c \
    'echo $HOROVOD_FUSION_THRESHOLD $HOROVOD_CYCLE_TIME $HOROVOD_AUTOTUNE $HOROVOD_STALL_CHECK_DISABLE \
      $HOROVOD_LOG_HIDE_TIME $HOROVOD_TIMELINE $HOROVOD_LOG_LEVEL $NCCL_IB_DISABLE'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:33554432 3.5 0 1 1 t.json DEBUG 1' '[1]<stdout>:33554432 3.5 0 1 1 t.json DEBUG 1'
  expect_stderr ''
}

test_x_wins_over_an_option_for_the_library_and_the_option_over_the_environment() {
  # shellcheck disable=SC2016
  HOROVOD_CYCLE_TIME=9 HOROVOD_LOG_LEVEL=INFO run_dtrain run -np 1 --no-tag --cycle-time-ms 2 --log-level ERROR \
    -x HOROVOD_LOG_LEVEL=FATAL sh -c 'echo $HOROVOD_CYCLE_TIME $HOROVOD_LOG_LEVEL'
  expect_stdout '2 FATAL'
  echo 'fusion-threshold-mb = 2' >tuned.toml
  # shellcheck disable=SC2016
  run_dtrain run --config-file tuned.toml -np 1 --no-tag sh -c 'echo $HOROVOD_FUSION_THRESHOLD'
  expect_stdout '2097152'
}

# refused ARGUMENT… -- TEXT: dtrain ends with 2 and this text, in at most four lines, and starts nothing.
refused() {
  local words=() text=${!#}
  while [[ $1 != -- ]]; do words+=("$1") && shift; done
  run_dtrain run "${words[@]}" -- touch started
  expect_status 2
  expect_stderr_contains "$text"
  expect_stdout ''
  expect test "$(wc -l <"$out/stderr")" -le 4
  expect_not test -e started
}

test_options_that_dtrain_cannot_honour_are_refused() {
  refused -np 2 --mpi -- 'start MPI programs with mpirun'
  refused -np 2 --jsrun -- 'start the job with jsrun'
  refused -np 2 --log-level loud -- '--log-level: expected TRACE, DEBUG'
  refused -np 2 --mpi-args=--oversubscribe -- 'there is no mpirun'
  refused -np 2 --cache-capacity many -- '--cache-capacity: expected 0..2147483647, got "many"'
}

test_sizes_that_contradict_each_other_are_refused() {
  refused -np 2 --min-np 4 --max-np 3 -- '--min-np: 4 is more than 3 of --max-np'
  refused -np 2 --min-np 3 -- '-np: 2 ranks are fewer than 3 of --min-np; give 3 or more'
  refused -np 5 --max-num-proc 4 -- '-np: 5 ranks are more than 4 of --max-num-proc; give 4 or fewer'
  refused -np 2 --min-np none -- '--min-np: expected 1..65536, got "none"'
  refused -H localhost:2 --min-np 3 -- 'but the hosts have 2 slots'
  refused -np 2 --min-np 1 --blacklist-cooldown-range 100 10 -- 'the smaller first, got "100 10"'
  refused -np 2 --min-np 1 --blacklist-cooldown-range 10 3601 -- 'seconds of 1..3600'
  refused -np 2 --elastic-timeout 10 -- 'the number of ranks is fixed, and no job waits for hosts'
  refused -np 2 --min-np 1 --stdin 1 -- '--stdin: rank 1 may be missing'
  refused -np 2 --min-np 1 --oversubscribe -- '--oversubscribe: with --min-np'
  refused -np 2 --max-restarts 2 --reset-limit 2 -- '--reset-limit: conflicts with --max-restarts'
  refused -H localhost:2 --host-discovery-script ./find -- '-H: conflicts with --host-discovery-script'
  refused -np 2 --slots-per-host 2 -- '--slots-per-host: only for hosts of --host-discovery-script'
  refused --nproc-per-node 2 --nnodes 4:2 -- '--nnodes: expected 1..65536 hosts, or MIN:MAX'
  refused --nproc-per-node 2 --nnodes 2:4 -- '--nnodes: 2:4 nodes, but neither their hosts'
  refused --nproc-per-node 2 --nnodes 1:2:3 -- 'such as 2:4, got "1:2:3"'
  refused --role chief=1,worker=2 --min-np 2 -- 'the number of tasks of only one role can follow'
}

# horovodrun's users expect that ranks keep their state in memory.
test_a_job_with_a_size_says_how_it_starts_again() {
  run_dtrain run -np 2 --min-np 1 --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
  expect_stderr 'dtrain: after a failure all ranks start again, each from its own checkpoint; dtrain keeps none of their memory'
  run_dtrain run -np 2 --min-num-proc 1 --max-restarts 3 --no-tag echo hi
  expect_status 0
  expect_stderr ''
}

test_the_options_of_a_size_can_be_saved() {
  run_dtrain config show -np 2 --min-np 1 --max-np 4 --blacklist-cooldown-range 10 100 --elastic-timeout 20 --reset-limit 3
  expect_status 0
  expect_stdout_lines 'np = 2' 'min-np = 1' 'max-np = 4' 'elastic-timeout = 20' 'reset-limit = 3' \
    'blacklist-cooldown-range = ["10", "100"]'
  cp "$out/stdout" dtrain.toml
  run_dtrain run --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
  # Other commands do not run the program.
  run env DTRAIN_OPT_HOST_DISCOVERY_SCRIPT=./find "$DTRAIN" check --config-file /dev/null
  expect_status 2
  expect_stderr_contains 'only a job runs it; name the hosts'
}

test_version_and_build_are_printed_as_by_horovodrun() {
  run_dtrain run -v
  expect_status 0
  expect_stdout "$("$DTRAIN" version)"
  run_dtrain run --check-build
  expect_status 0
  expect_stdout_contains '    [ ] MPI'
  expect_stdout_contains '    [X] TCP'
  grep -qx '    \[X\] Gloo' "$out/stdout" || fail "no line of horovodrun's scripts for Gloo"
  grep -q '^    \[X\] SSH (' "$out/stdout" || fail 'no line for ssh'
  expect_stdout_contains '    [X] PyTorch'
}

test_an_interface_in_the_spelling_of_hydra_is_no_identity_file() {
  run_dtrain config show -iface lo -np 2
  expect_status 0
  expect_stdout_lines 'np = 2' 'network-interfaces = "lo"'
  run_dtrain run -np 1 -iface=lo --no-tag echo hi
  expect_status 0
  expect_stdout hi
}

test_a_yaml_file_of_horovodrun_is_answered_with_toml_keys() {
  printf 'params:\n    fusion_threshold_mb: 32\ntimeline:\n    filename: t.json\n' >job.yaml
  refused -np 2 --config-file job.yaml -- 'job.yaml" is YAML, as horovodrun reads it; the same as a dtrain.toml:'
  sed '1d; s/^dtrain: //' "$out/stderr" >dtrain.toml
  expect_file dtrain.toml 'fusion-threshold-mb = 32
timeline-filename = "t.json"'
  # shellcheck disable=SC2016
  run_dtrain run -np 1 --no-tag sh -c 'echo $HOROVOD_TIMELINE'
  expect_stdout t.json
}

test_variables_come_from_files_and_leave_by_pattern() {
  printf '# all\nA=file\nB="quoted" \r\n\nHOME\n' >job.env
  printf 'A=second\n' >second.env
  run env AWS_KEY=k SSH_TTY=t KEPT=yes "$DTRAIN" run -np 1 --no-tag --env-file job.env \
    --env-file second.env --env-exclude 'AWS_*' --env-exclude SSH_TTY -x C=typed \
    sh -c 'echo "$A,$B,$C,$HOME,${AWS_KEY-none},${SSH_TTY-none},$KEPT"'
  expect_status 0
  expect_stdout "second,\"quoted\" ,typed,$HOME,none,none,yes"
  run_dtrain run -np 1 --no-tag --env-file job.env -x A=typed sh -c 'echo $A'
  expect_stdout typed
  printf 'A=1\nexport B=2\n' >bad.env
  refused -np 1 --env-file bad.env -- 'bad.env:2:7: expected NAME=VALUE'
  printf 'NOT_THERE\n' >bad.env
  run_dtrain run -np 1 --env-file bad.env true
  expect_status 0
  expect_stderr_contains 'warning: bad.env:1:1: NOT_THERE is not set in the environment, so no process gets it'
  refused -np 1 --env-file gone.env -- '--env-file: cannot read "gone.env": No such file'
}

test_an_environment_that_no_program_can_be_started_with_is_refused_before_the_start() {
  local i
  for i in 1 2 3; do printf 'BIG%s=%0120000d\n' "$i" 0; done >big.env
  run bash -c 'ulimit -s 1024 && exec "$@"' - "$DTRAIN" run -np 2 --env-file big.env touch started
  expect_status 2
  expect_stderr_contains 'localhost: the command and its environment can take 37'
  expect_stderr_contains 'can be started with 262144 here'
  expect_not test -e started
}

test_every_dialect_of_hostfiles_places_the_ranks() {
  # Horovod and DeepSpeed, Open MPI, MPICH; with a BOM, CRLF, tabs and comments.
  printf 'localhost slots=3\n' >horovod
  printf '\xEF\xBB\xBF# rack\r\n\tlocalhost\tslots=3 max_slots=4 # first\r\n' >openmpi
  printf 'localhost:3\n' >mpich
  local file
  for file in horovod openmpi mpich; do
    run_dtrain run --hostfile $file --no-tag sh -c 'echo $LOCAL_RANK/$LOCAL_WORLD_SIZE'
    expect_status 0
    expect_stdout_lines 0/3 1/3 2/3
    run_dtrain run -H @$file -np 1 --no-tag echo one
    expect_stdout one
  done
  run_dtrain run --hostfile openmpi -np 4 --oversubscribe --no-tag echo x
  expect_stdout_lines x x x x
  refused --hostfile openmpi -np 5 --oversubscribe -- 'max_slots of the hosts (localhost:3) allows 4; use -np 4'
}

test_all_names_of_this_machine_are_one_host() {
  run_dtrain run -H "localhost:2,127.0.0.1:1,$(hostname):1" --verbose --no-tag \
    sh -c 'echo $RANK $LOCAL_RANK $DTRAIN_CROSS_SIZE $DTRAIN_HOSTNAME'
  expect_status 0
  expect_stdout_lines '0 0 1 localhost' '1 1 1 localhost' '2 2 1 localhost' '3 3 1 localhost'
  expect_stderr_contains "warning: localhost, 127.0.0.1, $(hostname) are one machine; merged to 4 slots"
  run_dtrain run --connect-timeout 300ms -p 1 -H localhost:1,127.0.0.2:1 true
  expect_status 3
  expect_stderr_contains '127.0.0.2: cannot connect to 127.0.0.2:1: Connection refused'
}

test_each_line_of_a_hostfile_without_slots_is_one_slot() {
  printf 'localhost\nlocalhost\n127.0.0.1\n' >hosts
  run_dtrain run --hostfile hosts --no-tag sh -c 'echo $RANK $LOCAL_WORLD_SIZE'
  expect_status 0
  expect_stdout_lines '0 3' '1 3' '2 3'
  expect_stderr_contains 'warning: localhost, 127.0.0.1 are one machine; merged to 3 slots'
  printf 'localhost slots=2\n127.0.0.1\n' >hosts
  run_dtrain run --hostfile hosts --no-tag echo started
  expect_status 0
  expect_stdout_lines started started started
}

test_config_show_has_the_origin_of_each_value_and_can_be_saved() {
  printf 'np = 2\ngrace = 3\nhosts = ["localhost:4"]\n' >dtrain.toml
  run env DTRAIN_OPT_QUIET=1 "$DTRAIN" config show --origin -np 3 --no-tag echo x
  expect_status 0
  expect_stdout 'np = 3                 # -np
hosts = "localhost:4"  # dtrain.toml:3:1
grace = 3              # dtrain.toml:2:1
no-tag = true          # --no-tag
quiet = true           # DTRAIN_OPT_QUIET'
  run_dtrain config show -np 3 --no-tag
  cp "$out/stdout" saved.toml
  run_dtrain run --config-file saved.toml echo x
  expect_stdout_lines x x x
  run_dtrain config show --json
  expect_stdout_contains '"origin": "dtrain.toml:3:1"'
  rm dtrain.toml
  run_dtrain config show
  expect_stdout '# No option is set; see the defaults: dtrain config show --all'
}

test_misspelt_options_get_a_suggestion() {
  refused -np 2 --on-failure continu -- 'got "continu"; did you mean continue?'
  refused -np 2 --env-fil a -- '--env-fil: no such option; did you mean --env-file?'
  refused --nproc 2 -- '--nproc: no such option; did you mean -np?'
  printf 'env-exlude = "A"\n' >dtrain.toml
  refused -np 2 -- 'did you mean env-exclude?'
  run_dtrain config shwo
  expect_status 2
  expect_stderr_contains 'did you mean dtrain config show?'
}

test_programs_are_not_taken_from_a_file_that_merely_lies_there() {
  local option
  for option in rsh-agent ssh-config; do
    printf 'np = 1\n%s = "./evil"\n' "$option" >dtrain.toml
    run "$DTRAIN" run true
    expect_status 2
    expect_stderr_contains "dtrain.toml:2:1: $option: it can make programs run"
    expect_stderr_contains "--$option"
    run "$DTRAIN" run --config-file dtrain.toml true
    expect_status 0
    rm dtrain.toml
  done
  printf 'np = 1\nhost-discovery-script = "./evil"\n' >dtrain.toml
  run "$DTRAIN" run true
  expect_status 2
  expect_stderr_contains 'dtrain.toml:2:1: host-discovery-script: it can make programs run'
}

test_variables_that_choose_programs_are_not_taken_from_a_file_that_merely_lies_there() {
  mkdir bin
  printf '#!/bin/sh\n: >evil-ran\n' >bin/true
  chmod +x bin/true
  echo "PATH=$PWD/bin" >job.env
  local line
  for line in "env = [\"A=1\", \"PATH=$PWD/bin\"]" "role-env = [\"worker=PATH=$PWD/bin\"]" \
    'env-file = ["job.env"]'; do
    printf 'np = 1\n%s\n' "$line" >dtrain.toml
    run_dtrain run true
    expect_status 2
    expect_stderr_contains "dtrain.toml:2:1: ${line%% *}: PATH"
    expect_stderr_contains 'can make programs run, so it is not taken from a file that lies in the current folder;'
    expect_stderr_contains "give it with --${line%% *}"
    expect_not test -e evil-ran
    run_dtrain run --config-file dtrain.toml true
    expect_status 0
    expect test -e evil-ran
    rm evil-ran
  done
}

test_files_merge_by_key_and_variables_by_name() {
  mkdir -p "$XDG_CONFIG_HOME/dtrain"
  printf 'np = 2\nno-tag = true\nenv = ["A=user", "D=4"]\n' >"$XDG_CONFIG_HOME/dtrain/config.toml"
  printf 'np = 1\nenv = ["A=1", "B=2"]\n' >dtrain.toml
  # shellcheck disable=SC2016
  run_dtrain run -x C=3 sh -c 'echo $WORLD_SIZE $A $B $C $D'
  expect_status 0
  expect_stdout '1 1 2 3 4'
  run_dtrain config show --origin -x C=3
  expect_stdout "np = 1         # dtrain.toml:1:1
env = [
  \"D=4\",  # $XDG_CONFIG_HOME/dtrain/config.toml:3:1
  \"A=1\",  # dtrain.toml:2:1
  \"B=2\",  # dtrain.toml:2:1
  \"C=3\",  # -x
]
no-tag = true  # $XDG_CONFIG_HOME/dtrain/config.toml:2:1"
  : >none.toml
  run_dtrain run --config-file none.toml true
  expect_status 2
  expect_stderr_contains '-np: missing'
}

# expect_left_out REASON: dtrain ignores dtrain.toml, which has 3 processes, and logs this reason.
expect_left_out() {
  run_dtrain run -np 1 --no-tag sh -c 'echo $WORLD_SIZE'
  expect_status 0
  expect_stdout 1
  expect_stderr "dtrain: warning: ./dtrain.toml is left out: $1; --config-file dtrain.toml takes it"
  run_dtrain run true
  expect_status 2
  expect_stderr_contains '-np: missing'
  expect_stderr_contains "./dtrain.toml is left out: $1"
  run_dtrain config show
  expect_stdout_contains '# No option is set'
  expect_stderr_contains "./dtrain.toml is left out: $1"
  run_dtrain check --connect-timeout 1s
  expect_stderr_contains "./dtrain.toml is left out: $1"
}

test_a_file_that_others_can_write_is_left_out() {
  printf 'np = 3\n' >dtrain.toml
  chmod 0666 dtrain.toml
  expect_left_out 'other users may write it (mode 0666; try: chmod go-w)'
  run_dtrain run --config-file dtrain.toml --no-tag sh -c 'echo $WORLD_SIZE'
  expect_stdout_lines 3 3 3
}

test_a_file_of_another_user_is_left_out_whatever_it_sets() {
  ((EUID == 0)) || skip 'only root gives files away'
  mkdir evil
  printf '#!/bin/sh\n: >../evil-ran\n' >evil/prog
  printf '#!/bin/sh\nexit 0\n' >prog
  chmod +x evil/prog prog
  printf 'np = 3\nchdir = "%s/evil"\nreport = "%s/.bashrc"\n' "$PWD" "$HOME" >dtrain.toml
  chown 65534 dtrain.toml
  chmod 1777 .
  run_dtrain run -np 1 ./prog
  expect_status 0
  expect_not test -e evil-ran
  expect_not test -e "$HOME/.bashrc"
  expect_left_out 'it belongs to the user 65534, not to you or root'
}

test_a_fifo_in_the_place_of_the_file_is_left_out_at_once() {
  mkfifo -m 600 dtrain.toml
  expect_left_out 'it is not a regular file'
}

test_the_own_configuration_of_a_user_must_be_the_users_too() {
  mkdir -p "$XDG_CONFIG_HOME/dtrain"
  printf 'np = 2\n' >"$XDG_CONFIG_HOME/dtrain/config.toml"
  printf 'np = 3\n' >dtrain.toml
  chmod 0666 dtrain.toml
  run_dtrain run --no-tag sh -c 'echo $WORLD_SIZE'
  expect_stdout_lines 2 2
  expect_stderr_contains './dtrain.toml is left out'
  chmod 0666 "$XDG_CONFIG_HOME/dtrain/config.toml"
  rm dtrain.toml
  run_dtrain run --no-tag sh -c 'echo $WORLD_SIZE'
  expect_status 2
  expect_stderr_contains "$XDG_CONFIG_HOME/dtrain/config.toml is left out: other users may write it (mode 0666"
}

test_a_configuration_that_may_not_be_read_counts_as_absent() {
  local as=()
  # Without these capabilities, even root cannot read all files.
  if ((EUID == 0)); then as=(setpriv --bounding-set '-dac_override,-dac_read_search'); fi
  mkdir -p "$XDG_CONFIG_HOME/dtrain"
  printf 'np = 2\n' >"$XDG_CONFIG_HOME/dtrain/config.toml"
  printf 'np = 3\n' >dtrain.toml
  chmod 000 "$XDG_CONFIG_HOME" dtrain.toml
  run "${as[@]}" "$DTRAIN" run -np 1 --no-tag sh -c 'echo $WORLD_SIZE'
  expect_status 0
  expect_stderr ''
  expect_stdout 1
  run "${as[@]}" "$DTRAIN" run -np 1 --verbose true
  expect_status 0
  expect_stderr_contains 'dtrain: ./dtrain.toml counts as absent, since it cannot be read: Permission denied'
  expect_stderr_contains "$XDG_CONFIG_HOME/dtrain/config.toml counts as absent, since it cannot be read: Permission denied"
  run "${as[@]}" "$DTRAIN" run --config-file dtrain.toml true
  expect_status 2
  expect_stderr_contains '--config-file: cannot read "dtrain.toml": Permission denied'
}

test_a_found_file_that_chooses_hosts_and_places_is_logged() {
  printf 'np = 1\nhosts = ["localhost:1"]\nchdir = "."\nreport = "r.json"\ngrace = 3\n' >dtrain.toml
  run_dtrain run true
  expect_status 0
  expect_stderr 'dtrain: ./dtrain.toml sets hosts = "localhost:1", chdir = ".", report = "r.json"'
  run_dtrain run --dry-run -H localhost:2 --report other.json true
  expect_stderr 'dtrain: ./dtrain.toml sets chdir = "."'
  run_dtrain run --config-file dtrain.toml true
  expect_stderr ''
  run_dtrain check
  expect_stderr 'dtrain: ./dtrain.toml sets hosts = "localhost:1", chdir = "."'
  printf 'role = ["worker=1@localhost"]\noutput-dir = "o"\n' >dtrain.toml
  run_dtrain run true
  expect_stderr 'dtrain: ./dtrain.toml sets role = "worker=1@localhost", output-dir = "o"'
}

run_tests "$@"
