//! A run played without processes: the course says what is to be done, a script says what comes of it.

use orch::base::{Period, RepoPath, TaskId, Timestamp};
use orch::decide::{
    ActorKind, Budget, By, Case, Course, Deed, Effect, Ending, Event, Facts, Hindrance, How, Left, Mode,
    Moment, News, Noted, Recorded, Recorder, Returned, Stamp, State, Wish, evaluate, initial_state,
};
use orch::workflow::{Document, System, Workflow, compile};
use std::collections::BTreeMap;

/// A workflow that must be without fault.
pub fn workflow(text: &str) -> Workflow {
    let document = Document::new("loop", "loop.md", text);
    let (workflow, problems) = compile(&document, &System::empty());
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
}

/// A task without files.
pub fn facts() -> Facts {
    Facts {
        task: TaskId::new("t").expect("valid"),
        directory: RepoPath::new("tasks/t").expect("valid"),
        artifacts: BTreeMap::new(),
        diagnostics: Vec::new(),
    }
}

/// What an executor comes back with, by its name and the number of the turn.
type Perform<'p> = Box<dyn FnMut(&str, u32) -> Returned + 'p>;
/// What stands in the way of an effect, and what is wished when it is to be carried out.
type Hinder<'p> = Box<dyn FnMut(&Effect) -> (Option<Hindrance>, Option<Wish>) + 'p>;

/// Why a deed is refused.
type Refuse<'p> = Box<dyn FnMut(&Deed) -> Option<String> + 'p>;

/// One run as it is played.
pub struct Play<'p> {
    workflow: &'p Workflow,
    /// The state of the task.
    pub state: State,
    /// The run.
    pub course: Course,
    /// What happened, in words.
    pub story: Vec<String>,
    pub perform: Perform<'p>,
    /// What an earlier process has left.
    pub left: Option<Left>,
    /// How long each executor takes.
    pub took: Period,
    pub hinder: Hinder<'p>,
    /// Why a deed is refused, beside what the workflow refuses.
    pub refuse: Refuse<'p>,
}

impl<'p> Play<'p> {
    /// A new run of a new task.
    pub fn new(workflow: &'p Workflow, mode: Mode) -> Self {
        let limits = workflow.limits;
        let budget = Budget { turns: limits.turns, time: limits.time, cost: limits.cost };
        Self {
            workflow,
            state: initial_state(workflow),
            course: Course::new(mode, budget, Default::default(), None),
            story: Vec::new(),
            perform: Box::new(|_, _| Returned { how: How::Well, result: None }),
            left: None,
            took: Period::default(),
            hinder: Box::new(|_| (None, None)),
            refuse: Box::new(|_| None),
        }
    }

    /// Plays it to its end: what is left falls with every step.
    pub fn run(&mut self) -> (Ending, String) {
        let mut effect = self.course.step(&self.moment(None), Event::Begun);
        while effect != Effect::Over {
            let left = self.course.left(&effect);
            let following = self.carry_out(effect);
            assert!(self.course.left(&following) < left, "{left:?} does not fall: {following:?}");
            effect = following;
        }
        self.course.over.clone().expect("it is over")
    }

    fn carry_out(&mut self, effect: Effect) -> Effect {
        let (hindrance, wish) = (self.hinder)(&effect);
        let mut now = self.moment(wish);
        if let Some(hindrance) = hindrance {
            return self.course.step(&now, Event::Hindered(effect, hindrance));
        }
        let following = match effect {
            Effect::Judge => {
                let decision =
                    evaluate(self.workflow, &Recorded::Known(Box::new(self.state.clone())), &facts());
                let (workflow, state, facts, decision) = (self.workflow, &self.state, &facts(), &decision);
                let case = Case { workflow, state, facts, decision, has_executor: &|_| false };
                self.course.step(&now, Event::Judged(&case))
            }
            Effect::Record(deed) => {
                let noted = self.noted(&deed);
                self.course.step(&now, Event::Recorded(deed, noted))
            }
            Effect::Perform => {
                let work = self.course.doing.clone().expect("work");
                assert!(self.course.unsaved, "a turn is written down before anybody is started");
                let returned = (self.perform)(work.name(), self.course.spent.turns);
                now.time = Period::from_milliseconds(now.time.milliseconds() + self.took.milliseconds());
                self.course.step(&now, Event::Performed(returned))
            }
            Effect::Wait(time, following) => {
                self.story.push(format!("wait {time}"));
                now.time = Period::from_milliseconds(now.time.milliseconds() + time.milliseconds());
                self.course.step(&now, Event::Waited(*following))
            }
            Effect::Finish(_) => {
                let wish = now.wish.take();
                self.course.step(&now, Event::Finished(wish))
            }
            Effect::LookBack => {
                let left = self.left.take().expect("something is left behind");
                self.course.step(&now, Event::Found(left, &self.state))
            }
            Effect::Over => panic!("it was over"),
        };
        for news in std::mem::take(&mut self.course.news) {
            if let News::Done { work, .. } = news {
                self.story.push(work.name().to_owned());
            }
        }
        following
    }

    fn noted(&mut self, deed: &Deed) -> Noted {
        if let Some(why) = (self.refuse)(deed) {
            return Noted::Refused(why);
        }
        let recorder = Recorder { own: stamp(), caller: stamp(), refuses: &|_| None, is_there: &|_| true };
        let steps = match deed.steps(self.workflow, &self.state, &facts(), &recorder) {
            Ok(steps) => steps,
            Err(why) => return Noted::Refused(why),
        };
        let Some(last) = steps.last() else { return Noted::Nothing };
        match deed {
            Deed::Moves => self.story.push(format!("to {}", last.transition.to)),
            Deed::Answer { ask, .. } => self.story.push(format!("answer {ask}")),
            Deed::GiveUp { action, .. } => self.story.push(format!("give up {action}")),
            Deed::Order(wish) => self.story.push(wish.as_str().to_owned()),
            _ => {}
        }
        self.state = last.state.clone();
        Noted::Done
    }

    fn moment(&self, wish: Option<Wish>) -> Moment {
        Moment {
            time: self.course.spent.time,
            wish: wish.map(|wish| (wish, format!("{} it", wish.as_str()))),
        }
    }
}

fn stamp() -> Stamp {
    Stamp { at: Timestamp::from_seconds(0), by: By { kind: ActorKind::Orch, name: "orch".to_owned() } }
}
