//! Committed code as evidence: turns it into facts of the artifacts with a `tree`.
//!
//! A step rests on the code of its parent commit, because its own commit contains no code.

use super::judged_code::JudgedCode;
use super::snapshot::{Snapshot, state_in};
use super::verified_code::{name_of_paths, verified_part};
use super::writers::writers_of_code;
use super::{BaseOf, CodeAt, Error, Loaded, TaskRef};
use orch_base::{ArtifactName, Code, Diagnostic, Digest, Hint, RepoPath, TaskId};
use orch_core::config::Roots;
use orch_core::decide::{
    Facts, FileFact, HistoryEntry, RecordVersion, Recorded, State, is_just_renamed,
};
use orch_core::workflow::{
    Artifact, RepositoryFiles, TreePart, TreeScope, Workflow, is_repository_name, tree_name,
};
use orch_files::ObservedLog;
use orch_git::{CodeCommit, CodePart, Since, Start, Store, TreeSource};
use orch_read::{Observed, ReadLimits};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Snapshot<'_> {
    /// Adds to the facts the digest of the code of each `tree` artifact, and what changed in it since the
    /// last recorded step. Returns an error if git cannot be read.
    pub(crate) fn look_at_code(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
        base: BaseOf<'_>,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        if workflow
            .artifacts
            .iter()
            .all(|artifact| artifact.tree.is_none())
        {
            return Ok(());
        }
        let (store, head, is_now) = match self.code {
            CodeAt::Nowhere => return Ok(()),
            CodeAt::Present(store, commit) => (store, commit, true),
            CodeAt::Commit(store, commit) => (store, commit, false),
        };
        let state = state_of(recorded);
        for (artifact, scope) in trees(workflow) {
            let code = self.code_part(scope);
            let digest = store.code().code_digest(head, &code)?;
            let mut fact = tree_fact(artifact, digest);
            let changed =
                state.and_then(|state| Some((head?, since(workflow, state, artifact, digest)?)));
            if let Some((head, baselines)) = changed {
                let record = task.transcript_path();
                let is_committed =
                    is_committed(store, head, &record, is_now.then_some(&observed.log))?;
                // A rename moved the log, so it does not show when the last step before it was.
                let begins_at_record = is_committed && !state.is_some_and(is_just_renamed);
                let is_first = observed.facts.version == RecordVersion::First;
                let start = if begins_at_record {
                    Start::Changed(record)
                } else if (is_committed && !is_first) || (!is_committed && is_now) {
                    // The log does not show where the last step was; what it recorded does.
                    Start::Was(recorded_codes(workflow, state, artifact, baselines))
                } else {
                    Start::Was(baselines)
                };
                match store.code().code_since(head, &start, &code)? {
                    Some(mut since) => {
                        if let Some(state) = state {
                            self.name_anew(store, task, state, is_first, &mut since)?;
                        }
                        let seen = is_now
                            .then(|| store.layout().seen_writers(task.directory()))
                            .flatten();
                        fact.writers = writers_of_code(&since.commits, task, seen.as_ref());
                        fact.data = Some(Arc::new(value(&since, is_confirmed(state, artifact))));
                    }
                    None => unknown(&mut fact),
                }
            }
            // Where the code is a file, that is what was judged.
            let files = observed
                .facts
                .artifacts
                .get(&artifact.name)
                .into_iter()
                .flatten();
            let is_file = files.into_iter().any(|file| !file.is_tree);
            put(&mut observed.facts, artifact, fact);
            if let (Some(state), Some(head), false) = (state, head, is_file) {
                let asked = JudgedCode {
                    store,
                    head,
                    artifact,
                    code: &code,
                    present: digest,
                };
                let found = self.code_since_judged(task, workflow, state, base, &asked)?;
                observed.facts.code.since.extend(found.since);
                observed.facts.code.base = observed.facts.code.base.take().or(found.base);
            }
        }
        Ok(())
    }

    /// The parts of the tree of any commit that the artifacts of a workflow are made of that are code or files of the
    /// repository.
    pub(crate) fn code_parts<'s>(&'s self, workflow: &'s Workflow) -> Vec<CodePart<'s>> {
        let tables = self.setting.config.verify.iter();
        let verified = tables
            .filter(|(name, _)| workflow.depends_on_verification(name))
            .map(|(_, table)| verified_part(&self.setting.config, table));
        let settings = workflow.artifacts.iter();
        let settings = settings.filter_map(|artifact| artifact.repository.as_ref());
        trees(workflow)
            .map(|(_, scope)| scope)
            .chain(settings.map(RepositoryFiles::scope))
            .map(|scope| self.code_part(scope))
            .chain(verified)
            .collect()
    }

    /// The part of the tree of any commit that is in this scope.
    pub(super) fn code_part<'s>(&'s self, scope: &'s TreeScope) -> CodePart<'s> {
        let roots = &self.setting.config.roots;
        let part =
            Box::new(|path: &RepoPath, is_directory| part_of(scope, roots, path, is_directory));
        CodePart {
            name: self.name_of(scope),
            part,
        }
    }

    /// A name that identifies a part of the tree within a repository.
    fn name_of(&self, scope: &TreeScope) -> String {
        name_of_paths(&self.setting.config.roots, scope.texts())
    }

    /// Observes what a task contained when a step was taken after `before`. Code is taken as committed,
    /// except where the step recorded another digest; those digests are returned too. Files are read as they were when
    /// events of the step's version were recorded. Returns an error if the source cannot be read. With `is_own`, the code is that of the commit with the step, as after a squash;
    /// as this commit contains steps of the task, it names the task.
    pub(crate) fn observe_step<'l>(
        &self,
        is_own: bool,
        task: &TaskRef,
        loaded: &'l Loaded,
        (before, entry): (&Recorded, &HistoryEntry),
        claims: &[CodeClaim],
    ) -> Result<(&'l Workflow, Observed, Vec<CodeClaim>), Error> {
        let base = entry.base.as_ref();
        let limits = ReadLimits {
            version: entry.version,
            ..self.setting.limits()
        };
        let (repository, mut untrue) =
            self.repository_files_noted(&loaded.usable()?.workflow, entry)?;
        let (workflow, mut observed) = self.observe_within(task, loaded, &repository, &limits)?;
        self.look_at_code(
            task,
            workflow,
            before,
            BaseOf::Recorded(base),
            &mut observed,
        )?;
        if let (true, CodeAt::Commit(_, Some(own))) = (is_own, self.code) {
            name_task(&mut observed, own, task);
        }
        for one in claims {
            // It is there then, as it was judged.
            observed
                .facts
                .code
                .since
                .retain(|since| since.artifact != one.artifact || since.judged != one.digest);
            let files = observed
                .facts
                .artifacts
                .get_mut(&one.artifact)
                .into_iter()
                .flatten();
            for tree in files.filter(|file| file.is_tree && file.digest != Some(one.digest)) {
                tree.digest = Some(one.digest);
                let is_changed =
                    |state, artifact| since(workflow, state, artifact, one.digest).is_some();
                let state = state_of(before);
                let artifact = workflow.artifact(&one.artifact);
                if !state
                    .zip(artifact)
                    .is_some_and(|(state, artifact)| is_changed(state, artifact))
                {
                    tree.data = Some(Arc::new(FileFact::no_commits()));
                }
                untrue.push(one.clone());
            }
        }
        Ok((workflow, observed, untrue))
    }

    /// The committed code of each `tree` artifact. Returns an error if git cannot be read.
    pub(crate) fn code_here(
        &self,
        workflow: &Workflow,
    ) -> Result<Vec<(ArtifactName, Digest)>, Error> {
        let (CodeAt::Present(store, commit) | CodeAt::Commit(store, commit)) = self.code else {
            return Ok(Vec::new());
        };
        let digest = |(artifact, scope): (&Artifact, &TreeScope)| {
            let code = self.code_part(scope);
            Ok((
                artifact.name.clone(),
                store.code().code_digest(commit, &code)?,
            ))
        };
        trees(workflow).map(digest).collect()
    }

    /// Why recorded code that differs from the committed code may be honest and yet unverifiable here. `None`
    /// if every such digest is the base of a comparison that was committed earlier, or `moved` finds nothing
    /// missing. With `is_own`, the code is that of the commit with the steps, as after a squash, which does not show
    /// the code with which a phase was entered, unless `is_apart`. Returns an error if git cannot be read.
    pub(crate) fn code_unknown(
        &self,
        workflow: &Workflow,
        (parents, is_own): (&[Digest], bool),
        untrue: &[CodeClaim],
        moved: impl Fn(&ArtifactName, Digest) -> Option<String>,
        is_apart: impl Fn(&ArtifactName, Digest) -> bool,
    ) -> Result<Option<String>, Error> {
        for CodeClaim {
            artifact,
            digest,
            use_of,
        } in untrue
        {
            if *use_of == UseOf::File {
                return Ok(Some(format!(
                    "the files of `{artifact}` at that time, with {}, are not those of the parent commit",
                    digest.short()
                )));
            }
            let name = tree_name(artifact.as_str());
            if *use_of != UseOf::Base {
                let Some(missing) = moved(artifact, *digest) else {
                    continue;
                };
                let code = digest.short();
                return Ok(Some(format!(
                    "{name}, {code}, is not the code of the parent commit{missing}"
                )));
            }
            let scope = workflow
                .artifact(artifact)
                .and_then(|artifact| artifact.tree.as_ref());
            let Some(scope) = scope else { continue };
            let is_made = || {
                if is_own {
                    is_apart(artifact, *digest)
                } else {
                    moved(artifact, *digest).is_none()
                }
            };
            if !self.stood(scope, parents, *digest, |_| true)? && !is_made() {
                return Ok(Some(format!(
                    "{name} at that time, {}, is not in git",
                    digest.short()
                )));
            }
        }
        Ok(None)
    }

    /// Why a step that rests on code compares it with a base that is not in git: some commit must contain
    /// both that code and a record that says so. `None` if there is one. Returns an error if git cannot be
    /// read.
    pub(crate) fn miscounted<'t>(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        before: &Recorded,
        step: impl Iterator<Item = &'t CodeClaim>,
    ) -> Result<Option<String>, Error> {
        let (Recorded::Known(state), CodeAt::Commit(store, Some(head))) = (before, self.code)
        else {
            return Ok(None);
        };
        let Some(phase) = state
            .phase
            .as_deref()
            .and_then(|name| workflow.phase_named(name))
        else {
            return Ok(None);
        };
        for one in step
            .filter(|one| one.use_of == UseOf::Evidence && phase.produces.contains(&one.artifact))
        {
            let Some(scope) = workflow
                .artifact(&one.artifact)
                .and_then(|artifact| artifact.tree.as_ref())
            else {
                continue;
            };
            let own = state.under_own_names(workflow);
            let entered = own
                .actor(&phase.id)
                .and_then(|actor| *actor.entered_with.get(&one.artifact)?);
            let Some(entered) = entered else { continue };
            let places = self.places_of(task, state.former_ids());
            let says_so = |commit| {
                let state_at = |place| state_in(store, commit, place, workflow).ok().flatten();
                let state = places.iter().find_map(state_at);
                let own = state.as_ref().map(|state| state.under_own_names(workflow));
                let actor = own.as_ref().and_then(|state| state.actor(&phase.id));
                actor.and_then(|actor| *actor.entered_with.get(&one.artifact)?) == Some(entered)
            };
            if !self.stood(scope, &[head], entered, says_so)? {
                let name = tree_name(one.artifact.as_str());
                let phase = &phase.id;
                return Ok(Some(format!(
                    "{name} was not {} when `{phase}` was entered",
                    entered.short()
                )));
            }
        }
        Ok(None)
    }

    /// Whether the commits up to `to` make the code `wanted` from the last of some entries of the phase that makes
    /// it, and on the way the code of the others: every file that they change is byte for byte the same in both,
    /// before the change and after it. They also do if the code is there as it is, and that of the entry before it. Commits
    /// that name the task may not have changed the code before. `entries` are the last ones first. Returns an error if git
    /// cannot be read.
    pub(crate) fn other_change(
        &self,
        task: &TaskRef,
        artifact: &Artifact,
        entries: &[PhaseEntry],
        (wanted, to): (Digest, Digest),
    ) -> Result<CodeChange, Error> {
        let (CodeAt::Present(store, _) | CodeAt::Commit(store, _)) = self.code else {
            return Ok(CodeChange::Other(String::new()));
        };
        let (Some(scope), Some((first, later))) = (artifact.tree.as_ref(), entries.split_last())
        else {
            return Ok(CodeChange::Other(String::new()));
        };
        let code = self.code_part(scope);
        let PhaseEntry {
            code: base,
            before: from,
        } = *first;
        let mut onto = from;
        if store.code().code_digest(Some(from), &code)? != base {
            let is_base = |source: &TreeSource<'_>| {
                Ok(store.code().code_digest(source.commit(), &code)? == base)
            };
            let Some(found) = store.history().ancestor(&[from], None, is_base)? else {
                let base = base.short();
                let why = format!(", and the code that it was made from, {base}, is not in git");
                return Ok(CodeChange::FromNowhere(why));
            };
            onto = found;
            let since = store
                .code()
                .code_since(from, &Start::Was(vec![base]), &code)?;
            let is_named =
                |commit: &CodeCommit| commit.tasks.iter().any(|named| named == task.id.as_str());
            if since.is_none_or(|since| since.commits.iter().any(is_named)) {
                return Ok(CodeChange::Other(
                    ", and the task changed the code before that phase".to_owned(),
                ));
            }
        }
        // All that came since the phase was entered is in what was judged, and nothing takes back what others changed.
        if later.is_empty() && store.code().code_digest(Some(to), &code)? == wanted {
            let of_others = store.code().code_files_changed([onto, from], &code)?;
            if store
                .code()
                .code_files_changed([from, to], &code)?
                .is_disjoint(&of_others)
            {
                return Ok(CodeChange::Same);
            }
        }
        let ends = later
            .iter()
            .map(|entry| (entry.code, entry.before))
            .chain([(wanted, to)]);
        for (made, end) in ends {
            if store
                .code()
                .code_with_change(Some(onto), [Some(from), Some(end)], &code)?
                != Some(made)
            {
                let why = ", and the commits since that phase was entered make another change";
                return Ok(CodeChange::Other(why.to_owned()));
            }
        }
        Ok(CodeChange::Same)
    }

    /// The task, and where it was under these ids that it had before.
    pub(crate) fn places_of<'i>(
        &self,
        task: &TaskRef,
        former: impl IntoIterator<Item = &'i str>,
    ) -> Vec<TaskRef> {
        let former = former
            .into_iter()
            .filter_map(|id| self.place_of(task, &TaskId::new(id).ok()?));
        std::iter::once(task.clone()).chain(former).collect()
    }

    /// Where the task would be under another id; `None` if no root has a place for that id.
    pub(crate) fn place_of(&self, task: &TaskRef, id: &TaskId) -> Option<TaskRef> {
        self.setting
            .places(id)
            .next()
            .map(|(_, place)| place.governed_by(&task.workflow))
    }

    /// Adds the present id of the task to each commit that names it by a former one. The first version of the record did
    /// not ask whether another task has that id since.
    fn name_anew(
        &self,
        store: &Store,
        task: &TaskRef,
        state: &State,
        is_first_version: bool,
        since: &mut Since,
    ) -> Result<(), Error> {
        let commits = self.commits_of(task, state);
        for commit in &mut since.commits {
            if commit.tasks.contains(&commits.present.id) {
                continue;
            }
            let is_meant = match is_first_version {
                true => commits
                    .former
                    .iter()
                    .any(|former| commit.tasks.contains(&former.id)),
                false => store.code().is_commit_of(commit, &commits)?,
            };
            if is_meant {
                commit.tasks.push(commits.present.id.clone());
            }
        }
        Ok(())
    }

    /// Whether a part of the tree had the digest `wanted` in `from` or an ancestor for which `is_meant` is
    /// true.
    fn stood(
        &self,
        scope: &TreeScope,
        from: &[Digest],
        wanted: Digest,
        is_meant: impl Fn(Digest) -> bool,
    ) -> Result<bool, Error> {
        let CodeAt::Commit(store, _) = self.code else {
            return Ok(false);
        };
        let code = self.code_part(scope);
        let found = store.history().ancestor(from, None, |source| {
            let commit = source.commit();
            Ok(store.code().code_digest(commit, &code)? == wanted && commit.is_some_and(&is_meant))
        })?;
        Ok(found.is_some())
    }
}

