#!/usr/bin/env bash
# The agent's binary on a host without dtrain: its transfer, its places, and the copy that stays.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

sha256=$(sha256sum <"$DTRAIN" | cut -c-64)
copy_of() { echo "$(home_of "$1")/.cache/dtrain/$sha256/dtrain"; }

# Places for the binary that dtrain tries in turn, and which do not work: the first is mounted noexec, and the
# second is too small for the binary.
home_unusable='mkdir -p /root/.cache && mount -t tmpfs -o noexec cache /root/.cache'
runtime_full='mkdir -p /root/run && mount -t tmpfs -o size=64k,mode=700 runtime /root/run'

expect_a_job_on() {
  run_on_launcher "$DTRAIN" run -H "$1:1" echo works
  expect_status 0
  expect_stdout '[0]<stdout>:works'
}

bytes_received() { ip -n "$net-$1" -s -j link show eth0 | sed 's/.*"rx":{"bytes":\([0-9]*\).*/\1/'; }

test_a_first_start_takes_a_second_at_most_and_later_ones_send_nothing() {
  hosts_up 1
  expect_a_job_on node1
  expect_soon 1000
  expect test "$(stat -c '%a %s' "$(copy_of 1)")" = "700 $(stat -c %s "$DTRAIN")"
  expect test "$(stat -c %a "$(home_of 1)/.cache/dtrain/$sha256")" = 700
  expect test "$(ls -A "$(home_of 1)/.cache/dtrain/$sha256")" = dtrain
  local before inode
  before=$(bytes_received 1)
  inode=$(stat -c %i "$(copy_of 1)")
  expect_a_job_on node1
  (($(bytes_received 1) - before < 200000)) || fail 'it was sent again'
  expect test "$(stat -c %i "$(copy_of 1)")" = "$inode"
}

test_workers_have_the_umask_of_the_login() {
  hosts_up 1
  for _ in 1 2; do
    run_on_launcher "$DTRAIN" run -H node1:1 sh -c umask
    expect_status 0
    expect_stdout "[0]<stdout>:$(umask)"
  done
}

test_many_first_starts_at_once_in_a_home_that_hosts_share() {
  hosts_up 4
  for k in 2 3 4; do host_setup $k "mount --bind $(home_of 1) /root"; done
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1,node3:1,node4:1 true
  expect_status 0
  expect test "$(sha256sum <"$(copy_of 1)" | cut -c-64)" = "$sha256"
  expect test "$(ls -A "$(home_of 1)/.cache/dtrain/$sha256")" = dtrain
}

test_a_copy_that_differs_from_its_checksum_is_replaced() {
  hosts_up 1
  local size wrong
  size=$(stat -c %s "$DTRAIN")
  expect_a_job_on node1
  for wrong in "head -c 100000 $DTRAIN" "head -c $size /dev/zero" 'true'; do
    $wrong >"$out/wrong"
    cp "$out/wrong" "$(copy_of 1)"
    expect_a_job_on node1
    expect test "$(sha256sum <"$(copy_of 1)" | cut -c-64)" = "$sha256"
  done
  # A wrong copy that still runs is detected by a check once a day.
  printf 'x' >>"$(copy_of 1)"
  touch -d '2 days ago' "$(copy_of 1)"
  expect_a_job_on node1
  expect_not test -e "$(copy_of 1)"
  expect_a_job_on node1
  expect test "$(sha256sum <"$(copy_of 1)" | cut -c-64)" = "$sha256"
}

test_old_versions_go_and_the_one_in_use_is_marked() {
  hosts_up 1
  expect_a_job_on node1
  local old unused
  unused=$(home_of 1)/.cache/dtrain/$(printf 'a%.0s' {1..64})
  old=$(home_of 1)/.cache/dtrain/$(printf 'b%.0s' {1..64}).old
  mkdir "$unused" "$old"
  touch "$unused/dtrain" "$old/dtrain"
  touch -d '31 days ago' "$unused/dtrain" "$old/dtrain" "$old" "$(copy_of 1)"
  expect_a_job_on node1
  wait_for test ! -e "$old"
  expect_not test -e "$unused"
  [[ $(find "$(copy_of 1)" -mtime -1 | wc -l) -eq 1 ]] || fail 'its use was not marked'
}

