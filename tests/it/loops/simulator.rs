//! `orch run` without processes: the same pure decisions, with scripts for executors.

use crate::core::world::World;
use crate::model::Chance;
use orch_base::{ActionName, Period, Timestamp};
use orch_core::decide::{
    ActionResult, ActorKind, Budget, By, Decision, ERRORS_WINDOW, Ending, EvaluatedTask,
    ExecutorExit, Facts, HistoryEntry, Mode, RecordOutcome, Recorded, Recorder, Returned,
    RunEffect, RunEvent, RunMachine, Stamp, State, Step, Tick, Transition, Verdict, Work, answer,
    apply, asked, data_of, evaluate, initial_state, patch, pick, reopen, settle, signalled,
};
use orch_core::record::{read_state, write_state};
use orch_core::workflow::{Document, Signal, System, Workflow, compile};
use orch_read::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
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
pub enum Reply {
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
    /// How many turns it took since it was begun or taken up.
    pub turns: u32,
}

/// One task, run by scripts.
pub struct Simulation<'m> {
    machine: &'m Machine,
    /// Its state.
    pub state: State,
    /// Every record of it, the first one first.
    pub told: Vec<std::sync::Arc<HistoryEntry>>,
    /// The actions in the order in which they were started.
    pub trace: Vec<String>,
    /// What is observed of its files.
    pub facts: Facts,
    files: World,
    written: u32,
    /// Its last run.
    last_run: Option<RunMachine>,
}

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
        Self {
            workflow: Arc::new(workflow),
            schema,
            honest,
            asking,
            person,
            files: |_, _, _| None,
        }
    }

    /// What an executor leaves behind that reports this, and writes what its action has to and what it
    /// says that it wrote.
    pub fn reply(&self, job: &Job<'_>, result: &Value) -> Reply {
        let outputs = self
            .workflow
            .action(job.action)
            .expect("known")
            .outputs
            .iter()
            .map(String::as_str);
        let said = result["outputFiles"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let paths: BTreeSet<&str> = outputs.chain(said).collect();
        let files = paths
            .into_iter()
            .map(|path| (path.to_owned(), (self.files)(job, result, path)));
        Reply::Printed(format!("working\n{result}\n"), files.collect())
    }

    /// A new task.
    pub fn task(&self) -> Simulation<'_> {
        let files = World::new(Arc::clone(&self.workflow));
        let (state, facts) = (initial_state(&self.workflow), files.facts());
        let (told, trace) = (Vec::new(), Vec::new());
        Simulation {
            machine: self,
            state,
            told,
            trace,
            facts,
            files,
            written: 0,
            last_run: None,
        }
    }
}

