#!/usr/bin/env bash
# Makes the files of a release for Linux on x86-64, in target/dist: an archive (binary, manual pages, completions, licences,
# the SBOM), a wheel with the same binary, the SBOM alone, the installer, and their sums.
#
# The binary is linked with zig against an old glibc. The tools are installed in target/dist-tools, by pip and cargo.
# target/dist changes only when all of it is made.

set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
tools=$root/target/dist-tools
target=x86_64-unknown-linux-gnu

fail() {
    echo "dist.sh: $1" >&2
    exit 1
}
# need COMMAND HOW: ends with how to get the command where it is missing.
need() { command -v "$1" >/dev/null || fail "$1 is missing: $2"; }

[ "$(uname -sm)" = "Linux x86_64" ] || fail "only for Linux on x86-64"
need cargo "install Rust as https://rustup.rs says"
need cc "for example apt-get install gcc"
need git "for example apt-get install git"
need python3 "for example apt-get install python3 python3-venv"

# installed CRATE VERSION [OPTION...]: the crate's program in the directory of tools.
installed() {
    if ! grep -qsF "\"$1 $2 " "$tools/.crates.toml"; then
        CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --root "$tools" "$1@$2" "${@:3}" ||
            fail "cannot install $1 $2: cargo needs its registry, or a mirror of it"
        rm -rf "$tools/build"
    fi
}
if ! cmp -s packaging/tools.txt "$tools/tools.txt"; then
    rm -rf "$tools/python"
    python3 -m venv "$tools/python" || fail "python3 makes no environment: for example apt-get install python3-venv"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check -r packaging/tools.txt ||
        fail "cannot install maturin, zig and what else packaging/tools.txt names: pip needs PyPI, or PIP_INDEX_URL of a mirror"
    cp packaging/tools.txt "$tools/tools.txt"
fi
about=0.9.3
installed cargo-about "$about" --features cli
installed cargo-cyclonedx 0.5.9
PATH=$tools/bin:$tools/python/bin:$PATH

package=$(cargo pkgid --locked --package orch-agent)
version=${package##*[#@]}
time=$(git log -1 --format=%ct)
dist=$root/target/dist.new
wheel=$root/target/wheel
stage=$(mktemp -d)
sbom=orch-$version.cdx
# cargo-cyclonedx writes beside each Cargo.toml.
clear_sboms() { find . -path ./target -prune -o -name "$sbom.json" -exec rm -f {} +; }
trap 'rm -rf "$stage" "$dist"; clear_sboms' EXIT
rm -rf "$dist" "$wheel"
mkdir -p "$dist" "$wheel"

# First what may refuse the release: a licence, an SBOM with a gap.
# To read all texts takes two minutes: they are kept until anything changes that they follow from.
known=$(cat Cargo.lock Cargo.toml crates/*/Cargo.toml packaging/{about.toml,licences.hbs} | sha256sum)
licences=$tools/licences-$about-${known%% *}
if [ ! -f "$licences" ]; then
    cargo about generate --locked --offline --fail --target "$target" -c packaging/about.toml packaging/licences.hbs \
        >"$stage/licences" || fail "the licences: packaging/about.toml names those that may be there"
    rm -f "$tools"/licences-*
    mv "$stage/licences" "$licences"
fi
cp "$licences" "$wheel/THIRD-PARTY-LICENCES"
SOURCE_DATE_EPOCH=$time cargo cyclonedx --format json --spec-version 1.5 --target "$target" --override-filename "$sbom" --quiet
mv "$sbom.json" "$wheel/orch.cdx.json"
clear_sboms
cargo tree --locked --package orch-agent --edges normal --target "$target" --prefix none |
    python packaging/crates.py "$wheel/THIRD-PARTY-LICENCES" "$wheel/orch.cdx.json" "$root"

# In the tree: cargo finds its settings from its directory upward. No path of this machine gets into the binary. The times in the
# wheel are the earliest that a zip file has: those of the commit would compile all C sources again for each commit.
cp packaging/wheel/pyproject.toml LICENSE-APACHE LICENSE-MIT README.md "$wheel/"
(
    cd "$wheel"
    SOURCE_DATE_EPOCH=315532800 RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=registry" \
        maturin build --release --zig --target "$target" --out "$dist"
)

name=orch-$version-x86_64-linux-gnu
tree=$stage/$name
mkdir -p "$tree/bin" "$tree/share/man/man1" "$tree/share/doc/orch"
# The very bytes of the wheel.
python3 -m zipfile -e "$dist"/*.whl "$stage/wheel"
install -m 755 "$stage"/wheel/*.data/scripts/orch "$tree/bin/orch"
orch=$tree/bin/orch
oldest=$(sed -n 's/^glibc=//p' packaging/install.sh)
asked=$(grep -ao 'GLIBC_[0-9.]*' "$orch" | sed 's/GLIBC_//' | sort -V | tail -n 1)
[ "$(printf '%s\n' "$oldest" "$asked" | sort -V | tail -n 1)" = "$oldest" ] ||
    fail "the binary asks for glibc $asked, and install.sh for $oldest"
"$orch" man --dir "$tree/share/man/man1"
complete() {
    mkdir -p "$tree/share/$2"
    "$orch" completions "$1" >"$tree/share/$2/$3"
}
complete bash bash-completion/completions orch
complete zsh zsh/site-functions _orch
complete fish fish/vendor_completions.d orch.fish
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$wheel/THIRD-PARTY-LICENCES" "$wheel/orch.cdx.json" \
    "$tree/share/doc/orch/"

tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$time" \
    -C "$stage" -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
install -m 644 "$wheel/orch.cdx.json" "$dist/$sbom.json"
install -m 755 packaging/install.sh "$dist/install.sh"
(cd "$dist" && sha256sum -- * >"$stage/sums" && mv "$stage/sums" SHA256SUMS)
rm -rf target/dist
mv "$dist" target/dist
(cd target/dist && ls -l)
