//! What a move of HEAD means for tasks that were looked at before it: the watch asks for tasks that it knows, `orch
//! status` for those whose looks it has kept.
//!
//! A look that rests on committed code has read the history. Most of the commits that HEAD has moved over are those
//! of `orch`, which change the files of one task and no code, so no other task needs another look.

use super::{Reader, TaskRef};
use orch_base::{Digest, RepoPath, WorkflowName, locked};
use orch_core::workflow::Workflow;
use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

/// How many commits before HEAD are asked whether they make a difference.
const MAX_QUIET: usize = 256;
/// After so many of them, a look that rests on none of them counts as one at HEAD, before they are too many to ask.
const FAR: usize = MAX_QUIET / 4;

/// A move of HEAD over a few commits that follow each other.
pub(crate) struct HeadMove<'w> {
    reader: &'w Reader,
    before: Digest,
    after: Digest,
    /// The directories with files that the commits have changed, and those above them, each with the changed files that
    /// it contains itself.
    touched: HashMap<String, Vec<RepoPath>>,
    /// Whether the commits tell of code, by the name of the workflow.
    of_code: RefCell<BTreeMap<WorkflowName, bool>>,
}

impl Reader {
    /// The move of HEAD from one commit to another. `None` if that is not a move over a few commits that follow each
    /// other, or git cannot read them: then a look at any task that rests on code may come to something else.
    pub(crate) fn head_move(
        &self,
        before: Option<Digest>,
        after: Option<Digest>,
    ) -> Option<HeadMove<'_>> {
        let store = self.store.as_ref()?;
        let before = before?;
        let after = after?;
        let mut touched: HashMap<String, Vec<RepoPath>> = HashMap::new();
        for path in store
            .history()
            .changed_since(before, after, &self.settings.bases())
            .ok()
            .flatten()?
        {
            for (end, _) in path.as_str().match_indices('/') {
                touched.entry(path.as_str()[..end].to_owned()).or_default();
            }
            let directory = path.parent().unwrap_or_else(RepoPath::root);
            touched
                .entry(directory.as_str().to_owned())
                .or_default()
                .push(path);
        }
        Some(HeadMove {
            reader: self,
            before,
            after,
            touched,
            of_code: RefCell::default(),
        })
    }
}

impl HeadMove<'_> {
    /// Whether the commits have changed a file of this task.
    pub(crate) fn touches(&self, task: &TaskRef) -> bool {
        let beside = task
            .place
            .file()
            .and_then(|file| self.touched.get(file.directory.as_str()));
        self.touched.contains_key(task.directory().as_str())
            || beside.is_some_and(|changed| changed.iter().any(|path| task.place.owns(path)))
    }

    /// Whether the commits tell of code that tasks of this workflow rest on.
    pub(crate) fn names_code(&self, workflow: &Workflow) -> bool {
        let is_named = || {
            let Some(store) = &self.reader.store else {
                return true;
            };
            let between = [self.before, self.after];
            self.reader
                .snapshot(|snapshot| {
                    store
                        .code()
                        .concerns_code(between, &snapshot.code_parts(workflow))
                })
                .unwrap_or(true)
        };
        *self
            .of_code
            .borrow_mut()
            .entry(workflow.name.clone())
            .or_insert_with(is_named)
    }
}

/// The commits before HEAD since which none has made a difference to the tasks that it did not change, by the name of
/// their workflow and HEAD.
pub(super) type QuietPasts = Mutex<HashMap<(String, Digest), QuietPast>>;

/// The commits before HEAD since which none has made a difference, as far as they were asked for.
pub(super) struct QuietPast {
    /// HEAD is one of them.
    commits: HashSet<Digest>,
    /// The oldest of them, if the one before may be another.
    oldest: Option<Digest>,
}

impl Reader {
    /// Whether the commits between one and HEAD make no difference to tasks of a workflow that they do not change. What
    /// cannot be read, and what is long ago, may make one.
    pub(super) fn is_quiet_since(
        &self,
        pasts: &QuietPasts,
        head: Digest,
        (workflow, commit): (&str, Digest),
    ) -> bool {
        if commit == head {
            return true;
        }
        let Some(store) = &self.store else {
            return false;
        };
        let Ok(loaded) = self.settings.workflow(workflow) else {
            return false;
        };
        let Ok(usable) = loaded.usable() else {
            return false;
        };
        let mut pasts = locked(pasts);
        let begin = || QuietPast {
            commits: HashSet::from([head]),
            oldest: Some(head),
        };
        let past = pasts
            .entry((workflow.to_owned(), head))
            .or_insert_with(begin);
        self.snapshot(|snapshot| {
            let asked =
                LazyCell::new(|| (snapshot.code_parts(&usable.workflow), self.settings.bases()));
            past.reaches(commit, |oldest| {
                store
                    .code()
                    .quiet_parent(oldest, &asked.0, &asked.1)
                    .ok()
                    .flatten()
            })
        })
    }
}

/// Whether commits were asked for that are so long ago that what was made before them should count as made at HEAD, if
/// none made a difference to it.
pub(super) fn is_far_back(pasts: &QuietPasts, head: Digest, workflow: &str) -> bool {
    let pasts = locked(pasts);
    pasts
        .get(&(workflow.to_owned(), head))
        .is_some_and(|past| past.commits.len() > FAR)
}

impl QuietPast {
    /// Whether a commit is one of them, after as many steps back as that takes. `quiet_parent` returns the commit
    /// before one that makes no difference.
    fn reaches(&mut self, commit: Digest, quiet_parent: impl Fn(Digest) -> Option<Digest>) -> bool {
        while let (false, Some(oldest)) = (self.commits.contains(&commit), self.oldest) {
            self.oldest = quiet_parent(oldest).filter(|_| self.commits.len() <= MAX_QUIET);
            self.commits.extend(self.oldest);
        }
        self.commits.contains(&commit)
    }
}
