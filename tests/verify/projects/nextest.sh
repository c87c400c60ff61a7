# Cargo with nextest: a library with two unit tests, and a test beside it.

make_project() {
    has cargo && has cargo-nextest || return $no_tools
    mkdir -p src tests .config
    printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
    printf 'pub fn sum(a: i32, b: i32) -> i32 {\n    a + b\n}\n
#[test]\nfn adds() {\n    assert_eq!(sum(1, 1), 2);\n}\n
#[test]\nfn adds_zero() {\n    assert_eq!(sum(1, 0), 1);\n}\n' >src/lib.rs
    printf '#[test]\nfn adds_from_outside() {\n    assert_eq!(p::sum(2, 2), 4);\n}\n' >tests/outside.rs
    printf '[profile.ci.junit]\npath = "junit.xml"\n' >.config/nextest.toml
    printf 'target\n' >.gitignore
    cargo generate-lockfile --offline -q
    in_place=(cargo nextest run --workspace --profile ci --locked --no-fail-fast)
    begin <<'X'
[verify.tests]
command = ["cargo", "nextest", "run", "--workspace", "--profile", "ci", "--locked", "--no-fail-fast"]
report = ["target/nextest/ci/junit.xml"]
keep = ["/target"]
protect = ["tests/**", ".config/nextest.toml"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(target) changed=src/lib.rs comment='//'

# So many tests that building and running them takes seconds.
heavier() {
    local number
    for ((number = 0; number < 100; number++)); do
        printf '#[test]\nfn t%d() {\n    let all: std::collections::BTreeMap<String, [u8; %d]> = (0..9).map(|n| (n.to_string(), [1; %d])).collect();\n    assert_eq!(format!("{all:?}").len(), format!("{all:?}").len());\n}\n' $number $number $number
    done >tests/many.rs
}

cases() {
    says 'it does not compile, beside the report of the last run' 'failed: exit no-report' 'exit code 101' <<<'echo "fn (" >>src/lib.rs'
    says 'the profile writes no report' 'failed: no-report' <<<'echo "[profile.ci]" >.config/nextest.toml'
    says 'there are no tests' 'failed: exit no-*' <<'X'
rm -r tests
printf '[lib]\ntest = false\n' >>Cargo.toml
X
    says 'git tracks the report' 'could-not-run: table' <<'X'
mkdir -p target/nextest/ci
echo '<testsuite name="s" tests="1"><testcase name="adds"/></testsuite>' >target/nextest/ci/junit.xml
git add -f target/nextest/ci/junit.xml
X
    git rm -qrf --cached target
    says 'a test changes the code' 'failed: changed' <<'X'
sed -i 's/assert_eq!(p.*/std::fs::write("src\/lib.rs", "").unwrap();/' tests/outside.rs
X
    says_with 'a test fails, and the environment hides it' 'failed: exit failures' '"name":"p.adds"' \
        "CARGO_TARGET_DIR=$place/user-target" 'RUSTFLAGS=--cfg hidden' \
        "CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER=true" <<'X'
sed -i '0,/, 2)/s//, 3)/' src/lib.rs
X
    says_of_task 'a test is ignored' 'passed, lost p.adds; base passed, lost p.adds' <<'X'
sed -i '0,/#\[test\]/s//#[test]\n#[ignore]/' src/lib.rs
X
    says_of_task 'a filter hides a test that fails' 'passed, lost p.adds; base failed: exit failures' <<'X'
sed -i '0,/, 2)/s//, 3)/' src/lib.rs
printf '\n[profile.ci]\ndefault-filter = "not test(/adds$/)"\n' >>.config/nextest.toml
X
    says_of_task 'a test follows the code that is wrong' 'passed; base failed: exit failures' '"name":"p::outside.adds_from_outside"' <<'X'
sed -i 's/a + b/a + b + i32::from(a == 2)/' src/lib.rs
sed -i 's/, 4)/, 5)/' tests/outside.rs
X
    says_of_task 'the library has no tests any more' 'passed, lost p.adds p.adds_zero; base passed, lost p.adds p.adds_zero' <<'X'
printf '[lib]\ntest = false\n' >>Cargo.toml
X
}
