# Cargo alone: there is no report, so that the exit code is all that tells.

make_project() {
    has cargo || return $no_tools
    mkdir -p src tests more/src
    printf '[workspace]\nmembers = ["more"]\n\n[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
    printf '/// Adds.\n///\n/// ```\n/// assert_eq!(p::sum(1, 1), 2);\n/// ```\npub fn sum(a: i32, b: i32) -> i32 {\n    a + b\n}\n' >src/lib.rs
    printf '#[test]\nfn adds_from_outside() {\n    assert_eq!(p::sum(2, 2), 4);\n}\n' >tests/outside.rs
    printf '[package]\nname = "more"\nversion = "0.1.0"\nedition = "2021"\n' >more/Cargo.toml
    printf '#[test]\nfn holds() {\n    assert_eq!(1 + 1, 2);\n}\n' >more/src/lib.rs
    printf 'target\n' >.gitignore
    cargo generate-lockfile --offline -q
    in_place=(cargo test --workspace --locked)
    begin <<'X'
[verify.tests]
command = ["cargo", "test", "--workspace", "--locked"]
keep = ["/target"]
protect = ["tests/**"]
X
}

# What figures.sh wants: the directories that go where it has to be cold, a file to change, and its comments.
kept=(target) changed=src/lib.rs comment='//'

# A member with so much in it that it takes seconds to build, and one to run.
heavier() {
    local number
    printf '#[test]\nfn waits() {\n    std::thread::sleep(std::time::Duration::from_secs(1));\n}\n' >>more/src/lib.rs
    for ((number = 0; number < 100; number++)); do
        printf '#[test]\nfn t%d() {\n    let all: std::collections::BTreeMap<String, [u8; %d]> = (0..9).map(|n| (n.to_string(), [1; %d])).collect();\n    assert_eq!(format!("{all:?}").len(), format!("{all:?}").len());\n}\n' $number $number $number
    done >>more/src/lib.rs
}

cases() {
    says 'it does not compile beside the build of the last run' 'failed: exit' 'exit code 101' <<<'echo "fn (" >>src/lib.rs'
    says 'an example in the documentation fails' 'failed: exit' <<<'sed -i "s/, 2)/, 3)/" src/lib.rs'
    says 'a test of another member fails' 'failed: exit' <<<'sed -i "s/, 2)/, 3)/" more/src/lib.rs'
    says 'a test ends the process' 'failed: exit' <<'X'
printf '#[test]\nfn ends() {\n    std::process::exit(3);\n}\n' >>tests/outside.rs
X
    says 'a test is killed' 'failed: exit' <<'X'
printf '#[test]\nfn aborts() {\n    std::process::abort();\n}\n' >>tests/outside.rs
X
    says 'the lock file does not fit' 'failed: exit' <<<'sed -i "s/0.1.0/0.2.0/" more/Cargo.toml'
    says_with 'a test fails, and the environment hides it' 'failed: exit' '' \
        "CARGO_TARGET_DIR=$place/user-target" 'RUSTFLAGS=--cfg hidden' \
        "CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER=true" <<'X'
sed -i 's/, 4)/, 5)/' tests/outside.rs
X
    says_of_task 'a test follows the code that is wrong' 'passed; base failed: exit' <<'X'
sed -i 's/a + b/a + b + i32::from(a == 2)/' src/lib.rs
sed -i 's/, 4)/, 5)/' tests/outside.rs
X
    # Names would tell, but there is no report that has any.
    says_of_task 'a test is ignored' 'passed; base passed' 'only the exit code tells' <<<'sed -i "1s/^/#[ignore]\n/" tests/outside.rs'
}
