//! Paths whose changes are irrelevant: git's own, temporary files, and files that orch derives.

use orch_base::RepoPath;

/// Whether a change at `path` is irrelevant to all tasks.
pub(super) fn is_noise(path: &RepoPath) -> bool {
    path.as_str().split('/').any(is_foreign) || is_passing(path.name())
}

/// Git's directory, and temporary files and directories of programs that write atomically, orch included.
fn is_foreign(part: &str) -> bool {
    part == ".git" || part == ".orch" || part.starts_with(".tmp") || part.starts_with(".orch-tmp")
}

/// Temporary files of editors, and `suggestion.json`, which orch derives and rewrites.
fn is_passing(name: &str) -> bool {
    let vim = [".swp", ".swo", ".swx"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
        || name == "4913";
    let emacs = name.starts_with(".#") || (name.starts_with('#') && name.ends_with('#'));
    vim || emacs || name.ends_with('~') || name == "suggestion.json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_distinguished_from_work() {
        for (path, expected) in [
            (".git", true),
            (".git/index.lock", true),
            ("sub/.git/HEAD", true),
            (".gitignore", false),
            ("tasks/t/plan.json~", true),
            ("tasks/t/.plan.json.swp", true),
            ("tasks/t/4913", true),
            ("tasks/4913/plan.json", false),
            ("tasks/t/.#plan.json", true),
            ("tasks/t/#plan.json#", true),
            ("tasks/t/.tmpAbC", true),
            ("tasks/.tmpAbC/plan.json", true),
            ("tasks/t/.orch-tmp-state.json", true),
            ("tasks/t/suggestion.json", true),
            ("tasks/t/.orch/run.json", true),
            ("tasks/t/state.json", false),
            ("tasks/t/#1.md", false),
            ("tasks/t", false),
            ("", false),
        ] {
            assert_eq!(
                is_noise(&RepoPath::new(path).expect("valid")),
                expected,
                "{path}"
            );
        }
    }
}
