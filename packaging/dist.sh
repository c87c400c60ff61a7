#!/usr/bin/env bash
# Makes the files of a release for Linux on x86-64, in target/dist: an archive (binary, manual pages, completions, licences,
# the SBOM), a wheel with the same binary, the SBOM alone, the installer, and their sums.
#
# The binary is linked with zig against glibc 2.17, the oldest that Rust supports. The tools are installed in target/dist-tools,
# by pip and cargo. The same commit gives the same archive.

set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
tools=$root/target/dist-tools
dist=$root/target/dist
target=x86_64-unknown-linux-gnu
about=0.9.3
cyclonedx=0.5.9

[ "$(uname -sm)" = "Linux x86_64" ] || { echo "dist.sh: only for Linux on x86-64" >&2; exit 1; }
version=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(package["version"] for package in packages if package["name"] == "orch-agent"))')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# installed CRATE VERSION: the crate's program in the directory of tools.
installed() {
    if ! grep -qsF "\"$1 $2 " "$tools/.crates.toml"; then
        CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --root "$tools" "$1@$2"
        rm -rf "$tools/build"
    fi
}
python3 -m venv "$tools/python"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check -r packaging/tools.txt
installed cargo-about "$about"
installed cargo-cyclonedx "$cyclonedx"
PATH=$tools/bin:$tools/python/bin:$PATH

rm -rf "$dist"
mkdir -p "$dist"
# In its directory: cargo finds its settings from there upward.
(cd packaging/wheel && maturin build --release --zig --target "$target" --out "$dist")

name=orch-$version-x86_64-linux-gnu
stage=$(mktemp -d)
trap 'rm -rf "$stage"; find . -path ./target -prune -o -name "orch-*.cdx.json" -exec rm -f {} +' EXIT
tree=$stage/$name
mkdir -p "$tree/bin" "$tree/share/man/man1" "$tree/share/doc/orch"
# The very bytes of the wheel.
python3 -m zipfile -e "$dist"/*.whl "$stage/wheel"
install -m 755 "$stage"/wheel/*.data/scripts/orch "$tree/bin/orch"
orch=$tree/bin/orch
"$orch" man --dir "$tree/share/man/man1"
complete() {
    mkdir -p "$tree/share/$2"
    "$orch" completions "$1" >"$tree/share/$2/$3"
}
complete bash bash-completion/completions orch
complete zsh zsh/site-functions _orch
complete fish fish/vendor_completions.d orch.fish

cargo about generate --locked --fail --target "$target" -c packaging/about.toml packaging/licences.hbs \
    >"$tree/share/doc/orch/THIRD-PARTY-LICENCES"
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$tree/share/doc/orch/"
cargo cyclonedx --format json --target "$target" --override-filename "orch-$version.cdx" --quiet
install -m 644 "orch-$version.cdx.json" "$tree/share/doc/orch/orch.cdx.json"
cp "$tree/share/doc/orch/orch.cdx.json" "$dist/orch-$version.cdx.json"

tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -C "$stage" -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
install -m 755 packaging/install.sh "$dist/install.sh"
(cd "$dist" && sha256sum -- * >"$stage/sums" && mv "$stage/sums" SHA256SUMS)
(cd "$dist" && ls -l)
