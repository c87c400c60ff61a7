//! A repository made up in memory: commits with a few tasks in them, and a work directory.
//!
//! It does what `orch` does to a repository, with the same functions of the core and no repository.

use super::verifications::RESULT;
use crate::audit::records::{SCHEMA, is_fold, steps_from};
use crate::core::world::LIFECYCLE;
use crate::model::Chance;
use orch_base::{Digest, ObjectFormat, RepoPath, TaskId, TaskPlace, Timestamp};
use orch_core::config;
use orch_core::decide::{ActorKind, By, Facts, Inputs, Recorded, Stamp, State};
use orch_core::record::{
    EventLog, KnownLog, LogExtent, RecordReading, StateText, read_record, write_state,
};
use orch_files::FileSet;
use orch_read::{Matcher, ReadLimits, Schemas, ValidationCache, observe};
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

/// The files of a commit or of the work directory: text by path.
pub type Tree = BTreeMap<String, Arc<str>>;

/// The tasks that there may be.
pub const TASKS: [&str; 3] = ["t", "u", "v"];

pub const SETTINGS: &str = "[[root]]\npath = \"tasks/*\"\nworkflow = \"lifecycle\"\n\n[verify.tests]\ncommand = [\"true\"]\npaths = [\"src/**\"]\n";
/// The code, which nobody changes.
const CODE: &str = "src/a.txt";
const WORKFLOW: &str = include_str!("../../../../fixtures/workflows/valid/lifecycle.md");

static MATCHER: LazyLock<Matcher> = LazyLock::new(|| Matcher::new(&LIFECYCLE));
static INPUTS: LazyLock<Inputs> = LazyLock::new(|| {
    config::parse(SETTINGS, config::FILE)
        .0
        .inputs(ObjectFormat::Sha1)
});
static SCHEMAS: LazyLock<Schemas> = LazyLock::new(Schemas::default);
static VERDICTS: LazyLock<ValidationCache> = LazyLock::new(ValidationCache::default);

/// A commit.
pub struct Commit {
    pub parents: Vec<usize>,
    pub tree: Tree,
    /// What somebody did.
    pub what: String,
    /// Whether its record is forged.
    pub is_forged: bool,
    /// Whether `orch` committed the steps of all tasks that were due together.
    pub is_batch: bool,
    /// Whether it records a task that took over a foreign state which its parent did not hold.
    pub takes_over: bool,
    pub seconds: i64,
    /// Its id, once somebody asked for it.
    id: OnceCell<Digest>,
}

/// A past, and whoever continues with it.
pub struct Past {
    pub chance: Chance,
    pub commits: Vec<Commit>,
    /// The tip of the branch that is checked out.
    pub head: usize,
    /// The tip of another branch.
    pub other: Option<usize>,
    pub work: Tree,
    /// The artifacts that each record was made on, by task and transcript.
    made_on: BTreeMap<(String, Arc<str>), Tree>,
    clock: i64,
}

/// A task as some tree holds it.
pub struct Seen {
    pub recorded: Recorded,
    pub facts: Facts,
}

impl Past {
    /// A repository that was just set up.
    pub fn new(seed: u64) -> Self {
        let file = |path: &str, text: &str| (path.to_owned(), Arc::from(text));
        let tree = Tree::from([
            file("orch.toml", SETTINGS),
            file("system/workflows/lifecycle.md", WORKFLOW),
            file(CODE, "code\n"),
        ]);
        let mut past = Self {
            chance: Chance::new(seed),
            commits: Vec::new(),
            head: 0,
            other: None,
            work: Tree::new(),
            made_on: BTreeMap::new(),
            clock: 1_700_000_000,
        };
        past.commit(Vec::new(), tree, "set up");
        past
    }

    /// The tree of the branch that is checked out.
    pub fn tree(&self) -> &Tree {
        &self.commits[self.head].tree
    }

    /// The id of the tree of a commit.
    pub fn tree_id(&self, commit: usize) -> Digest {
        let files = self.commits[commit].tree.iter();
        tree_id(files.map(|(path, text)| (path.as_str(), &**text)).collect())
    }

    /// The id that git gives a commit.
    pub fn id(&self, commit: usize) -> Digest {
        let this = &self.commits[commit];
        *this.id.get_or_init(|| {
            let mut text = format!("tree {}\n", self.tree_id(commit));
            for parent in &this.parents {
                text.push_str(&format!("parent {}\n", self.id(*parent)));
            }
            for role in ["author", "committer"] {
                text.push_str(&format!(
                    "{role} Ann <ann@example.com> {} +0000\n",
                    this.seconds
                ));
            }
            text.push_str(&format!("\n{}", this.what));
            ObjectFormat::Sha1.commit(text.as_bytes())
        })
    }