/// An entry of the phase that makes some code.
pub(crate) struct PhaseEntry {
    /// The recorded code with which the phase was entered.
    pub code: Digest,
    /// The parent of the commit here that brings the entry.
    pub before: Digest,
}

/// How the commits here compare with a recorded change of code.
pub(crate) enum CodeChange {
    /// They make it.
    Same,
    /// They do not; the reason.
    Other(String),
    /// The code that it begins with is not in git; the reason.
    FromNowhere(String),
}

/// What a recorded step says about code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeClaim {
    artifact: ArtifactName,
    digest: Digest,
    use_of: UseOf,
}

/// What a step uses the code for that it tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UseOf {
    /// The step rests on it.
    Evidence,
    /// A phase was entered with it, as a base for comparisons.
    Base,
    /// The record does not say so, but the step derives from it.
    Guess,
    /// It is no code but a file of the repository that the step saw.
    File,
}

impl CodeClaim {
    /// The claim that a step saw this file of the repository.
    pub(super) fn of_file(artifact: ArtifactName, digest: Digest) -> Self {
        Self {
            artifact,
            digest,
            use_of: UseOf::File,
        }
    }

    /// Whether the step only notes it as a base for comparisons.
    pub(crate) fn is_base(&self) -> bool {
        self.use_of == UseOf::Base
    }

