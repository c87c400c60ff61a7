//! Who gives an order: what the settings require, and whether the caller works for a run.

use super::setting::{CORRECT_HEAD, HeadSettings};
use super::{Caller, Error, Finder, Reader, TaskRef};
use crate::run::{AnnouncedAgents, Lineage, RunState};
use orch_base::{Code, Diagnostic};
use orch_core::decide::{ActorKind, People};

/// What is known of callers: which rights the settings give them, and what they descend from.
#[derive(Clone, Copy)]
pub struct Callers<'w> {
    pub(crate) reader: &'w Reader,
    pub(super) finder: Finder<'w>,
}

/// What shows that a caller is an agent.
pub(crate) struct ShownAgent {
    /// Why it is one, in words.
    pub(crate) because: String,
    /// Its name, if it is known.
    pub(crate) name: Option<String>,
}

impl Callers<'_> {
    /// Who may order what, as `orch.toml` in HEAD says, so that nobody grants a right to oneself without a
    /// commit; outside git, as the file says. Returns an error if git cannot be read, or if that file has a fault: then
    /// nobody knows who may.
    pub(crate) fn people(&self) -> Result<People, Error> {
        let in_head = match &self.reader.store {
            Some(store) => HeadSettings::read(store, &store.refs().head_source()?)?,
            None => None,
        };
        let Some(HeadSettings { config, fault }) = in_head else {
            return Ok(self.reader.settings.config.people.clone());
        };
        match fault {
            Some(fault) => {
                let message = format!("{fault}, so nobody knows who may order this");
                Err(Diagnostic::error(Code::ConfigUnreadable, message)
                    .hint(CORRECT_HEAD)
                    .into())
            }
            None => Ok(config.people),
        }
    }

    /// Whether `orch.toml` in the work tree says the same about people.
    pub(crate) fn states_people(&self, people: &People) -> bool {
        self.reader.settings.config.people == *people
    }

    /// Whether a signer that git trusts signs the caller's commits. Returns an error if git fails.
    pub fn signs_verifiably(&self) -> Result<bool, Error> {
        match self.reader.store.as_ref().filter(|_| self.reader.commits()) {
            Some(store) => {
                Ok(store.identity().signs()? && store.identity().trusts_own_signature()?)
            }
            None => Ok(false),
        }
    }

    /// What shows that the caller is an agent: it says so, descends from an executor of a run, here or in another clone,
    /// or from a program that a hook has announced. `None` if nothing does.
    pub(crate) fn agent_shown(&self, caller: &Caller) -> Option<ShownAgent> {
        let shown = |because: String| ShownAgent {
            because,
            name: caller.marked_agent(),
        };
        if let Some(mark) = caller.mark {
            return Some(shown(format!("{mark} is set")));
        }
        if caller.kind == ActorKind::Agent {
            return Some(shown("it says that it is one".to_owned()));
        }
        let lineage = Lineage::of(caller.process?);
        if lineage.is_below_a_run() {
            return Some(shown("it descends from an executor of a run".to_owned()));
        }
        let announced = self.announced_agents()?.above(&lineage)?;
        let because = format!(
            "it descends from {}, which has called `orch hook agent`",
            announced.process
        );
        Some(ShownAgent {
            because,
            name: announced.program,
        })
    }

    /// Keeps that the program which has called this process as a hook is an agent, with the name of the program if it is
    /// known; outside git nothing is kept. Returns an error if it cannot be kept.
    pub fn announce_agent(&self, caller: &Caller, program: Option<&str>) -> Result<(), Error> {
        match (self.announced_agents(), caller.process) {
            (Some(agents), Some(process)) => agents.announce(&Lineage::of(process), program),
            _ => Ok(()),
        }
    }

    /// The announced agents of all work trees.
    fn announced_agents(&self) -> Option<AnnouncedAgents> {
        let own = self
            .reader
            .store
            .as_ref()?
            .layout()
            .common_directory()
            .join("orch");
        Some(AnnouncedAgents::new(own.join("agents")))
    }

    /// The run that the caller works for, and its task: the caller descends from the executor, or is an agent
    /// whose environment names the task. Returns an error if the tasks cannot be listed.
    pub(crate) fn run_above(&self, caller: &Caller) -> Result<Option<(TaskRef, RunState)>, Error> {
        let lineage = caller.process.map(Lineage::of);
        for task in self.finder.tasks()? {
            let files = self.reader.run_files(&task);
            if let Some(run) = lineage.as_ref().and_then(|lineage| lineage.run_in(&files)) {
                return Ok(Some((task, run)));
            }
            let is_named =
                caller.kind == ActorKind::Agent && caller.task.as_ref() == Some(&task.id);
            if let Some(run) = if is_named && files.is_driven() {
                files.read()?
            } else {
                None
            } {
                return Ok(Some((task, run)));
            }
        }
        Ok(None)
    }
}
