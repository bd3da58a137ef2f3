#!/usr/bin/env bash
# Completions in the real shells: the tests type keys on a terminal, and the shell prints its line.
. "$(dirname "$0")/lib.sh"
typing=$(realpath "$(dirname "$0")/typing.py")
export PYTHONDONTWRITEBYTECODE=1 # typing.py includes a file beside it

# Makes names to complete: hosts, a file and a folder with different continuations, and a command with
# completions of its own.
prepare_world() {
  mkdir -p "$HOME/.ssh/more" bin configs
  printf 'node1 slots=8\nnode2 slots=4\n' >hostfile
  printf 'other7 slots=2\n' >other_hosts
  printf 'Host *.example.com !bad\n  User me\nHost gpu-a gpu-b\nInclude more/*.conf\n' >"$HOME/.ssh/config"
  printf 'Host storage\n' >"$HOME/.ssh/more/1.conf"
  touch config.toml
  printf '#!/bin/sh\n' >bin/frobnicate
  chmod +x bin/frobnicate
  ln -s "$DTRAIN" bin/dtrain
  export PATH=$PWD/bin:$PATH MARKED_VARIABLE=1
}

# expect_completions SHELL-COMMAND…: types each left side and TAB, and compares the line with the right side.
# The shell must be set up to print its line on ^G.
completions=(
  'dtrain comp' 'dtrain completion '
  'dtrain completion z' 'dtrain completion zsh '
  'dtrain help ru' 'dtrain help run '
  'dtrain chec' 'dtrain check '
  'dtrain check --js' 'dtrain check --json '
  'dtrain bench all_r' 'dtrain bench all_reduce '
  'dtrain bench latency -np 2 --device g' 'dtrain bench latency -np 2 --device gpu '
  'dtrain bench latency -np 2 --transport t' 'dtrain bench latency -np 2 --transport tcp '
  'dtrain bench -b 8 --bind-to c' 'dtrain bench -b 8 --bind-to core '
  'dtrain check --over' 'dtrain check --over'
  'dtrain check -H gpu-a,stor' 'dtrain check -H gpu-a,storage'
  'dtrain run --over' 'dtrain run --oversubscribe '
  'dtrain run --quiet --quie' 'dtrain run --quiet --quie'
  'dtrain run --on-failure c' 'dtrain run --on-failure continue '
  'dtrain run --on-failure=k' 'dtrain run --on-failure=kill '
  'dtrain run -H gpu-a,stor' 'dtrain run -H gpu-a,storage'
  'dtrain run -H node1:4,me@node' 'dtrain run -H node1:4,me@node2'
  'dtrain run --spare gpu-a,stor' 'dtrain run --spare gpu-a,storage'
  'dtrain run -H node1:' 'dtrain run -H node1:8 '
  'dtrain run --hostfile other_hosts -H oth' 'dtrain run --hostfile other_hosts -H other7'
  'dtrain run --hostfile other' 'dtrain run --hostfile other_hosts '
  'dtrain run --hostfile=other' 'dtrain run --hostfile=other_hosts '
  'dtrain run --chdir conf' 'dtrain run --chdir configs/'
  'dtrain run -x MARKED_V' 'dtrain run -x MARKED_VARIABLE '
  'dtrain run -np 2 frobn' 'dtrain run -np 2 frobnicate '
  'dtrain run -np 2 -- frobnicate --al' 'dtrain run -np 2 -- frobnicate --alpha '
  'dtrain run -np 2 frobnicate other' 'dtrain run -np 2 frobnicate other_hosts '
)
expect_completions() {
  local i
  printf '%s\n' 'ready>' "$(setup_keys)" >steps
  for ((i = 0; i < ${#completions[@]}; i += 2)); do
    printf '%s\n' 'ready>' "${completions[i]}\\t\\x07"
  done >>steps
  printf '%s\n' 'ready>' 'exit\r' >>steps
  : >lines
  run "$typing" 20 steps "$@"
  expect_status 0
  for ((i = 1; i < ${#completions[@]}; i += 2)); do
    printf '%s|\n' "${completions[i]}"
  done >expected
  expect_file lines "$(cat expected)"
}

bash_completions() {
  setup_keys() { printf '%s' 'source ./rc\r'; }
  cat >rc <<'END_RC'
source <(dtrain completion bash)
complete -W '--alpha --beta' -o default frobnicate
show_line() { printf '%s|\n' "$READLINE_LINE" >>lines; READLINE_LINE=; }
bind -x '"\C-g": show_line'
END_RC
  if [[ -n $1 ]]; then sed -i "1i source $1" rc; fi
  expect_completions env PS1='ready>' TERM=dumb bash --norc --noprofile -i
}

test_bash_with_its_completion_library_completes_all_kinds_of_words() {
  prepare_world
  [[ -e /usr/share/bash-completion/bash_completion ]] || skip 'no bash-completion; run: tools/setup.sh test'
  bash_completions /usr/share/bash-completion/bash_completion
}

test_bash_alone_completes_all_but_the_words_of_the_command() {
  prepare_world
  local i kept=()
  for ((i = 0; i < ${#completions[@]}; i += 2)); do
    [[ ${completions[i]} == *--al ]] || kept+=("${completions[@]:i:2}")
  done
  completions=("${kept[@]}")
  bash_completions ''
}

test_zsh_completes_all_kinds_of_words() {
  prepare_world
  command -v zsh >/dev/null || skip 'no zsh; run: tools/setup.sh test'
  setup_keys() { printf '%s' 'source ./rc\r'; }
  cat >rc <<'END_RC'
autoload -U compinit && compinit -u -D
source <(dtrain completion zsh)
_frobnicate() { _arguments '--alpha' '--beta' '*:file:_files' }
compdef _frobnicate frobnicate
show_line() { print -r -- "$BUFFER|" >>lines; BUFFER=; zle -I; zle reset-prompt }
zle -N show_line
bindkey '^G' show_line
PROMPT='ready>'
END_RC
  expect_completions env PS1='ready>' TERM=dumb zsh -f -i
}

test_fish_completes_all_kinds_of_words() {
  prepare_world
  command -v fish >/dev/null || skip 'no fish; run: tools/setup.sh test'
  local i word
  cat >ask.fish <<'END_RC'
dtrain completion fish | source
complete -c frobnicate -l alpha
complete -c frobnicate -l beta
for line in $argv
    complete -C $line | string replace -r '\t.*' ''
    echo .
end
END_RC
  for ((i = 0; i < ${#completions[@]}; i += 2)); do
    word=${completions[i + 1]}
    if [[ $word != "${completions[i]}" ]]; then
      word=${word% }
      echo "${word##* }"
    fi
    echo .
    set -- "$@" "${completions[i]}"
  done >expected
  run fish --no-config ask.fish "$@"
  expect_status 0
  expect_stdout "$(cat expected)"
}

test_zsh_and_fish_show_the_help_of_options() {
  prepare_world
  command -v fish >/dev/null || skip 'no fish; run: tools/setup.sh test'
  run fish --no-config -c 'dtrain completion fish | source; complete -C "dtrain run --quie"'
  expect_stdout $'--quiet\tKeep the workers\' output off the console.'
  command -v zsh >/dev/null || skip 'no zsh; run: tools/setup.sh test'
  printf '%s\n' 'ready>' 'autoload -U compinit && compinit -u -D; source <(dtrain completion zsh)\r' \
    'ready>' 'dtrain run --o\t\t' 'Also write each worker' '\x15exit 0\r' >steps
  run "$typing" 20 steps env PS1='ready>' TERM=dumb COLUMNS=80 zsh -f -i
  expect_status 0
}

test_an_unknown_shell_is_refused_by_name() {
  run_dtrain completion tcsh
  expect_status 2
  expect_stderr 'dtrain: completion: "tcsh" is no shell that dtrain knows; use one of bash, zsh, fish'
  run_dtrain completion
  expect_status 2
  expect_stderr_contains 'needs one shell'
}

test_a_fifo_is_no_hostfile() {
  mkfifo hostfile
  run timeout 60 "$DTRAIN" __complete bash dtrain run -H ''
  expect_status 0
}

run_tests "$@"
