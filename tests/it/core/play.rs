//! A run played without processes: the course says what is to be done, a script says what comes of it.

use orch_base::{ArtifactName, Period, RepoPath, TaskId, TaskPlace, Timestamp};
use orch_core::decide::{
    ActorKind, Blocker, Budget, By, CodeFacts, ControlRequest, Ending, EvaluatedTask, ExecutorExit,
    Facts, FileFact, Leftover, Mode, News, OtherTasks, OwnFile, RecordOutcome, Recorded, Recorder,
    Returned, RunCommand, RunEffect, RunEvent, RunMachine, Stamp, State, Tick, evaluate,
    initial_state,
};
use orch_core::workflow::{Document, System, Workflow, compile};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A workflow that must be without fault.
pub fn workflow(text: &str) -> Workflow {
    let document = Document::new("loop", "loop.md", text);
    let (workflow, problems) = compile(&document, &System::empty());
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}

/// A task without files.
pub fn facts() -> Facts {
    Facts {
        code: CodeFacts::default(),
        version: orch_core::decide::RecordVersion::CURRENT,
        task: TaskId::new("t").expect("valid"),
        place: TaskPlace::of_directory(RepoPath::new("tasks/t").expect("valid")),
        artifacts: BTreeMap::new(),
        diagnostics: Vec::new(),
        inputs: Default::default(),
        missing: Vec::new(),
        verified: Default::default(),
        own_file: OwnFile::AsRecorded,
        others: OtherTasks::default(),
    }
}

/// What an executor comes back with, by its name and the number of the turn.
type Perform<'p> = Box<dyn FnMut(&str, u32) -> Returned + 'p>;
/// What stands in the way of an effect, and what is wished when it is to be carried out.
type Hinder<'p> = Box<dyn FnMut(&RunEffect) -> (Option<Blocker>, Option<ControlRequest>) + 'p>;

/// Why a deed is refused.
type Refuse<'p> = Box<dyn FnMut(&RunCommand) -> Option<String> + 'p>;

/// One run as it is played.
pub struct Play<'p> {
    workflow: &'p Workflow,
    /// The state of the task.
    pub state: State,
    /// The run.
    pub machine: RunMachine,
    /// What happened, in words.
    pub story: Vec<String>,
    /// The tries that failed: what was tried, why it failed, and how long the run waits before it tries again.
    pub failed: Vec<(String, String, Option<Period>)>,
    pub perform: Perform<'p>,
    /// What an earlier process has left.
    pub left: Option<Leftover>,
    /// How long each executor takes.
    pub took: Period,
    pub block: Hinder<'p>,
    /// Why a deed is refused, beside what the workflow refuses.
    pub refuse: Refuse<'p>,
    /// The files of the task, which executors may write.
    pub files: Rc<RefCell<BTreeMap<ArtifactName, Vec<FileFact>>>>,
}

impl<'p> Play<'p> {
    /// A new run of a new task.
    pub fn new(workflow: &'p Workflow, mode: Mode) -> Self {
        let limits = workflow.limits;
        let budget = Budget {
            turns: limits.turns,
            time: limits.time,
            cost: limits.cost,
        };
        Self {
            workflow,
            state: initial_state(workflow),
            machine: RunMachine::new(mode, budget, Default::default(), None),
            story: Vec::new(),
            failed: Vec::new(),
            perform: Box::new(|_, _| Returned {
                how: ExecutorExit::Well,
                result: None,
                cost: 0.0,
                is_unpriced: false,
                trace: orch_core::decide::ExecutorTrace::default(),
                said: None,
            }),
            left: None,
            took: Period::default(),
            block: Box::new(|_| (None, None)),
            refuse: Box::new(|_| None),
            files: Rc::default(),
        }
    }

    /// What is observed of the task.
    fn facts(&self) -> Facts {
        Facts {
            artifacts: self.files.borrow().clone(),
            ..facts()
        }
    }

    /// Plays it to its end: what is left falls with every step.
    pub fn run(&mut self) -> (Ending, String) {
        let mut effect = self.machine.step(&self.moment(None), RunEvent::Begun);
        while effect != RunEffect::Over {
            let left = self.machine.left(&effect);
            let following = self.carry_out(effect);
            assert!(
                self.machine.left(&following) < left,
                "{left:?} does not fall: {following:?}"
            );
            effect = following;
        }
        self.machine.over.clone().expect("it is over")
    }

