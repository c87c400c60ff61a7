#!/usr/bin/env bash
# The HTTP API against its OpenAPI document: schemathesis sends what the document permits, and what it does not, with the
# token of a person and with that of an agent. Installs it below target/api, and is skipped where that cannot be done.
set -euo pipefail
cd "$(dirname "$0")/../.."
project=$PWD

skip() {
  echo "skipped: $1"
  exit 0
}

command -v python3 >/dev/null || skip "there is no python3"
script --version 2>/dev/null | grep -q util-linux ||
  skip "there is no script(1) of util-linux, which gives the server a terminal"
version=4.32.5
place=target/api/$version
if [ ! -x "$place/bin/schemathesis" ]; then
  python3 -m venv "$place" || skip "python3 cannot make an environment"
  "$place/bin/pip" install --quiet "schemathesis==$version" || skip "pip cannot install schemathesis"
fi
orch=${ORCH:-$project/target/debug/orch}
root=$(mktemp -d)
export HOME=$root/home GIT_CONFIG_NOSYSTEM=1
mkdir "$root/home" "$root/tasks"
cd "$root/tasks"
git init --quiet --initial-branch=main
git config user.name Ann
git config user.email ann@example.org
"$orch" init --quiet
git add .
git commit --quiet -m "Set up"
for task in t-1 t-2 team/t-3; do
  "$orch" new "$task" --quiet
done
# A person starts it: the token of a person has only the rights of whoever did, and a program has none.
SHELL=/bin/sh script -qfec "exec '$orch' serve --listen 127.0.0.1:0" "$root/said" >/dev/null 2>&1 </dev/null &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$root" || true' EXIT
address=
for _ in $(seq 100); do
  address=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$root/said" | head -1 || true)
  [ -z "$address" ] || break
  sleep 0.1
done
[ -n "$address" ] || { cat "$root/said"; exit 1; }

failed=0
check() {
  "$project/$place/bin/schemathesis" --config-file "$project/tests/api/schemathesis.toml" run \
    "$address/api/v1/openapi.json" -H "Authorization: Bearer $token" --max-failures 100 "$@" || failed=1
}
for who in person agent; do
  token=$(python3 -c "import json; print(json.load(open('.git/orch/serve.json'))['$who'])")
  echo "as $who"
  check --exclude-path-regex '/(events|output)$' --max-examples "${EXAMPLES:-30}" --request-timeout 30
  # A stream does not end, so that each answer of one takes the whole time.
  check --include-path-regex '/(events|output)$' --max-examples 5 --request-timeout 1
done
exit "$failed"
