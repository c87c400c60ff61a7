//! `orch.toml`: the settings of a repository for its tasks, its commits and its watch.
//!
//! The input is text, the output a [`Config`] and findings; nothing here reads a file. Fields are named after
//! their keys. Without the file, every field has the default that the template shows.

mod executors;
mod fence;
mod keys;
mod leases;
mod loosened;
mod notices;
mod parse;
mod proposals;
mod reader;
mod root_path;
mod roots;
mod subject;
mod task_branch;
mod verify;
mod webhook;
mod worktrees;

pub use executors::{ExecutorConfig, Executors};
pub use fence::{FenceConfig, FenceWish};
pub use leases::{LeaseSettings, LeaseStoreKind, QueueAddress};
pub use loosened::loosened;
pub use notices::{NotifyAction, NotifyConfig};
pub use orch_base::Patterns;
pub use parse::{UnknownWorkflow, parse, unknown_workflows};
pub use proposals::{ProjectFiles, with_verifications};
pub use root_path::{InvalidRoot, RootPath};
pub use roots::{Root, Roots};
pub use subject::{CommitSubject, InvalidSubject, Placeholder};
pub use task_branch::{InvalidTaskBranch, TaskBranch};
pub use webhook::Webhook;
pub use worktrees::{BranchMerge, WorkTreeKind, WorkTreePath, WorkTreesConfig};

use crate::decide::{Inputs, People, Require};
use crate::verification::VerifyTable;
use orch_base::{
    Digest, ObjectFormat, RepoPath, RuleId, TaskId, VerificationName, WorkflowName, words,
};
use std::collections::BTreeMap;

/// The name of the file at the root of the repository.
pub const FILE: &str = "orch.toml";

/// The commented `orch.toml` that `orch init` writes; it parses to [`Config::default`].
#[must_use]
pub fn template() -> &'static str {
    include_str!("template.toml")
}

/// Where the tasks of a workflow live whose own tool says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualPlace {
    /// The name of the workflow.
    pub workflow: &'static str,
    /// The directory that its tool makes.
    pub directory: &'static str,
    /// The path of the root.
    pub path: &'static str,
    exclude: Option<&'static str>,
}

/// The places of all such workflows; the first of each is the usual one.
pub const USUAL_PLACES: [UsualPlace; 4] = [
    UsualPlace {
        workflow: "openspec",
        directory: "openspec",
        path: "openspec/changes/*",
        exclude: Some("openspec/changes/archive"),
    },
    UsualPlace {
        workflow: "spec-kit",
        directory: ".specify",
        path: "specs/*",
        exclude: None,
    },
    UsualPlace {
        workflow: "backlog",
        directory: "backlog",
        path: "backlog/tasks/* - {title}.md",
        exclude: None,
    },
    UsualPlace {
        workflow: "backlog",
        directory: ".backlog",
        path: ".backlog/tasks/* - {title}.md",
        exclude: None,
    },
];

impl UsualPlace {
    /// The lines of a `[[root]]` for it.
    #[must_use]
    pub fn root(&self) -> Vec<String> {
        let mut lines = vec![
            "[[root]]".to_owned(),
            format!("path = \"{}\"", self.path),
            format!("workflow = \"{}\"", self.workflow),
        ];
        if let Some(exclude) = self.exclude {
            lines.push(format!("exclude = [\"{exclude}\"]"));
        }
        lines
    }
}

/// The same text with a root for the tasks of a workflow, in the place where these usually live. `found` are the places
/// of which the repository has the directory.
#[must_use]
pub fn template_for(workflow: &WorkflowName, found: &[UsualPlace]) -> String {
    let usual = found
        .iter()
        .chain(&USUAL_PLACES)
        .find(|place| place.workflow == workflow.as_str());
    let path = usual.map_or("tasks/**", |place| place.path);
    let exclude = match usual.and_then(|place| place.exclude) {
        Some(exclude) => format!("exclude = [\"{exclude}\"]"),
        None => "#exclude = []".to_owned(),
    };
    let own = [
        ("path = \"tasks/**\"", format!("path = \"{path}\"")),
        (
            "workflow = \"global-state-machine\"",
            format!("workflow = \"{workflow}\""),
        ),
        ("#exclude = []", exclude),
    ];
    let text = own.iter().fold(template().to_owned(), |text, (line, own)| {
        text.replacen(line, own, 1)
    });
    let others: Vec<UsualPlace> = found
        .iter()
        .filter(|place| place.path != path)
        .copied()
        .collect();
    with_proposals(&text, &others)
}