    fn carry_out(&mut self, effect: RunEffect) -> RunEffect {
        let (blocker, request) = (self.block)(&effect);
        let mut now = self.moment(request);
        if let Some(blocker) = blocker {
            return self.machine.step(&now, RunEvent::Blocked(effect, blocker));
        }
        let following = match effect {
            RunEffect::Evaluate => {
                let facts = self.facts();
                let decision = evaluate(
                    self.workflow,
                    &Recorded::Known(Box::new(self.state.clone())),
                    &facts,
                );
                let (workflow, state, facts, decision) =
                    (self.workflow, &self.state, &facts, &decision);
                let case = EvaluatedTask {
                    workflow,
                    state,
                    facts,
                    decision,
                    has_executor: &|_| false,
                };
                self.machine.step(&now, RunEvent::Evaluated(&case))
            }
            RunEffect::Record(command) => {
                let noted = self.noted(&command);
                self.machine.step(&now, RunEvent::Recorded(command, noted))
            }
            RunEffect::Perform => {
                let work = self.machine.doing.clone().expect("work");
                assert!(
                    self.machine.unsaved,
                    "a turn is written down before anybody is started"
                );
                let returned = (self.perform)(work.name(), self.machine.usage.turns);
                now.time =
                    Period::from_milliseconds(now.time.milliseconds() + self.took.milliseconds());
                now.at = clock(now.time);
                self.machine.step(&now, RunEvent::Performed(returned))
            }
            RunEffect::Wait(time, following) => {
                self.story.push(format!("wait {time}"));
                now.time = Period::from_milliseconds(now.time.milliseconds() + time.milliseconds());
                now.at = clock(now.time);
                self.machine.step(&now, RunEvent::Waited(*following))
            }
            RunEffect::Finish(_) => {
                let request = now.request.take();
                self.machine.step(&now, RunEvent::Finished(request))
            }
            RunEffect::LookBack => {
                let left = self.left.take().expect("something is left behind");
                self.machine.step(&now, RunEvent::Found(left, &self.state))
            }
            RunEffect::Over => panic!("it was over"),
        };
        for news in std::mem::take(&mut self.machine.news) {
            match news {
                News::Done { work, .. } => self.story.push(work.name().to_owned()),
                News::Failed { work, why } => {
                    self.failed.push((work.name().to_owned(), why, work.again))
                }
                News::Limited { work, limit } => {
                    let until = limit.until.seconds();
                    self.story.push(format!("{} until {until}", work.name()));
                }
            }
        }
        following
    }

    fn noted(&mut self, command: &RunCommand) -> RecordOutcome {
        if let Some(why) = (self.refuse)(command) {
            return RecordOutcome::Refused(why.into());
        }
        let recorder = Recorder {
            own: stamp(),
            caller: stamp(),
            earlier: &|_| None,
            refuses: &|_| None,
            is_there: &|_| true,
            started: None,
            digest: &|_| None,
        };
        let steps = match command.steps(self.workflow, &self.state, &self.facts(), &recorder) {
            Ok(steps) => steps,
            Err(why) => return RecordOutcome::Refused(why),
        };
        let Some(last) = steps.last() else {
            return RecordOutcome::Nothing;
        };
        match command {
            RunCommand::Moves { .. } => self.story.push(format!("to {}", last.transition.to)),
            RunCommand::Answer(answer) => self.story.push(format!("answer {}", answer.ask)),
            RunCommand::GiveUp(failed) => self.story.push(format!("give up {}", failed.action)),
            RunCommand::Order(request) => self.story.push(request.as_str().to_owned()),
            _ => {}
        }
        self.state = last.state.clone();
        RecordOutcome::Done
    }

    fn moment(&self, request: Option<ControlRequest>) -> Tick {
        Tick {
            time: self.machine.usage.time,
            at: clock(self.machine.usage.time),
            request: request.map(|request| (request, format!("{} it", request.as_str()))),
        }
    }
}

/// The clock of a run that began in 1970.
fn clock(time: Period) -> Timestamp {
    let seconds = time.milliseconds() / 1000;
    Timestamp::from_seconds(seconds.try_into().expect("few"))
}

fn stamp() -> Stamp {
    Stamp::new(
        Timestamp::from_seconds(0),
        By {
            kind: ActorKind::Orch,
            name: "orch".to_owned(),
        },
    )
}
