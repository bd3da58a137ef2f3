#!/usr/bin/env bash
# Removes the files of `make install`, and the folders that are empty then; PREFIX/lib and its like stay: uninstall.sh
# PREFIX. The build folder has the list of the last installation. DESTDIR is that of the installation.
set -euo pipefail
prefix=$1
manifest=$(dirname "$0")/../build/release/install_manifest.txt

if ! grep -qs "^$prefix/" "$manifest"; then
  echo "make uninstall: the last make install of this folder was not to $prefix; give its PREFIX" >&2
  exit 1
fi
mapfile -t files < <(grep "^$prefix/" "$manifest")
removed=0
for file in "${files[@]}"; do
  if [[ -e ${DESTDIR-}$file || -L ${DESTDIR-}$file ]]; then
    rm -f "${DESTDIR-}$file"
    removed=$((removed + 1))
  fi
done
# The deepest folders come first. rmdir leaves a folder that has files of others.
for file in "${files[@]}"; do
  folder=${file%/*}
  while [[ $folder == "$prefix"/*/* ]]; do
    echo "$folder"
    folder=${folder%/*}
  done
done | sort -ru | while read -r folder; do rmdir "${DESTDIR-}$folder" 2>/dev/null || true; done
echo "removed $removed files below ${DESTDIR-}$prefix"