    /// Whether it is about this artifact.
    pub(crate) fn is_of(&self, artifact: &ArtifactName) -> bool {
        self.artifact == *artifact
    }

    /// Whether it names this digest of an artifact.
    pub(crate) fn is(&self, artifact: &ArtifactName, digest: Digest) -> bool {
        self.artifact == *artifact && self.digest == digest
    }
}

/// Adds the task to those that a commit names.
fn name_task(observed: &mut Observed, commit: Digest, task: &TaskRef) {
    let commit = commit.to_string();
    let files = observed
        .facts
        .artifacts
        .values_mut()
        .flatten()
        .filter(|file| file.is_tree);
    for data in files.filter_map(|file| file.data.as_mut()) {
        let commits = Arc::make_mut(data)
            .get_mut("commits")
            .and_then(Value::as_array_mut);
        for known in commits
            .into_iter()
            .flatten()
            .filter(|known| known["id"] == commit.as_str())
        {
            let named = known.get_mut("tasks").and_then(Value::as_array_mut);
            named
                .into_iter()
                .for_each(|named| named.push(json!(task.id.as_str())));
        }
    }
}

fn state_of(recorded: &Recorded) -> Option<&State> {
    match recorded {
        Recorded::Known(state) => Some(state),
        _ => None,
    }
}

