#!/usr/bin/env bash
# Folders of hosts that tasks find at other places: --mount and --mount-command.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# Another user than root, whose mounts need a user namespace.
as_other=()
if ((EUID == 0)); then as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi

# places: makes $folder, which all users can read, with a source, a target and a place for temporary files.
places() {
  folder=$(mktemp -d /tmp/dtrain-mount.XXXXXX)
  # shellcheck disable=SC2064  # expands now
  trap "end_marked_processes; rm -rf '$folder'" EXIT
  mkdir -p "$folder/source/below" "$folder/target" "$folder/tmp"
  echo data >"$folder/source/file"
  cp "$DTRAIN" "$folder/dtrain"
  chmod -R a+rX "$folder"
  chmod a+w "$folder/tmp" "$folder/source"
  export TMPDIR=$folder/tmp
}
needs_root() {
  ((EUID == 0)) || skip 'only root mounts without a user namespace'
  unshare -m true 2>/dev/null || skip 'no mount namespaces here'
}
run_here() { run_dtrain run --no-tag "$@"; }
# A job of another user than root.
run_other() {
  "${as_other[@]}" unshare -U -m true 2>/dev/null || skip 'no user namespaces here'
  run env HOME="$folder" "${as_other[@]}" "$folder/dtrain" run --no-tag --chdir / "$@"
}
expect_nothing_left() {
  expect_no_processes
  expect_not grep -F "$folder" /proc/self/mountinfo
  [[ -z $(ls "$folder/tmp") ]] || fail "left in TMPDIR: $(ls "$folder/tmp")"
}

test_a_folder_appears_at_its_target() {
  needs_root
  places
  # shellcheck disable=SC2016
  run_here -np 2 --mount "$folder/source:$folder/target" sh -c 'cat "$0/file"; touch "$0/new.$RANK"' "$folder/target"
  expect_status 0
  expect_stdout 'data
data'
  expect ls "$folder/source/new.0" "$folder/source/new.1"
  [[ -z $(ls "$folder/target") ]] || fail 'the mount has reached the host'
  expect_nothing_left
}

test_a_read_only_mount_covers_the_mounts_below_it() {
  needs_root
  places
  # shellcheck disable=SC2016
  run unshare -m sh -c 'mount -t tmpfs x "$1/source/below" && shift && exec "$@"' sh "$folder" "$DTRAIN" run --no-tag \
    --mount "$folder/source:$folder/target:ro" -np 1 \
    sh -c 'cat "$0/file"; touch "$0/new" || touch "$0/below/new" || echo neither' "$folder/target"
  expect_status 0
  expect_stdout 'data
neither'
  [[ $(grep -c 'Read-only file system' "$out/stderr") -eq 2 ]] || fail 'two refusals expected'
  expect_nothing_left
}

test_a_missing_target_is_made_for_the_job() {
  needs_root
  places
  missing=/dtrain-test-$$
  # shellcheck disable=SC2016
  run_here -np 1 --mount "$folder/source:$missing/x" --mount "$folder/source:$folder/made/x:ro" \
    sh -c 'cat "$0/x/file" "$1/x/file"; echo more >>"$2/source/file"' "$missing" "$folder/made" "$folder"
  expect_status 0
  expect_stdout 'data
data'
  expect_file "$folder/source/file" 'data
more'
  expect_not test -e "$missing"
  expect_not test -e "$folder/made"
  run_here -np 1 --mount "$folder/source:$PWD/made" true
  expect_status 2
  expect_stderr_contains "localhost: cannot mount at $PWD/made, which does not exist (tasks may make files in $PWD); make it: mkdir -p $PWD/made"
  expect_nothing_left
}

test_a_user_has_mounts_in_a_user_namespace() {
  places
  # shellcheck disable=SC2016
  run_other -np 2 --mount "$folder/source:$folder/target:ro" \
    sh -c 'cat "$0/file"; id -u; touch "$0/new" 2>/dev/null || echo refused' "$folder/target"
  expect_status 0
  user=$("${as_other[@]}" id -u)
  expect_stdout_lines data data "$user" "$user" refused refused
  run_other -np 1 --mount "$folder/source:$folder/none" true
  expect_status 2
  if ((EUID == 0)); then
    expect_stderr_contains "localhost: cannot mount at $folder/none, which does not exist (only root makes it for the time of a job); make it: mkdir -p $folder/none"
  fi
  expect_nothing_left
}

test_mounts_work_where_other_processes_are_hidden() {
  needs_root
  places
  # shellcheck disable=SC2016
  run unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec env HOME="$0" "$@"' "$folder" "${as_other[@]}" \
    "$folder/dtrain" run --no-tag --chdir / --mount "$folder/source:$folder/target:ro" -np 1 cat "$folder/target/file"
  if stderr_has 'user namespaces'; then skip 'no user namespaces here'; fi
  expect_status 0
  expect_stdout data
}

