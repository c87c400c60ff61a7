#!/bin/sh
# The junit reporter of node 26.10.0 puts a failing `after` hook below an element <undefined>, or nowhere.
#
# Guess:  a failing hook is a failed case in a <testsuite>, or a suite with failures="1".
# Seen:   of a file's own hook, the failed case stands in <undefined name="root">, beside no suite at all; of a hook in
#         `describe`, the suite says failures="0" and nothing in the file says that the run failed. Both exit with 1.
# Why:    a reader that descends into <testsuite> only misses the first; no reader of the file alone sees the second.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npm install --silent --no-audit --no-fund node@26.10.0 >&2 || exit 2

cat > file.test.js << 'END'
const { after, test } = require('node:test');

test('adds', () => {});
after(() => { throw new Error('not closed'); });
END
cat > group.test.js << 'END'
const { after, describe, it } = require('node:test');

describe('sums', () => {
    it('adds', () => {});
    after(() => { throw new Error('not closed'); });
});
END

for name in file group; do
    status=0
    node_modules/node/bin/node --test --test-reporter=junit "$name.test.js" > "$name.xml" || status=$?
    echo "$name: exit status $status"
    grep -v '^ *at ' "$name.xml" | sed 's/ hostname="[^"]*"//'
    [ "$status" -ne 0 ] || { echo "no longer seen"; exit 1; }
done
if grep -q '<undefined name="root">' file.xml && ! grep -q '<testsuite ' file.xml \
    && grep -q '<testcase' group.xml && ! grep -Eq '<(failure|error)|(failures|errors)="[1-9]' group.xml; then
    echo "seen: one hook below <undefined>, the other not in the report"
else
    echo "no longer seen"
    exit 1
fi