/// Why the changes of some code cannot be determined in this clone, if so.
pub(crate) fn code_out_of_reach(facts: &Facts) -> Option<String> {
    let settings = facts.artifacts.values().flatten();
    let absent = settings
        .filter(|file| is_repository_name(&file.path))
        .find(|file| {
            file.problems
                .iter()
                .any(|found| found.code == Code::NotInClone)
        });
    if let Some(file) = absent {
        return Some(format!("{} is not in this clone", &file.path[1..]));
    }
    let trees = facts
        .artifacts
        .values()
        .flatten()
        .filter(|file| file.is_tree);
    let mut problems =
        trees.flat_map(|tree| tree.problems.iter().map(move |problem| (tree, problem)));
    problems
        .next()
        .map(|(tree, problem)| format!("{}: {}", tree.path, problem.message))
}

/// What a step says about the code that was present when it was taken.
pub(crate) fn claims(workflow: &Workflow, entry: &HistoryEntry, after: &State) -> Vec<CodeClaim> {
    let claim = |artifact: &Artifact| {
        let name = tree_name(artifact.name.as_str());
        let named = entry.evidence.iter().find(|(path, _)| *path == name);
        let evidence = named.and_then(|(_, digest)| Digest::parse(digest));
        let mut noted = entry.files.get(&artifact.name).into_iter().flatten();
        let noted = noted
            .find(|noted| noted.path == name)
            .map(|noted| noted.digest);
        let makes = workflow
            .phase(&entry.to)
            .is_some_and(|phase| phase.produces.contains(&artifact.name));
        let to = after.actor(&entry.to).filter(|_| makes);
        let entered = to.and_then(|actor| *actor.entered_with.get(&artifact.name)?);
        Some(CodeClaim {
            artifact: artifact.name.clone(),
            digest: evidence.or(entered).or(noted)?,
            use_of: if evidence.is_some() || entered.is_none() {
                UseOf::Evidence
            } else {
                UseOf::Base
            },
        })
    };
    trees(workflow)
        .filter_map(|(artifact, _)| claim(artifact))
        .collect()
}

