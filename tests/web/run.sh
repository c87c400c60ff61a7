#!/usr/bin/env bash
# The board in a headless browser; words choose stories. Installs what the driver needs below target/web, and is skipped where it cannot.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  exit 0
}

command -v npm >/dev/null || skip "there is no npm"
command -v script >/dev/null || skip "there is no script(1), which gives the server a terminal"
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$browser" ] || skip "there is no Chromium; install one, or name it in CHROMIUM"
place=target/web
mkdir -p "$place"
cp tests/web/package.json "$place/"
npm install --prefix "$place" --no-audit --no-fund --loglevel=error >&2 || skip "npm cannot install the driver"
cp tests/web/board.mjs "$place/"
ORCH=${ORCH:-$PWD/target/debug/orch} CHROMIUM="$browser" node "$place/board.mjs" "$@"
