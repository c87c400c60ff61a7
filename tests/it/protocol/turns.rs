//! The turns of a run as a model: runners that are killed, executors that continue, and the next run. A commit is one step
//! here, because `model` shows that it is.

use crate::audit::loops;
use crate::faults::inject::{can_inject, traced};
use crate::faults::told;
use stateright::{Checker, Model, Property};

/// A step of `orch run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// The kernel lock of the task, which is released when its process ends.
    LockTask,
    /// `run.json` is read, where a killed run stands in it.
    ReadRun,
    /// `end_leftovers`: what the killed run started, found by its group or its environment.
    EndLeft,
    /// What the killed run was at is recorded already, or has a result, or has failed.
    Settle,
    /// `run.json` is written with the next turn, and synced.
    Persist,
    /// The executor starts.
    Start,
    /// It has ended.
    Await,
    /// A commit with its result.
    Record,
}

/// A deliberate mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mistake {
    NoTaskLock,
    /// The turn is counted after its executor started.
    StartedFirst,
    LeftRunning,
    /// A result is recorded without a look at whether it is already.
    RecordedBlindly,
    /// The result of a killed run counts as failed.
    ResultForgotten,
}

/// The work that `run.json` names: the turn, and how many results the record had when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Work {
    turn: u8,
    done: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct RunFile {
    turns: u8,
    work: Option<Work>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Runner {
    /// The step to come; `None` at the end.
    step: Option<Step>,
    has_ended_well: bool,
    file: RunFile,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Everything {
    lock: Option<usize>,
    saved: RunFile,
    /// The turns whose executors run, those that were started, those with a result, and those that are recorded.
    running: Vec<u8>,
    started: Vec<u8>,
    results: Vec<u8>,
    recorded: Vec<u8>,
    runners: Vec<Runner>,
    kills: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Action {
    Orch(usize, Step),
    /// An executor ends with a result, or without one.
    Ends(u8, bool),
    Kill(usize),
}

#[derive(Debug, Clone)]
struct Turns {
    runners: usize,
    kills: u8,
    /// The budget.
    most: u8,
    mistake: Option<Mistake>,
}

impl Turns {
    fn advance(&self, now: &mut Everything, id: usize, step: Step) -> Option<()> {
        let Runner { mut file, .. } = now.runners[id];
        let is = |mistake| self.mistake == Some(mistake);
        let (start, persist) = if is(Mistake::StartedFirst) {
            (Step::Persist, Step::Start)
        } else {
            (Step::Start, Step::Persist)
        };
        let next = match step {
            Step::LockTask if now.lock.is_some() && !is(Mistake::NoTaskLock) => return None,
            Step::LockTask => {
                now.lock = Some(id);
                Some(Step::ReadRun)
            }
            Step::ReadRun => {
                file = now.saved;
                Some(if file.work.is_some() {
                    Step::EndLeft
                } else {
                    persist
                })
            }
            Step::EndLeft => {
                let left = file
                    .work
                    .map(|work| work.turn)
                    .filter(|_| !is(Mistake::LeftRunning));
                now.running.retain(|turn| Some(*turn) != left);
                Some(Step::Settle)
            }
            Step::Settle => {
                let work = file.work?;
                let is_recorded = now.recorded.len() > work.done && !is(Mistake::RecordedBlindly);
                let has_result = now.results.contains(&work.turn) && !is(Mistake::ResultForgotten);
                Some(if has_result && !is_recorded {
                    Step::Record
                } else {
                    persist
                })
            }
            // The two steps of a turn, in the order that the mistake gives.
            Step::Persist | Step::Start if step == persist && file.turns == self.most => None,
            Step::Persist => {
                if step == persist {
                    file.turns += 1;
                    file.work = Some(Work {
                        turn: file.turns,
                        done: now.recorded.len(),
                    });
                }
                now.saved = file;
                Some(if step == persist { start } else { Step::Await })
            }
            Step::Start => {
                if step == persist {
                    file.turns += 1;
                    file.work = Some(Work {
                        turn: file.turns,
                        done: now.recorded.len(),
                    });
                }
                now.running.push(file.turns);
                now.started.push(file.turns);
                Some(if step == persist { start } else { Step::Await })
            }
            Step::Await if now.running.contains(&file.turns) => return None,
            Step::Await => Some(if now.results.contains(&file.turns) {
                Step::Record
            } else {
                persist
            }),
            Step::Record => {
                now.recorded.push(file.work?.turn);
                Some(persist)
            }
        };
        if next.is_none() {
            now.lock = now.lock.filter(|holder| *holder != id);
            now.saved.work = None;
        }
        now.runners[id] = Runner {
            step: next,
            has_ended_well: next.is_none(),
            file,
        };
        Some(())
    }
}

fn is_distinct(turns: &[u8]) -> bool {
    turns
        .iter()
        .enumerate()
        .all(|(at, turn)| !turns[..at].contains(turn))
}

const ONE: &str = "one executor works on a task";
const COUNTED: &str = "no more executors start than the budget allows, and each turn has one";
const ONCE: &str = "each result is recorded once";
const KEPT: &str = "where a run has ended, each result is recorded";
const DONE: &str = "the budget is used up";

impl Model for Turns {
    type State = Everything;
    type Action = Action;

    fn init_states(&self) -> Vec<Everything> {
        let runner = Runner {
            step: Some(Step::LockTask),
            has_ended_well: false,
            file: RunFile::default(),
        };
        let runners = vec![runner; self.runners];
        vec![Everything {
            runners,
            kills: self.kills,
            ..Everything::default()
        }]
    }

    fn actions(&self, now: &Everything, actions: &mut Vec<Action>) {
        for (id, runner) in now.runners.iter().enumerate() {
            let Some(step) = runner.step else { continue };
            actions.push(Action::Orch(id, step));
            if now.kills > 0 && step != Step::LockTask {
                actions.push(Action::Kill(id));
            }
        }
        actions.extend(
            now.running
                .iter()
                .flat_map(|turn| [Action::Ends(*turn, true), Action::Ends(*turn, false)]),
        );
    }

    fn next_state(&self, last: &Everything, action: Action) -> Option<Everything> {
        let mut now = last.clone();
        match action {
            Action::Orch(id, step) => self.advance(&mut now, id, step)?,
            Action::Ends(turn, has_result) => {
                now.running.retain(|one| *one != turn);
                now.results.extend(has_result.then_some(turn));
            }
            Action::Kill(id) => {
                now.kills -= 1;
                now.lock = now.lock.filter(|holder| *holder != id);
                now.runners[id] = Runner {
                    step: None,
                    has_ended_well: false,
                    file: RunFile::default(),
                };
            }
        }
        Some(now)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE, |_, now: &Everything| now.running.len() <= 1),
            Property::always(COUNTED, |model: &Self, now: &Everything| {
                now.started.len() <= usize::from(model.most) && is_distinct(&now.started)
            }),
            Property::always(ONCE, |_, now: &Everything| is_distinct(&now.recorded)),
            Property::always(KEPT, |_, now: &Everything| {
                let is_over = now.runners.iter().all(|runner| runner.step.is_none());
                let last = now.runners.iter().any(|runner| runner.has_ended_well);
                !(is_over && last && now.running.is_empty())
                    || now.results.iter().all(|turn| now.recorded.contains(turn))
            }),
            Property::sometimes(DONE, |model: &Self, now: &Everything| {
                now.recorded.len() == usize::from(model.most)
            }),
        ]
    }
}

#[test]
fn turns_are_counted_and_results_are_recorded_once_whoever_is_killed() {
    for (runners, kills) in [(1, 0), (2, 1), (3, 2)] {
        let found = Turns {
            runners,
            kills,
            most: 3,
            mistake: None,
        }
        .checker()
        .spawn_bfs()
        .join();
        told(&format!(
            "{runners} runners, {kills} kills, 3 turns{:>32} states",
            found.unique_state_count()
        ));
        if let Some((property, path)) = found
            .discoveries()
            .into_iter()
            .find(|(property, _)| *property != DONE)
        {
            panic!("not true that {property}: {:#?}", path.into_actions());
        }
        assert!(found.discovery(DONE).is_some());
    }
}

#[test]
fn each_mistake_in_a_turn_is_found() {
    for (mistake, broken) in [
        (Mistake::NoTaskLock, ONE),
        (Mistake::StartedFirst, COUNTED),
        (Mistake::LeftRunning, ONE),
        (Mistake::RecordedBlindly, ONCE),
        (Mistake::ResultForgotten, KEPT),
    ] {
        let model = Turns {
            runners: 2,
            kills: 1,
            most: 2,
            mistake: Some(mistake),
        };
        let found: Vec<&str> = model
            .checker()
            .spawn_bfs()
            .join()
            .discoveries()
            .into_keys()
            .collect();
        assert!(
            found.contains(&broken),
            "{mistake:?} breaks {found:?}, not {broken:?}"
        );
    }
}

#[test]
fn the_binary_takes_the_steps_of_a_turn_in_the_order_of_the_model() {
    if !can_inject() {
        return;
    }
    let world = loops::started();
    let calls = [
        "flock",
        "fsync",
        "fdatasync",
        "rename",
        "renameat",
        "execve",
    ];
    let (run, trace) = traced(&world, &["run", "t", "--auto"], (&calls, None), |command| {
        command.stdin(world.keyboard());
    });
    assert_eq!(run.code, Some(3), "it waits for an answer: {run:?}");
    let mut taken = Vec::new();
    let mut is_synced = false;
    for line in trace.lines() {
        let has = |part: &str| line.contains(part);
        if has("sync(") && has("/tasks/t/.orch/") {
            is_synced = true;
        } else if has("flock(") && has("/tasks/t>") && has("LOCK_EX") {
            taken.push(Step::LockTask);
        } else if has("renameat(") && has("\"run.json\"") && std::mem::take(&mut is_synced) {
            taken.push(Step::Persist);
        } else if has("execve(") && has("\"executor.sh\"") {
            // It is looked for along the path.
            taken.push(Step::Start);
        } else if has("rename(") && has("/refs/heads/main.lock") {
            taken.push(Step::Record);
        }
    }
    taken.dedup();
    assert_eq!(taken[0], Step::LockTask, "{taken:?}");
    // Two turns, each of which is on the disk before its executor starts, and then recorded.
    let turn = [Step::Persist, Step::Start, Step::Record];
    let first = taken
        .iter()
        .position(|step| *step == Step::Start)
        .expect("a turn");
    assert_eq!(
        taken[first - 1..first + 5],
        [turn, turn].concat(),
        "{taken:?}"
    );
    assert_eq!(
        taken.iter().filter(|step| **step == Step::Start).count(),
        2,
        "{taken:?}"
    );
}