/// The text with a root, commented out, for each of these places.
#[must_use]
pub fn with_proposals(text: &str, found: &[UsualPlace]) -> String {
    let mut proposals = String::new();
    for place in found {
        proposals.push_str(&format!(
            "# {}/ is here. To have its tasks in orch too, uncomment:\n",
            place.directory
        ));
        for line in place.root() {
            proposals.push_str(&format!("#{line}\n"));
        }
        proposals.push('\n');
    }
    text.replacen("\n[git]\n", &format!("\n{proposals}[git]\n"), 1)
}

/// The contents of `orch.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `[[root]]`: where tasks live. The default is `tasks/**` with the global state machine.
    pub roots: Roots,
    /// The directory whose `workflows/`, `schemas/` and `agents/` override the files that ship with orch.
    pub system: RepoPath,
    /// How long a task must be quiet before the watch reads it, in milliseconds.
    pub settle_ms: u64,
    /// The largest artifact that is read, in bytes; a larger one is reported as a finding.
    pub limit_bytes: u64,
    /// `[git]`: whether and how transitions are committed.
    pub git: Git,
    /// `[watch]`: what `orch watch` may do on its own.
    pub watch: Watch,
    /// `[people]`: who may order what.
    pub people: People,
    /// `[people.teams]`: the addresses of the members of each team.
    pub teams: BTreeMap<String, Vec<String>>,
    /// `[require]`: what keeps a task where it is, and is only told otherwise.
    pub require: Require,
    /// `[hook]`: what the installed git hooks do when `orch` cannot run the check.
    pub hook: Hook,
    /// `[[acknowledged]]`: forged and unverifiable changes that people know of.
    pub acknowledged: Vec<Acknowledged>,
    /// `[executor.NAME]`: the programs that perform actions and the work of agents.
    pub executors: Executors,
    /// `[fence]`: what programs inside a fence may write besides.
    pub fence: FenceConfig,
    /// `[verify.NAME]`: the commands of the project that `orch` runs on the code that it judges.
    pub verify: BTreeMap<VerificationName, VerifyTable>,
    /// `max` of `[checkouts]`: how many checkouts the verifications of a repository have at most.
    pub most_checkouts: usize,
    /// `[worktrees]`: where tasks are worked on side by side.
    pub worktrees: WorkTreesConfig,
    /// `[leases]`: where it stands who works on which task.
    pub leases: LeaseSettings,
    /// `[[notify]]`: what is started when a person is needed, or a task or run has ended.
    pub notify: Vec<NotifyConfig>,
}

impl Config {
    /// What these settings ask of decisions, in a repository with ids of this format.
    #[must_use]
    pub fn inputs(&self, format: ObjectFormat) -> Inputs {
        let tables = self.verify.iter();
        let verify = tables
            .map(|(name, table)| (name.clone(), table.digest(format)))
            .collect();
        Inputs::new(self.require, &self.teams, verify, format)
    }

    /// What the entries of `[[notify]]` do, each with the name of the entry: `notify.1` is the first of all.
    pub fn notify_actions(&self) -> impl Iterator<Item = (String, &NotifyConfig, &NotifyAction)> {
        let named = self
            .notify
            .iter()
            .zip(1..)
            .map(|(entry, number)| (format!("notify.{number}"), entry));
        named.flat_map(|(name, entry)| {
            entry
                .actions
                .iter()
                .map(move |action| (name.clone(), entry, action))
        })
    }
}

/// An entry of `[[acknowledged]]`: a forged or unverifiable change of a record that people know of, for example one
/// that was reverted. Checks accept it, and the audit shows the reason beside its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The full id of the commit, which the key `forged` names in either case.
    pub commit: Digest,
    /// The id of the task.
    pub task: TaskId,
    /// Why the change is acceptable; not empty.
    pub reason: String,
}

/// The table `[git]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Git {
    /// Whether transitions are committed, and how many in one commit.
    pub commit: Commit,
    /// With `commit = "batch"`, how long no further transition must become due before the watch commits, in
    /// seconds. If it is not 0, a commit may contain steps of several tasks.
    pub batch_seconds: u64,
    /// Globs of branch names on which orch never commits.
    pub protected: Patterns,
    /// The branch that work is merged into; `None` stands for that of the remote, or else the first protected one.
    pub base: Option<String>,
    /// The pattern of branch names that name the task of their commits.
    pub task_branch: TaskBranch,
    /// The template for the first line of commit messages.
    pub subject: CommitSubject,
    /// Whether commit messages end with a `Signed-off-by` trailer.
    pub sign_off: bool,
    /// Whether to commit while HEAD is detached.
    pub detached_head: bool,
}

