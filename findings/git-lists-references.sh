#!/bin/sh
# git 2.47.3: `git ls-remote` and `git push` of one reference are told all references of the server.
#
# Guess:  since protocol 2 a client names the references that it asks for, so the number of others costs nothing.
# Seen:   with 2,000 others, `git push` is sent 2,000 lines before it may send one: it speaks the older protocol whatever
#         `protocol.version` says. `git ls-remote origin refs/leases/7` is sent all as well, because its argument may match
#         the end of any name. `git fetch` of the same name is sent those that begin so: 7, 70 to 79 and 700 to 799.
# Why:    locks or leases as references make each push of everybody slower, by as many as ever stay there; and a look at one
#         of them is cheap by a fetch, not by the command that is made for looking.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
git config --global protocol.version 2
git --version
git init -q --bare server.git
git init -q -b main clone
cd clone
git remote add origin "file://$work/server.git"
git commit -q --allow-empty -m one
git push -q origin main
value=$(git rev-parse main)
seq 2000 | sed "s#.*#create refs/leases/& $value#" | git -C ../server.git update-ref --stdin

told() {
    name=$1
    shift
    GIT_TRACE_PACKET="$work/$name.trace" git "$@" > /dev/null 2>&1
    # The lines that the client was sent with the name of a reference.
    lines=$(grep -cE "(push|fetch|git|ls-remote)< [0-9a-f]{40,64} (refs/|HEAD)" "$work/$name.trace" || true)
    echo "git $1: $lines references told"
    echo "$lines" > "$work/$name.lines"
}
told listed ls-remote origin refs/leases/7
told fetched fetch origin refs/leases/7
git commit -q --allow-empty -m two
told pushed push origin main
if [ "$(cat ../listed.lines)" -ge 2000 ] && [ "$(cat ../fetched.lines)" = 111 ] && [ "$(cat ../pushed.lines)" -ge 2000 ]; then
    echo "seen: only a fetch is told of few"
else
    echo "no longer seen"
    exit 1
fi
