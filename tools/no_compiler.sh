#!/usr/bin/env bash
# A compiler launcher for clang-tidy's build: reads the headers, so that ninja knows them, and writes an
# empty object. What compiles is tried by clang-tidy itself, and by the other builds.
set -euo pipefail

arguments=() object=
while (($#)); do
  case $1 in
    -o) object=$2 && shift ;;
    -c) ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
"${arguments[@]}" -E -o /dev/null
: >"$object"
