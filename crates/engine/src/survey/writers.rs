//! Who wrote the files of a task: what was seen, or else what git's commits say.

use super::setting::HeadSettings;
use super::snapshot::Snapshot;
use super::verified_code::VerifiedLook;
use super::{CodeAt, Error, Reader, Sight, TaskRef};
use orch_base::{Digest, RepoPath};
use orch_core::config;
use orch_core::decide::{
    FileFact, FileWriter, Inputs, NotedFile, Recorded, State, is_writer_known, needs_writers,
};
use orch_core::workflow::{Artifact, Phase, Workflow, is_tree_name};
use orch_files::EntryKind;
use orch_git::{CodeCommit, SeenWriters, Store};
use orch_read::Observed;
use std::collections::BTreeMap;

/// Stands for the path where a commit was seen to be made.
const COMMIT: &str = "commit";

/// The files of a task that a turn may write, and where HEAD is.
pub(crate) struct OutputsNow {
    files: BTreeMap<String, Digest>,
    head: Option<Digest>,
}

impl Snapshot<'_> {
    /// Adds to the facts what the settings ask of decisions, and what is known of the verifications that they define. A fault
    /// of those in HEAD is none of the file in the work tree, so it is told with the task. Returns an error if git or the
    /// source cannot be read.
    pub(super) fn look_at_settings(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let format = self.setting.system.format();
        let head = self.settings_in_head()?;
        let (config, fault) = match &head {
            Some(HeadSettings { config, fault }) => (config, fault.clone()),
            None => (&self.setting.config, None),
        };
        observed.facts.inputs = Inputs {
            fault,
            ..config.inputs(format)
        };
        let snapshot = *self;
        let verified = VerifiedLook { snapshot, config };
        verified.add_to(task, workflow, recorded, observed)
    }

    /// The settings of decisions: as HEAD has them, so that nobody loosens them without a commit. `None` without HEAD, for
    /// a commit that is looked at, and if they are those that are read with the tasks. Returns an error if git cannot be
    /// read.
    pub(super) fn settings_in_head(&self) -> Result<Option<HeadSettings>, Error> {
        let CodeAt::Present(store, Some(head)) = self.code else {
            return Ok(None);
        };
        let Ok(path) = RepoPath::new(config::FILE) else {
            return Ok(None);
        };
        let head = store.objects().source_at(Some(head));
        if head
            .blob_at(&path)?
            .is_some_and(|blob| self.setting.is_text(blob))
        {
            return Ok(None);
        }
        HeadSettings::read(store, &head)
    }

    /// Adds to the facts who wrote the files: as the state says, or else as was seen, or else as the commit says that
    /// brought the current bytes, where that matters. Returns an error if git cannot be read.
    pub(super) fn look_at_writers(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let state = if let Recorded::Known(state) = recorded {
            Some(&**state)
        } else {
            None
        };
        if let CodeAt::Present(store, head) = self.code {
            let seen = store.layout().seen_writers(task.directory());
            let phase = state.and_then(|state| workflow.phase_named(state.phase.as_deref()?));
            // A step notes writers only of what a phase produces.
            let is_produced =
                |artifact: &&Artifact| workflow.producers(&artifact.name).next().is_some();
            for artifact in workflow.artifacts.iter().filter(is_produced) {
                let files = observed
                    .facts
                    .artifacts
                    .get_mut(&artifact.name)
                    .into_iter()
                    .flatten();
                for file in files.filter(|file| !file.is_tree) {
                    let Some(digest) = file.digest else { continue };
                    if state.is_some_and(|state| {
                        is_writer_known(workflow, state, &artifact.name, digest)
                    }) {
                        continue;
                    }
                    let writer = seen.as_ref().and_then(|seen| seen.of(&file.path, digest));
                    file.writers = writer.into_iter().collect();
                    if file.writers.is_empty()
                        && phase.is_some_and(|phase| is_handed_over(workflow, phase, artifact))
                    {
                        file.writers = committed_by(store, head, task, file)?;
                    }
                }
            }
        }
        if let Some(state) = state {
            observed.facts.add_writers_of(workflow, state);
        }
        Ok(())
    }
}

/// Whether a phase produces this artifact, and its writers matter.
fn is_handed_over(workflow: &Workflow, phase: &Phase, artifact: &Artifact) -> bool {
    phase.produces.contains(&artifact.name) && needs_writers(workflow, artifact)
}

/// Whether what a turn in a phase writes there is noted: an output, or a verdict that others than its writers must give.
fn may_write(workflow: &Workflow, phase: &Phase, artifact: &Artifact) -> bool {
    let judges = |other: &Phase| {
        other.produces.contains(&artifact.name)
            && other
                .not_by
                .iter()
                .any(|name| phase.produces.contains(name))
    };
    phase.produces.contains(&artifact.name) || workflow.phases.iter().any(judges)
}

/// Those who made the commit that brought the current bytes of a file, if HEAD holds them.
fn committed_by(
    store: &Store,
    head: Option<Digest>,
    task: &TaskRef,
    file: &FileFact,
) -> Result<Vec<FileWriter>, Error> {
    let path = task.file(&file.path)?;
    let held = store.objects().source_at(head).blob_at(&path)?;
    if held.is_none() || held != file.digest {
        return Ok(Vec::new());
    }
    let Some(head) = head else {
        return Ok(Vec::new());
    };
    let commit = store.history().last_changes(head, &[path])?.pop().flatten();
    Ok(commit
        .map(|commit| store.history().writers_of_commit(commit))
        .transpose()?
        .unwrap_or_default())
}

