#!/usr/bin/env bash
# README's samples: those that need no second machine print what README shows.
. "$(dirname "$0")/lib.sh"

readme=$(realpath "$(dirname "$0")/../../README.md")

# Writes each sample of README to sample.N: the command line, then the lines that it prints.
samples() {
  awk '/^    \$ / { ++n; inside = 1; sub(/^    \$ /, ""); print >("sample." n); next }
    inside && /^    / { sub(/^    /, ""); print >("sample." n); next }
    { inside = 0 }' "$readme"
  ls sample.*
}

# The programs of the samples.
write_scripts() {
  cat >hello.py <<'END'
import os
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")
END
  cat >train.py <<'END'
import os
import time

if os.environ["RANK"] != "2":
    time.sleep(60)
raise RuntimeError("loss is NaN at step 17")
END
}

# Pids and the folder differ from run to run.
without_chance() {
  sed -E "s|pid [0-9]+|pid PID|; s|$PWD/|/home/ada/|g" "$1" | sort
}

test_the_samples_print_what_the_readme_shows() {
  local sample words compared=0
  write_scripts
  for sample in $(samples); do
    words=$(head -n 1 "$sample")
    if [[ $words == *' -H '* ]]; then continue; fi
    expect test "${words%% *}" = dtrain
    run bash -c "${words/#dtrain/\"$DTRAIN\"}"
    tail -n +2 "$sample" >shown
    cat "$out/stdout" "$out/stderr" >printed
    diff <(without_chance shown) <(without_chance printed) >"$out/difference" ||
      fail "README (<) and what is printed (>) differ: $words" "$(cat "$out/difference")"
    compared=$((compared + 1))
  done
  [[ $compared -ge 2 ]] || fail "compared only $compared samples"
  expect_no_processes
}

test_the_samples_of_several_hosts_are_planned_as_shown() {
  local sample words hosts planned=0
  for sample in $(samples); do
    words=$(head -n 1 "$sample")
    [[ $words == 'dtrain run'*' -H '* ]] || continue
    run bash -c "${words/#dtrain run/\"$DTRAIN\" run --dry-run}"
    expect_status 0
    # In a sample without a restart, each process prints a line.
    hosts="$(($(wc -l <"$sample") - 1)) processes on 2 hosts"
    if [[ $words == *' --spare '* ]]; then hosts='3 processes on 3 hosts'; fi
    expect_stdout_contains "$hosts"
    planned=$((planned + 1))
  done
  [[ $planned -ge 2 ]] || fail "planned only $planned samples"
}

run_tests "$@"