/// The code that may have been present when a step was taken, one guess each: what the records before and
/// after the step name. A rebase, a squash or an import puts other code before the step.
pub(crate) fn guesses(
    workflow: &Workflow,
    before: Option<&State>,
    after: &State,
) -> Vec<CodeClaim> {
    let mut guesses = Vec::new();
    let before = before.map(|before| before.under_own_names(workflow));
    for (artifact, _) in trees(workflow) {
        let actors = before
            .iter()
            .flat_map(|state| state.actors.values())
            .chain(after.actors.values());
        let records = actors.flat_map(|actor| [&actor.entered_with, &actor.left_with]);
        let digests: BTreeSet<Digest> = records
            .filter_map(|record| *record.get(&artifact.name)?)
            .collect();
        let guess = |digest| CodeClaim {
            artifact: artifact.name.clone(),
            digest,
            use_of: UseOf::Guess,
        };
        guesses.extend(digests.into_iter().map(guess));
    }
    guesses
}

/// The artifacts that may be code, each with its patterns.
fn trees(workflow: &Workflow) -> impl Iterator<Item = (&Artifact, &TreeScope)> {
    workflow
        .artifacts
        .iter()
        .filter_map(|artifact| Some((artifact, artifact.tree.as_ref()?)))
}

/// The fact of code without known changes.
fn tree_fact(artifact: &Artifact, digest: Digest) -> FileFact {
    FileFact {
        writers: Vec::new(),
        pattern: artifact.paths.len(),
        is_tree: true,
        path: tree_name(artifact.name.as_str()),
        digest: Some(digest),
        data: Some(Arc::new(FileFact::no_commits())),
        problems: Vec::new(),
    }
}

