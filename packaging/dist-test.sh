#!/usr/bin/env bash
# Installs the files of target/dist in empty roots of an old Debian, without a network: by the installer in one that has git and
# nothing else, and by pip. Plays the README there. What is wrong with the files or the machine must be refused.
#
#   packaging/dist-test.sh
#
# Needs root, debootstrap, and a Debian mirror for the first time. SUITE and MIRROR choose the Debian.

set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dist=$root/target/dist
suite=${SUITE:-bullseye}
packages=$root/target/dist-tools/debian-$suite

fail() {
    echo "dist-test: $1" >&2
    exit 1
}
[ -f "$dist/SHA256SUMS" ] || fail "target/dist has no files of a release: make dist"
command -v debootstrap >/dev/null || fail "debootstrap is missing: for example apt-get install debootstrap"
[ "$(id -u)" = 0 ] || fail "only root can make a root and enter it: start this as root"
unshare -nm true || fail "a namespace without a network is not allowed here"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "the sums"
archive=$(cd "$dist" && echo orch-*.tar.gz)

place=$(mktemp -d)
trap 'rm -rf --one-file-system "$place"' EXIT
mkdir -p "$packages"

# make_root NAME PACKAGES: an empty root with packages of Debian, the files of the release, and a user.
make_root() {
    local arguments=(--variant=minbase --cache-dir="$packages" --include="$2" "$suite" "$place/$1")
    if [ -n "${MIRROR:-}" ]; then
        arguments+=("$MIRROR")
    fi
    debootstrap "${arguments[@]}" >"$place/log" 2>&1 || {
        tail -n 5 "$place/log" >&2
        fail "debootstrap cannot make a $suite"
    }
    mkdir "$place/$1/release"
    cp "$dist"/* "$place/$1/release/"
    chroot "$place/$1" useradd --create-home --shell /bin/bash ann
}

# inside NAME USER COMMAND...: in a root, without a network and with nothing of this shell. FIRST comes first in PATH.
inside() {
    local home=/home/ann
    [ "$2" = ann ] || home=/root
    # shellcheck disable=SC2016
    unshare -nm sh -ec '
        root=$1
        user=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount -t devpts devpts "$root/dev/pts"
        exec chroot --userspec="$user" "$root" "$@"
    ' sh "$place/$1" "$2:$2" env -i HOME="$home" USER="$2" SHELL=/bin/bash TERM=dumb LANG=C.UTF-8 \
        PATH="${FIRST:+$FIRST:}$home/.local/bin:/usr/local/bin:/usr/bin:/bin" "${@:3}"
}

# refused WHAT TEXT [OPTION...]: the installer, started by ann, says the text, and writes nothing.
refused() {
    if inside bare ann sh /release/install.sh "${@:3}" >"$place/out" 2>&1; then
        fail "$1: was installed"
    fi
    grep -qF -- "$2" "$place/out" || {
        cat "$place/out" >&2
        fail "$1: says something else"
    }
    [ -z "$(find "$place/bare/home" "$place/bare/usr/local" "$place/bare/tmp" -name '*orch*')" ] ||
        fail "$1: something was written"
    echo "refused: $1"
}

# play NAME: in a new repository, what the README shows in its first minutes; then the demo.
play() {
    {
        echo 'set -eu; mkdir ~/first && cd ~/first'
        echo 'git config --global user.name Ann && git config --global user.email ann@example.org'
        awk '
            /^## / { on = $0 == "## First minutes" }
            on && /^```sh exits with 1$/ { inside = 1; print "if"; wrong = 1; next }
            on && /^```sh$/ { inside = 1; next }
            /^```$/ { if (wrong) print "then exit 1; fi"; inside = 0; wrong = 0 }
            inside { print }
        ' "$root/README.md"
    } >"$place/$1/release/first.sh"
    # A terminal: a person decides.
    inside "$1" ann script -qec "bash /release/first.sh" /dev/null >"$place/out" 2>&1 </dev/null || {
        cat "$place/out" >&2
        fail "the first minutes of the README"
    }
    grep -q "12 proven" "$place/out" || fail "the audit of the README proves something else"
    inside "$1" ann orch demo >"$place/out" 2>&1 || {
        tail -n 20 "$place/out" >&2
        fail "the demo"
    }
}

make_root bare git

fake() {
    mkdir -p "$place/bare/$1"
    printf '#!/bin/sh\n%s\n' "$3" >"$place/bare/$1/$2"
    chmod 755 "$place/bare/$1/$2"
}
# shellcheck disable=SC2016
fake arm uname 'case $1 in -s) echo Linux ;; *) echo aarch64 ;; esac'
fake old getconf 'echo glibc 2.12'
fake musl getconf 'exit 1'
FIRST=/arm refused "another architecture" "this is Linux-aarch64"
FIRST=/old refused "an old glibc" "needs glibc 2.17 or newer, and this is 2.12"
FIRST=/musl refused "no glibc" "needs glibc 2.17 or newer, which is not here"
refused "a directory of somebody else" "cannot write to /usr/local, because of /usr/local" --prefix /usr/local
refused "a directory below a file" "because of /etc/passwd" --prefix /etc/passwd/orch
release=$place/bare/release
truncate -s -100 "$release/$archive"
refused "a truncated archive" "its sum is not that in SHA256SUMS"
(cd "$release" && sha256sum "$archive" >SHA256SUMS)
refused "an archive that was truncated before the sums" "cannot unpack $archive"
cp "$dist/$archive" "$dist/SHA256SUMS" "$release/"
sed -i 's/^\(.\{8\}\)......../\100000000/' "$release/SHA256SUMS"
refused "a wrong sum" "its sum is not that in SHA256SUMS"
rm "$release/SHA256SUMS"
refused "no sums" "there is no SHA256SUMS"
grep -v "$archive" "$dist/SHA256SUMS" >"$release/SHA256SUMS"
refused "sums of other files" "does not name $archive"
cp "$dist/SHA256SUMS" "$release/"

inside bare ann sh /release/install.sh
inside bare ann sh /release/install.sh >/dev/null || fail "a second installation"
own=$place/bare/home/ann/.local
while IFS= read -r path; do
    [ -s "$own/$path" ] || fail "$path is missing"
done <<'END'
bin/orch
share/bash-completion/completions/orch
share/doc/orch/CHANGELOG.md
share/doc/orch/LICENSE-APACHE
share/doc/orch/LICENSE-MIT
share/doc/orch/README.md
share/doc/orch/THIRD-PARTY-LICENCES
share/doc/orch/orch.cdx.json
share/fish/vendor_completions.d/orch.fish
share/man/man1/orch-next.1
share/man/man1/orch.1
share/zsh/site-functions/_orch
END
grep -q '^\.TH orch-next 1' "$own/share/man/man1/orch-next.1" || fail "orch-next.1 is no manual page"
inside bare ann orch --version
# shellcheck disable=SC2016
inside bare ann bash -ec '
    . ~/.local/share/bash-completion/completions/orch
    complete -p orch
    COMP_WORDS=(orch sug) COMP_CWORD=1 COMP_TYPE=9
    _clap_complete_orch orch sug orch
    [ "${COMPREPLY[*]}" = suggest ]
' >/dev/null || fail "the completion of bash"
play bare

inside bare root sh /release/install.sh --prefix /usr/local >/dev/null
inside bare root sh /release/install.sh --prefix /usr/local --uninstall
[ -z "$(find "$place/bare/usr/local" -name '*orch*')" ] || fail "something is left after --uninstall"
touch "$place/bare/usr/local/bin/orch"
if inside bare root sh /release/install.sh --prefix /usr/local >"$place/out" 2>&1; then
    fail "the program of somebody else was overwritten"
fi
grep -qF "is there, and not from this script" "$place/out" || fail "the program of somebody else: says something else"
[ ! -s "$place/bare/usr/local/bin/orch" ] || fail "the program of somebody else was overwritten"

make_root python git,python3-pip,python3-venv
inside python ann sh -ec 'python3 -m venv ~/.local && ~/.local/bin/pip install --quiet --no-index /release/*.whl' ||
    fail "the wheel"
inside python ann orch --version
cmp "$place/python/home/ann/.local/bin/orch" "$own/bin/orch" || fail "the wheel has another program"
find "$place/python/home/ann/.local" -name THIRD-PARTY-LICENCES | grep -q . || fail "the wheel has no licences"
play python
echo "dist-test: passed in $suite ($(inside bare ann ldd --version | sed -n 1p))"
