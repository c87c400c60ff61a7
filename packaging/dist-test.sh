#!/usr/bin/env bash
# Installs the files of target/dist in an empty root of an old Debian, by the installer and by pip, and plays the demo there.
#
#   packaging/dist-test.sh
#
# Needs root and debootstrap; without them that is said, and the end is 0. SUITE and MIRROR choose the Debian.

set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dist=$root/target/dist
suite=${SUITE:-bullseye}

skip() { echo "skipped: $1"; exit 0; }
fail() { echo "FAILED: $1" >&2; exit 1; }
[ -f "$dist/SHA256SUMS" ] || fail "target/dist has no files of a release: make dist"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "the sums"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
[ "$(id -u)" = 0 ] || skip "only root can enter a root of its own"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
empty=$place/root
mirror=${MIRROR:-}
debootstrap --variant=minbase --include=git,python3-pip "$suite" "$empty" $mirror >"$place/log" 2>&1 || {
    tail -n 5 "$place/log"
    skip "debootstrap cannot make a $suite"
}
mkdir "$empty/release"
cp "$dist"/* "$empty/release/"

# inside COMMAND...: in the root, as a user would, with nothing of this shell.
inside() {
    chroot "$empty" env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "$@"
}

# Whatever is wrong with the files: told, and nothing is written.
refused() {
    local what=$1
    local text=$2
    if inside sh /release/install.sh --prefix /opt/refused >"$place/out" 2>&1; then
        fail "$what: was installed"
    fi
    grep -qF -- "$text" "$place/out" || { cat "$place/out"; fail "$what: says something else"; }
    [ ! -e "$empty/opt/refused" ] || fail "$what: something was written"
}
archive=$(cd "$dist" && echo orch-*.tar.gz)
truncate -s -100 "$empty/release/$archive"
refused "a cut archive" "is not the file that SHA256SUMS names"
cp "$dist/$archive" "$empty/release/"
mv "$empty/release/SHA256SUMS" "$empty/release/sums"
refused "no sums" "there is no SHA256SUMS"
grep -v "$archive" "$empty/release/sums" >"$empty/release/SHA256SUMS"
refused "sums of other files" "does not name $archive"
mv "$empty/release/sums" "$empty/release/SHA256SUMS"

inside sh /release/install.sh
inside sh /release/install.sh --prefix /usr/local
inside orch --version
for path in bin/orch share/man/man1/orch-next.1 share/bash-completion/completions/orch share/zsh/site-functions/_orch \
    share/fish/vendor_completions.d/orch.fish share/doc/orch/THIRD-PARTY-LICENCES share/doc/orch/orch.cdx.json; do
    [ -s "$empty/root/.local/$path" ] || fail "$path is missing"
done
inside git config --global user.name A
inside git config --global user.email a@example.org
inside orch demo >"$place/demo" 2>&1 || { tail -n 20 "$place/demo"; fail "the demo"; }
inside sh /release/install.sh --prefix /usr/local --uninstall
[ -z "$(find "$empty/usr/local" -name '*orch*')" ] || fail "something is left after --uninstall"

inside sh -c 'python3 -m pip install --quiet --no-index --target /opt/wheel /release/*.whl' || fail "the wheel"
inside /opt/wheel/bin/orch --version
cmp "$empty/opt/wheel/bin/orch" "$empty/root/.local/bin/orch" || fail "the wheel has another program"
echo "dist-test: passed in $suite ($(inside ldd --version | sed -n 1p))"
