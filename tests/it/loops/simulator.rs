//! `orch run` without processes: the same pure decisions, with scripts for executors.

use crate::core::world::World;
use crate::model::Chance;
use orch::base::{ActionName, Period, Timestamp};
use orch::decide::{
    ActionResult, ActorKind, Budget, By, Decision, ERRORS_WINDOW, Ending, Facts, HISTORY_WINDOW,
    HistoryEntry, Mode, Next, Recorded, Spent, Stamp, State, Step, Transition, Verdict, Work, accept, answer,
    apply, asked, data_of, end, evaluate, give_up, initial_state, next, patch, pick, reopen, settle,
    signalled, start,
};
use orch::record::{read_state, write_state};
use orch::scan::Schema;
use orch::workflow::{Document, Signal, System, Workflow, compile};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A workflow, and what those who take part in it would do.
pub struct Machine {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// What its state must be.
    pub schema: Schema,
    /// What an executor that does its work reports.
    pub honest: fn(&Job<'_>) -> Value,
    /// What an executor reports that needs something from a person, or from elsewhere.
    pub asking: fn(&Job<'_>) -> Value,
    /// What a person answers to a question; the state is the second.
    pub person: fn(&str, &Map<String, Value>, &mut Chance) -> Value,
    /// What an executor writes to a path besides its result; `None` is something new each time.
    pub files: fn(&Job<'_>, &Value, &str) -> Option<String>,
}

/// What an executor is given.
pub struct Job<'a> {
    /// The action.
    pub action: &'a ActionName,
    /// The workflow's own keys of the state.
    pub state: &'a Map<String, Value>,
    /// How often it was started in this task before.
    pub before: usize,
}

/// What came of an executor.
#[derive(Debug, Clone)]
pub enum Deed {
    /// It ended by itself, having printed this and written these files; a text of `None` is a new one.
    Printed(String, Vec<(String, Option<String>)>),
    /// It ended without a word.
    Died,
    /// It was ended.
    Hung,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// Why.
    pub reason: String,
    /// How many turns it took.
    pub turns: u32,
}

/// One task, run by scripts.
pub struct Simulation<'m> {
    machine: &'m Machine,
    /// Its state.
    pub state: State,
    /// Every record of it, the first one first.
    pub told: Vec<HistoryEntry>,
    /// The actions in the order in which they were started.
    pub trace: Vec<String>,
    /// What is observed of its files.
    pub facts: Facts,
    files: World,
    written: u32,
}

/// More steps than any run may take.
const ENDLESS: u32 = 2_000;

impl Machine {
    /// A machine of a workflow; its executors write files that nobody looks into.
    pub fn new(
        workflow: Workflow,
        honest: fn(&Job<'_>) -> Value,
        asking: fn(&Job<'_>) -> Value,
        person: fn(&str, &Map<String, Value>, &mut Chance) -> Value,
    ) -> Self {
        let shape = workflow.state.schema.as_ref().expect("a state schema");
        let schema = Schema::compile(&shape.name, &shape.text).expect("a valid schema");
        Self { workflow: Arc::new(workflow), schema, honest, asking, person, files: |_, _, _| None }
    }

    /// What an executor leaves behind that reports this and writes what its action has to.
    pub fn deed(&self, job: &Job<'_>, result: &Value) -> Deed {
        let outputs = &self.workflow.action(job.action).expect("known").outputs;
        let files = outputs.iter().map(|path| (path.clone(), (self.files)(job, result, path)));
        Deed::Printed(format!("working\n{result}\n"), files.collect())
    }

    /// A new task.
    pub fn task(&self) -> Simulation<'_> {
        let files = World::new(Arc::clone(&self.workflow));
        let (state, facts) = (initial_state(&self.workflow), files.facts());
        Simulation { machine: self, state, told: Vec::new(), trace: Vec::new(), facts, files, written: 0 }
    }
}

impl Simulation<'_> {
    /// Runs the task until the run ends.
    pub fn run(&mut self, mode: Mode, perform: &mut dyn FnMut(&Job<'_>) -> Deed) -> Ended {
        let workflow = Arc::clone(&self.machine.workflow);
        let limits = workflow.limits;
        let budget = Budget { turns: limits.turns, time: limits.time, cost: limits.cost };
        let mut spent = Spent::default();
        if let Some(moved) = signalled(&workflow, &self.state, &self.facts, Signal::Start) {
            self.apply(&moved.expect("a way"));
        }
        if let Some(begun) = start(&workflow, &self.state, &self.facts, mode) {
            self.apply(&begun);
        }
        for _ in 0..ENDLESS {
            let decision = self.decide();
            let used = (&spent, &budget, mode);
            match next(&workflow, &self.state, &self.facts, &decision, used, &|_| true) {
                Next::Apply => {
                    let steps = self.settle();
                    assert!(!steps.is_empty(), "nothing moves: {}", decision.reason);
                }
                Next::Perform(work) => {
                    spent.begin();
                    match self.perform(&work, perform, &mut spent) {
                        Ok(true) => spent.succeed(&work, 0.0),
                        Ok(false) => {
                            spent.succeed(&work, 0.0);
                            return self.ended(Ending::Paused, "it said so", &spent);
                        }
                        Err(_) => spent.fail(&work, 0.0),
                    }
                }
                Next::GiveUp(work) => {
                    let of = (work.rule.as_ref().expect("a rule"), &action_of(&work));
                    let skip = give_up(&workflow, &self.state, &self.facts, of, "failed too often");
                    self.apply(&skip.expect("it is due"));
                    spent.give_up(&work);
                }
                Next::Answer { ask, patch, ground } => {
                    spent.begin();
                    spent.see(&ask, ground);
                    let given = answer(&workflow, &self.state, &self.facts, &patch, "by default");
                    self.record(&given.unwrap_or_else(|fault| panic!("{ask}: {fault}"))).expect("valid");
                }
                Next::End(ending, reason) => return self.ended(ending, &reason, &spent),
            }
        }
        panic!("the run does not end: {:?}", self.trace);
    }

    /// Performs one action; whether the run goes on, or why it failed.
    fn perform(
        &mut self,
        work: &Work,
        perform: &mut dyn FnMut(&Job<'_>) -> Deed,
        spent: &mut Spent,
    ) -> Result<bool, String> {
        let action = action_of(work);
        let workflow = Arc::clone(&self.machine.workflow);
        let own = data_of(&workflow, &self.state);
        let before = self.trace.iter().filter(|name| **name == work.name).count();
        self.trace.push(work.name.clone());
        let (output, files) = match perform(&Job { action: &action, state: &own, before }) {
            Deed::Printed(output, files) => (output, files),
            Deed::Died => return Err("it ended without a result".to_owned()),
            Deed::Hung => {
                spent.time = Period::from_milliseconds(spent.time.milliseconds() + 1_800_000);
                return Err("it took too long".to_owned());
            }
        };
        for (path, text) in files {
            self.write(&path, text);
        }
        let found = ActionResult::find(&output).ok_or("its output is no result")?;
        let result = ActionResult::read(&found)?;
        if result.failed {
            return Err("it says that it failed".to_owned());
        }
        let outputs = &workflow.action(&action).expect("known").outputs;
        if let Some(missing) = outputs.iter().find(|path| !self.files.files.contains_key(*path)) {
            return Err(format!("{missing} is not there"));
        }
        let of = (work.rule.as_ref().expect("a rule"), &action);
        let reason = result.summary.as_deref().unwrap_or("done");
        let done = accept(&workflow, &self.state, &self.facts, of, &result.patch, reason)?;
        self.record(&done)?;
        Ok(result.goes_on)
    }

    /// Writes a file of the task; without a text, one that was never there before.
    pub fn write(&mut self, path: &str, text: Option<String>) {
        self.written += 1;
        let text = text.unwrap_or_else(|| format!("{{\"written\": {}}}\n", self.written));
        self.files.write(path, text);
        self.facts = self.files.facts();
    }

    /// A person gives an order; the error says why nothing answers to it.
    pub fn order(&mut self, signal: Signal) -> Result<(), String> {
        let moved = signalled(&self.machine.workflow, &self.state, &self.facts, signal);
        self.record(&moved.ok_or("no rule answers to it here")??)
    }

    /// A person opens the task again.
    pub fn reopen(&mut self, to: Option<&str>) {
        let again = reopen(&self.machine.workflow, &self.state, &self.facts, to, "once more");
        self.apply(&again.expect("terminal"));
    }

    /// The decision on the task as it is.
    pub fn decide(&self) -> Decision {
        let recorded = Recorded::Known(Box::new(self.state.clone()));
        evaluate(&self.machine.workflow, &recorded, &self.facts)
    }

    /// Applies a transition.
    pub fn apply(&mut self, transition: &Transition) {
        let after = self.after(transition);
        self.take(after);
    }

    /// Applies every transition that is due.
    pub fn settle(&mut self) -> Vec<Step> {
        let recorded = Recorded::Known(Box::new(self.state.clone()));
        let settled = settle(&self.machine.workflow, &recorded, &self.facts, &self.stamp(), &|_| true);
        for step in &settled.steps {
            self.take(step.state.clone());
        }
        settled.steps
    }

    /// Applies a transition whose state its schema accepts.
    fn record(&mut self, transition: &Transition) -> Result<(), String> {
        let after = self.after(transition);
        let problems = self.machine.schema.validate(&Value::Object(data_of(&self.machine.workflow, &after)));
        if let Some(problem) = problems.first() {
            return Err(format!("{}: {}", problem.pointer, problem.message));
        }
        self.take(after);
        Ok(())
    }

    fn after(&self, transition: &Transition) -> State {
        apply(&self.machine.workflow, &self.state, &self.facts, transition, &self.stamp())
    }

    fn take(&mut self, state: State) {
        assert!(state.history.len() <= HISTORY_WINDOW && state.errors.len() <= ERRORS_WINDOW);
        self.told.extend(state.history.last().cloned());
        self.state = state;
    }

    fn stamp(&self) -> Stamp {
        let at = 1_700_000_000 + i64::try_from(self.told.len()).expect("few") * 60;
        Stamp { at: Timestamp::from_seconds(at), by: By { kind: ActorKind::Human, name: "Ann".to_owned() } }
    }

    fn ended(&mut self, ending: Ending, reason: &str, spent: &Spent) -> Ended {
        if let Some(over) = end(&self.machine.workflow, &self.state, &self.facts, reason) {
            self.apply(&over);
        }
        self.holds();
        assert!(spent.turns <= self.machine.workflow.limits.turns, "{} turns", spent.turns);
        Ended { ending, reason: reason.to_owned(), turns: spent.turns }
    }

    /// What is true whenever a run has ended: the state is valid, and its file says the same.
    fn holds(&self) {
        let own = Value::Object(data_of(&self.machine.workflow, &self.state));
        let problems = self.machine.schema.validate(&own);
        assert!(problems.is_empty(), "{problems:#?}\n{own:#}");
        let phase_key = &self.machine.workflow.phase_key;
        let text = write_state(&self.state, phase_key, "schema");
        let value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read_state(&value, &text, phase_key).expect("a state"), self.state);
    }

    /// A person answers what is asked, or picks an action with the key `action`.
    pub fn answer(&mut self, given: &Value) -> Result<(), String> {
        let members = given.as_object().expect("an object");
        let workflow = Arc::clone(&self.machine.workflow);
        let transition = match members.get("action").and_then(Value::as_str) {
            Some(name) => {
                let action = ActionName::new(name).expect("a name");
                pick(&workflow, &self.state, &self.facts, &action, "a person's pick")?
            }
            None => answer(&workflow, &self.state, &self.facts, &patch(members)?, "a person's answer")?,
        };
        self.record(&transition)
    }

    /// A person answers as the machine's people do; whether anything was asked.
    pub fn ask_person(&mut self, chance: &mut Chance) -> bool {
        if let Verdict::Choose(offered) = self.decide().verdict {
            let pick = serde_json::json!({"action": chance.pick(&offered).as_str()});
            self.answer(&pick).expect("offered");
            return true;
        }
        let workflow = Arc::clone(&self.machine.workflow);
        let Some((_, ask)) = asked(&workflow, &self.state, &self.facts) else { return false };
        let given = (self.machine.person)(&ask.name, &data_of(&workflow, &self.state), chance);
        self.answer(&given).unwrap_or_else(|fault| panic!("{}: {given}: {fault}", ask.name));
        true
    }

    /// The phase that the task is in.
    pub fn phase(&self) -> String {
        self.state.phase.clone().unwrap_or_else(|| self.machine.workflow.initial.to_string())
    }

    /// The value at a JSON pointer into the workflow's own keys.
    pub fn at(&self, pointer: &str) -> Value {
        let own = Value::Object(data_of(&self.machine.workflow, &self.state));
        own.pointer(pointer).cloned().unwrap_or(Value::Null)
    }
}

fn action_of(work: &Work) -> ActionName {
    work.action.clone().unwrap_or_else(|| panic!("{} is no action", work.name))
}

/// A workflow that ships.
pub fn shipped(name: &str) -> Workflow {
    compiled(name, System::shipped().workflow(name).expect("shipped"))
}

/// A workflow that must be without fault, with the schemas and prompts that ship.
pub fn compiled(name: &str, text: &str) -> Workflow {
    let (workflow, problems) = compile(&Document::new(name, format!("{name}.md"), text), &System::shipped());
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}
