#!/usr/bin/env bash
# rustdoc, as Cargo calls it for the tests in documentation. Makes the documentation first, from the same crates, and fails if
# there is something to warn of.
set -euo pipefail

all=("$@")
words=()
while [ $# -gt 0 ]; do
  case "$1" in
    --test | --no-capture | --nocapture) ;;
    --test-run-directory | --test-args) shift ;;
    --test-run-directory=* | --test-args=*) ;;
    *) words+=("$1") ;;
  esac
  shift
done
if [[ " ${all[*]} " == *" --test "* ]]; then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  rustdoc "${words[@]}" -D warnings --output "$made"
fi
rustdoc "${all[@]}"
