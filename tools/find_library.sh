#!/usr/bin/env bash
# Lets the dynamic linker find libdtrain.so after `make install`: find_library.sh PREFIX. As root it runs ldconfig. A
# package (DESTDIR) and another user get the line to run.
set -euo pipefail
prefix=$1
library=$(grep -m 1 "^$prefix/.*/libdtrain\.so\.[0-9.]*$" "$(dirname "$0")/../build/release/install_manifest.txt")
folder=${library%/*}

# True when the linker's cache has this folder's library.
is_found() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "=> $folder/libdtrain\.so"; }

if [[ -n ${DESTDIR-} ]]; then
  echo "programs find libdtrain.so in $folder after: ldconfig (as root, on the machine that gets these files)"
  exit
fi
if ((EUID == 0)); then PATH=$PATH:/sbin:/usr/sbin ldconfig; fi
if is_found; then exit; fi
# The linker's configuration names folders such as /usr/local/lib.
if PATH=$PATH:/sbin:/usr/sbin ldconfig -vNX 2>/dev/null | grep -q "^$folder:"; then
  echo "programs find libdtrain.so in $folder after: sudo ldconfig"
else
  echo "programs find libdtrain.so in $folder by: export LD_LIBRARY_PATH=$folder"
fi
