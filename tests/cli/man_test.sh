#!/usr/bin/env bash
# The built manual pages: mandoc has no findings, every option exists, the examples work.
# tests/unit/man/mdoc_test.cc tests that no option is missing.
. "$(dirname "$0")/lib.sh"
pages=$(dirname "$DTRAIN")/man

text_of() { mandoc -Tascii "$1" | col -bx; }

test_mandoc_finds_nothing_in_the_pages() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local page
  run mandoc -Tlint "$pages"/man*/*
  # mandoc searches for other pages among the installed ones only; the test searches for ours.
  # Without a name in .Os, man-db takes the pages for those of BSD.
  expect_not grep -v 'referenced manual not found: Xr \(lib\)\?dtrain\|operating system explicitly specified: Os dtrain' "$out/stdout"
  grep -hoE '^\.Xr (lib)?dtrain[^ ]* [0-9]' "$pages"/man*/* | sort -u >references
  expect test -s references
  while read -r _ page section; do
    expect test -s "$pages/man$section/$page.$section"
  done <references
}

test_every_option_and_variable_of_the_pages_exists() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local page option variable
  for page in "$pages"/man*/*; do text_of "$page"; done >all
  # Every spelling must be in a help text; the options of the other commands count, too.
  for page in run job export check bench cache config ps token version; do "$DTRAIN" help $page; done >known
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
  run env -i "PATH=$PATH" "HOME=$PWD/home" "TEST_MARKER=$TEST_MARKER" CUDA_VISIBLE_DEVICES= "$DTRAIN" run --no-tag \
    --sync --sync-local-copy --setup true \
    --role scheduler=1,server=1,ps=1,worker=2 --env-set dmlc,paddle --success all \
    --port-range 30000-32000 --dump-stacks --result-dir results \
    --strategy multi_worker_mirrored --devices cpu:0 --cross-device-op AllReduce \
    --bytes-per-pack 4M --strategy-timeout 1m --ps-mode async --ps-replicas 1 --device-memory 1G --soft-placement --log-placement --communication ring env
  expect_status 0
  while read -r name; do
    expect grep -qE "^\\.It Ev.* $name( |\$)" "$page"
  done < <(sed -n 's/^\([A-Za-z_]*\)=.*/\1/p' "$out/stdout" | grep -vx 'PATH\|HOME\|TEST_MARKER\|CUDA_VISIBLE_DEVICES' | sort -u)
  # And the reverse: workers have every variable that the page lists for them.
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
  printf '#!/bin/sh\necho localhost:4\n' >hosts.sh
  chmod +x train hosts.sh
  grep -hE '^\.Dl \$ dtrain run ' "$pages"/man*/* | sed 's/^\.Dl \$ //; s/\\-/-/g' | sort -u >examples
  expect test "$(wc -l <examples)" -ge 4
  while read -r line; do
    read -ra words <<<"${line#dtrain run }"
    run_dtrain run --dry-run "${words[@]}"
    expect_status 0
  done <examples
}

test_the_page_of_run_has_its_files_and_every_exit_status_of_dtrain() {
  command -v mandoc >/dev/null || skip 'no mandoc; run: tools/setup.sh test'
  local status path
  text_of "$pages/man1/dtrain-run.1" >page
  sed -n '/^FILES/,/^EXIT STATUS/p' page >files
  sed -n '/^EXIT STATUS/,/^EXAMPLES/p' page >statuses
  for path in ./dtrain.toml /.config/dtrain/config.toml /.cache/dtrain /tmp/dtrain-UID; do
    expect grep -qF "$path" files
  done
  for status in 1 2 3 4 124 126 127 130 141; do
    expect grep -qE "^ +${status}[ ,]" statuses
  done
}

test_help_names_the_page() {
  run_dtrain help
  expect_stdout_contains 'man dtrain-run'
}

run_tests "$@"