test_a_home_where_nothing_runs_is_passed_over() {
  hosts_up 1
  host_setup 1 "$(private_tmp mode=1777); $home_unusable; $runtime_full"
  host_variable 1 XDG_RUNTIME_DIR=/root/run
  expect_a_job_on node1
  expect on_host 1 test -x "/tmp/dtrain-0/$sha256/dtrain"
  expect test "$(on_host 1 stat -c %a /tmp/dtrain-0)" = 700
  expect test -z "$(on_host 1 find /root/run /root/.cache -type f)"
  local before
  before=$(bytes_received 1)
  expect_a_job_on node1
  (($(bytes_received 1) - before < 200000)) || fail 'it was sent again'
}

test_without_any_folder_it_runs_from_memory() {
  hosts_up 1
  host_setup 1 "mkdir -p /root/.cache && mount -t tmpfs -o ro cache /root/.cache; $(private_tmp noexec,mode=1777)"
  expect_a_job_on node1
  expect test -z "$(on_host 1 find /tmp/dtrain-0 /root/.cache -type f)"
  expect_no_processes
}

test_each_place_that_cannot_be_used_is_named() {
  hosts_up 1
  : >"$out/not_python"
  host_setup 1 "$(private_tmp mode=1777); $home_unusable; $runtime_full; mkdir -m 777 /tmp/dtrain-0;
    for p in /usr/bin/python3*; do mount --bind $out/not_python \$p; done"
  host_variable 1 XDG_RUNTIME_DIR=/root/run
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 3
  expect_stderr_contains 'node1: dtrain could not be put anywhere there:'
  expect_stderr_contains '/root/.cache/dtrain: programs cannot run there (noexec)'
  expect_stderr_contains "/root/run/dtrain: no room for $(stat -c %s "$DTRAIN") bytes"
  expect_stderr_contains '/tmp/dtrain-0: it is there, but not a folder of yours with mode 700'
  expect_stderr_contains 'memory: no python3 there to run it from'
  expect_soon
}

test_cache_lists_and_clears_the_copies_of_hosts() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 true
  expect_status 0
  run_on_launcher "$DTRAIN" cache list -H node1,node2
  expect_status 0
  expect_stderr ''
  local k
  for k in 1 2; do
    expect grep -qE "^node$k: +[0-9.]+ MB  last used [-0-9]{10}  /root/.cache/dtrain/[0-9a-f]{64}/dtrain\$" "$out/stdout"
    expect test -e "$(home_of $k)/.cache/dtrain"
  done
  expect test "$(wc -l <"$out/stdout")" = 2
  run_on_launcher "$DTRAIN" cache clear -H node1,node2
  expect_status 0
  for k in 1 2; do
    expect grep -qE "^node$k: removed 1 copy \([0-9.]+ MB\) in /root/.cache/dtrain\$" "$out/stdout"
    expect_not test -e "$(home_of $k)/.cache/dtrain"
  done
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 0
  expect test -e "$(home_of 1)/.cache/dtrain"
  expect_no_processes
}

test_a_host_that_lacks_a_library_reports_its_name() {
  hosts_up 1
  : >"$out/empty"
  host_setup 1 "for file in \$(ldconfig -p | sed -n 's/.*libgcc_s.so.1.*=> //p'); do mount --bind $out/empty \$file; done"
  for _ in 1 2; do
    run_on_launcher "$DTRAIN" run -H node1:1 true
    expect_status 3
    expect_stderr_contains 'dtrain: error while loading shared libraries: '
    expect_stderr_contains 'libgcc_s.so.1'
  done
}

test_another_processor_is_reported_with_both_names() { # B35
  hosts_up 1
  printf '#!/bin/sh\necho sparc64\n' >"$out/uname"
  chmod +x "$out/uname"
  host_setup 1 "mount --bind $out/uname /usr/bin/uname"
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 3
  expect_stderr_contains "node1: its processor is sparc64, and this dtrain is built for $(uname -m)"
}

run_tests "$@"
