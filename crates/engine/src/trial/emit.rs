//! The examples of findings as tasks: files and a record that orch can look at.

use super::{CaseFound, TrialWorkflow, WantedCase};
use orch_core::decide::State;
use orch_core::record::{LogExtent, STATE_FILE, TRANSCRIPT_FILE, record_steps, write_state};
use orch_core::workflow::cases;
use std::collections::BTreeMap;

/// What `state.json` names as its schema.
const STATE_SCHEMA: &str = "../../system/schemas/state.schema.json";

/// An example of a finding, as the files of a task.
#[derive(Debug)]
pub struct Example {
    /// The name of its directory.
    pub name: String,
    /// What it shows, in words.
    pub shows: String,
    /// The bytes of its files, by their paths below its directory; none if no case was found.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// An example of each overlap within a group and of each gap of a workflow; with `all`, of each overlap whose outcomes differ.
#[must_use]
pub fn examples(trial: &TrialWorkflow<'_>, all: bool) -> Vec<Example> {
    let mut found = Vec::new();
    let workflow = &trial.workflow.name;
    for of in cases(trial.workflow) {
        for overlap in &of.overlaps {
            if !overlap.differs() || !(all || overlap.is_in_one_group()) {
                continue;
            }
            let wanted = WantedCase::Both {
                phase: of.phase,
                first: overlap.first,
                second: overlap.second,
            };
            let (first, second) = (&overlap.first.id, &overlap.second.id);
            let name = format!("{workflow}.{}.{first}.{second}", of.phase);
            let shows = format!(
                "`{first}` and `{second}` both hold in `{}`; the first decides",
                of.phase
            );
            found.push(trial.example(name, shows, wanted));
        }
        if of.gap.is_some() {
            let wanted = WantedCase::Nothing { phase: of.phase };
            let shows = format!("`{}` is done, and no rule says what is next", of.phase);
            found.push(trial.example(format!("{workflow}.{}.gap", of.phase), shows, wanted));
        }
    }
    found
}

impl TrialWorkflow<'_> {
    fn example(&self, name: String, shows: String, wanted: WantedCase<'_>) -> Example {
        let files = self.find(wanted).map(|case| self.task_files(&case, &name));
        Example {
            name,
            shows,
            files: files.unwrap_or_default(),
        }
    }

    /// The files of a task with this id in which a case is so: what is given, and its record.
    #[must_use]
    pub fn task_files(&self, case: &CaseFound, id: &str) -> BTreeMap<String, Vec<u8>> {
        let (now, _) = self.files.bytes(&case.setup);
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (name, bytes) in now {
            if !name.starts_with('/') {
                files.insert(name, bytes);
            }
        }
        let mut steps = self.placed(&case.setup).steps;
        for state in &mut steps {
            state.task = Some(id.to_owned());
        }
        let recorded = record_steps(&State::default(), &State::default(), &steps);
        let Some(last) = recorded.last() else {
            return files;
        };
        let mut log = String::new();
        for step in &recorded {
            log.push_str(&step.event.line());
        }
        let extent = LogExtent::of(log.as_bytes(), self.workflow.digest.format());
        let key = &self.workflow.phase_key;
        let state = write_state(&last.state, key, STATE_SCHEMA, extent);
        files.insert(TRANSCRIPT_FILE.to_owned(), log.into_bytes());
        files.insert(STATE_FILE.to_owned(), state.into_bytes());
        files
    }
}
