//! The commit with which the tests of a verification are compared: where the commits of a task begin.

use super::setting::InSource;
use super::snapshot::Snapshot;
use super::verified_code::{verified_code, verified_part};
use super::{CodeAt, Error, Reader, Settings, Sight, TaskRef};
use orch_base::{Class, Digest, Patterns};
use orch_core::config::Config;
use orch_core::decide::{CodeBase, PlannedPaths, planned_paths};
use orch_core::verification::{FoundBy, VerifiedBase, VerifyTable};
use orch_git::{CodeQuestion, Store};
use orch_read::ValidationCache;

/// The files that paths of a plan mean: each path itself, and all below it.
pub(crate) fn named_files(planned: &PlannedPaths) -> Patterns {
    let globs = planned
        .texts()
        .iter()
        .flat_map(|text| [text.clone(), format!("{}/**", text.trim_end_matches('/'))]);
    let usable = globs.filter(|glob| Patterns::new([glob]).is_ok());
    Patterns::new(usable).unwrap_or_default()
}

impl Reader {
    /// The settings by which decisions about a commit are made: those that it has.
    pub(crate) fn config_in(&self, head: Digest) -> Result<Config, Error> {
        self.snapshot_at(Some(head), |snapshot| {
            let found = snapshot.settings_in_head()?;
            Ok(match found {
                Some(found) => found.config,
                None => self.settings.config.clone(),
            })
        })
    }

    /// The digest of the code of a commit that a verification is about, by these settings. Returns an error if git cannot be read.
    pub(crate) fn verified_code_in(
        &self,
        head: Digest,
        config: &Config,
        table: &VerifyTable,
    ) -> Result<Digest, Error> {
        let code = self.snapshot_at(Some(head), |snapshot| {
            verified_code(snapshot.code, config, table)
        })?;
        code.ok_or_else(Error::moved)
    }

    /// What the plan of a task names in a commit, as [`named_files`]; nothing if the task cannot be read there. Returns an
    /// error if git cannot be read.
    pub(crate) fn planned_in(&self, commit: Digest, task: &TaskRef) -> Result<Patterns, Error> {
        let Some(store) = &self.store else {
            return Ok(Patterns::default());
        };
        let source = store.objects().source_at(commit);
        let setting = Settings::read(&InSource(&source), store.objects().format()).in_full()?;
        let validations = ValidationCache::default();
        let code = CodeAt::Commit(store, Some(commit));
        let snapshot = Snapshot::new(&setting, &source, &validations, code);
        match snapshot.observe(task, u64::MAX) {
            Ok(read) => Ok(named_files(&planned_paths(
                &read.compiled.workflow,
                &read.recorded,
                &read.observed.facts,
            ))),
            Err(error) if error.class() != Class::Fault => Ok(Patterns::default()),
            Err(error) => Err(error),
        }
    }

    /// What the tests of a task are compared with: what its branch and the base branch have in common; or, where the task is
    /// worked on in the base branch itself, the parent of the commit that created it. `None` if there is none or this clone
    /// does not have it. Returns an error if git cannot be read.
    pub(crate) fn verification_base(
        &self,
        sight: &Sight,
        config: &Config,
        table: &VerifyTable,
    ) -> Result<Option<VerifiedBase>, Error> {
        let (Some(store), Some(head), Some(state)) =
            (&self.store, sight.head_commit(), sight.state())
        else {
            return Ok(None);
        };
        self.snapshot_at(Some(head), |snapshot| {
            let code = verified_part(config, table);
            let commits = snapshot.commits_of(&sight.task, state);
            let question = CodeQuestion {
                head,
                entered: None,
                judged: store.code().code_digest(Some(head), &code)?,
                base: None,
                task: &commits,
            };
            let Ok(found) = snapshot.base_here(&question, store, &code)? else {
                return Ok(None);
            };
            let commit = begin_of(store, sight, &found, head)?;
            let Some(commit) = commit else {
                return Ok(None);
            };
            if !store.objects().has(commit)? {
                return Ok(None);
            }
            Ok(Some(VerifiedBase {
                commit,
                code: store.code().code_digest(Some(commit), &code)?,
                by: found.by,
            }))
        })
    }
}

/// The commit with which the commits of a task begin: the base of its branch, or the parent of the commit that created the
/// task. `None` if there is none. Returns an error if git cannot be read.
pub(super) fn begin_of(
    store: &Store,
    sight: &Sight,
    found: &CodeBase,
    head: Digest,
) -> Result<Option<Digest>, Error> {
    if found.by == FoundBy::Branch {
        return Ok(found.commit);
    }
    let log = sight.task.transcript_path();
    let changes = store.history().changes_of(head, &log)?;
    match changes.last() {
        Some(created) => Ok(store.history().visit(*created)?.parents.first().copied()),
        None => Ok(None),
    }
}
