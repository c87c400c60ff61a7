#!/bin/sh
# husky 9.1.7: a hook that is started under another file name runs nothing and succeeds.
#
# Guess:  a program that chains hooks may keep the previous one as `pre-commit.before` and start it: it is a script.
# Seen:   the script in .husky/_ takes the name of its own file for the name of the hook, looks for .husky/NAME, and
#         ends with 0 where there is none. Under its name the same script refuses the commit.
# Why:    whoever renames the hook of a hook manager disarms the checks of a whole team, and nothing says so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
git init -q -b main .
echo '{"name":"example","private":true}' > package.json
npm install --silent --no-audit --no-fund husky@9.1.7 >&2 || exit 2
node_modules/.bin/husky >&2
printf '%s\n' 'echo "the check of the team ran"' 'exit 1' > .husky/pre-commit

by_name=0
.husky/_/pre-commit || by_name=$?
cp .husky/_/pre-commit .husky/_/pre-commit.before
by_other=0
.husky/_/pre-commit.before || by_other=$?
echo "as pre-commit: exit $by_name; as pre-commit.before: exit $by_other"
if [ "$by_name" = 1 ] && [ "$by_other" = 0 ]; then
    echo "seen: under another name it succeeds and runs nothing"
else
    echo "no longer seen"
    exit 1
fi