/// The writers of the commits of code that name a task, newest first: as was seen, or else as the commits say.
pub(super) fn writers_of_code(
    commits: &[CodeCommit],
    task: &TaskRef,
    seen: Option<&SeenWriters>,
) -> Vec<FileWriter> {
    let mut writers: Vec<FileWriter> = Vec::new();
    for commit in commits
        .iter()
        .filter(|commit| commit.tasks.iter().any(|named| named == task.id.as_str()))
    {
        let found = match seen.and_then(|seen| seen.of(COMMIT, commit.id)) {
            Some(writer) => vec![writer],
            None => commit.writers.clone(),
        };
        for writer in found {
            if !writers.contains(&writer) {
                writers.push(writer);
            }
        }
    }
    writers
}

impl Reader {
    /// The outputs of the phase of a task, and the verdicts about them, as they are in the work tree now, before or after a
    /// turn. Returns an error if
    /// they cannot be read.
    pub(crate) fn outputs_now(&self, sight: &Sight) -> Result<Option<OutputsNow>, Error> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let compiled = &sight.compiled;
        let phase = sight
            .decision
            .phase
            .as_ref()
            .and_then(|phase| compiled.workflow.phase(phase));
        let Some(phase) = phase else { return Ok(None) };
        let is_output = |name: &str| {
            let mut owners = compiled.matcher.artifacts_of(name);
            owners.any(|(artifact, _)| {
                let artifact = compiled.workflow.artifacts.get(artifact);
                artifact.is_some_and(|artifact| may_write(&compiled.workflow, phase, artifact))
            })
        };
        let mut files = BTreeMap::new();
        for entry in self.snapshot(|snapshot| snapshot.source.list_task(&sight.task.place))? {
            let Ok(path) = RepoPath::new(&entry.path) else {
                continue;
            };
            let name = sight.task.place.name(&path).filter(|name| is_output(name));
            if let Some(name) = name.filter(|_| entry.kind == EntryKind::File)
                && let Some(digest) = store.filters().digest_on_disk(&path)?
            {
                files.insert(name.to_owned(), digest);
            }
        }
        Ok(Some(OutputsNow {
            files,
            head: store.refs().head()?.commit,
        }))
    }

    /// Keeps that this writer has written what differs from the outputs before its turn, and made the commits since.
    /// Returns an error if that cannot be seen or kept.
    pub(crate) fn see_turn(
        &self,
        sight: &Sight,
        before: &OutputsNow,
        writer: &FileWriter,
    ) -> Result<(), Error> {
        let (Some(store), Some(now)) = (&self.store, self.outputs_now(sight)?) else {
            return Ok(());
        };
        let task = sight.task.directory();
        for (name, digest) in now
            .files
            .iter()
            .filter(|(name, digest)| before.files.get(*name) != Some(*digest))
        {
            store.layout().see_writer(task, (name, *digest), writer)?;
        }
        if let Some(head) = now.head.filter(|head| before.head != Some(*head)) {
            for commit in store.history().commits_since(before.head, head)? {
                store.layout().see_writer(task, (COMMIT, commit), writer)?;
            }
        }
        Ok(())
    }

    /// Keeps who has written a file through `orch`. A failure is logged: the file is written.
    pub(crate) fn see_written(&self, task: &TaskRef, name: &str, writer: &FileWriter) {
        let Some(store) = &self.store else { return };
        let see = || -> Result<(), Error> {
            match store.filters().digest_on_disk(&task.file(name)?)? {
                Some(digest) => store
                    .layout()
                    .see_writer(task.directory(), (name, digest), writer),
                None => Ok(()),
            }
        };
        if let Err(error) = see() {
            tracing::warn!(error = error.logged(), "cannot keep who has written a file");
        }
    }

    /// Forgets what was seen of the files and commits of which the steps since a look have noted who made them.
    pub(super) fn forget_noted(&self, before: &Sight, state: &State) {
        let Some(store) = &self.store else { return };
        let last = before.state().map_or(0, |state| state.rev);
        let steps = state.history.iter().filter(|step| step.seq > last);
        let noted = steps.flat_map(|step| step.files.values().flatten());
        let noted = noted.filter(|noted| noted.writer.is_some() || !noted.writers.is_empty());
        let (code, files): (Vec<&NotedFile>, Vec<_>) =
            noted.partition(|noted| is_tree_name(&noted.path));
        let mut used: Vec<(&str, Digest)> = files
            .iter()
            .map(|noted| (noted.path.as_str(), noted.digest))
            .collect();
        if !code.is_empty() {
            let trees = before
                .observed
                .facts
                .artifacts
                .values()
                .flatten()
                .filter_map(|file| {
                    file.data
                        .as_ref()
                        .filter(|_| file.is_tree)?
                        .get("commits")?
                        .as_array()
                });
            let commits = trees
                .flatten()
                .filter_map(|commit| Digest::parse(commit["id"].as_str()?));
            used.extend(commits.map(|commit| (COMMIT, commit)));
        }
        if !used.is_empty() {
            store.layout().forget_writers(before.task.directory(), used);
        }
    }
}
