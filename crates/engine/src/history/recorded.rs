//! The steps that follow from the record alone, and what every step says of its take-over and of other tasks.

use super::new_steps::{NewStep, NewSteps};
use super::record::{TaskRecord, events_of};
use super::steps::verdict;
use crate::survey::Error;
use crate::survey::other_glimpse::KnownOthers;
use crate::survey::others::OtherReader;
use orch_base::TaskId;
use orch_core::decide::{Detail, Kind, OtherTask, ProvenStep, Standing, replay_record};
use orch_core::workflow::Workflow;

impl NewSteps<'_> {
    /// The verdict about a step that follows from the log alone: a rename, an order that was taken back, or what says so
    /// in a detail.
    pub(super) fn recorded(
        &self,
        step: &NewStep,
        workflow: &Workflow,
    ) -> Result<ProvenStep, Error> {
        let entry = step.entry();
        let pool = self.archive.logs();
        let Some(before) = &step.before else {
            return Ok(verdict(
                entry,
                Standing::Forged,
                Some("no step comes before it".to_owned()),
            ));
        };
        let taken = match entry.kind {
            Kind::Undo => pool.last_order(workflow, &step.event.after),
            _ => Err("nothing is taken back".to_owned()),
        };
        let former = match entry.detail.as_deref() {
            Some(Detail::Migrate(moved)) => self.parents.first().and_then(|parent| {
                let setting = self.before.setting;
                self.archive.removed_workflow(*parent, setting, &moved.from)
            }),
            _ => None,
        };
        let former = former.as_ref().and_then(|former| former.workflow());
        let given = (taken, former);
        let followed = match replay_record(workflow, before, entry, given, &step.state) {
            Ok(followed) => followed,
            Err(why) => return Ok(verdict(entry, Standing::Forged, Some(why))),
        };
        let proven = verdict(entry, followed.standing, followed.doubt.map(str::to_owned));
        let proven = self.ordered(proven, followed.by_human);
        let doubt = match entry.detail.as_deref() {
            Some(Detail::Verify(run)) => self.doubted_verification(step, run)?,
            Some(Detail::Lapse(lapse)) => {
                // The state keeps only the latest entries of the history, and the log has all.
                let entered = pool.entered(&step.event.after, &entry.to);
                let why = entered.and_then(|entered| lapse.entered_otherwise(&entry.to, entered));
                why.map(|why| (Standing::Forged, why))
            }
            _ => None,
        };
        Ok(match doubt {
            Some((standing, why)) if proven.standing < standing => ProvenStep {
                standing,
                why: Some(why),
                ..proven
            },
            _ => proven,
        })
    }

    /// The verdict about a step, held against what its event says of its take-over and of other tasks.
    pub(super) fn held_to_others(
        &self,
        step: &NewStep,
        proven: ProvenStep,
    ) -> Result<ProvenStep, Error> {
        let entry = step.entry();
        if proven.standing == Standing::Forged {
            return Ok(proven);
        }
        if let Some(why) = other_generation(step) {
            return Ok(ProvenStep {
                standing: Standing::Forged,
                why: Some(why),
                ..proven
            });
        }
        let mut found = proven;
        for other in &entry.others {
            found = match self.other_as_recorded(other)? {
                OtherFound::AsRecorded => found,
                OtherFound::Nowhere(why) if found.standing < Standing::Unverifiable => ProvenStep {
                    standing: Standing::Unverifiable,
                    why: Some(why),
                    ..found
                },
                OtherFound::Nowhere(_) => found,
                OtherFound::Other(why) => {
                    return Ok(ProvenStep {
                        standing: Standing::Forged,
                        why: Some(why),
                        ..found
                    });
                }
            };
        }
        if found.standing < Standing::Unverifiable
            && let Some(why) = self.left_out(step)?
        {
            found = ProvenStep {
                standing: Standing::Unverifiable,
                why: Some(why),
                ..found
            };
        }
        Ok(found)
    }

    /// That a step which rests on the parts of its task names one of them not, in words.
    fn left_out(&self, step: &NewStep) -> Result<Option<String>, Error> {
        let entry = step.entry();
        let is_decided = matches!(entry.kind, Kind::Advance | Kind::Regress);
        if !is_decided || step.is_aside {
            return Ok(None);
        }
        let loaded = self.workflow_of(&step.event);
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        if !workflow.is_some_and(Workflow::reads_children) {
            return Ok(None);
        }
        let parts =
            OtherReader::of(&self.before).parts_of(&self.task.id, &KnownOthers::default())?;
        let is_named = |id: &TaskId| {
            let mut named = entry.others.iter().filter(|other| other.part);
            named.any(|other| other.id == *id || id.unarchived() == Some(other.id.as_str()))
        };
        let missing = parts.iter().find(|part| !is_named(&part.node.id));
        Ok(missing.map(|part| {
            let id = &part.node.id;
            format!("it does not name `{id}`, which was part of the task in the commit before")
        }))
    }

    /// Whether another task stood as an event says.
    fn other_as_recorded(&self, other: &OtherTask) -> Result<OtherFound, Error> {
        let pool = self.archive.logs();
        let nowhere = || {
            OtherFound::Nowhere(format!(
                "no commit before it holds event {} of `{}`",
                other.head.short(),
                other.id
            ))
        };
        if !self.holds_event_of(other)? {
            return Ok(nowhere());
        }
        let (Some(event), Ok(state)) = (
            pool.event(&other.head).map(|event| event.clone()),
            pool.state_at(&other.head),
        ) else {
            return Ok(nowhere());
        };
        if state.phase.as_deref() != Some(other.phase.as_str()) {
            let phase = state.phase.as_deref().unwrap_or("?");
            return Ok(OtherFound::Other(format!(
                "`{}` was in `{phase}`, not in `{}`",
                other.id, other.phase
            )));
        }
        let loaded = self.workflow_of(&event);
        if event.workflow.name != other.workflow {
            let name = &event.workflow.name;
            let why = format!("`{}` followed `{name}`, not `{}`", other.id, other.workflow);
            return Ok(OtherFound::Other(why));
        }
        let phase = loaded
            .as_ref()
            .and_then(|loaded| loaded.workflow()?.phase_named(other.phase.as_str()));
        let Some(phase) = phase else {
            return Ok(OtherFound::AsRecorded);
        };
        let done = phase.is_good_end();
        if done != other.done {
            let word = if done { "done" } else { "not done" };
            return Ok(OtherFound::Other(format!("`{}` was {word}", other.id)));
        }
        let failed = phase.terminal && !done;
        if failed != other.failed {
            let word = if failed { "failed" } else { "not failed" };
            return Ok(OtherFound::Other(format!("`{}` had {word}", other.id)));
        }
        Ok(OtherFound::AsRecorded)
    }

    /// Whether the commit or one before it holds the last event that a step saw of another task, which may be in the archive
    /// by now.
    fn holds_event_of(&self, other: &OtherTask) -> Result<bool, Error> {
        let pool = self.archive.logs();
        let archived = TaskId::new(other.id.archived()).ok();
        let ids = [Some(other.id.clone()), archived];
        let places = ids
            .iter()
            .flatten()
            .filter_map(|id| self.after.place_of(self.task, id));
        for place in places {
            if events_of(pool, &place, self.after.source)?.contains(&other.head) {
                return Ok(true);
            }
            for before in self.befores {
                let record = TaskRecord::in_source(&place, before.source)?;
                if pool.ids(&record.read(pool, None)).contains(&other.head) {
                    return Ok(true);
                }
            }
            let found = self.archive.log_before(self.parents, &place, |_, log| {
                pool.ids(&pool.read(log, None)).contains(&other.head)
            })?;
            if found.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What happened to the search for another task.
enum OtherFound {
    /// A commit holds it as told.
    AsRecorded,
    /// No commit holds it; in words.
    Nowhere(String),
    /// It stood otherwise; how, in words.
    Other(String),
}

/// Why a step cannot have been made under the take-over that it names, in words; `None` if it can.
fn other_generation(step: &NewStep) -> Option<String> {
    let named = step.entry().generation?;
    // A take-over is the first step of its own generation.
    let holder = if step.entry().kind == Kind::Take {
        &step.state.holder
    } else {
        &step.before.as_ref()?.holder
    };
    match holder {
        Some(holder) if holder.generation == named => None,
        Some(holder) => Some(format!(
            "it names generation {named}, and the task is held in generation {} by {}",
            holder.generation, holder.owner
        )),
        None => Some(format!(
            "it names generation {named}, and nobody has taken the task"
        )),
    }
}
