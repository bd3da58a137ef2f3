#!/usr/bin/env bash
# Measures the time from start to end of `dtrain version`, beside that of /bin/true.
#
#   start.sh [rounds]
set -euo pipefail

here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
printf '\n| what | program | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
python3 "$here/alternate.py" "${1:-201}" start 'true=/bin/true' "dtrain version=$dtrain version"
