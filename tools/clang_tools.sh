#!/bin/sh
# Puts clang-format and clang-tidy into build/tools/bin. Everybody has one version, from PyPI, because each release
# formats and warns a little differently. Prints nothing when both are installed.
set -eu
cd "$(dirname "$0")/.."

version=18.1.8
tools=build/tools
if [ -e "$tools/clang-$version" ]; then exit 0; fi
echo "setup: installing clang-format and clang-tidy $version into $tools"
rm -rf "$tools"
/usr/bin/python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check \
  "clang-format==$version" "clang-tidy==$version"
: >"$tools/clang-$version"
