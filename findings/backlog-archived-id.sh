#!/bin/sh
# Backlog.md 1.52.0 gives the id of an archived task to the next new task.
#
# Guess:  an archived task keeps its id; after TASK-1 and TASK-2 the next task is TASK-3, whatever was archived.
# Seen:   archive the newest task, create another: both files say TASK-2, one below archive/, one below tasks/.
# Why:    an id in a commit trailer or in a recorded history may mean two tasks. A tool that keys what it knows of a
#         task by the id alone gives the new task the old one's past.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npm install --silent --no-audit --no-fund --prefix tool backlog.md@1.52.0 >&2 || exit 2
backlog="$work/tool/node_modules/.bin/backlog"

mkdir repo
cd repo
git init --quiet
git config user.name Finder
git config user.email finder@example.com
{
    "$backlog" init demo --defaults --integration-mode none
    "$backlog" task create "First" --plain
    "$backlog" task create "Second" --plain
    "$backlog" task archive 2
    "$backlog" task create "Third" --plain
} < /dev/null > ../log 2>&1 || { cat ../log >&2; exit 2; }

grep -rn '^id:' backlog --include='*.md'
same=$(grep -rih '^id: *task-2 *$' backlog --include='*.md' | wc -l)
if [ "$same" -eq 2 ]; then
    echo "seen: an archived and a new task have one id"
else
    echo "no longer seen"
    exit 1
fi
