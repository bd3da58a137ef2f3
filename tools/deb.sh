#!/usr/bin/env bash
# Makes the Debian packages dtrain, libdtrain0 and libdtrain-dev from the release build: deb.sh FOLDER. The file
# packaging/files has the package of each file of `make install`. The same build of the same commit gives the same
# packages.
set -euo pipefail
source_dir=$(realpath "$(dirname "$0")/..")
packages=$(realpath "$1")
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
cd "$source_dir"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

DESTDIR=$stage cmake --install build/release --prefix /usr --strip >/dev/null
strip --strip-debug "$stage/usr/lib/libdtrain.a"
find "$stage/usr/share/man" -type f -exec gzip -9n {} +
# Debian's zsh reads the completions of packages in this folder.
mv "$stage/usr/share/zsh/site-functions" "$stage/usr/share/zsh/vendor-completions"
mkdir "$stage/usr/share/doc/libdtrain-dev"
mv "$stage/usr/share/doc/dtrain/examples" "$stage/usr/share/doc/libdtrain-dev/examples"

cd "$work" # the tools of dpkg expect debian/ in the working directory
version=$("$source_dir/build/release/dtrain" version)
version=${version#dtrain }-1
mkdir debian
cp "$source_dir/packaging/control" debian/control
cat >debian/changelog <<END_CHANGELOG
dtrain ($version) unstable; urgency=medium

  * What is new is in CHANGELOG.md of the source.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -uRd "@$SOURCE_DATE_EPOCH")
END_CHANGELOG

# Moves the files of package $1, by packaging/files, into its tree.
take_files() {
  local package pattern path
  while read -r package pattern; do
    if [[ $package != "$1" ]]; then continue; fi
    while read -r path; do
      mkdir -p "$1/$(dirname "$path")"
      mv "$stage/$path" "$1/$path"
    done < <(cd "$stage" && compgen -G "$pattern")
  done <"$source_dir/packaging/files"
}

add_documents() {
  local folder=$1/usr/share/doc/$1
  mkdir -p "$folder"
  cp "$source_dir/packaging/copyright" "$folder/copyright"
  gzip -9nc debian/changelog >"$folder/changelog.Debian.gz"
  if [[ -e $source_dir/packaging/$1.overrides ]]; then
    mkdir -p "$1/usr/share/lintian/overrides"
    cp "$source_dir/packaging/$1.overrides" "$1/usr/share/lintian/overrides/$1"
  fi
}

# Prints the dependencies of the programs and libraries of package $1, for ${shlibs:Depends}.
find_dependencies() {
  local programs=()
  mapfile -t programs < <(find "$1" -type f \( -path '*/bin/*' -o -name '*.so.*' \))
  : >debian/substvars
  if ((${#programs[@]} > 0)); then dpkg-shlibdeps -Tdebian/substvars "${programs[@]}"; fi
}

for package in dtrain libdtrain0 libdtrain-dev; do
  mkdir -p "$package/DEBIAN"
  take_files $package
  add_documents $package
  find_dependencies $package
  if [[ $package == libdtrain0 ]]; then
    echo "libdtrain 0 libdtrain0 (>= ${version%-*})" >$package/DEBIAN/shlibs
    echo 'activate-noawait ldconfig' >$package/DEBIAN/triggers
  fi
  dpkg-gencontrol -p$package -P$package -ldebian/changelog -Tdebian/substvars -fdebian/files
  find $package -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  (cd $package && find usr -type f -exec md5sum {} + | sort -k 2 >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz -z1 --build $package "$packages" >/dev/null
done

left=$(find "$stage" ! -type d)
if [[ -n $left ]]; then
  printf 'deb: in no package, see packaging/files:\n%s\n' "$left" >&2
  exit 1
fi
printf '%s\n' "$packages"/*.deb
