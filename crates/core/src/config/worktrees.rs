//! `[worktrees]`: where tasks are worked on side by side, each in a work tree of its own.

use super::TaskBranch;
use super::keys::WORKTREES;
use super::reader::{SettingsReader, choice, invalid};
use super::verify::words_of;
use crate::{TomlTable, TomlValue};
use orch_base::{TaskId, words};
use std::fmt;

/// The table `[worktrees]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkTreesConfig {
    /// Where the work tree of a task is.
    pub path: WorkTreePath,
    /// The branch on which a task is worked on.
    pub branch: TaskBranch,
    /// What the work tree of a task is.
    pub kind: WorkTreeKind,
    /// The commands that prepare a new work tree, in order.
    pub setup: Vec<Vec<String>>,
    /// What becomes of the branch of a task that is done.
    pub merge: BranchMerge,
}

words! {
    /// What the work tree of a task is.
    #[derive(Default)]
    pub enum WorkTreeKind {
        /// `"worktree"`: a linked work tree.
        #[default]
        WorkTree = "worktree",
        /// `"clone"`: a repository of its own, where tests touch git.
        Clone = "clone",
    }
}

words! {
    /// What becomes of the branch of a task that is done.
    #[derive(Default)]
    pub enum BranchMerge {
        /// `"none"`: nothing.
        #[default]
        None = "none",
        /// `"merge"`: it is merged into the base branch, by a merge commit.
        Merge = "merge",
        /// `"rebase"`: its commits are put on top of the base branch.
        Rebase = "rebase",
        /// `"pr"`: it is pushed, for a pull request.
        Pr = "pr",
    }
}

/// A path with the id of a task in it, for example `../{repo}.orch/{task}`; relative to the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTreePath(String);

/// What stands for the name of the repository in a path.
const REPO: &str = "{repo}";
/// What stands for the id of the task.
const TASK: &str = "{task}";

impl WorkTreePath {
    /// Parses a path. Returns an error unless it contains `{task}` exactly once, and no other placeholder but `{repo}`.
    pub fn new(text: &str) -> Result<Self, String> {
        let rest = text.replace(REPO, "").replacen(TASK, "", 1);
        let is_once = text.contains(TASK) && !rest.contains(TASK);
        if !is_once || rest.contains(['{', '}']) || text.contains('\0') {
            return Err(format!(
                "the path must contain {TASK} exactly once, and no other placeholder but {REPO}"
            ));
        }
        if text.starts_with('~') {
            return Err("no shell reads the path, so `~` is a name".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The path for a task of a repository with this name. The parts of an id are joined by `+`, so that no work tree lies
    /// in another.
    #[must_use]
    pub fn of(&self, repository: &str, task: &TaskId) -> String {
        self.0
            .replace(REPO, repository)
            .replace(TASK, &task.as_str().replace('/', "+"))
    }
}

impl Default for WorkTreePath {
    fn default() -> Self {
        Self(format!("../{REPO}.orch/{TASK}"))
    }
}

impl fmt::Display for WorkTreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses `[worktrees]`.
pub(super) fn work_trees(
    reader: &mut SettingsReader<'_>,
    mut table: TomlTable<'_, '_>,
) -> WorkTreesConfig {
    let path = parsed(reader, &mut table, "path", WorkTreePath::new);
    let branch = parsed(reader, &mut table, "branch", |text| {
        TaskBranch::new(text).map_err(|why| why.to_string())
    });
    let kind = parsed(reader, &mut table, "kind", |text| {
        choice(
            text,
            WorkTreeKind::named,
            &WorkTreeKind::ALL.map(WorkTreeKind::as_str),
        )
    });
    let merge = parsed(reader, &mut table, "merge", |text| {
        choice(
            text,
            BranchMerge::named,
            &BranchMerge::ALL.map(BranchMerge::as_str),
        )
    });
    let setup = match table.take("setup") {
        Some(value) => setup(reader, value),
        None => Vec::new(),
    };
    reader.finish(table);
    WorkTreesConfig {
        path: path.unwrap_or_default(),
        branch: branch.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        setup,
        merge: merge.unwrap_or_default(),
    }
}

/// The text at a key, parsed. Other tables have keys of the same names, so the example is that of this table.
fn parsed<T>(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let text = reader.text(key, table.take(key)?)?;
    reader.parsed(text, parse, || format!("for example `{}`", example_of(key)))
}

fn example_of(key: &str) -> &'static str {
    let found = WORKTREES.keys.iter().find(|(name, _)| *name == key);
    found.map_or("", |(_, example)| example)
}

/// A list of commands; one without a program is reported and left out.
fn setup(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Vec<Vec<String>> {
    let Some(lists) = value.get_ref().as_array() else {
        let hint = format!("write for example `{}`", example_of("setup"));
        reader.report(value.span(), invalid("expected a list of commands", hint));
        return Vec::new();
    };
    let commands = lists
        .iter()
        .map(|command| words_of(reader, "setup", command));
    commands.filter(|command| !command.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Config, FILE, parse};
    use super::*;

    #[test]
    fn a_path_names_a_place_for_each_task() {
        for (text, task, expected) in [
            ("../{repo}.orch/{task}", "t-1", Some("../shop.orch/t-1")),
            (
                "../{repo}.orch/{task}",
                "team/t",
                Some("../shop.orch/team+t"),
            ),
            ("/trees/{task}", "t", Some("/trees/t")),
            ("../{repo}", "t", None),
            ("{task}/{task}", "t", None),
            ("../{who}/{task}", "t", None),
            ("~/{task}", "t", None),
        ] {
            let task = TaskId::new(task).expect("valid");
            let path = WorkTreePath::new(text).map(|path| path.of("shop", &task));
            assert_eq!(path.ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn settings_are_read_and_faults_found() {
        let text = "[worktrees]\npath = '../w/{task}'\nbranch = 'w/{task}'\nkind = 'clone'\nsetup = [['npm', 'ci'], ['make']]\nmerge = 'rebase'\n";
        let (config, findings) = parse(text, FILE);
        assert_eq!(findings, []);
        let found = config.worktrees;
        assert_eq!(
            (
                found.path.to_string(),
                found.branch.to_string(),
                found.kind,
                found.merge
            ),
            (
                "../w/{task}".to_owned(),
                "w/{task}".to_owned(),
                WorkTreeKind::Clone,
                BranchMerge::Rebase
            )
        );
        assert_eq!(found.setup, [vec!["npm", "ci"], vec!["make"]]);
        for (line, expected) in [
            ("path = 'x'", "the path must contain {task} exactly once"),
            ("kind = 'copy'", "\"copy\" is unknown"),
            ("merge = 'squash'", "\"squash\" is unknown"),
            ("setup = ['npm']", "expected a list of strings"),
            ("setup = 'npm ci'", "expected a list of commands"),
            ("setup = [[]]", "`setup` names no program"),
            ("most = 1", "unknown key `most`"),
        ] {
            let (config, findings) = parse(&format!("[worktrees]\n{line}\n"), FILE);
            assert_eq!(config.worktrees, Config::default().worktrees, "{line}");
            let said = findings.first().map(|finding| finding.message.as_str());
            assert!(
                said.is_some_and(|said| said.contains(expected)),
                "{line}: {findings:?}"
            );
        }
    }
}
