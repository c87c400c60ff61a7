#!/bin/sh
# Installs orch from the files of a release, which lie beside this script: checks their sums, and writes nothing before.
#
#   sh install.sh [--prefix DIR] [--uninstall]
#
# DIR has bin, and share with manual pages, completions and licences; ~/.local without the option.

set -eu
umask 022

# The oldest that the binary runs with; packaging/dist.sh compares.
glibc=2.17

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
    '') fail "--prefix needs a directory" ;;
    /.local) fail "HOME is not set: name a directory with --prefix" ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
prefix=${prefix%/}
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
    remove_listed "$installed" || fail "cannot remove all files that $installed names"
    rm -f "$installed"
    rmdir "$prefix/share/orch" "$prefix/share/doc/orch" 2>/dev/null || true
    echo "removed orch from $prefix"
    exit 0
fi

system=$(uname -s)-$(uname -m)
[ "$system" = Linux-x86_64 ] || fail "the archive is for Linux on x86-64, and this is $system: build orch from its sources"
found=$(getconf GNU_LIBC_VERSION 2>/dev/null) || found=
case $found in
    "glibc "[0-9]*.[0-9]*) ;;
    *) fail "the binary needs glibc $glibc or newer, which is not here: build orch from its sources" ;;
esac
found=${found#glibc }
minor=${found#*.}
if [ "${found%%.*}" -lt "${glibc%%.*}" ] || { [ "${found%%.*}" -eq "${glibc%%.*}" ] && [ "${minor%%.*}" -lt "${glibc#*.}" ]; }; then
    fail "the binary needs glibc $glibc or newer, and this is $found: build orch from its sources"
fi

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
[ "${sum%% *}" = "$wanted" ] || fail "$name is broken or another file, for its sum is not that in SHA256SUMS: fetch both again"

at=$prefix
while [ -n "$at" ] && [ ! -e "$at" ]; do
    at=${at%/*}
done
if [ ! -d "${at:-/}" ] || [ ! -w "${at:-/}" ]; then
    fail "cannot write to $prefix, because of ${at:-/}: --prefix DIR chooses another directory"
fi
if [ -e "$prefix/bin/orch" ] && ! grep -qsx bin/orch "$installed"; then
    fail "$prefix/bin/orch is there, and not from this script: remove it, or choose another directory with --prefix DIR"
fi

scratch=$(mktemp -d)
# Set for as long as new files lie beside their places.
copied=
clean_up() {
    if [ -n "$copied" ]; then
        while IFS= read -r path; do rm -f "$prefix/${path%/*}/.${path##*/}.$$"; done <"$scratch/files"
    fi
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
tar -xzf "$archive" -C "$scratch" || fail "cannot unpack $name"
tree=$scratch/${name%.tar.gz}
version=$("$tree/bin/orch" --version 2>&1) || fail "the program does not run in $scratch (TMPDIR chooses another directory): $version"

# All are copied before the first is put in its place. Each is put there by a rename: an orch that runs goes on.
(cd "$tree" && find bin share -type f) | LC_ALL=C sort >"$scratch/files"
copied=yes
while IFS= read -r path; do
    directory=$prefix/${path%/*}
    if ! { mkdir -p "$directory" && cp "$tree/$path" "$directory/.${path##*/}.$$"; }; then
        fail "cannot write to $directory: nothing is installed"
    fi
done <"$scratch/files"
mkdir -p "${installed%/*}" || fail "cannot write to ${installed%/*}: nothing is installed"
: >"$scratch/gone"
if [ -f "$installed" ]; then
    LC_ALL=C sort "$installed" | LC_ALL=C comm -23 - "$scratch/files" >"$scratch/gone"
fi
# Names the files of both versions until those of the older one are gone.
if ! { LC_ALL=C sort "$scratch/files" "$scratch/gone" >"$installed.$$" && mv -f "$installed.$$" "$installed"; }; then
    rm -f "$installed.$$"
    fail "cannot write $installed: nothing is installed"
fi
while IFS= read -r path; do
    mv -f "$prefix/${path%/*}/.${path##*/}.$$" "$prefix/$path" || fail "cannot write $prefix/$path: start this script again"
done <"$scratch/files"
copied=
remove_listed "$scratch/gone"
cp "$scratch/files" "$installed"

echo "installed $version in $prefix/bin"
echo "$installed names the files, and --uninstall removes them"
command -v git >/dev/null 2>&1 || echo "note: orch needs git, which is not on PATH"
first=$(command -v orch) || first=
if [ -z "$first" ]; then
    echo "note: $prefix/bin is not on PATH"
elif [ "$first" != "$prefix/bin/orch" ]; then
    echo "note: PATH has another orch first, $first"
fi