/// Notes that the changes of the code cannot be determined here.
fn unknown(fact: &mut FileFact) {
    let message = "the history in this clone does not reach back to the task's last step";
    fact.data = None;
    // The code itself is fine, so a check in a shallow clone may pass.
    fact.problems = vec![
        Diagnostic::note(Code::NotInClone, message).hint(Hint::run(&[
            "git",
            "fetch",
            "--unshallow",
        ])),
    ];
}

/// Replaces the code facts of an artifact.
fn put(facts: &mut Facts, artifact: &Artifact, fact: FileFact) {
    let files = facts.artifacts.entry(artifact.name.clone()).or_default();
    files.retain(|file| !file.is_tree);
    files.push(fact);
}

/// How much of a path belongs to this part of the code. Task directories never do.
fn part_of(scope: &TreeScope, roots: &Roots, path: &RepoPath, is_directory: bool) -> TreePart {
    match (scope.part(path), roots.part(path, is_directory)) {
        (TreePart::None, _) | (_, TreePart::Whole) => TreePart::None,
        (TreePart::Whole, TreePart::None) => TreePart::Whole,
        _ => TreePart::Within,
    }
}

/// The digests of the code when the phases that change it were entered; `None` if it still has that digest.
fn since(
    workflow: &Workflow,
    state: &State,
    artifact: &Artifact,
    digest: Digest,
) -> Option<Vec<Digest>> {
    let current = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    if current.is_some_and(|phase| phase.terminal) {
        return None;
    }
    let state = state.under_own_names(workflow);
    let records: Vec<Option<Digest>> = workflow
        .producers(&artifact.name)
        .filter_map(|phase| {
            state
                .actor(&phase.id)?
                .entered_with
                .get(&artifact.name)
                .copied()
        })
        .collect();
    let is_changed = records.iter().any(|record| *record != Some(digest));
    is_changed.then(|| records.into_iter().flatten().collect())
}

