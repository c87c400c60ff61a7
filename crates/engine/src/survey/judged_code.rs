//! How committed code came from code that was judged, for approvals: which commits are the task's, and which came later.

use super::snapshot::Snapshot;
use super::{BaseOf, Error, TaskRef};
use orch_base::{Digest, TaskId};
use orch_core::decide::{
    CodeBase, CodeFacts, CodeHistory, CodeSince, MovedFile, State, UnknownCode, judged_before,
};
use orch_core::verification::FoundBy;
use orch_core::workflow::{Artifact, Workflow};
use orch_git::{CodePart, CodeQuestion, CommitsOf, NamedLog, Store};

/// The code of an artifact in a commit.
#[derive(Clone, Copy)]
pub(super) struct JudgedCode<'a> {
    pub store: &'a Store,
    pub head: Digest,
    pub artifact: &'a Artifact,
    pub code: &'a CodePart<'a>,
    pub present: Digest,
}

impl Snapshot<'_> {
    /// How the present code came from each other code that was judged by what the task rests on.
    pub(super) fn code_since_judged(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        state: &State,
        base: BaseOf<'_>,
        asked: &JudgedCode<'_>,
    ) -> Result<CodeFacts, Error> {
        let JudgedCode {
            store,
            head,
            artifact,
            code,
            present,
        } = *asked;
        let mut judged = judged_before(workflow, state, artifact);
        let current = state
            .phase
            .as_deref()
            .and_then(|name| workflow.phase_named(name));
        let may_end_well = current.is_some_and(|phase| workflow.may_end_well(&phase.id));
        // What was judged may be there, and the branch take back what others did.
        let is_there =
            judged.remove(&present) && may_end_well && !matches!(base, BaseOf::Recorded(None));
        let mut facts = CodeFacts::default();
        if judged.is_empty() && !is_there {
            return Ok(facts);
        }
        let own = state.under_own_names(workflow);
        let entered = workflow.producers(&artifact.name).find_map(|phase| {
            own.actor(&phase.id)?
                .entered_with
                .get(&artifact.name)
                .copied()
                .flatten()
        });
        let commits = self.commits_of(task, state);
        let mut question = CodeQuestion {
            head,
            entered,
            judged: present,
            base: None,
            task: &commits,
        };
        let mut unknown = None;
        match base {
            BaseOf::Branch => match self.base_here(&question, store, code)? {
                Ok(found) => facts.base = Some(found),
                Err(why) => unknown = Some(why),
            },
            BaseOf::Recorded(Some(base)) if is_true(base, &question, store, code)? => {
                facts.base = Some(base.clone());
            }
            BaseOf::Recorded(_) => unknown = Some(UnknownCode::NotHere),
        }
        question.base = facts.base.as_ref().and_then(|base| base.commit);
        for judged in judged {
            question.judged = judged;
            let history = match &unknown {
                Some(why) => Err(why.clone()),
                None => store.code().code_changes(&question, code)?,
            };
            facts.since.push(CodeSince {
                artifact: artifact.name.clone(),
                judged,
                history,
            });
        }
        if let (true, Some(base)) = (is_there, question.base) {
            let taken_back =
                store
                    .code()
                    .taken_back_since(&task.transcript_path(), [base, head], code)?;
            let moved: Vec<MovedFile> = taken_back
                .into_iter()
                .map(|path| MovedFile {
                    path,
                    is_own: true,
                    is_undone: false,
                })
                .collect();
            if !moved.is_empty() {
                let history = Ok(CodeHistory {
                    moved,
                    ..CodeHistory::default()
                });
                facts.since.push(CodeSince {
                    artifact: artifact.name.clone(),
                    judged: present,
                    history,
                });
            }
        }
        // Nothing was held against it.
        if facts.since.is_empty() {
            facts.base = None;
        }
        Ok(facts)
    }

    /// What tells the commits of a task, under its id and its former ones.
    pub(crate) fn commits_of(&self, task: &TaskRef, state: &State) -> CommitsOf {
        let log_of = |id: &str| {
            Some(
                self.place_of(task, &TaskId::new(id).ok()?)?
                    .transcript_path(),
            )
        };
        let former = state.former_ids().map(|id| NamedLog {
            id: id.to_owned(),
            log: log_of(id),
        });
        let present = NamedLog {
            id: task.id.to_string(),
            log: Some(task.transcript_path()),
        };
        CommitsOf {
            present,
            former: former.collect(),
        }
    }

    /// What the branch of a commit and the base branch have in common last. The task is worked on in the base branch
    /// itself if there is no other, or if what they have in common contains a commit of the task.
    pub(super) fn base_here(
        &self,
        asked: &CodeQuestion<'_>,
        store: &Store,
        code: &CodePart<'_>,
    ) -> Result<Result<CodeBase, UnknownCode>, Error> {
        let in_head = self.settings_in_head()?;
        let git = &in_head
            .as_ref()
            .map_or(&self.setting.config, |found| &found.config)
            .git;
        let named = git.base.as_deref();
        let in_base_branch = Ok(CodeBase {
            commit: None,
            code: None,
            by: FoundBy::Create,
        });
        let Some(tip) = store.refs().base_tip(named, git.protected.texts())? else {
            return Ok(match named {
                Some(named) => Err(UnknownCode::NoBase(named.to_owned())),
                None => in_base_branch,
            });
        };
        let Some(commit) = store
            .history()
            .merge_bases(asked.head, tip)?
            .first()
            .copied()
        else {
            return Ok(if store.refs().is_shallow()? {
                Err(UnknownCode::Shallow)
            } else {
                in_base_branch
            });
        };
        if commit == asked.head || store.code().is_worked_on_in(commit, asked, code)? == Some(true)
        {
            return Ok(in_base_branch);
        }
        let code = store.code().code_digest(Some(commit), code)?;
        Ok(Ok(CodeBase {
            commit: Some(commit),
            code: Some(code),
            by: FoundBy::Branch,
        }))
    }
}

/// Whether the base that a step names can be that of a commit: the commit contains it, its code is as the step says, and
/// no commit of the task is before it.
fn is_true(
    base: &CodeBase,
    asked: &CodeQuestion<'_>,
    store: &Store,
    code: &CodePart<'_>,
) -> Result<bool, Error> {
    let Some(commit) = base.commit else {
        return Ok(base.by == FoundBy::Create);
    };
    if base.by != FoundBy::Branch
        || !store.objects().has(commit)?
        || !store.history().is_ancestor(commit, asked.head)?
    {
        return Ok(false);
    }
    let is_as_said = base.code == Some(store.code().code_digest(Some(commit), code)?);
    Ok(is_as_said && store.code().is_worked_on_in(commit, asked, code)? != Some(true))
}
