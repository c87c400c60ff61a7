#!/bin/sh
# husky 9.1.7, git 2.47.3: in a linked work tree no hook of husky runs, and commits succeed.
#
# Guess:  all work trees of a repository share its hooks, so what the hook refuses in one it refuses in all.
# Seen:   husky sets the relative path `.husky/_` in the settings that all share, and that directory is ignored by git. A new
#         work tree lacks it until somebody installs the packages there. git takes a missing hook as none and says nothing.
# Why:    agents that work in trees of their own commit what the hook would refuse, and nobody has bypassed anything.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
npm install --silent --no-audit --no-fund --prefix tool husky@9.1.7 >&2 || exit 2
git --version
git init -q -b main repository
cd repository
echo '{"name": "example"}' > package.json
../tool/node_modules/.bin/husky >&2
printf '%s\n' 'echo "refused by the hook"' 'exit 1' > .husky/pre-commit
git add package.json .husky
git commit -q --no-verify -m base
first=0
git commit -q --allow-empty -m here > said 2>&1 || first=$?
cat said
git worktree add -q ../tree
cd ../tree
linked=0
git commit -q --allow-empty -m there > said 2>&1 || linked=$?
cat said
echo "hooks at $(git config core.hooksPath), of which the tree has: $(ls -A .husky | tr '\n' ' ')"
echo "in the repository: exit $first; in the linked work tree: exit $linked"
if [ "$first $linked" = "1 0" ] && ! [ -s said ] && ! [ -e .husky/_ ]; then
    echo "seen: the hook does not run in the linked work tree"
else
    echo "no longer seen"
    exit 1
fi