    /// The digest of the code of HEAD.
    pub fn code(&self) -> Digest {
        let code = self.tree().get(CODE).map(|text| (CODE, &**text));
        tree_id(code.into_iter().collect())
    }

    /// Makes a commit and checks it out.
    pub fn commit(&mut self, parents: Vec<usize>, tree: Tree, what: impl Into<String>) {
        self.clock += 60;
        self.work.clone_from(&tree);
        let (what, seconds) = (what.into(), self.clock);
        let takes_over = parents
            .first()
            .is_some_and(|parent| takes_over(&self.commits[*parent].tree, &tree));
        self.commits.push(Commit {
            parents,
            tree,
            what,
            is_forged: false,
            is_batch: false,
            takes_over,
            seconds,
            id: OnceCell::new(),
        });
        self.head = self.commits.len() - 1;
    }

    /// The same for what lies in the work directory. Whoever commits a single move by hand commits
    /// the artifacts that it was made on.
    pub fn commit_work(&mut self, what: &str) {
        for task in TASKS {
            if !self.is_provable(self.head, &self.work, task)
                && let Some(made_on) = self.made_on(&self.work, task).cloned()
            {
                self.work.retain(|path, _| !is_declared(path, task));
                self.work.extend(made_on);
            }
        }
        self.commit(vec![self.head], self.work.clone(), what);
    }

    /// Commits what the work directory records of these tasks, with their declared files, as `orch` does with
    /// `commit = "batch"`.
    pub fn commit_batch(&mut self, tasks: &[&str]) {
        let (mut tree, work) = (self.tree().clone(), self.work.clone());
        let is_ours = |path: &str| {
            let names = ["state.json", "transcript.jsonl"];
            let mut tasks = tasks.iter();
            tasks.any(|task| {
                is_declared(path, task)
                    || names
                        .iter()
                        .any(|name| path == format!("tasks/{task}/{name}"))
            })
        };
        tree.retain(|path, _| !is_ours(path));
        tree.extend(
            work.iter()
                .filter(|(path, _)| is_ours(path))
                .map(|(path, text)| (path.clone(), Arc::clone(text))),
        );
        self.commit(
            vec![self.head],
            tree,
            format!("a batch of {}", tasks.join(", ")),
        );
        self.commits[self.head].is_batch = true;
        self.work = work;
    }

    fn made_on(&self, tree: &Tree, task: &str) -> Option<&Tree> {
        self.made_on
            .get(&(task.to_owned(), text(tree, task, "transcript.jsonl")?))
    }

    /// Whether what a tree records of a task can be proven from a commit with this parent: a single new
    /// step needs the artifacts that it was made on, and a finished task that is put back its own.
    pub fn is_provable(&self, parent: usize, tree: &Tree, task: &str) -> bool {
        let before = &self.commits[parent].tree;
        if files_of_record(before, task) == files_of_record(tree, task) {
            return true;
        }
        let [old, new] = [before, tree].map(|tree| ids(tree, task));
        match new.difference(&old).count() {
            0 => state(tree, task).is_none_or(|state| state.phase.as_deref() != Some("done")),
            1 => {
                let declared = tree.iter().filter(|(path, _)| is_declared(path, task));
                self.made_on(tree, task)
                    .is_some_and(|made_on| made_on.iter().eq(declared))
            }
            _ => true,
        }
    }

    /// Whether the artifacts of a task are those that its last step was made on, but for edits that change nothing
    /// that they say.
    pub fn is_touched(&self, tree: &Tree, task: &str) -> bool {
        let text = |(path, text): (&String, &Arc<str>)| (path.clone(), text.trim_end().to_owned());
        let declared = tree
            .iter()
            .filter(|(path, _)| is_declared(path, task))
            .map(text);
        self.made_on(tree, task)
            .is_some_and(|made_on| made_on.iter().map(text).eq(declared))
    }

    /// What HEAD records is forged.
    pub fn forged(&mut self) {
        self.commits[self.head].is_forged = true;
    }