test_where_no_mount_is_allowed_the_target_is_the_place_of_the_source() {
  places
  # shellcheck disable=SC2016
  locked=(unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -sys_admin "$@"' sh)
  "${locked[@]}" true 2>/dev/null || skip 'no user namespaces here'
  run "${locked[@]}" "$DTRAIN" run --no-tag -np 1 --mount "$folder/source:$folder/target" true
  expect_status 2
  expect_stderr_contains 'localhost: only root can mount on this host: it refuses user namespaces'
  expect_stderr_contains "a mount's target must be the place of its source: $folder/source:$folder/source"
  run "${locked[@]}" "$DTRAIN" run --no-tag -np 1 --mount "$folder/source:$folder/source" cat "$folder/source/file"
  expect_status 0
  expect_stdout data
  run "${locked[@]}" "$DTRAIN" run --no-tag -np 1 --mount "$folder/source:$folder/source:ro" true
  expect_status 2
}

test_a_missing_source_is_an_error_before_anything_starts() {
  places
  run_here -np 2 --mount "$folder/none:$folder/target" touch "$folder/started"
  expect_status 2
  expect_stderr "dtrain: localhost: cannot mount $folder/none at $folder/target: No such file or directory"
  run_here -np 1 --mount "nfs://no.such.server/export:$folder/target" touch "$folder/started"
  expect_status 2
  expect_stderr_contains 'an administrator does so, for example: mount -t nfs no.such.server:/export /mnt'
  # Before a setup, too.
  run_here -np 1 --setup "touch $folder/started" --mount "$folder/none:$folder/target" true
  expect_status 2
  expect_stderr_contains "cannot mount $folder/none"
  expect_not test -e "$folder/started"
  expect_nothing_left
}

test_wrong_mounts_are_refused_with_their_option() {
  refused() {
    run_dtrain run -np 1 "${@:2}" true
    expect_status 2
    expect_stderr_contains "$1"
  }
  refused '--mount: "/srv/x" has no target' --mount /srv/x
  refused '--mount: two mounts have the target /b' --mount /srv/a:/b --mount /srv/c:/b/
  refused '--mount: the target "/" would hide all files' --mount /srv/x:/
  refused '--mount: the target "data" is no absolute path' --mount /srv/x:data
  for place in /proc/x /sys /dev/shm; do refused "--mount: the target \"$place\" is in" --mount "/srv/x:$place"; done
  refused '--mount: the source "x" is no absolute path' --mount x:/data
  refused '--mount-command: no mount has the target /data' --mount /srv/x:/b --mount-command '/data=x {target}'
  refused '--mount-command: without --mount' --mount-command '/data=x {target}'
  DTRAIN_OPT_MOUNT='/srv/x:/' refused 'DTRAIN_OPT_MOUNT: the target'
  printf '%s\n' 'mount = "/etc:/root"' >dtrain.toml
  refused 'so it is not taken from a file that lies in the current folder'
}

test_a_plan_has_the_mounts() {
  run_dtrain run -np 1 --dry-run --mount /srv/x:/data:ro --mount s3:b:/bucket --mount-command '/bucket=m {target}' true
  expect_status 0
  expect_stdout_contains 'mount: /srv/x at /data, read-only'
  expect_stdout_contains 'mount: s3:b at /bucket, by: m {target}'
  words=(-np 1 --mount /srv/x:/data:ro --mount s3:b:/bucket --mount-command '/bucket=m "a b" {target}' ./train)
  run_dtrain run --dry-run --json "${words[@]}"
  cp "$out/stdout" of_line
  run_dtrain job init -o job.toml -- "${words[@]}"
  expect_status 0
  run_dtrain job check job.toml --json
  expect cmp of_line "$out/stdout"
  expect python3 -c 'import json
mounts = json.load(open("of_line"))["mounts"]
assert mounts[0] == {"source": "/srv/x", "target": "/data", "read_only": True, "command": None}, mounts
assert mounts[1]["command"] == "m \"a b\" {target}", mounts'
}

test_a_job_file_has_mounts() {
  needs_root
  places
  printf '%s\n' 'schema = 1' 'np = 1' 'no-tag = true' "command = \"cat $folder/target/file\"" '[[mounts]]' \
    "source = \"$folder/source\"" "target = \"$folder/target\"" 'read_only = true' >job.toml
  run_dtrain job run job.toml
  expect_status 0
  expect_stdout data
  printf '%s\n' 'schema = 1' 'np = 1' 'command = "true"' '[[mounts]]' 'source = "/x"' 'target = "/"' >job.toml
  run_dtrain job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:6:1: the target "/" would hide'
}

test_restarts_keep_the_mounts_and_tasks_start_in_them() {
  needs_root
  places
  echo 'echo "attempt $DTRAIN_GENERATION in $PWD"; [ "$DTRAIN_GENERATION" != 1 ]' >"$folder/source/train.sh"
  run_here -np 1 --max-restarts 1 --mount "$folder/source:$folder/target" --mount "any:$folder/source/below" \
    --mount-command "$folder/source/below=mount -t tmpfs x {target}" --chdir "$folder/target" sh ./train.sh
  expect_status 0
  expect_stdout "attempt 1 in $folder/target
attempt 2 in $folder/target"
  expect_nothing_left
}

test_a_mount_may_lie_in_a_copy_of_the_code() {
  needs_root
  places
  mkdir -p tree/data
  echo 'cat data/file' >tree/train.sh
  touch tree/data/kept
  run env -C "$PWD/tree" "$DTRAIN" run --no-tag --sync-to "$folder/code" --setup 'touch made' -np 1 \
    --mount "$folder/source:$folder/code/data:ro" sh ./train.sh
  expect_status 0
  expect_stdout data
  expect_file "$folder/source/file" data
  expect test -e "$folder/code/made"
  expect_not grep -F "$folder" /proc/self/mountinfo
}

# Prints a command that makes a mount of the folder $1: by FUSE where this machine has it.
mounting() {
  if command -v bindfs >/dev/null && [[ -w /dev/fuse ]]; then
    echo "bindfs $1 {target}"
  else
    echo 'no bindfs or /dev/fuse here: another mount takes its place' >&2
    echo "mount --bind $1 {target}"
  fi
}

test_a_command_mounts_for_the_time_of_the_job() {
  needs_root
  places
  # shellcheck disable=SC2016
  run_here -np 2 --mount "any name:$folder/target:ro" --mount-command "$folder/target=$(mounting "$folder/source")" \
    sh -c 'cat "$0/file"; touch "$0/new" 2>/dev/null || echo refused' "$folder/target"
  expect_status 0
  expect_stdout_lines data data refused refused
  expect_nothing_left
}

test_a_command_of_a_user_mounts_with_fusermount() {
  needs_root
  for program in bindfs fusermount; do command -v "$program" >/dev/null || skip "no $program here"; done
  [[ -w /dev/fuse ]] || skip 'no /dev/fuse here'
  places
  # A /dev/fuse for all users, as distributions have it. The second job's launcher is killed.
  cat >script <<'END'
folder=$1
shift
mkdir "$folder/device" && mount -t tmpfs x "$folder/device" && mknod -m 666 "$folder/device/fuse" c 10 229 || exit 98
mount --bind "$folder/device/fuse" /dev/fuse || exit 98
has_mounts() { grep -F "$folder/tmp" /proc/self/mountinfo >&2; }
"$@" cat "$folder/target/file" || exit
has_mounts && exit 99
"$@" sh -c 'touch "$0/tmp/started"; exec sleep 60' "$folder" &
until [ -e "$folder/tmp/started" ]; do sleep 0.1; done
has_mounts || exit 97
kill -KILL $!
while has_mounts; do sleep 0.1; done
rm "$folder/tmp/started"
END
  run unshare -m sh script "$folder" env HOME="$folder" "${as_other[@]}" "$folder/dtrain" run --no-tag --chdir / -np 1 \
    --mount "any:$folder/target:ro" --mount-command "$folder/target=bindfs -n $folder/source {target}"
  if stderr_has 'user namespaces'; then skip 'no user namespaces here'; fi
  expect_status 0
  expect_stdout data
  expect_nothing_left
}

test_a_command_that_fails_is_shown_with_its_output() {
  needs_root
  places
  run_here -np 1 --mount "any:$folder/target" --mount-command "$folder/target=echo no bucket >&2; exit 4; {target}" true
  expect_status 2
  expect_stderr "dtrain: localhost: the command for the mount at $folder/target, 'echo no bucket >&2; exit 4; {target}': exit status 4; its last lines:
dtrain:   no bucket"
  run_here -np 1 --start-timeout 3s --mount "any:$folder/target" --mount-command "$folder/target=echo waiting; sleep 100; {target}" true
  expect_status 2
  expect_stderr_contains 'no mount is there after 2s'
  expect_stderr_contains '  waiting'
  expect_nothing_left
}

# killed NAME: kills the process of this name while a job has a mount, and expects that nothing is left.
killed() {
  needs_root
  places
  # shellcheck disable=SC2016
  start_dtrain run --no-tag -np 1 --mount "any:$folder/target" --mount "$folder/source:$folder/source/below" \
    --mount-command "$folder/target=$(mounting "$folder/source")" sh -c 'cat "$0/file"; exec sleep 60' "$folder/target"
  wait_for stdout_has data
  local process victims=()
  for process in $(marked_pids); do
    if [[ $1 == all || $(cat "/proc/$process/comm" 2>/dev/null) == "$1" ]]; then victims+=("$process"); fi
  done
  [[ $1 != launcher ]] || victims=("$pid")
  # One call: kill fails only where no process is left, and the first one's end may end the others.
  kill -KILL "${victims[@]}"
  finish
  [[ $status -ne 0 ]] || fail 'the job has ended well'
  expect_no_processes
  expect_not grep -F "$folder" /proc/self/mountinfo
}
test_a_killed_launcher_leaves_no_mount() {
  killed launcher
  expect_nothing_left
}
test_a_killed_agent_leaves_no_mount() {
  killed dtrain-agent
  expect_nothing_left
}
test_processes_that_are_killed_together_leave_no_mount() { killed all; }

run_tests "$@"
