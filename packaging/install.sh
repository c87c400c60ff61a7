#!/bin/sh
# Installs orch from the files of a release, which lie beside this script: checks their sums, and writes nothing before.
#
#   sh install.sh [--prefix DIR] [--uninstall]
#
# DIR has bin, and share with manual pages, completions and licences; ~/.local without the option.

set -eu
umask 022

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage() { sed -n 's/^# \{0,1\}//; 2,6p' "$0"; }

prefix=${HOME:-}/.local
uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || fail "--prefix needs a directory"
            prefix=$2
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) uninstall=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail "unknown argument: $1 (--help shows what there is)" ;;
    esac
    shift
done
case $prefix in
    /.local) fail "HOME is not set: name a directory with --prefix" ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
# What was installed, a path below the prefix on each line.
installed=$prefix/share/orch/installed

remove_listed() {
    while IFS= read -r path; do
        case $path in
            bin/* | share/*) rm -f "$prefix/$path" ;;
        esac
    done <"$1"
}

if [ "$uninstall" = yes ]; then
    [ -f "$installed" ] || fail "$installed is missing: this script has installed nothing below $prefix"
    remove_listed "$installed"
    rm -f "$installed"
    rmdir "$prefix/share/orch" "$prefix/share/doc/orch" 2>/dev/null || true
    echo "removed orch from $prefix"
    exit 0
fi

system=$(uname -s)-$(uname -m)
[ "$system" = Linux-x86_64 ] || fail "the archive is for Linux on x86-64, and this is $system: build orch with cargo"

here=$(cd "$(dirname "$0")" && pwd)
archive=
for path in "$here"/orch-*-x86_64-linux-gnu.tar.gz; do
    [ -f "$path" ] || continue
    [ -z "$archive" ] || fail "there are several archives in $here: leave one"
    archive=$path
done
[ -n "$archive" ] || fail "there is no orch-VERSION-x86_64-linux-gnu.tar.gz in $here"
[ -f "$here/SHA256SUMS" ] || fail "there is no SHA256SUMS in $here: nothing tells whether the archive is whole"

name=${archive##*/}
wanted=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$here/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name $name"
if command -v sha256sum >/dev/null 2>&1; then
    sum=$(sha256sum <"$archive")
elif command -v shasum >/dev/null 2>&1; then
    sum=$(shasum -a 256 <"$archive")
else
    fail "neither sha256sum nor shasum is here: the archive cannot be checked"
fi
[ "${sum%% *}" = "$wanted" ] || fail "$name is not the file that SHA256SUMS names: fetch both again"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
tar -xzf "$archive" -C "$scratch"
tree=$scratch/${name%.tar.gz}
version=$("$tree/bin/orch" --version) || fail "the program does not run here: build orch with cargo"

# Each file is put in place by a rename: an orch that runs goes on, and a full disk leaves the old file.
(cd "$tree" && find bin share -type f) | LC_ALL=C sort >"$scratch/files"
while IFS= read -r path; do
    directory=$prefix/${path%/*}
    mkdir -p "$directory"
    new=$directory/.${path##*/}.$$
    if ! { cp "$tree/$path" "$new" && mv -f "$new" "$prefix/$path"; }; then
        rm -f "$new"
        fail "cannot write $prefix/$path"
    fi
done <"$scratch/files"
if [ -f "$installed" ]; then
    LC_ALL=C comm -23 "$installed" "$scratch/files" >"$scratch/gone"
    remove_listed "$scratch/gone"
fi
mkdir -p "${installed%/*}"
cp "$scratch/files" "$installed"

echo "installed $version in $prefix/bin"
command -v git >/dev/null 2>&1 || echo "note: orch needs git, which is not on PATH"
case :${PATH:-}: in
    *":$prefix/bin:"*) ;;
    *) echo "note: $prefix/bin is not on PATH" ;;
esac
