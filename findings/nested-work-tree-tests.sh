#!/bin/sh
# jest 30.5.2, vitest 4.1.12: tests of a work tree below the repository run with those of the repository.
#
# Guess:  `.worktrees/agent` is hidden and ignored by git, so a runner in the repository runs the repository's own tests.
# Seen:   both run the half-done test of the other tree as well, and fail by it. pytest 9.2.0 passes beside them: it skips
#         directories whose names begin with a dot.
# Why:    what one agent has not finished makes the tests of another red, or adds its own to their number.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git config --global user.name Example
git config --global user.email example@example.com
npm install --silent --no-audit --no-fund --prefix tool jest@30.5.2 vitest@4.1.12 >&2 || exit 2
python3 -m venv python || exit 2
python/bin/pip install --quiet --disable-pip-version-check pytest==9.2.0 >&2 || exit 2

git init -q -b main repository
cd repository
mkdir tests
echo '{"name": "example"}' > package.json
echo '.worktrees/' > .gitignore
echo 'test("one", () => {})' > tests/one.test.js
echo 'def test_one(): pass' > tests/test_one.py
git add .
git commit -qm base
git worktree add -q .worktrees/agent
echo 'test("one", () => { throw new Error("half done") })' > .worktrees/agent/tests/one.test.js
echo 'def test_one(): assert False' > .worktrees/agent/tests/test_one.py
ln -s ../tool/node_modules node_modules

ran() {
    name=$1
    shift
    status=0
    NO_COLOR=1 CI=1 "$@" > "$name.log" 2>&1 || status=$?
    others=no
    if grep -q '.worktrees/agent/tests' "$name.log"; then others=yes; fi
    echo "$name: exit $status; tests of the other tree ran: $others"
    echo "$status $others" > "$name.seen"
}
ran jest node_modules/.bin/jest
ran vitest node_modules/.bin/vitest run --globals
ran pytest ../python/bin/pytest -v
if [ "$(cat jest.seen vitest.seen pytest.seen | tr '\n' ' ')" = "1 yes 1 yes 0 no " ]; then
    echo "seen: two of three run the tests of the nested tree"
else
    echo "no longer seen"
    exit 1
fi
