//! The examples of findings as tasks: files and a record that orch can look at.

use super::{CaseFound, TrialWorkflow, WantedCase};
use orch_core::decide::State;
use orch_core::record::{LogExtent, STATE_FILE, TRANSCRIPT_FILE, record_steps, write_state};
use orch_core::workflow::{Outcome, Phase, PhaseCases, Rule, cases, endless_phases};
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

/// An example of each finding about cases: overlaps within a group, gaps, rules that another one always precedes, ways back
/// that use nothing up, needs that are not there yet, and phases from which no end is reached. With `all`, also of each other
/// overlap whose outcomes differ.
#[must_use]
pub fn examples(trial: &TrialWorkflow<'_>, all: bool) -> Vec<Example> {
    let phases = cases(trial.workflow);
    let mut writing = ExampleWriter {
        trial,
        found: Vec::new(),
    };
    for of in &phases {
        writing.of_phase(of, all);
    }
    for rule in &trial.workflow.rules {
        writing.of_covered(rule, &phases);
    }
    for phase in &trial.workflow.phases {
        writing.of_needs(phase);
    }
    for endless in endless_phases(trial.workflow, &phases) {
        let wanted = WantedCase::Stands {
            phase: endless.phase,
        };
        writing.add(&[endless.phase.as_str(), "endless"], endless.lacks, wanted);
    }
    writing.found
}

/// The examples of one workflow.
struct ExampleWriter<'t, 'a> {
    trial: &'t TrialWorkflow<'a>,
    found: Vec<Example>,
}

impl ExampleWriter<'_, '_> {
    fn of_phase(&mut self, of: &PhaseCases<'_>, all: bool) {
        let phase = of.phase;
        for overlap in &of.overlaps {
            if !overlap.differs() || !(all || overlap.is_in_one_group()) {
                continue;
            }
            let (first, second) = (overlap.first, overlap.second);
            let shows = format!(
                "`{}` and `{}` both hold in `{phase}`; the first decides",
                first.id, second.id
            );
            let wanted = WantedCase::Both {
                phase,
                first,
                second,
            };
            let name = [phase.as_str(), first.id.as_str(), second.id.as_str()];
            self.add(&name, shows, wanted);
        }
        if of.gap.is_some() {
            let shows = format!("`{phase}` is done, and no rule says what is next");
            self.add(
                &[phase.as_str(), "gap"],
                shows,
                WantedCase::Nothing { phase },
            );
        }
        for (rule, _) in &of.unspent {
            let shows = format!(
                "`{}` sends back from `{phase}`, and nothing that it reads is used up",
                rule.id
            );
            let name = [phase.as_str(), rule.id.as_str(), "again"];
            self.add(&name, shows, WantedCase::Decides { phase, rule });
        }
    }

    /// A rule that decides in none of its phases, beside one that does so before it.
    fn of_covered(&mut self, rule: &Rule, phases: &[PhaseCases<'_>]) {
        let of_rule = || phases.iter().filter(|of| rule.from.contains(of.phase));
        let is_it = |other: &Rule| other.id == rule.id;
        let never_decides = of_rule().all(|of| {
            of.impossible.iter().any(|other| is_it(other))
                || of.covered.iter().any(|(other, _)| is_it(other))
        });
        if !never_decides {
            return;
        }
        for of in of_rule() {
            let mut covered = of.covered.iter();
            let Some((_, by)) = covered.find(|(other, _)| is_it(other)) else {
                continue;
            };
            let earlier = self.trial.workflow.rules_from(of.phase);
            let earlier = earlier.take_while(|other| !is_it(other));
            let before: Vec<&Rule> = match by {
                Some(by) => vec![by],
                None => earlier.collect(),
            };
            let mut last = None;
            for first in before {
                let shows = format!(
                    "`{}` holds in `{}`, and `{}` decides before it",
                    rule.id, of.phase, first.id
                );
                let wanted = WantedCase::Both {
                    phase: of.phase,
                    first,
                    second: rule,
                };
                let name = [of.phase.as_str(), rule.id.as_str(), "covered"];
                let example = self.example(&name, shows, wanted);
                let is_found = !example.files.is_empty();
                last = Some(example);
                if is_found {
                    break;
                }
            }
            self.found.extend(last);
        }
    }

    /// A phase that needs what no phase before it produces, seen from where a rule leads to it.
    fn of_needs(&mut self, phase: &Phase) {
        let Some(need) = self.trial.workflow.unmade_needs(phase).into_iter().next() else {
            return;
        };
        let leads = |rule: &&Rule| matches!(&rule.outcome, Outcome::To(to) if *to == phase.id);
        let Some(rule) = self.trial.workflow.rules.iter().find(leads) else {
            return;
        };
        for from in rule.from.iter().filter(|from| **from != phase.id).take(1) {
            let shows = format!(
                "`{}` leads to `{}`, which needs `{need}`",
                rule.id, phase.id
            );
            let wanted = WantedCase::Lacks { phase: from, rule };
            self.add(&[phase.id.as_str(), need.as_str(), "unmade"], shows, wanted);
        }
    }

    fn add(&mut self, name: &[&str], shows: String, wanted: WantedCase<'_>) {
        let example = self.example(name, shows, wanted);
        self.found.push(example);
    }

    fn example(&self, name: &[&str], shows: String, wanted: WantedCase<'_>) -> Example {
        let name = format!("{}.{}", self.trial.workflow.name, name.join("."));
        let case = self.trial.find(wanted);
        let files = case.map(|case| self.trial.task_files(&case, &name));
        Example {
            name,
            shows,
            files: files.unwrap_or_default(),
        }
    }
}

impl TrialWorkflow<'_> {
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
