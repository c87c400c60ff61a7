# vitest: a file of the code, and two of tests.

make_project() {
    npm_project vitest@4.0.14 || return
    printf 'export const sum = (a, b) => a + b;\n' >sum.js
    printf "import { test, expect } from 'vitest';\nimport { sum } from './sum.js';\ntest('adds', () => { expect(sum(1, 1)).toBe(2); });\n" >sum.test.js
    printf "import { test, expect } from 'vitest';\ntest('holds', () => { expect(1).toBe(1); });\n" >other.test.js
    in_place=(npx --no-install vitest run --reporter=default --reporter=junit --outputFile.junit=junit.xml)
    begin <<'X'
[verify.tests]
setup = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
setup_key = ["package-lock.json"]
command = ["npx", "--no-install", "vitest", "run", "--reporter=default", "--reporter=junit", "--outputFile.junit=junit.xml"]
report = ["junit.xml"]
keep = ["/node_modules"]
protect = ["**/*.test.*", "vitest.config.*"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(node_modules) changed=sum.js comment='//' setup=(npm ci --prefer-offline --no-audit --no-fund)

# Tests that take a second.
heavier() {
    printf "import { test } from 'vitest';\nfor (let n = 0; n < 50; n++) test('waits ' + n, () => new Promise(end => setTimeout(end, 20)));\n" >many.test.js
}

cases() {
    says 'a file does not load' 'failed: exit*' <<<'echo "test(" >sum.test.js'
    says 'no test is found, and that is allowed' 'failed: no-*' <<'X'
printf 'export default { test: { include: ["none.js"], passWithNoTests: true } };\n' >vitest.config.mjs
X
    says 'an error is thrown after the tests' 'failed: exit' <<'X'
echo 'test("waits", async () => { setTimeout(() => { throw new Error("late"); }, 1); await new Promise(end => setTimeout(end, 50)); });' >>other.test.js
X
    says 'a promise is rejected, and nobody awaits it' 'failed: exit' <<'X'
echo 'test("rejects", async () => { Promise.reject(new Error("late")); await new Promise(end => setTimeout(end, 50)); });' >>other.test.js
X
    says 'a worker is killed' 'failed: *' <<<"echo 'test(\"ends\", () => { process.kill(process.pid, \"SIGKILL\"); });' >>other.test.js"
    says 'a test ends the process well' 'failed: *' <<<"echo 'test(\"ends\", () => { process.exit(0); });' >>other.test.js"
    says 'the teardown of the run fails' 'failed: exit*' <<'X'
printf 'export default { test: { globalSetup: "./set.js" } };\n' >vitest.config.mjs
printf 'export const teardown = () => { throw new Error("down"); };\n' >set.js
X
    says 'a hook fails after the tests' 'failed: exit*' <<<"printf 'import { afterAll } from \"vitest\";\nafterAll(() => { throw new Error(\"after\"); });' >>sum.test.js"
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' adds "$(ends_well)" <<'X'
sed -i 's/a + b/a - b/' sum.js
X
    says_of_task 'a test is skipped' 'passed, lost sum.test.js.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i 's/^test(/test.skip(/' sum.test.js
X
    says_of_task 'a test is expected to fail' 'passed; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
sed -i 's/^test(/test.fails(/' sum.test.js
X
    says_of_task 'a new configuration hides a test that fails' 'passed, lost sum.test.js.adds; base failed: exit failures' <<'X'
sed -i 's/a + b/a - b/' sum.js
printf 'export default { test: { exclude: ["sum.test.js", "node_modules"] } };\n' >vitest.config.mjs
X
}
