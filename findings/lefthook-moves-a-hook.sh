#!/bin/sh
# lefthook 2.2.2: `lefthook install` moves a hook that is there aside and never runs it again.
#
# Guess:  a hook manager that finds a hook of somebody else refuses, or runs it before its own, as others do.
# Seen:   the hook becomes pre-commit.old, the install succeeds, and the next commit passes that the hook refused.
# Why:    a check that another program has installed is off from then on, with one line of output to tell of it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
npm install --silent --no-audit --no-fund --prefix tool lefthook@2.2.2 >&2 || exit 2
git init -q -b main repository
cd repository
printf '%s\n' '#!/bin/sh' 'echo "the other hook ran"' 'exit 1' > .git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
printf '%s\n' 'pre-commit:' '  commands:' '    hello:' '      run: echo hello' > lefthook.yml
git add lefthook.yml
before=0
git commit -qm 'refused by the hook' || before=$?
../tool/node_modules/.bin/lefthook install >&2
ls .git/hooks | grep '^pre-commit'
after=0
git commit -m 'passes now' > said 2>&1 || after=$?
cat said
echo "before: exit $before; after: exit $after"
if [ "$before" = 1 ] && [ "$after" = 0 ] && [ -e .git/hooks/pre-commit.old ] && ! grep -q 'the other hook ran' said; then
    echo "seen: the hook is moved and no longer runs"
else
    echo "no longer seen"
    exit 1
fi
