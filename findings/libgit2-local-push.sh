#!/bin/sh
# libgit2 1.9.7 (pygit2 1.21.0): a push to a path overwrites what another pushed meanwhile.
#
# Guess:  a push that is not forced moves a branch only from the commit that it saw, as with git, whatever the transport.
# Seen:   to a path of this machine libgit2 compares once, before it sends. Another push that ends in between is taken out
#         of the branch, and the push succeeds. A callback between the two makes the moment last; nothing is forced.
# Why:    a compare-and-swap on a shared repository cannot be built on it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
python3 -m venv tool || exit 2
tool/bin/pip install --quiet --disable-pip-version-check pygit2==1.21.0 >&2 || exit 2
git init -q --bare -b main server.git
git init -q -b main one
git -C one remote add origin "$work/server.git"
git -C one commit -q --allow-empty -m base
git -C one push -q origin main
git clone -q "$work/server.git" two
git -C one commit -q --allow-empty -m 'of one'
git -C two commit -q --allow-empty -m 'of two'

cat > push.py << 'END'
import subprocess

import pygit2


class Between(pygit2.RemoteCallbacks):
    def push_negotiation(self, updates):
        subprocess.run(["git", "-C", "two", "push", "-q", "origin", "main"], check=True)
        said = subprocess.run(["git", "-C", "server.git", "log", "-1", "--format=%s", "main"], capture_output=True)
        print("on the server before the push ends:", said.stdout.decode().strip())


print("libgit2", pygit2.LIBGIT2_VERSION)
origin = pygit2.Repository("one").remotes["origin"]
origin.push(["refs/heads/main:refs/heads/main"], callbacks=Between())
print("the push has succeeded")
END
tool/bin/python push.py > said 2>&1 || { cat said; echo "no longer seen"; exit 1; }
cat said
git -C server.git log --format=%s main > subjects
echo "on the server afterwards: $(tr '\n' ',' < subjects)"
if grep -qx 'of one' subjects && ! grep -qx 'of two' subjects; then
    echo "seen: the commit of the other push is gone from the branch"
else
    echo "no longer seen"
    exit 1
fi
