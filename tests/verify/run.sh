#!/usr/bin/env bash
# Real projects, each verified by its real runner: a commit that passes, one that fails, and one that does not even compile
# beside the report of the run before. Prints how long the command takes in the work tree, and verified, warm.
#
#   tests/verify/run.sh [PROJECT...]
#
# Without names: all. A project whose tools are not here, or cannot be downloaded, is skipped, and that is said.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
orch=${ORCH:-$root/target/debug/orch}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export XDG_CACHE_HOME=$place/cache XDG_STATE_HOME=$place/state ORCH_TRUST_ONCE=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
failures=0

fail() { echo "FAILED $project: $1"; failures=$((failures + 1)); }
has() { command -v "$1" >/dev/null 2>&1; }

# The table of a project, from standard input, and its first commit.
begin() {
    git init -q -b main .
    "$orch" init >"$place/init.log" 2>&1
    cat >>orch.toml
    git add -A
    git commit -qm "$project"
}

now() { date +%s%N; }

# verified EXIT TEXT: what `orch verify` says of HEAD.
verified() {
    local code=0
    "$orch" verify >"$place/said" 2>"$place/told" || code=$?
    if [ "$code" != "$1" ] || ! grep -qF -- "$2" "$place/said"; then
        fail "exit $code, expected $1 and: $2"
        cat "$place/said" "$place/told"
    fi
}

# play FILE BAD WORSE TEXT COMMAND...: the test file with a failing test, and one that does not compile.
play() {
    local file=$1 bad=$2 worse=$3 told=$4
    shift 4
    verified 0 passed
    printf '%s\n' "$bad" >"$file"
    git commit -qam "a failing test"
    verified 1 "$told"
    printf '%s\n' "$worse" >"$file"
    git commit -qam "nothing runs"
    verified 1 failed
    git checkout -q HEAD~2 -- "$file"
    git commit -qam "as before"
    local own=0 ours=0 begun
    "$@" >"$place/own" 2>&1 || fail "the command fails in the work tree"
    for _ in 1 2 3; do
        begun=$(now); "$@" >"$place/own" 2>&1; own=$((own + $(now) - begun))
        begun=$(now); verified 0 passed; ours=$((ours + $(now) - begun))
    done
    echo "$project: in place $((own / 3000000)) ms, verified $((ours / 3000000)) ms, ratio $((ours * 100 / own)) %"
}

rust() {
    mkdir -p src
    printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
    cat >src/lib.rs <<'X'
#[test]
fn adds() {
    assert_eq!(1 + 1, 2);
}
X
    printf 'target\n' >.gitignore
    cargo generate-lockfile --offline -q
}

