# shellcheck shell=bash
# bash completion for dtrain. `dtrain __complete` finds the candidates; this file has the parts that only bash can do.

_dtrain() {
  # readline also splits words at = : and @. For dtrain, only blanks separate words.
  local line=${COMP_LINE:0:COMP_POINT} words=() starts=() part="" bare i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    bare=${line#"${line%%[![:space:]]*}"}
    if ((i == 0)) || [[ $bare != "$line" ]]; then
      words+=("")
      starts+=("$i")
    fi
    part=$bare # the last word, up to the cursor
    if ((i < COMP_CWORD)); then part=${COMP_WORDS[i]}; fi
    words[${#words[@]} - 1]+=$part
    line=${bare#"$part"}
  done
  local current=${words[${#words[@]} - 1]} answer kind behind kept
  if [[ $part == [=:] ]]; then part=""; fi
  # The word that readline replaces includes an @, but no = and no colon.
  if [[ $part != @* && ${current%"$part"} == *@ ]]; then part=@$part; fi

  answer=$("$1" __complete "${words[@]:1}" 2>/dev/null) || return
  IFS=$'\t' read -r kind behind kept <<<"$answer"
  case $kind in
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
    command) _dtrain_workers_command "${starts[behind]}" ;;
    words)
      if [[ $behind == nospace ]]; then compopt -o nospace; fi
      local candidate
      while IFS=$'\t' read -r candidate _; do
        candidate=$kept$candidate
        # readline replaces only its own word, which may be the last part of ours.
        COMPREPLY+=("${candidate:${#current}-${#part}}")
      done < <(tail -n +2 <<<"$answer")
      ;;
  esac
}

# Completes the workers' command as bash would on a line of its own.
_dtrain_workers_command() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    compopt -o default
  fi
}

complete -F _dtrain dtrain
