# The test runner of node: a file of the code, and two of tests.

make_project() {
    has node || return $no_tools
    printf 'exports.sum = (a, b) => a + b;\n' >sum.js
    printf "const test = require('node:test');\nconst assert = require('node:assert');\nconst { sum } = require('./sum.js');\ntest('adds', () => assert.equal(sum(1, 1), 2));\n" >sum.test.js
    printf "const test = require('node:test');\ntest('holds', () => {});\n" >other.test.js
    printf 'junit.xml\n' >.gitignore
    in_place=(node --test --test-reporter=junit --test-reporter-destination=junit.xml)
    begin <<'X'
[verify.tests]
command = ["node", "--test", "--test-reporter=junit", "--test-reporter-destination=junit.xml"]
report = ["junit.xml"]
protect = ["**/*.test.*"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(none) changed=sum.js comment='//'

# Tests that take two seconds.
heavier() {
    printf "const test = require('node:test');\nfor (let n = 0; n < 100; n++) test('waits ' + n, () => new Promise(end => setTimeout(end, 20)));\n" >many.test.js
}

cases() {
    says 'a file does not load' 'failed: exit*' <<<'echo "test(" >sum.test.js'
    says 'there are no tests' 'failed: *' <<<'rm *.test.js'
    says 'a hook fails after the tests' 'failed: exit*' <<<"echo 'test.after(() => { throw new Error(\"after\"); });' >>sum.test.js"
    says 'a file ends badly after its tests' 'failed: exit*' <<<"echo 'process.on(\"exit\", () => { process.exitCode = 1; });' >>sum.test.js"
    says 'an error is thrown after the tests' 'failed: exit*' <<<"echo 'setTimeout(() => { throw new Error(\"late\"); }, 50);' >>sum.test.js"
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' adds \
        NODE_OPTIONS=--test-only NODE_TEST_CONTEXT=child-v8 <<<"sed -i 's/a + b/a - b/' sum.js"
    says_of_task 'a test is skipped' 'passed, lost test.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i "s/^test('adds'/test.skip('adds'/" sum.test.js
X
    says_of_task 'a test is to do, and fails' 'passed, lost test.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i "s/^test('adds'/test.todo('adds'/" sum.test.js
X
    # Each file counts as a test, so that only names tell.
    says_of_task 'a file ends well before its test' 'passed, lost test.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i '1s/^/process.exit(0);/' sum.test.js
X
}
