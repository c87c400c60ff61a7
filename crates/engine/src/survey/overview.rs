//! All tasks of a repository, wherever they are: in its work trees, its branches and its remote-tracking branches.
//!
//! Branches are read from their commits, without a checkout. Most of them share most of their trees, so whatever
//! depends on a tree alone is computed once per tree: the settings, which tasks there are, and the decision about
//! a task. Each task is then shown once, where its log is furthest: a log that contains another one is further.
//! If neither of two logs contains the other, the places disagree.

use super::furthest::{FurthestVersion, Origin, TaskVersion, VersionSearch};
use super::setting::Settings;
use super::{Error, HeldTasks, Look, Reader, Sight, Workspace};
use orch_base::{Class, Code, Diagnostic, Digest, Severity, TaskId};
use orch_git::{Head, TreeSource};
use orch_view::Subject;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Every task of a repository, each where it is furthest.
pub struct Overview<'w> {
    here: &'w Workspace,
    others: Vec<Workspace>,
    settings: Vec<Rc<Settings>>,
    /// Where tasks were looked for: this work tree, the others, branches, then remote-tracking branches.
    pub places: Vec<OverviewPlace>,
    /// The tasks, sorted by id.
    pub tasks: Vec<OverviewTask>,
    /// The places and tasks that cannot be read.
    pub problems: Vec<Diagnostic>,
}

/// What a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverviewPlaceKind {
    /// A work tree with its uncommitted changes; it stands for the branch that is checked out in it.
    WorkTree,
    /// A local branch that is checked out nowhere.
    Branch,
    /// A remote-tracking branch.
    Remote,
}

/// One of the places where tasks are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewPlace {
    /// What it is.
    pub kind: OverviewPlaceKind,
    /// The name of the branch, such as `feature/x` or `origin/main`; of a detached HEAD, its abbreviated commit. Each
    /// place has another name.
    pub name: String,
    /// The newest commit; `None` on a branch without commits.
    pub commit: Option<Digest>,
    /// The root of the work tree, relative to this one; `None` for a branch.
    pub work_tree: Option<String>,
}

/// A task, where it is furthest.
pub struct OverviewTask {
    /// What a look at it has found.
    pub sight: Sight,
    /// The index of the place where it was looked at.
    pub place: usize,
    /// The places with the same log, in order, this one included.
    pub same: Vec<usize>,
    /// The places whose log is older.
    pub behind: Vec<usize>,
    /// The places whose log has other events: neither log contains the other.
    pub disagreeing: Vec<usize>,
    origin: Origin,
}

