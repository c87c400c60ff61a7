#!/bin/sh
# git 2.47.3: a lease on a reference that stays as it is, is not looked at, not even in an atomic push.
#
# Guess:  `git push --atomic --force-with-lease=REF:EXPECTED` moves a branch only if REF on the server is EXPECTED, so a
#         reference works as a lock for the branch.
# Seen:   if REF has the value that is pushed already, git does not send it. The lease is not compared, the branch moves,
#         and the push succeeds although EXPECTED is wrong. Two that write the same bytes both succeed, too.
# Why:    a push that should be fenced by a lease is fenced only if it changes the lease.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
git --version
git init -q --bare server.git
git init -q -b main clone
cd clone
git remote add origin ../server.git
git commit -q --allow-empty -m one
lease=$(echo 'held by one' | git hash-object -w --stdin)
other=$(echo 'held by two' | git hash-object -w --stdin)
git push -q origin main "$lease:refs/leases/task"

git commit -q --allow-empty -m two
unchanged=0
git push --porcelain --atomic "--force-with-lease=refs/leases/task:$other" origin main "$lease:refs/leases/task" || unchanged=$?
created=0
git push --porcelain --force-with-lease=refs/leases/task: origin "$lease:refs/leases/task" || created=$?
git commit -q --allow-empty -m three
changed=0
git push --porcelain --atomic "--force-with-lease=refs/leases/task:$other" origin main "$other:refs/leases/task" || changed=$?
at=$(git -C ../server.git log -1 --format=%s main)
echo "wrong lease, unchanged: exit $unchanged; must not exist, same bytes: exit $created; wrong lease, changed: exit $changed"
echo "the branch on the server: $at"
if [ "$unchanged $created $changed $at" = "0 0 1 two" ]; then
    echo "seen: an unchanged lease fences nothing"
else
    echo "no longer seen"
    exit 1
fi