    /// The only parent of the commit that is checked out.
    pub fn parent(&self) -> Option<usize> {
        match self.commits[self.head].parents.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// A commit and everything that it builds on.
    pub fn ancestors(&self, commit: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![commit];
        while let Some(commit) = open.pop() {
            if found.insert(commit) {
                open.extend(&self.commits[commit].parents);
            }
        }
        found
    }

    /// Who does something now.
    pub fn stamp(&mut self, kind: ActorKind) -> Stamp {
        self.clock += 60;
        let name = match kind {
            ActorKind::Orch => "orch 0.1.0",
            ActorKind::Human => "Ann",
            ActorKind::Agent => "coder",
        };
        Stamp::new(
            Timestamp::from_seconds(self.clock),
            By {
                kind,
                name: name.to_owned(),
            },
        )
    }

    /// Records steps of a task in the work directory; with `commit`, each in a commit of its own with
    /// the task's declared files, as `orch` does.
    pub fn record(&mut self, task: &str, steps: &[State], commit: bool) {
        let mut lines = text(&self.work, task, "transcript.jsonl")
            .unwrap_or_default()
            .to_string();
        let before = whole(&self.work, task).unwrap_or_default();
        for (number, step) in steps_from(&lines, &before, steps).into_iter().enumerate() {
            lines += &step.event.line();
            let declared = self.work.iter().filter(|(path, _)| is_declared(path, task));
            let declared = declared
                .map(|(path, text)| (path.clone(), Arc::clone(text)))
                .collect();
            self.made_on
                .insert((task.to_owned(), Arc::from(lines.as_str())), declared);
            // The state may be left behind, or be lost: it is a copy.
            let copy = self.chance.below(16);
            let older = text(&self.work, task, "state.json");
            let put = |tree: &mut Tree| match (copy, &older) {
                (0, Some(older)) => {
                    write(tree, task, "transcript.jsonl", lines.as_str());
                    write(tree, task, "state.json", Arc::clone(older));
                }
                (1, _) => {
                    write(tree, task, "transcript.jsonl", lines.as_str());
                    tree.remove(&format!("tasks/{task}/state.json"));
                }
                _ => put(tree, task, &step.state, &lines),
            };
            if commit {
                let mut tree = self.tree().clone();
                if number == 0 {
                    tree.retain(|path, _| !is_declared(path, task));
                    let declared = self.work.iter().filter(|(path, _)| is_declared(path, task));
                    tree.extend(declared.map(|(path, text)| (path.clone(), Arc::clone(text))));
                }
                put(&mut tree);
                let mut work = std::mem::take(&mut self.work);
                put(&mut work);
                let entry = step.event.entry;
                self.commit(
                    vec![self.head],
                    tree,
                    format!("{task}: {} -> {}", entry.kind.as_str(), entry.to),
                );
                self.work = work;
            } else {
                put(&mut self.work);
            }
        }
    }
}

/// The id of a tree with these files, which are sorted by path.
fn tree_id(files: Vec<(&str, &str)>) -> Digest {
    let mut below: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let mut entries: Vec<(String, String, Digest)> = Vec::new();
    for (path, text) in files {
        match path.split_once('/') {
            Some((directory, rest)) => below.entry(directory).or_default().push((rest, text)),
            None => {
                let blob = Digest::of_blob(text.as_bytes());
                entries.push((path.to_owned(), format!("100644 {path}\0"), blob));
            }
        }
    }
    for (directory, files) in below {
        // As git sorts: a directory as if its name ended with a slash.
        entries.push((
            format!("{directory}/"),
            format!("40000 {directory}\0"),
            tree_id(files),
        ));
    }
    entries.sort();
    let mut bytes = Vec::new();
    for (_, head, id) in entries {
        bytes.extend(head.into_bytes());
        bytes.extend(id.as_bytes());
    }
    ObjectFormat::Sha1.tree(&bytes)
}

/// The log of a task as far as its lines are events.
pub fn log(tree: &Tree, task: &str) -> EventLog {
    let text = text(tree, task, "transcript.jsonl").unwrap_or_default();
    EventLog::parse(text.as_bytes()).0
}

/// The ids of its events.
pub fn ids(tree: &Tree, task: &str) -> HashSet<Digest> {
    log(tree, task).events().map(|event| event.id).collect()
}

/// Whether the state of a task is the fold of the events that it names, or is not there.
pub fn has_honest_state(tree: &Tree, task: &str) -> bool {
    let lines = text(tree, task, "transcript.jsonl").unwrap_or_default();
    text(tree, task, "state.json").is_none_or(|state| is_fold(&state, &lines, &LIFECYCLE))
}

/// Whether a commit records that a task took over a foreign state which was never committed.
fn takes_over(before: &Tree, after: &Tree) -> bool {
    TASKS.into_iter().any(|task| {
        text(before, task, "state.json").is_none()
            && state(after, task).is_some_and(|state| state.extra.contains_key("ticket"))
    })
}

/// Observes a task in a tree.
pub fn look(tree: &Tree, task: &str) -> Seen {
    let mut files = FileSet::empty(ObjectFormat::Sha1);
    for (path, text) in below(tree, task) {
        files.put(
            RepoPath::new(path).expect("valid"),
            text.as_bytes().to_vec(),
        );
    }
    let place = TaskPlace::of_directory(RepoPath::new(format!("tasks/{task}")).expect("valid"));
    let id = TaskId::new(task).expect("valid");
    let limits = ReadLimits::default();
    let mut observed = observe(
        &files,
        &LIFECYCLE,
        &MATCHER,
        &SCHEMAS,
        &VERDICTS,
        &id,
        &place,
        &[],
        &limits,
    )
    .expect("files in memory can be read");
    observed.facts.inputs = INPUTS.clone();
    let recorded = match reading(tree, task) {
        RecordReading::New => Recorded::New,
        RecordReading::LogGone => Recorded::Lost,
        _ => whole(tree, task).map_or(Recorded::Broken(Vec::new()), |state| {
            Recorded::Known(Box::new(state))
        }),
    };
    Seen {
        recorded,
        facts: observed.facts,
    }
}

/// The state of a task, if it is whole; it may be another tool's.
pub fn whole(tree: &Tree, task: &str) -> Option<State> {
    match reading(tree, task) {
        RecordReading::Current(state)
        | RecordReading::Folded { state, .. }
        | RecordReading::Foreign(state) => Some(*state),
        _ => None,
    }
}

fn reading(tree: &Tree, task: &str) -> RecordReading {
    let (state, log) = (
        text(tree, task, "state.json"),
        text(tree, task, "transcript.jsonl"),
    );
    let value = state
        .as_deref()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    // Whoever records a step folds the log: a copy that somebody edited and sealed is not gone on from.
    let is_told = log.as_deref().is_some_and(|log| !log.trim().is_empty());
    let file = state.as_deref().filter(|_| !is_told).map(|text| StateText {
        text,
        value: value.as_ref(),
    });
    read_record(
        &LIFECYCLE,
        file,
        log.as_deref().map(str::as_bytes),
        &mut KnownLog::default(),
    )
}

/// The state of a task that is under `orch`'s care and whole.
pub fn state(tree: &Tree, task: &str) -> Option<State> {
    whole(tree, task).filter(|state| !state.foreign)
}

/// The text of one of a task's files.
pub fn text(tree: &Tree, task: &str, name: &str) -> Option<Arc<str>> {
    tree.get(&format!("tasks/{task}/{name}")).cloned()
}

/// Writes one of a task's files.
pub fn write(tree: &mut Tree, task: &str, name: &str, text: impl Into<Arc<str>>) {
    tree.insert(format!("tasks/{task}/{name}"), text.into());
}

/// Writes a state, with a proper seal, and a log.
pub fn put(tree: &mut Tree, task: &str, state: &State, transcript: &str) {
    let extent = LogExtent::of(transcript.as_bytes(), ObjectFormat::Sha1);
    write(
        tree,
        task,
        "state.json",
        write_state(state, "phase", SCHEMA, extent),
    );
    write(tree, task, "transcript.jsonl", transcript);
}

/// Both files of a task's record.
pub fn files_of_record(tree: &Tree, task: &str) -> [Option<Arc<str>>; 2] {
    [
        text(tree, task, "state.json"),
        text(tree, task, "transcript.jsonl"),
    ]
}

/// Every file of a task, by its whole path.
pub fn below<'t>(tree: &'t Tree, task: &str) -> impl Iterator<Item = (&'t String, &'t Arc<str>)> {
    let prefix = format!("tasks/{task}/");
    tree.range(prefix.clone()..)
        .take_while(move |(path, _)| path.starts_with(&prefix))
}

/// Puts a task into a tree exactly as another tree holds it.
pub fn transplant(tree: &mut Tree, from: &Tree, task: &str) {
    tree.retain(|path, _| !path.starts_with(&format!("tasks/{task}/")));
    tree.extend(below(from, task).map(|(path, text)| (path.clone(), Arc::clone(text))));
}

/// Whether a path is that of an artifact of a task, or of the result of its verification.
pub fn is_declared(path: &str, task: &str) -> bool {
    path.strip_prefix(&format!("tasks/{task}/"))
        .is_some_and(|below| MATCHER.matches(below) || below == RESULT)
}

/// The blob id of a text.
pub fn digest(text: &str) -> String {
    Digest::of_blob(text.as_bytes()).to_string()
}
