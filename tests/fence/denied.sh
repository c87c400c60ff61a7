#!/bin/sh
# What orch says where the system permits no fence.
#
#   denied.sh PLACE

set -eu
place=$1
cd "$HOME"
echo "denied: begins"
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q repository
cd repository
orch init -q
cp "$place/w.md" system/workflows/w.md
printf '[[root]]\npath = "tasks/*"\nworkflow = "w"\n' > orch.toml
git add -A
git commit -q -m "Set up"
orch new t
says() {
    grep -q "$1" ../said || { cat ../said; echo "denied: it does not say $1"; exit 1; }
}
orch doctor > ../said 2>&1 || true
says "fence .*there is none"
says "max_user_namespaces.*(ENOSPC)"
ORCH_FENCE=required orch run t --auto --max-turns 1 -- touch begun > ../said 2>&1 && exit 1
says "must work inside a fence, and there is none"
[ ! -e begun ]
orch run t --auto --max-turns 1 -- touch begun > ../said 2>&1 || true
says "^no fence: .*ENOSPC"
[ -e begun ]
orch run --parallel 1 --auto --max-turns 1 --json -- true > ../said 2>&1 || true
says '"unfenced":"[^"]*ENOSPC'
echo "denied: all is well"
