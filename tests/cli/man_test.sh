#!/usr/bin/env bash
# The manual pages as the build makes them: no findings, no option that is not one, examples that
# work. That no option is missing is in tests/unit/man/mdoc_test.cc.
. "$(dirname "$0")/lib.sh"
pages=$(dirname "$DTRAIN")/man

text_of() { mandoc -Tascii "$1" | col -bx; }

test_mandoc_finds_nothing_in_the_pages() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local page
  run mandoc -Tlint "$pages"/man*/*
  # It looks for other pages among the installed ones only; ours are looked for here.
  expect_not grep -v 'referenced manual not found: Xr dtrain' "$out/stdout"
  grep -ho '^\.Xr dtrain[^ ]* [0-9]' "$pages"/man*/* | sort -u >references
  expect test -s references
  while read -r _ page section; do
    expect test -s "$pages/man$section/$page.$section"
  done <references
}

test_the_pages_name_no_option_and_no_variable_that_is_none() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local page option variable
  for page in "$pages"/man*/*; do text_of "$page"; done >all
  # Every spelling stands in the help, also those of other commands.
  for page in run check config version; do "$DTRAIN" help $page; done >known
  while read -r option; do
    expect grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" known
  done < <(grep -oE -- '(^|[^a-zA-Z0-9_-])--[a-z][a-z-]*([^a-z_-]|$)' all | grep -oE -- '--[a-z-]+' | sort -u)
  while read -r variable; do
    option=${variable#DTRAIN_OPT_}
    option=${option//_/-}
    expect grep -qE "^ +${option,,}( |\$)" all
  done < <(grep -o 'DTRAIN_OPT_[A-Z_]*[A-Z]' all | sort -u)
}

test_every_variable_that_a_worker_gets_is_in_the_page() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local name page=$pages/man7/dtrain-environment.7
  run env -i "PATH=$PATH" "TEST_MARKER=$TEST_MARKER" CUDA_VISIBLE_DEVICES= "$DTRAIN" run --no-tag \
    --role scheduler=1,server=1,ps=1,worker=2 --env-set dmlc,paddle --success all \
    --port-range 30000-32000 env
  expect_status 0
  while read -r name; do
    expect grep -qE "^\\.It Ev.* $name( |\$)" "$page"
  done < <(sed -n 's/^\([A-Za-z_]*\)=.*/\1/p' "$out/stdout" | grep -vx 'PATH\|TEST_MARKER\|CUDA_VISIBLE_DEVICES' | sort -u)
  # And no other: what the page lists for workers was there.
  sed -n '/^.Sh VARIABLES OF A WORKER/,/^.Sh VARIABLES THAT/p' "$page" | sed -n 's,^\.It Ev,,p' |
    grep -o '[A-Z][A-Za-z_]*' >listed
  expect test "$(wc -l <listed)" -gt 30
  while read -r name; do
    expect grep -q "^$name=" "$out/stdout"
  done <listed
}

test_the_examples_of_the_pages_are_command_lines_that_dtrain_takes() {
  local line
  printf '#!/bin/sh\n' >train
  chmod +x train
  grep -hE '^\.Dl \$ dtrain run ' "$pages"/man*/* | sed 's/^\.Dl \$ //; s/\\-/-/g' | sort -u >examples
  expect test "$(wc -l <examples)" -ge 4
  while read -r line; do
    read -ra words <<<"${line#dtrain run }"
    run_dtrain run --dry-run "${words[@]}"
    expect_status 0
  done <examples
}

test_help_names_the_page() {
  run_dtrain help
  expect_stdout_contains 'man dtrain-run'
}

run_tests "$@"
