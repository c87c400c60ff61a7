#!/bin/sh
# orch-hook: @SEAL@
# Written by `orch hook install`; `orch hook uninstall` puts back what was here before. Its settings
# are those of [hook] in orch.toml. A hook of your own belongs into @NAME@.before-orch, which runs first.

name=@NAME@
on_missing=@ON_MISSING@
limit=@LIMIT@
recorded=@RECORDED@

what=commit
[ "$name" != pre-push ] || what=push

# Ends the hook because orch has not finished its check. Content that crashes orch must not pass unchecked.
fault() {
  printf '%s: %s; the %s is rejected; report it, and skip the hook with --no-verify\n' "$name" "$1" "$what" >&2
  exit 1
}

# Ends the hook because there is no orch.
missing() {
  if [ "$on_missing" = block ]; then
    printf '%s: %s; the %s is rejected (on_missing = "block")\n' "$name" "$1" "$what" >&2
    exit 1
  fi
  printf '%s: %s; the %s is accepted unchecked (on_missing = "pass")\n' "$name" "$1" "$what" >&2
  exit 0
}

# Both hooks must see every line that git says to a pre-push hook. The dot keeps the last newline.
input=
if [ "$name" = pre-push ]; then
  input=$(cat && printf .)
  input=${input%.}
fi

# A hook manager that was here before and is installed again takes this place, and runs this hook from
# another one. It is at work already then, and must never be run in a circle.
before=${0%/*}/$name.before-orch
chain=$name:$PWD
if [ -f "$before" ] && [ -x "$before" ] && [ "${ORCH_HOOK_CHAIN-}" != "$chain" ] &&
  ! cmp -s "$before" "${0%/*}/$name"; then
  if [ "$name" = pre-push ]; then
    printf %s "$input" 2>/dev/null | ORCH_HOOK_CHAIN=$chain "$before" "$@" || exit
  else
    ORCH_HOOK_CHAIN=$chain "$before" "$@" || exit
  fi
fi

orch=$(command -v orch) || orch=$recorded
[ -x "$orch" ] || missing "orch is missing: neither on PATH nor at $recorded"

case $name in
  pre-commit) set -- --staged ;;
  commit-msg) set -- --staged --message "$1" ;;
  pre-push) set -- --stdin-refs ;;
esac

# Beside orch runs a clock that ends it when its time is up; it only judges, so that is safe. What the
# shell itself says about ended processes is dropped.
{
  printf %s "$input" | "$orch" check "$@" 2>&3 3>&- &
  work=$!
  (
    nap=
    trap 'kill "$nap"; exit 1' TERM
    sleep "$limit" &
    nap=$!
    wait "$nap"
    kill -9 "$work"
  ) </dev/null >/dev/null 3>&- &
  clock=$!
  trap 'kill "$clock"; kill -9 "$work"; exit 130' HUP INT TERM
  wait "$work"
  code=$?
  kill "$clock"
  wait "$clock"
  ended=$code-$?
} 3>&2 2>/dev/null

# The clock ends with 0 only if nobody stopped it before it rang.
[ "$ended" != 137-0 ] || fault "orch took longer than $limit s (timeout_seconds)"
[ "$code" -lt 64 ] || fault "orch crashed (exit code $code)"
exit "$code"