words! {
    /// Whether transitions are committed.
    pub enum Commit {
        /// `"each"`: one commit per transition.
        Each = "each",
        /// `"batch"`: one commit for all transitions of a task that are due together.
        Batch = "batch",
        /// `"off"`: transitions are written to the work directory only.
        Off = "off",
    }
}

/// The table `[watch]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// Which transitions the watch applies on its own.
    pub apply: Apply,
    /// Which tasks without a `state.json` the watch adopts on its own.
    pub adopt: Adopt,
    /// Whether to poll instead of listening for file system events.
    pub poll: bool,
    /// Whether it runs verifications that are due.
    pub verify: bool,
    /// How often everything is read again even if nothing was reported, in seconds.
    pub reconcile_seconds: u64,
}

/// Which transitions the watch applies on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apply {
    /// `"all"`: every transition that the rules decide.
    All,
    /// `"none"`: the watch only suggests.
    None,
    /// A list of rule ids: the transitions of these rules.
    Rules(Vec<RuleId>),
}

impl Apply {
    /// Whether the watch may apply a transition by `rule`.
    #[must_use]
    pub fn allows(&self, rule: &RuleId) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Rules(rules) => rules.contains(rule),
        }
    }
}

/// Which tasks without a `state.json` the watch adopts on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Adopt {
    /// `true`: all of them.
    All,
    /// `false`: none; `orch new` adopts tasks.
    None,
    /// A list of globs of task ids.
    Tasks(Patterns),
}

impl Adopt {
    /// Whether the watch may adopt `task`.
    #[must_use]
    pub fn covers(&self, task: &TaskId) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Tasks(patterns) => patterns.matches(task.as_str()),
        }
    }
}

/// The table `[hook]`. Installing the hooks copies these settings into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// What a hook does if `orch` is missing. If `orch` crashes or times out, a hook always blocks:
    /// otherwise content could switch the hook off.
    pub on_missing: OnMissing,
    /// How long `orch` may take in a hook, in seconds.
    pub timeout_seconds: u64,
}

words! {
    /// What a hook does if `orch` is missing.
    pub enum OnMissing {
        /// `"pass"`: it prints a line and accepts the commit or push.
        Pass = "pass",
        /// `"block"`: it prints a line and rejects the commit or push.
        Block = "block",
    }
}

/// The workflow of a root that does not name one.
fn default_workflow() -> Option<WorkflowName> {
    WorkflowName::new("global-state-machine").ok()
}

impl Default for Config {
    fn default() -> Self {
        let everywhere = default_workflow().map(|workflow| Root {
            path: RootPath::default(),
            workflow,
            exclude: Patterns::default(),
        });
        Self {
            roots: Roots::new(everywhere.into_iter().collect()),
            system: RepoPath::new("system").unwrap_or_else(|_| RepoPath::root()),
            settle_ms: 50,
            limit_bytes: 8 * 1024 * 1024,
            git: Git::default(),
            watch: Watch::default(),
            people: People::default(),
            teams: BTreeMap::new(),
            require: Require::default(),
            acknowledged: Vec::new(),
            hook: Hook::default(),
            executors: Executors::default(),
            fence: FenceConfig::default(),
            notify: Vec::new(),
            verify: BTreeMap::new(),
            most_checkouts: 8,
            worktrees: WorkTreesConfig::default(),
            leases: LeaseSettings::default(),
        }
    }
}

impl Default for Git {
    fn default() -> Self {
        Self {
            commit: Commit::Batch,
            batch_seconds: 0,
            protected: Patterns::default(),
            base: None,
            task_branch: TaskBranch::default(),
            subject: CommitSubject::default(),
            sign_off: false,
            detached_head: false,
        }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            apply: Apply::All,
            adopt: Adopt::None,
            poll: false,
            verify: false,
            reconcile_seconds: 45,
        }
    }
}

