//! What the environment says to git, read once where the program begins.

use std::path::PathBuf;

/// The variables that say which repository is meant, and with which settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `GIT_DIR`: where the repository is.
    pub git_dir: Option<PathBuf>,
    /// `GIT_WORK_TREE`: where its work tree is.
    pub work_tree: Option<PathBuf>,
    /// `GIT_INDEX_FILE`: the index that a hook is asked about.
    pub index_file: Option<PathBuf>,
    /// Whether settings are given, as `git -c` does.
    pub has_settings: bool,
}

impl Environment {
    /// Reads it from environment variables, given by a function.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            git_dir: given("GIT_DIR").map(PathBuf::from),
            work_tree: given("GIT_WORK_TREE").map(PathBuf::from),
            index_file: given("GIT_INDEX_FILE").map(PathBuf::from),
            has_settings: given("GIT_CONFIG_COUNT").or_else(|| given("GIT_CONFIG_PARAMETERS")).is_some(),
        }
    }
}