impl Simulation<'_> {
    /// Runs the task until the run ends. One that continues has what is left of its limits.
    pub fn run(&mut self, mode: Mode, perform: &mut dyn FnMut(&Job<'_>) -> Reply) -> Ended {
        let limits = self.machine.workflow.limits;
        let budget = Budget {
            turns: limits.turns,
            time: limits.time,
            cost: limits.cost,
        };
        let last = self
            .last_run
            .take()
            .filter(|last| last.over.as_ref().is_some_and(|(end, _)| end.goes_on()));
        let (usage, doing) = last
            .map(|last| (last.usage, last.doing))
            .unwrap_or_default();
        let before = usage.turns;
        let mut machine = RunMachine::new(mode, budget, usage, doing);
        let mut effect = machine.step(&moment(&machine), RunEvent::Begun);
        while effect != RunEffect::Over {
            let left = machine.left(&effect);
            let following = self.carry_out(&mut machine, effect, perform);
            assert!(
                machine.left(&following) < left,
                "{left:?} does not fall: {following:?}"
            );
            effect = following;
        }
        self.holds();
        assert!(
            machine.usage.turns <= limits.turns,
            "{} turns",
            machine.usage.turns
        );
        let (ending, reason) = machine.over.clone().expect("it is over");
        let turns = machine.usage.turns - before;
        self.last_run = Some(machine);
        Ended {
            ending,
            reason,
            turns,
        }
    }

    /// Carries out an effect, and tells the course its outcome.
    fn carry_out(
        &mut self,
        machine: &mut RunMachine,
        effect: RunEffect,
        perform: &mut dyn FnMut(&Job<'_>) -> Reply,
    ) -> RunEffect {
        let mut now = moment(machine);
        match effect {
            RunEffect::Evaluate => {
                let workflow = Arc::clone(&self.machine.workflow);
                let (state, facts, decision) =
                    (self.state.clone(), self.facts.clone(), self.decide());
                let (workflow, state, facts, decision) = (&*workflow, &state, &facts, &decision);
                let case = EvaluatedTask {
                    workflow,
                    state,
                    facts,
                    decision,
                    has_executor: &|_| true,
                };
                machine.step(&now, RunEvent::Evaluated(&case))
            }
            RunEffect::Record(command) => {
                let noted = self.noted(&command);
                machine.step(&now, RunEvent::Recorded(command, noted))
            }
            RunEffect::Perform => {
                assert!(
                    machine.unsaved,
                    "a turn is written down before anybody is started"
                );
                let work = machine.doing.clone().expect("work");
                let (tried, took) = self.perform(&work, perform);
                now.time = Period::from_milliseconds(now.time.milliseconds() + took.milliseconds());
                machine.step(&now, RunEvent::Performed(tried))
            }
            RunEffect::Wait(_, following) => machine.step(&now, RunEvent::Waited(*following)),
            RunEffect::Finish(_) => machine.step(&now, RunEvent::Finished(None)),
            RunEffect::LookBack | RunEffect::Over => panic!("nothing is left behind"),
        }
    }

    /// Records what a run does, as the engine does.
    fn noted(&mut self, command: &orch_core::decide::RunCommand) -> RecordOutcome {
        let workflow = Arc::clone(&self.machine.workflow);
        let recorder = Recorder {
            own: self.stamp(),
            caller: self.stamp(),
            earlier: &|_| None,
            refuses: &|state| self.refused(state),
            is_there: &|path| self.files.files.contains_key(path),
            started: None,
            digest: &|_| None,
        };
        match command.steps(&workflow, &self.state, &self.facts, &recorder) {
            Err(why) => RecordOutcome::Refused(why),
            Ok(steps) if steps.is_empty() => RecordOutcome::Nothing,
            Ok(steps) => {
                steps.into_iter().for_each(|step| self.take(step.state));
                RecordOutcome::Done
            }
        }
    }

    /// Performs one action; its outcome, and how long it took.
    fn perform(
        &mut self,
        work: &Work,
        perform: &mut dyn FnMut(&Job<'_>) -> Reply,
    ) -> (Returned, Period) {
        let action = work
            .action()
            .cloned()
            .unwrap_or_else(|| panic!("{} is not an action", work.name()));
        let own = data_of(&self.machine.workflow, &self.state);
        let before = self
            .trace
            .iter()
            .filter(|name| *name == work.name())
            .count();
        self.trace.push(work.name().to_owned());
        let badly = |why: &str| Returned {
            how: ExecutorExit::Badly(why.to_owned()),
            result: None,
            cost: 0.0,
            is_unpriced: false,
            trace: orch_core::decide::ExecutorTrace::default(),
            said: None,
        };
        match perform(&Job {
            action: &action,
            state: &own,
            before,
        }) {
            Reply::Printed(output, files) => {
                for (path, text) in files {
                    self.write(&path, text);
                }
                let result = ActionResult::find(&output).map(|found| ActionResult::read(&found));
                (
                    Returned {
                        how: ExecutorExit::Well,
                        result,
                        cost: 0.0,
                        is_unpriced: false,
                        trace: orch_core::decide::ExecutorTrace::default(),
                        said: None,
                    },
                    Period::default(),
                )
            }
            Reply::Died => (badly("it was killed by signal 9"), Period::default()),
            Reply::Hung => {
                let how = ExecutorExit::TooLong("it took longer than 30m".to_owned());
                (
                    Returned {
                        how,
                        result: None,
                        cost: 0.0,
                        is_unpriced: false,
                        trace: orch_core::decide::ExecutorTrace::default(),
                        said: None,
                    },
                    Period::from_seconds(1800),
                )
            }
        }
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
        self.record(&moved.ok_or("no rule responds to the signal here")??)
    }

    /// A person opens the task again.
    pub fn reopen(&mut self, to: Option<&str>) {
        let again = reopen(
            &self.machine.workflow,
            &self.state,
            &self.facts,
            to,
            "once more",
        );
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
        let settled = settle(
            &self.machine.workflow,
            &recorded,
            &self.facts,
            &self.stamp(),
            &|_| true,
        );
        for step in &settled.steps {
            self.take(step.state.clone());
        }
        settled.steps
    }

    /// Applies a transition whose state its schema accepts.
    fn record(&mut self, transition: &Transition) -> Result<(), String> {
        let after = self.after(transition);
        self.refused(&after).map_or(Ok(()), Err)?;
        self.take(after);
        Ok(())
    }

    /// What the schema of the state does not accept, in words.
    fn refused(&self, state: &State) -> Option<String> {
        let own = Value::Object(data_of(&self.machine.workflow, state));
        let problem = self.machine.schema.validate(&own).into_iter().next()?;
        Some(format!("{}: {}", problem.pointer, problem.message))
    }

    fn after(&self, transition: &Transition) -> State {
        apply(
            &self.machine.workflow,
            &self.state,
            &self.facts,
            transition,
            &self.stamp(),
        )
    }

    fn take(&mut self, state: State) {
        assert!(
            state.history.len() <= orch_core::decide::RecordVersion::CURRENT.history_window()
                && state.errors.len() <= ERRORS_WINDOW
        );
        self.told.extend(state.history.last().cloned());
        self.state = state;
    }

    fn stamp(&self) -> Stamp {
        let at = 1_700_000_000 + i64::try_from(self.told.len()).expect("few") * 60;
        Stamp::new(
            Timestamp::from_seconds(at),
            By {
                kind: ActorKind::Human,
                name: "Ann".to_owned(),
            },
        )
    }

    /// What is true whenever a run has ended: the state is valid, and its file says the same.
    fn holds(&self) {
        let own = Value::Object(data_of(&self.machine.workflow, &self.state));
        let problems = self.machine.schema.validate(&own);
        assert!(problems.is_empty(), "{problems:#?}\n{own:#}");
        let phase_key = &self.machine.workflow.phase_key;
        let text = write_state(
            &self.state,
            phase_key,
            "schema",
            orch_core::record::LogExtent::default(),
        );
        let value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            read_state(&value, &text, phase_key).expect("a state"),
            self.state
        );
    }

    /// A person answers what is asked, or picks an action with the key `action`.
    pub fn answer(&mut self, given: &Value) -> Result<(), String> {
        let members = given.as_object().expect("an object");
        let workflow = Arc::clone(&self.machine.workflow);
        let transition = match members.get("action").and_then(Value::as_str) {
            Some(name) => {
                let action = ActionName::new(name).expect("a name");
                pick(
                    &workflow,
                    &self.state,
                    &self.facts,
                    &action,
                    "a person's pick",
                )?
            }
            None => answer(
                &workflow,
                &self.state,
                &self.facts,
                &patch(members)?,
                "a person's answer",
            )?,
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
        let Some((_, ask)) = asked(&workflow, &self.state, &self.facts) else {
            return false;
        };
        let given = (self.machine.person)(&ask.name, &data_of(&workflow, &self.state), chance);
        self.answer(&given)
            .unwrap_or_else(|fault| panic!("{}: {given}: {fault}", ask.name));
        true
    }

    /// The phase that the task is in.
    pub fn phase(&self) -> String {
        self.state
            .phase
            .clone()
            .unwrap_or_else(|| self.machine.workflow.initial.to_string())
    }

    /// The value at a JSON pointer into the workflow's own keys.
    pub fn at(&self, pointer: &str) -> Value {
        let own = Value::Object(data_of(&self.machine.workflow, &self.state));
        own.pointer(pointer).cloned().unwrap_or(Value::Null)
    }
}

/// No time goes by but that which executors take, and nobody wishes anything.
fn moment(machine: &RunMachine) -> Tick {
    Tick {
        time: machine.usage.time,
        at: Default::default(),
        request: None,
    }
}

/// A workflow that ships.
pub fn shipped(name: &str) -> Workflow {
    compiled(name, System::shipped().workflow(name).expect("shipped"))
}

/// A workflow that must be without fault, with the schemas and prompts that ship.
pub fn compiled(name: &str, text: &str) -> Workflow {
    let (workflow, problems) = compile(
        &Document::new(name, format!("{name}.md"), text),
        &System::shipped(),
    );
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}
