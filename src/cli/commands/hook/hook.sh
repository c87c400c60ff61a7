#!/bin/sh
# orch-hook: @SEAL@
# Written by `orch hook install`; `orch hook uninstall` restores the previous hook. The settings below
# come from [hook] in orch.toml. Put your own hook into the directory beside this one that ends in .before-orch,
# as @NAME@. It runs first.

name=@NAME@
on_missing=@ON_MISSING@
checks=@CHECKS@
limit=@LIMIT@
recorded=@RECORDED@

what=commit
[ "$name" != pre-push ] || what=push

# What orch does now: it checks, or names the task in the message.
does=check
[ "$name" != prepare-commit-msg ] || does=name

# Ends the hook because orch has not finished its work. Content that crashes orch must not pass unchecked; a
# message without a trailer is no reason to reject a commit.
fault() {
  if [ "$does" = name ]; then
    printf '%s: %s; the message is left as it is\n' "$name" "$1" >&2
    return
  fi
  printf '%s: %s; the %s is rejected; %s, or skip the hook with --no-verify\n' "$name" "$1" "$what" \
    "${2-report it}" >&2
  exit 1
}

# Ends the hook because there is no orch.
missing() {
  if [ "$does" = name ]; then
    fault "$1"
    exit 0
  fi
  if [ "$on_missing" = block ]; then
    printf '%s: %s; the %s is rejected (on_missing = "block")\n' "$name" "$1" "$what" >&2
    exit 1
  fi
  printf '%s: %s; the %s is accepted unchecked (on_missing = "pass")\n' "$name" "$1" "$what" >&2
  exit 0
}

# Both hooks must see every line that git passes to a pre-push hook. The dot preserves the last newline.
input=
if [ "$name" = pre-push ]; then
  input=$(cat && printf .)
  input=${input%.}
fi

# The previous hook finds files by its own path. Beside it are links to the files that are beside this hook, other
# than the hooks of orch.
link_siblings() {
  for file in "$hooks"/* "$hooks"/.[!.]*; do
    link=$keeping/${file##*/}
    if [ ! -e "$file" ] || [ -e "$link" ] || [ -L "$link" ]; then
      continue
    fi
    second=
    if [ -f "$file" ] && [ -r "$file" ]; then
      { read -r second && read -r second; } <"$file"
    fi
    case $file:$second in
      *.sample:* | *:"# orch-hook: "*) ;;
      *) ln -s "../${hooks##*/}/${file##*/}" "$link" ;;
    esac
  done
}

# A hook manager that is installed again takes the place of this hook and runs this hook from another
# path. The manager is already running then, so this hook must not run it again.
hooks=$(CDPATH='' cd -P -- "${0%/*}" && pwd -P)
keeping=$hooks.before-orch
before=$keeping/$name
chain=$name:$PWD
if [ -f "$before" ] && [ -x "$before" ] && [ "${ORCH_HOOK_CHAIN-}" != "$chain" ] &&
  ! cmp -s "$before" "$hooks/$name"; then
  link_siblings 2>/dev/null
  if [ "$name" = pre-push ]; then
    printf %s "$input" 2>/dev/null | ORCH_HOOK_CHAIN=$chain "$before" "$@" || exit
  else
    ORCH_HOOK_CHAIN=$chain "$before" "$@" || exit
  fi
fi

# The message that git gave to the editor, if the task is to be named in what was written there.
kept=
if [ "$name" = commit-msg ]; then
  kept=${1%/*}/orch/message
  [ -f "$kept" ] || kept=
  if [ "$checks" = no ]; then
    [ -n "$kept" ] || exit 0
    does=name
  fi
fi

orch=$(command -v orch) || orch=$recorded
[ -x "$orch" ] || missing "orch is missing: neither on PATH nor at $recorded"

# A timer runs beside orch and kills it when the time is up, which is safe because orch only reads or
# replaces the message file as a whole.
# Messages of the shell about ended processes are dropped.
run() {
  {
    printf %s "$input" | "$orch" "$@" 2>&3 3>&- &
    work=$!
    (
      # The end may come before it is known which process sleeps, which must not be left behind. That process is
      # still a shell at first, which would take any other signal for its own.
      nap=
      over=
      trap 'over=1; [ -z "$nap" ] || kill -9 "$nap"' TERM
      sleep "$limit" &
      nap=$!
      [ -z "$over" ] || kill -9 "$nap"
      wait "$nap"
      [ -z "$over" ] || exit 1
      kill -9 "$work"
    ) </dev/null >/dev/null 3>&- &
    timer=$!
    trap 'kill "$timer"; kill -9 "$work"; exit 130' HUP INT TERM
    wait "$work"
    code=$?
    kill "$timer"
    wait "$timer"
    ended=$code-$?
    trap - HUP INT TERM
  } 3>&2 2>/dev/null

  # The timer exits with 0 only if it was not stopped before the time was up.
  if [ "$ended" = 137-0 ]; then
    fault "orch took longer than $limit s (timeout_seconds)"
  elif [ "$code" = 70 ]; then
    fault "orch failed to read or write (exit code 70)" "mend what it names above"
  elif [ "$code" -ge 64 ]; then
    fault "orch crashed (exit code $code)"
  fi
}

if [ "$name" = prepare-commit-msg ]; then
  run hook prepare-commit-msg "$@"
  exit 0
fi
if [ -n "$kept" ]; then
  does=name
  run hook commit-msg "$1"
  does=check
fi
[ "$checks" = yes ] || exit 0
case $name in
  pre-commit) run check --staged ;;
  commit-msg) run check --staged --message "$1" ;;
  pre-push) run check --stdin-refs ;;
esac
exit "$code"