impl Workspace {
    /// All tasks of the repository. Returns an error if there is no repository, or git cannot list its branches.
    pub fn overview(&self) -> Result<Overview<'_>, Error> {
        self.overview_of(&|_| true)
    }

    /// Whether there is any place beside this work tree. Returns an error if there is no repository, or git cannot list its
    /// branches.
    pub(crate) fn has_other_places(&self) -> Result<bool, Error> {
        let store = self.reader.repository_or_refuse()?;
        let (roots, unread) = store.layout().other_work_trees()?;
        let (tips, broken) = store.refs().branches()?;
        let head = store.refs().head()?;
        let is_other = tips
            .iter()
            .any(|tip| Some(&tip.name) != head.branch.as_ref());
        Ok(is_other || !roots.is_empty() || !unread.is_empty() || !broken.is_empty())
    }

    /// The same, without the tasks of which no other place has later steps than this work tree.
    pub(crate) fn overview_elsewhere(&self) -> Result<Overview<'_>, Error> {
        self.overview_of(&|furthest| !furthest.same.contains(&0))
    }

    fn overview_of(
        &self,
        is_wanted: &dyn Fn(&FurthestVersion) -> bool,
    ) -> Result<Overview<'_>, Error> {
        let store = self.reader.repository_or_refuse()?;
        let mut problems = Vec::new();
        let others = self.other_work_trees(&mut problems)?;
        let mut places = Vec::new();
        let mut search = VersionSearch::new(&self.reader, store);
        let mut checked_out = HashSet::new();
        let mut heads = Vec::new();
        for (index, workspace) in std::iter::once(self).chain(&others).enumerate() {
            let head = workspace.reader.present_head().unwrap_or_else(|error| {
                problems.push(unread(
                    &self.reader.relative(&workspace.reader.root),
                    &error,
                ));
                None
            });
            let head = head.unwrap_or(Head {
                branch: None,
                commit: None,
            });
            let place = OverviewPlace {
                kind: OverviewPlaceKind::WorkTree,
                name: head
                    .branch_name()
                    .map_or_else(|| detached(&head), str::to_owned),
                commit: head.commit,
                work_tree: Some(self.reader.relative(&workspace.reader.root)),
            };
            match search.work_tree(index, workspace, head.commit) {
                Ok(faults) => problems.extend(
                    faults
                        .iter()
                        .map(|(id, error)| unread(&format!("{id} in {}", place.name), error)),
                ),
                Err(error) => problems.push(unread(&place.name, &error)),
            }
            places.push(place);
            checked_out.extend(head.branch.clone());
            heads.push(head);
        }
        let (mut tips, broken) = store.refs().branches()?;
        tips.retain(|tip| !checked_out.contains(&tip.name));
        let broken = broken
            .iter()
            .filter(|(name, _)| !checked_out.contains(name));
        problems.extend(broken.map(|(name, error)| unread(name, error)));
        let sources: Vec<TreeSource<'_>> = tips
            .iter()
            .map(|tip| store.objects().source_at(tip.commit))
            .collect();
        for (tip, source) in tips.iter().zip(&sources) {
            let place = OverviewPlace::of_branch(&tip.name, tip.commit);
            if let Err(error) = search.branch(places.len(), source) {
                problems.push(unread(&place.name, &error));
            }
            places.push(place);
        }
        let VersionSearch { settings, .. } = &search;
        let settings = settings.clone();
        let mut tasks = Vec::new();
        let (all, faults) = search.furthest();
        let named = |place: usize, id: &TaskId| format!("{id} in {}", places[place].name);
        problems.extend(
            faults
                .iter()
                .map(|(place, id, error)| unread(&named(*place, id), error)),
        );
        for (id, furthest) in all.into_iter().filter(|(_, found)| is_wanted(found)) {
            let look = |version: &TaskVersion| -> Result<Sight, Error> {
                let task = &version.found.task;
                let look_under = |workspace: &Self, index: usize| {
                    let head: &Head = &heads[index];
                    Look::under(&workspace.reader, Some(head.clone())).at(task)
                };
                match version.origin {
                    Origin::WorkTree(0) => look_under(self, 0),
                    Origin::WorkTree(index) => look_under(&others[index - 1], index),
                    Origin::Commit(setting) => {
                        let source = &sources[version.place - heads.len()];
                        search.look_back(task, &settings[setting], source)
                    }
                }
            };
            // Among equal records, the version that lacks the fewest files.
            let mut best: Option<(usize, &TaskVersion, Sight)> = None;
            for version in &furthest.candidates {
                match look(version) {
                    Ok(sight) => {
                        let lacking = sight.decision.expects.len();
                        if best.as_ref().is_none_or(|(least, ..)| lacking < *least) {
                            best = Some((lacking, version, sight));
                        }
                    }
                    Err(error) => problems.push(unread(&named(version.place, &id), &error)),
                }
            }
            let Some((_, version, sight)) = best else {
                continue;
            };
            let place = version.place;
            let origin = version.origin;
            let same = furthest.same;
            let behind = furthest.behind;
            let disagreeing = furthest.disagreeing;
            tasks.push(OverviewTask {
                sight,
                place,
                same,
                behind,
                disagreeing,
                origin,
            });
        }
        distinguish(&mut places);
        Ok(Overview {
            here: self,
            others,
            settings,
            places,
            tasks,
            problems,
        })
    }

    /// The other work trees of the repository, opened to be read. One that cannot be opened is a problem. Returns an
    /// error if git cannot list them.
    pub(crate) fn other_work_trees(
        &self,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Self>, Error> {
        let Some(store) = &self.reader.store else {
            return Ok(Vec::new());
        };
        let mut others = Vec::new();
        let (roots, broken) = store.layout().other_work_trees()?;
        problems.extend(
            broken
                .iter()
                .map(|(name, error)| unread(&format!("work tree {name}"), error)),
        );
        for root in roots {
            match Self::open_to_look(&root, self.environment.elsewhere()) {
                Ok(other) => others.push(other),
                Err(error) => problems.push(unread(&self.reader.relative(&root), &error)),
            }
        }
        Ok(others)
    }
}

