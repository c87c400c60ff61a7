#!/bin/sh
# The xunit reporter of mocha 12.0.3 declares skipped="-1" when a hook fails.
#
# Guess:  the counts of a suite are natural numbers, and `tests` includes the failed case.
# Seen:   one test passes and the `after` hook fails: tests="1" failures="0" errors="1" skipped="-1" above two cases,
#         of which one holds <failure>.
# Why:    a reader with unsigned counts calls the report broken just when it names a failure, and "failures" alone
#         says that nothing failed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npm install --silent --no-audit --no-fund mocha@12.0.3 >&2 || exit 2

cat > sum.js << 'END'
describe('sums', () => {
    after(() => { throw new Error('not closed'); });
    it('adds', () => {});
});
END

status=0
node_modules/.bin/mocha sum.js --reporter xunit --reporter-option output=report.xml > log 2>&1 || status=$?
[ -s report.xml ] || { cat log >&2; exit 2; }
echo "exit status $status"
grep -v '^ *at ' report.xml
if [ "$status" -ne 0 ] && grep -q ' failures="0".* skipped="-1"' report.xml && grep -q '<failure' report.xml; then
    echo "seen: a negative count of skipped tests"
else
    echo "no longer seen"
    exit 1
fi