impl Default for Hook {
    fn default() -> Self {
        // By default, someone without orch must not be locked out of a repository that uses it.
        Self {
            on_missing: OnMissing::Pass,
            timeout_seconds: 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The template with every commented-out setting switched on.
    fn everything() -> String {
        let setting = |line: &str| {
            line.strip_prefix('#')
                .filter(|rest| !rest.starts_with(' '))
                .map(str::to_owned)
        };
        let lines = template()
            .lines()
            .map(|line| setting(line).unwrap_or_else(|| line.to_owned()));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_template_has_a_root_where_the_tasks_of_its_workflow_live() {
        let named = |name: &str| WorkflowName::new(name).expect("valid");
        assert_eq!(
            template_for(&named("global-state-machine"), &[]),
            template()
        );
        for (name, task) in [
            ("skill-tuning", "tasks/a"),
            ("openspec", "openspec/changes/a"),
            ("spec-kit", "specs/a"),
            ("article", "tasks/a"),
        ] {
            let (config, findings) = parse(&template_for(&named(name), &[]), FILE);
            assert!(findings.is_empty(), "{findings:?}");
            let directory = RepoPath::new(task).expect("a path");
            let (root, id) = config
                .roots
                .match_directory(&directory)
                .expect("a root matches");
            assert_eq!(
                (
                    config.roots.get(root).expect("it").workflow.as_str(),
                    id.as_str()
                ),
                (name, "a")
            );
        }
        let (config, _) = parse(&template_for(&named("openspec"), &[]), FILE);
        assert!(
            config
                .roots
                .match_directory(&RepoPath::new("openspec/changes/archive").expect("a path"))
                .is_none()
        );
    }

    #[test]
    fn roots_are_proposed_where_other_tools_keep_their_tasks() {
        let text = with_proposals(template(), &USUAL_PLACES);
        assert_eq!(
            parse(&text, FILE),
            (Config::default(), Vec::new()),
            "{text}"
        );
        for place in USUAL_PLACES {
            let commented = place.root().join("\n#");
            let root = format!("#{commented}\n");
            assert!(text.contains(&root), "{text}");
            let taken = text.replacen(&root, &format!("{}\n", place.root().join("\n")), 1);
            let (config, findings) = parse(&taken, FILE);
            assert_eq!(findings, Vec::new(), "{taken}");
            let paths: Vec<String> = config
                .roots
                .iter()
                .map(|root| root.path.to_string())
                .collect();
            assert_eq!(paths, ["tasks/**", place.path]);
        }
        let backlog = WorkflowName::new("backlog").expect("valid");
        let (config, _) = parse(&template_for(&backlog, &USUAL_PLACES[3..]), FILE);
        let root = config.roots.iter().next().expect("a root");
        assert_eq!(root.path.to_string(), USUAL_PLACES[3].path);
    }

    #[test]
    fn the_template_shows_the_defaults() {
        for text in ["", template(), &everything()] {
            assert_eq!(parse(text, FILE), (Config::default(), Vec::new()), "{text}");
        }
        assert_eq!(Config::default().roots.iter().count(), 1);
    }

    #[test]
    fn the_template_shows_every_key() {
        let text = everything();
        for (key, _) in keys::SECTIONS.iter().flat_map(|section| section.keys) {
            // What has no default is shown in a comment.
            let shown = text
                .lines()
                .map(|line| line.trim_start_matches("# "))
                .any(|line| {
                    line.starts_with(&format!("{key} = "))
                        || line.trim_matches(['[', ']']).split('.').next() == Some(*key)
                });
            assert!(shown, "{key}");
        }
    }

    #[test]
    fn every_example_is_an_example_of_its_key() {
        for section in keys::SECTIONS {
            let header = section.title.trim_matches('`');
            for (key, example) in section.keys {
                let text = match section {
                    keys::TOP => (*example).to_owned(),
                    keys::ACKNOWLEDGED | keys::NOTIFY => {
                        let all = section.keys.iter().map(|(_, example)| *example);
                        format!("{header}\n{}", all.collect::<Vec<_>>().join("\n"))
                    }
                    keys::VERIFY if !key.starts_with("command") => {
                        format!("{header}\ncommand = ['a']\nsetup = ['b']\n{example}")
                            .replace("setup = ['b']\nsetup = ", "setup = ")
                    }
                    keys::ROOT if *key != "path" => format!("{header}\npath = 'a/*'\n{example}"),
                    _ => format!("{header}\n{example}"),
                };
                if text == "[[acknowledged]]" || text == "[[notify]]" {
                    continue;
                }
                let text = match text.as_str() {
                    "[[root]]" => "[[root]]\npath = 'a/*'".to_owned(),
                    "[verify.tests]" => "[verify.tests]\ncommand = ['a']".to_owned(),
                    _ => text,
                };
                assert_eq!(parse(&text, FILE).1, [], "{text}");
                assert!(
                    example.trim_matches(['[', ']']).starts_with(key),
                    "{key}: {example}"
                );
            }
        }
    }

    #[test]
    fn lists_allow_what_they_name() {
        let text = "[watch]\napply = ['a']\nadopt = ['team/*']\n";
        let (config, findings) = parse(text, FILE);
        assert_eq!(findings, []);
        let rule = |id| RuleId::new(id).expect("valid");
        assert!(config.watch.apply.allows(&rule("a")) && !config.watch.apply.allows(&rule("b")));
        let task = |id| TaskId::new(id).expect("valid");
        assert!(
            config.watch.adopt.covers(&task("team/x")) && !config.watch.adopt.covers(&task("x"))
        );
    }
}