impl Reader {
    /// The path of a directory as seen from the root; `.` for the root itself.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let shared = self
            .root
            .components()
            .zip(path.components())
            .take_while(|(a, b)| a == b)
            .count();
        let mut relative: PathBuf = self.root.components().skip(shared).map(|_| "..").collect();
        relative.extend(path.components().skip(shared));
        if relative.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            relative.to_string_lossy().into_owned()
        }
    }
}

impl OverviewPlace {
    fn of_branch(name: &str, commit: Digest) -> Self {
        let (kind, name) = match name.strip_prefix("refs/remotes/") {
            Some(remote) => (OverviewPlaceKind::Remote, remote),
            None => (
                OverviewPlaceKind::Branch,
                name.strip_prefix("refs/heads/").unwrap_or(name),
            ),
        };
        Self {
            kind,
            name: name.to_owned(),
            commit: Some(commit),
            work_tree: None,
        }
    }
}

impl Overview<'_> {
    /// This work tree, then the others.
    pub fn work_trees(&self) -> impl Iterator<Item = &Workspace> {
        std::iter::once(self.here).chain(&self.others)
    }

    /// The subject of a view.
    #[must_use]
    pub fn subject<'a>(&'a self, task: &'a OverviewTask) -> Subject<'a> {
        let setting = match task.origin {
            Origin::WorkTree(0) => &*self.here.reader.settings,
            Origin::WorkTree(index) => &*self.others[index - 1].reader.settings,
            Origin::Commit(index) => &*self.settings[index],
        };
        Subject {
            held: HeldTasks::of(&self.here.reader).held(&task.sight.task.id),
            ..setting.subject(&task.sight)
        }
    }
}

/// Adds to each name that several places have what tells them apart.
fn distinguish(places: &mut [OverviewPlace]) {
    let mut count: HashMap<String, usize> = HashMap::new();
    places
        .iter()
        .for_each(|place| *count.entry(place.name.clone()).or_default() += 1);
    for place in places.iter_mut().filter(|place| count[&place.name] > 1) {
        place.name = match (&place.work_tree, place.kind) {
            (Some(root), _) => format!("{} ({root})", place.name),
            (None, OverviewPlaceKind::Remote) => format!("remotes/{}", place.name),
            (None, _) => format!("heads/{}", place.name),
        };
    }
}

/// The name of a place without a branch.
fn detached(head: &Head) -> String {
    head.commit
        .map_or_else(|| "(no commit)".to_owned(), |commit| commit.short())
}

/// The finding about something that cannot be read. A failure of the machine keeps its code, which
/// decides the exit code.
pub fn unread(what: &str, error: &Error) -> Diagnostic {
    let mut problem = unjudged(error);
    problem.message = format!("{what}: {}", problem.message);
    problem
}

/// The finding about what could not be evaluated: the fault of the machine, or else why.
pub fn unjudged(error: &Error) -> Diagnostic {
    let code = if error.class() == Class::Fault {
        error.code()
    } else {
        Code::Unjudged
    };
    Diagnostic {
        code,
        severity: Severity::Error,
        ..Diagnostic::from(error.clone())
    }
}
