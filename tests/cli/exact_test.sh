#!/usr/bin/env bash
# Results of all collectives, bit by bit, in real processes on one host and on several. The hosts are loopback
# addresses, which a program like rsh reaches: shared memory joins the ranks of each, TCP those of two.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/exact_worker
large=$(long_or '1031 9001' '1031 5003 20011 70001 300007')

# play HOSTS OPTION…: makes calls of all kinds on hosts with these slots, such as "2 3", and expects exact results.
play() {
  local hosts=() slots
  for slots in $1; do hosts+=("127.0.0.$((${#hosts[@]} + 2)):$slots"); done
  shift
  # shellcheck disable=SC2016  # expanded by the agent
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  local list=${hosts[*]}
  play_job --rsh-agent "$PWD/rsh" -H "${list// /,}" "$@"
}

# play_job OPTION…: the same for any job.
play_job() {
  local calls
  for calls in "all 0 1 33" "large $large"; do
    # shellcheck disable=SC2086  # one word each
    run_dtrain run "$@" --no-tag "$worker" $calls
    expect_status 0
    expect_stdout_contains 'calls were exact'
  done
  expect_no_processes
}

test_results_are_exact_on_one_host_of_one_to_nine_ranks() {
  local ranks
  for ranks in $(long_or '1 2 3 5' "$(seq 1 9)"); do play_job -np "$ranks"; done
}
test_results_are_exact_over_tcp_alone() {
  local slots
  for slots in '1 1 1' $(long_or '' '1_1 1_1_1_1_1 1_1_1_1_1_1_1_1_1'); do play "${slots//_/ }"; done
}
test_results_are_exact_on_two_equal_hosts() {
  play '2 2'
}
test_results_are_exact_on_unequal_hosts() {
  play '2 3'
  if [[ $(long_or short long) == long ]]; then
    play '1 2'
    play '3 1 2'
    play '4 4 1'
  fi
}
test_results_are_exact_with_encrypted_data() {
  play '1 2' --encrypt-data
}

test_results_are_exact_with_each_algorithm() {
  local table
  for table in \
    'hierarchical,broadcast=hierarchical,all_gather=hierarchical,reduce_scatter=hierarchical' \
    'ring,reduce=ring,gather=direct,scatter=direct' \
    'recursive_doubling,all_gather=bruck,all_to_all=bruck' \
    'halving_doubling,all_gather=ring,all_to_all=pairwise' \
    'tree,broadcast=tree,reduce=tree,gather=tree,scatter=tree'; do
    play '1 2' --algorithms "$table"
  done
  play '1 2' --deterministic
}

# Every rank computes small results by itself, so each uses the kernels of another kind of CPU.
test_results_are_exact_whatever_vector_instructions_each_rank_has() {
  cat >mixed <<'END'
#!/bin/sh
case $((DTRAIN_RANK % 3)) in
  0) DTRAIN_KERNELS=portable ;;
  1) DTRAIN_KERNELS=avx2 ;;
  2) DTRAIN_KERNELS=avx512 ;;
esac
if [ "$DTRAIN_KERNELS" = avx512 ] && ! grep -q avx512vl /proc/cpuinfo; then DTRAIN_KERNELS=avx2; fi
if [ "$DTRAIN_KERNELS" = avx2 ] && ! grep -q avx2 /proc/cpuinfo; then DTRAIN_KERNELS=portable; fi
export DTRAIN_KERNELS
exec "$EXACT_WORKER" "$@"
END
  chmod +x mixed
  export EXACT_WORKER=$worker
  local worker=$PWD/mixed
  play_job -np 3
  play '2 2'
}

test_unknown_vector_instructions_are_an_error_that_lists_those_of_the_cpu() {
  run_dtrain run -np 2 -x DTRAIN_KERNELS=mmx "$worker" all 1
  expect_status 5
  expect_stderr_contains "DTRAIN_KERNELS: there are no kernels 'mmx' for this CPU; it can run "
}

run_tests "$@"