cargo_project() {
    has cargo || return 9
    rust
    begin <<'X'
[verify.tests]
command = ["cargo", "test", "--workspace", "--locked"]
keep = ["/target"]
X
    play src/lib.rs '#[test]
fn adds() { assert_eq!(1 + 1, 3); }' 'fn adds( {' 'exit code 101' cargo test -q --workspace --locked
}

nextest() {
    has cargo-nextest || return 9
    rust
    mkdir -p .config
    printf '[profile.ci.junit]\npath = "junit.xml"\n' >.config/nextest.toml
    begin <<'X'
[verify.tests]
command = ["cargo", "nextest", "run", "--workspace", "--profile", "ci", "--locked"]
report = ["target/nextest/ci/junit.xml"]
keep = ["/target"]
protect = ["tests/**", ".config/nextest.toml"]
X
    play src/lib.rs '#[test]
fn adds() { assert_eq!(1 + 1, 3); }' 'fn adds( {' 'adds' cargo nextest run --workspace --profile ci --locked
}

# A project of npm with these packages.
npm_project() {
    has npm || return 9
    printf '{"name":"p","version":"1.0.0","private":true}\n' >package.json
    printf 'node_modules\njunit.xml\n' >.gitignore
    timeout 300 npm install --save-dev --no-audit --no-fund --loglevel=error "$@" >"$place/npm.log" 2>&1 || return 9
}

jest() {
    npm_project jest@30.2.0 jest-junit@16.0.0 || return 9
    printf "test('adds', () => { expect(1 + 1).toBe(2); });\n" >sum.test.js
    begin <<'X'
[verify.tests]
setup = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
setup_key = ["package-lock.json", "package.json"]
command = ["npx", "--no-install", "jest", "--ci", "--reporters=default", "--reporters=jest-junit"]
report = ["junit.xml"]
keep = ["/node_modules"]
protect = ["**/*.test.*", "jest.config.*"]
X
    play sum.test.js "test('adds', () => { expect(1 + 1).toBe(3); });" 'test(' adds \
        npx --no-install jest --ci --reporters=default --reporters=jest-junit
}

vitest() {
    npm_project vitest@4.0.14 || return 9
    printf "import { test, expect } from 'vitest';\ntest('adds', () => { expect(1 + 1).toBe(2); });\n" >sum.test.js
    begin <<'X'
[verify.tests]
setup = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
setup_key = ["package-lock.json", "package.json"]
command = ["npx", "--no-install", "vitest", "run", "--reporter=default", "--reporter=junit", "--outputFile.junit=junit.xml"]
report = ["junit.xml"]
keep = ["/node_modules"]
protect = ["**/*.test.*", "vitest.config.*"]
X
    play sum.test.js "import { test, expect } from 'vitest';
test('adds', () => { expect(1 + 1).toBe(3); });" 'test(' adds \
        npx --no-install vitest run --reporter=default --reporter=junit --outputFile.junit=junit.xml
}

node_test() {
    has node || return 9
    printf "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(1 + 1, 2));\n" >sum.test.js
    printf 'junit.xml\n' >.gitignore
    begin <<'X'
[verify.tests]
command = ["node", "--test", "--test-reporter=junit", "--test-reporter-destination=junit.xml"]
report = ["junit.xml"]
protect = ["**/*.test.*"]
X
    play sum.test.js "const test = require('node:test');
const assert = require('node:assert');
test('adds', () => assert.equal(1 + 1, 3));" 'test(' adds \
        node --test --test-reporter=junit --test-reporter-destination=junit.xml
}

pytest() {
    has python3 || return 9
    printf '.venv\njunit.xml\n__pycache__\n.pytest_cache\n' >.gitignore
    printf 'pytest==9.0.1\n' >requirements.txt
    python3 -m venv .venv && timeout 300 .venv/bin/pip install -q -r requirements.txt >"$place/pip.log" 2>&1 || return 9
    printf 'def test_adds():\n    assert 1 + 1 == 2\n' >test_sum.py
    begin <<'X'
[verify.tests]
setup = ["sh", "-c", "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt"]
setup_key = ["requirements.txt"]
command = [".venv/bin/python", "-m", "pytest", "--junitxml=junit.xml"]
report = ["junit.xml"]
keep = ["/.venv"]
protect = ["test_*.py", "**/conftest.py"]
X
    play test_sum.py 'def test_adds():
    assert 1 + 1 == 3' 'def test_adds(' test_adds .venv/bin/python -m pytest --junitxml=junit.xml
}

cmake_project() {
    has cmake && has ctest || return 9
    printf 'cmake_minimum_required(VERSION 3.21)\nproject(p C)\nenable_testing()\nadd_executable(sum sum.c)\nadd_test(NAME adds COMMAND sum)\n' >CMakeLists.txt
    printf 'int main(void) { return 1 + 1 - 2; }\n' >sum.c
    printf 'build\n' >.gitignore
    begin <<'X'
[verify.tests]
commands = [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["ctest", "--test-dir", "build", "--output-junit", "junit.xml"]]
report = ["build/junit.xml"]
keep = ["/build"]
X
    play sum.c 'int main(void) { return 1 + 1; }' 'int main(' adds \
        sh -c 'cmake -S . -B build && cmake --build build && ctest --test-dir build --output-junit junit.xml'
}

go_project() {
    has go || return 9
    printf 'module example.org/p\n\ngo 1.19\n' >go.mod
    printf 'package p\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tif 1+1 != 2 {\n\t\tt.Fatal("no")\n\t}\n}\n' >sum_test.go
    begin <<'X'
[verify.tests]
command = ["go", "test", "-count=1", "./..."]
protect = ["**/*_test.go", "**/testdata/**"]
X
    play sum_test.go 'package p

import "testing"

func TestAdds(t *testing.T) { t.Fatal("no") }' 'package p

func TestAdds(' 'exit code 1' go test -count=1 ./...
}

maven() {
    has mvn || return 9
    mkdir -p src/test/java
    cat >pom.xml <<'X'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>p</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies><dependency>
    <groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope>
  </dependency></dependencies>
</project>
X
    printf 'target\n' >.gitignore
    local first='import static org.junit.Assert.assertEquals; public class SumTest { @org.junit.Test public void adds() { assertEquals(2, 1 + 1); } }'
    printf '%s\n' "$first" >src/test/java/SumTest.java
    timeout 300 mvn -B -ntp -q test >"$place/mvn.log" 2>&1 || return 9
    begin <<'X'
[verify.tests]
command = ["mvn", "-B", "-ntp", "test"]
report = ["**/target/surefire-reports/TEST-*.xml"]
protect = ["src/test/**"]
X
    play src/test/java/SumTest.java "${first/(2, 1/(3, 1}" 'public class SumTest {' adds mvn -B -ntp test
}

make_project() {
    has make || return 9
    printf 'test:\n\tsh check.sh\n' >Makefile
    printf 'exit 0\n' >check.sh
    begin <<'X'
[verify.tests]
command = ["make", "test"]
X
    play check.sh 'exit 1' 'if' 'exit code 2' make test
}

all="cargo_project nextest jest vitest node_test pytest cmake_project go_project maven make_project"
for project in ${*:-$all}; do
    mkdir -p "$place/$project"
    cd "$place/$project"
    code=0
    "$project" || code=$?
    if [ "$code" = 9 ]; then
        echo "$project: skipped: its tools are not here, or cannot be downloaded"
    elif [ "$code" != 0 ]; then
        fail "the script ended with $code"
    fi
done
[ "$failures" = 0 ]
