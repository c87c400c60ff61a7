#!/bin/sh
# jest-junit 17.0.0 (jest 30.5.2) lists a `todo` as a passed case.
#
# Guess:  a `todo` has no body and ran nothing, so it is <skipped>, or not listed at all.
# Seen:   a <testcase> without a child, exactly as a test that passed; the suite has tests="1" skipped="0" above two
#         cases, so only the number of cases tells that one of them is no test.
# Why:    a gate that asks for a case by name ("this test passes") is content with a promise to write it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo '{ "private": true }' > package.json
npm install --silent --no-audit --no-fund jest@30.5.2 jest-junit@17.0.0 >&2 || exit 2

cat > sum.test.js << 'END'
test('adds', () => expect(1 + 1).toBe(2));
test.todo('subtracts');
END

status=0
node_modules/.bin/jest --reporters=jest-junit > log 2>&1 || status=$?
[ -s junit.xml ] || { cat log >&2; exit 2; }
echo "exit status $status"
cat junit.xml
echo
listed=$(grep -c '<testcase ' junit.xml)
if [ "$status" -eq 0 ] && [ "$listed" -eq 2 ] && grep -q '<testcase .*name=" subtracts"' junit.xml \
    && grep -q '<testsuite .* skipped="0".* tests="1"' junit.xml && ! grep -q '<skipped' junit.xml; then
    echo "seen: a todo that looks like a pass"
else
    echo "no longer seen"
    exit 1
fi
