#!/usr/bin/env bash
# The installed torchrun: its options are those of the table in dtrain-run(1), and its command lines run.
# shellcheck disable=SC2031  # the library sets them
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

uses_torchrun() {
  uses torch
  torchrun=${python%/*}/torchrun
  [[ -x $torchrun ]] || skip 'build/venv-torch has no torchrun'
}

# words_of_help FILE: each spelling of each option, a line each. Two blanks end them, or their line does.
words_of_help() { sed -n 's/^  \(-.*\)/\1/p' "$1" | sed 's/  .*//' | tr -s ' ,' '\n' | grep '^-' | sort -u; }

words_of_table() {
  awk '/^\.Sh / { on = $2 == "TORCHRUN" } on && /^\.It Fl / { for (i = 3; i <= NF; i++) if ($i != ",") print "-" $i }' \
    "$(dirname "$DTRAIN")/man/man1/dtrain-run.1" | sort -u
}

# missing_words FILE: the words of that help which the table lacks, or which dtrain does not know.
missing_words() {
  local word
  words_of_table >table
  while read -r word; do
    grep -qxF -e "${word//_/-}" table || echo "the table lacks $word"
    # Without a command nothing starts; a known word fails later than an unknown one.
    "$DTRAIN" run "$word" >answer 2>&1 || true
    if grep -q 'no such option' answer; then echo "dtrain does not know $word"; fi
  done < <(words_of_help "$1")
}

test_every_option_of_torchrun_is_known_and_in_the_table() {
  uses_torchrun
  run env COLUMNS=200 "$torchrun" --help
  expect_status 0
  cp "$out/stdout" help
  expect test "$(words_of_help help | wc -l)" -gt 40
  expect test "$(missing_words help)" = ''
  # A newer torchrun has one more.
  printf '  --brand-new NAME, --brand_new NAME\n                        with --text\n' >>help
  expect test "$(missing_words help)" = 'the table lacks --brand-new
dtrain does not know --brand-new
the table lacks --brand_new
dtrain does not know --brand_new'
}

# lines_of FILE: what the ranks wrote, in any order, without the tags of either launcher.
lines_of() { sed -E 's/^\[[^]]*\](<stdout>)?://' "$1" | sort; }

# both ARGUMENT…: torchrun and dtrain with these arguments print the same lines, and leave the same in files.
both() {
  mkdir logs
  run env PATH="${python%/*}:$PATH" "$torchrun" "$@"
  expect_status 0
  lines_of "$out/stdout" >by_torchrun
  expect test -s by_torchrun
  find logs -name stdout.log -exec cat {} + | sort >files_by_torchrun
  rm -r logs
  mkdir logs
  run env PATH="${python%/*}:$PATH" "$DTRAIN" run "$@"
  expect_status 0
  lines_of "$out/stdout" >by_dtrain
  find logs -name stdout -exec cat {} + | sort >files_by_dtrain
  rm -r logs
  expect diff by_torchrun by_dtrain
  expect diff files_by_torchrun files_by_dtrain
  expect_no_processes
}

test_command_lines_of_torchrun_print_the_same() {
  uses_torchrun
  mkdir torchtitan
  cat >main.py <<'END'
#!/bin/false
import os
import sys

names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
words = __name__, [os.environ[name] for name in names], sys.argv[1:], sys.stdout.write_through
# One write: under torchrun the parts of lines of two ranks could mix.
os.write(1, f"{words}\n".encode())
END
  cp main.py torchtitan/train.py
  both --nproc-per-node 2 main.py --lr 1
  chmod +x main.py
  both --standalone --nproc_per_node=2 --signals-to-handle SIGTERM,SIGUSR1 --shutdown-timeout 5 ./main.py
  # What is redirected is not shown, unless --tee copies it, too.
  both --nproc_per_node=3 --redirects 0:1,1:3 --tee 1:1,2:1 --log-dir logs main.py
  expect test "$(wc -l <by_dtrain)" = 2
  # As in torchtitan's run_train.sh.
  both --nproc_per_node=3 --rdzv_backend c10d --rdzv_endpoint=localhost:0 --local-ranks-filter 0 --role rank --tee 3 \
    --log-dir logs -m torchtitan.train --job.config_file debug.toml
  expect test "$(wc -l <by_dtrain)" = 1
  expect test "$(wc -l <files_by_dtrain)" = 3
}

run_tests "$@"
