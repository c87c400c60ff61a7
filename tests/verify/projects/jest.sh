# jest with jest-junit: a file of the code, and two of tests.

make_project() {
    npm_project jest@30.2.0 jest-junit@16.0.0 || return
    printf 'exports.sum = (a, b) => a + b;\n' >sum.js
    printf "const { sum } = require('./sum.js');\ntest('adds', () => { expect(sum(1, 1)).toBe(2); });\n" >sum.test.js
    printf "test('holds', () => { expect(1).toBe(1); });\n" >other.test.js
    in_place=(npx --no-install jest --ci --reporters=default --reporters=jest-junit)
    begin <<'X'
[verify.tests]
setup = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
setup_key = ["package-lock.json"]
command = ["npx", "--no-install", "jest", "--ci", "--reporters=default", "--reporters=jest-junit"]
report = ["junit.xml"]
keep = ["/node_modules"]
protect = ["**/*.test.*", "jest.config.*"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(node_modules) changed=sum.js comment='//' setup=(npm ci --prefer-offline --no-audit --no-fund)

# Tests that take a second.
heavier() {
    printf "for (let n = 0; n < 50; n++) test('waits ' + n, () => new Promise(end => setTimeout(end, 20)));\n" >many.test.js
}

cases() {
    says 'a file does not load' 'failed: exit' <<<'echo "test(" >sum.test.js'
    says 'all files are gone' 'failed: exit no-tests' <<<'rm *.test.js'
    says 'no test is found, and that is allowed' 'failed: no-*' <<'X'
printf 'module.exports = { testMatch: ["**/none.js"], passWithNoTests: true };\n' >jest.config.js
X
    says 'too little is covered' 'failed: exit' <<'X'
printf 'module.exports = { collectCoverage: true, coverageReporters: [], coverageThreshold: { global: { functions: 100 } } };\n' >jest.config.js
echo 'exports.more = () => { return 1; };' >>sum.js
X
    says 'the teardown of the run fails' 'failed: exit*' <<'X'
printf 'module.exports = { globalTeardown: "./down.js" };\n' >jest.config.js
printf 'module.exports = () => { throw new Error("down"); };\n' >down.js
X
    says 'a hook fails after the tests' 'failed: exit*' <<<"echo 'afterAll(() => { throw new Error(\"after\"); });' >>sum.test.js"
    says 'a test ends the process well' 'failed: *' <<<"echo 'test(\"ends\", () => { process.exit(0); });' >>sum.test.js"
    says 'a snapshot is missing' 'failed: exit failures' <<<"echo 'test(\"shows\", () => { expect(1).toMatchSnapshot(); });' >>sum.test.js"
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' adds "$(ends_well)" <<'X'
sed -i 's/a + b/a - b/' sum.js
X
    says_of_task 'a test is to do' 'passed, lost  adds; base passed' <<<"echo 'test.todo(\"adds\");' >sum.test.js"
    says_of_task 'a test is skipped' 'passed, lost  adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i 's/^test(/test.skip(/' sum.test.js
X
    says_of_task 'a new configuration hides a test that fails' 'passed, lost  adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
printf 'module.exports = { testPathIgnorePatterns: ["sum"] };\n' >jest.config.js
X
}