/// Whether a commit contains a log of the task and, if `now` is given, one equal to the present log.
fn is_committed(
    store: &Store,
    commit: Digest,
    path: &RepoPath,
    now: Option<&ObservedLog>,
) -> Result<bool, Error> {
    let held = || store.objects().read_at(commit, path);
    Ok(match now {
        None => held()?.is_some(),
        Some(ObservedLog::Whole(now)) => held()?.is_some_and(|held| is_same(&held, now)),
        Some(ObservedLog::End(end)) => end.held.is_some(),
        Some(ObservedLog::Missing | ObservedLog::Unreadable) => false,
    })
}

/// Whether a record equals the committed one, apart from line endings, which a checkout may convert.
fn is_same(committed: &[u8], present: &[u8]) -> bool {
    let plain = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .copied()
            .filter(|byte| *byte != b'\r')
            .collect()
    };
    committed == present || plain(committed) == plain(present)
}

/// Whether the last recorded step confirms that the code is right as it is.
fn is_confirmed(state: Option<&State>, artifact: &Artifact) -> bool {
    let last = state.and_then(|state| state.history.last());
    last.is_some_and(|last| {
        last.confirmed
            .as_ref()
            .is_some_and(|name| artifact.is_named(name.as_str()))
    })
}

/// The facts after a state was committed: no code has been committed since, and the step may confirm the code
/// as it is.
pub(crate) fn facts_after<'f>(
    workflow: &Workflow,
    facts: &'f Facts,
    state: &State,
) -> Cow<'f, Facts> {
    let mut after = facts.after_a_step();
    for (artifact, _) in trees(workflow) {
        let files = || facts.artifacts.get(&artifact.name).into_iter().flatten();
        let digest = files()
            .find(|file| file.is_tree)
            .and_then(|tree| tree.digest);
        let is_changed =
            digest.is_some_and(|digest| since(workflow, state, artifact, digest).is_some());
        if !(is_changed && is_confirmed(Some(state), artifact)) {
            continue;
        }
        let files = after
            .to_mut()
            .artifacts
            .get_mut(&artifact.name)
            .into_iter()
            .flatten();
        for tree in files.filter(|file| file.is_tree) {
            tree.data = Some(Arc::new(value(&Since::default(), true)));
        }
    }
    after
}

/// The code with which the phases that change it were entered, and with which they were left.
fn recorded_codes(
    workflow: &Workflow,
    state: Option<&State>,
    artifact: &Artifact,
    entered: Vec<Digest>,
) -> Vec<Digest> {
    let Some(state) = state else { return entered };
    let state = state.under_own_names(workflow);
    let left = workflow.producers(&artifact.name).filter_map(|phase| {
        state
            .actor(&phase.id)?
            .left_with
            .get(&artifact.name)
            .copied()
            .flatten()
    });
    entered.into_iter().chain(left).collect()
}

fn value(since: &Since, confirmed: bool) -> Value {
    let commits: Vec<Value> = since
        .commits
        .iter()
        .map(|commit| json!({"id": commit.id.to_string(), "subject": commit.subject, "tasks": commit.tasks}))
        .collect();
    let files: Vec<&str> = since.files.iter().map(|path| path.as_str()).collect();
    json!({"commits": commits, "files": files, "confirmed": confirmed})
}
