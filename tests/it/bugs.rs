//! The deliberate bugs of `tests/bugs` still apply, so that `make bugs` can show that tests catch them.

use crate::harness::project;
use std::fs;
use std::process::Command;

#[test]
#[expect(clippy::disallowed_methods, reason = "git itself is the judge")]
fn each_deliberate_bug_applies_and_names_its_tests() {
    let root = project();
    let mut found = 0;
    for entry in fs::read_dir(root.join("tests/bugs"))
        .expect("bugs")
        .flatten()
    {
        let path = entry.path();
        if path
            .extension()
            .is_none_or(|extension| extension != "patch")
        {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a patch");
        let mut lines = text.lines();
        let is_told = |line: Option<&str>, key: &str| {
            line.is_some_and(|line| line.len() > key.len() && line.starts_with(key))
        };
        assert!(is_told(lines.next(), "Bug: "), "{}", path.display());
        let tests = lines.next();
        assert!(
            is_told(tests, "Tests: it ") || is_told(tests, "Tests: git "),
            "{}",
            path.display()
        );
        let mut git = Command::new("git");
        git.arg("apply").arg("--check").arg(&path).current_dir(root);
        let ended = git.output().expect("git runs");
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        found += 1;
    }
    assert!(found >= 10, "{found} bugs");
}
