#!/bin/sh
# backlog.md 1.52.0 (npm): archiving a task changes the files of other tasks.
# Guess: `task archive` moves one file; who depends on the task keeps the dependency, and stays blocked or is told.
# Seen: it deletes the task from the `dependencies` of every other one. What waited for the work waits for nothing, although
# the work was given up and not done.
# Matters: a watcher sees edits of tasks that nobody touched, and a task that becomes free without a reason in its history.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit backlog.md@1.52.0 >/dev/null
backlog="$work/node_modules/.bin/backlog"
mkdir project
cd project
git init -q -b main
git config user.name Ann
git config user.email ann@example.org
git commit -q --allow-empty -m "begin"
"$backlog" init demo --defaults </dev/null >/dev/null 2>&1
"$backlog" task create "Schema" >/dev/null 2>&1
"$backlog" task create "Migration" --dep task-1 >/dev/null 2>&1
before=$(grep -A1 '^dependencies:' backlog/tasks/*Migration.md)
"$backlog" task archive 1
after=$(grep -A1 '^dependencies:' backlog/tasks/*Migration.md)
"$backlog" --version
printf 'before:\n%s\nafter:\n%s\n' "$before" "$after"
case "$before" in *TASK-1*) ;; *) exit 1 ;; esac
case "$after" in *TASK-1*) exit 1 ;; esac
