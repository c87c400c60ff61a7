//! The protocol as a model: every order of the steps of all processes, with kills and power failures in between.

use super::disk::{By, Disk, Event, Lost, LostBranch, Tree, tree_of};
use super::steps::{self, Around, Mistake, Process, Role, Step};
use super::users::{self, Git, Kind, is_sound};
use stateright::{Model, Property};

/// Who takes part, and what happens beside them.
#[derive(Debug, Clone)]
pub struct Protocol {
    pub processes: Vec<Role>,
    pub users: Vec<Kind>,
    pub has_hook: bool,
    /// How often a process is killed.
    pub kills: u8,
    /// How often the power fails.
    pub power_failures: u8,
    /// How often somebody edits the artifact.
    pub edits: u8,
    pub mistake: Option<Mistake>,
}

/// Everything that is: the disk, and how far everybody is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Everything {
    pub disk: Disk,
    pub processes: Vec<Process>,
    pub users: Vec<Git>,
    pub kills: u8,
    pub power_failures: u8,
    pub edits: u8,
    /// The steps that were reported, and the number of commits of which git said that they were made.
    pub reported: Vec<Event>,
    pub made: usize,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Orch(usize, Step),
    User(usize),
    /// Somebody writes the artifact that the current phase waits for, or another.
    Edit(u8),
    Kill(usize),
    PowerFailure(Lost),
    /// The next command, once more after each failure.
    NextCommand,
}

impl Everything {
    /// Whether no process runs.
    fn is_quiet(&self) -> bool {
        self.processes
            .iter()
            .all(|process| matches!(process.step, None | Some(Step::Lock)))
            && !self.users.iter().any(Git::is_running)
    }

    /// Whether nothing is left of a batch: one record in HEAD, the index and the work tree, and no lock.
    fn is_healed(&self) -> bool {
        let (disk, head) = (&self.disk, tree_of(&self.disk.branch));
        let is_one = |tree: &Tree| tree.state == head.state && tree.log == head.log;
        let is_forged = self.users.iter().any(|user| user.kind == Kind::Forged);
        let no_lock = disk.index_lock.is_none() && disk.branch_lock.is_none();
        let is_whole = !disk.is_torn && disk.journal.is_none() && no_lock;
        is_whole && is_one(&disk.work) && (is_forged || is_one(&disk.index))
    }
}

impl Model for Protocol {
    type State = Everything;
    type Action = Action;

    fn init_states(&self) -> Vec<Everything> {
        let disk = Disk {
            work: Tree {
                artifact: 1,
                ..Default::default()
            },
            ..Disk::default()
        };
        vec![Everything {
            disk,
            processes: self.processes.iter().copied().map(Process::of).collect(),
            users: self.users.iter().copied().map(Git::of).collect(),
            kills: self.kills,
            power_failures: self.power_failures,
            edits: self.edits,
            reported: Vec::new(),
            made: 0,
        }]
    }

    fn actions(&self, now: &Everything, actions: &mut Vec<Action>) {
        for (id, process) in now.processes.iter().enumerate() {
            let Some(step) = process.step else { continue };
            actions.push(Action::Orch(id, step));
            if now.kills > 0 && step != Step::Lock {
                actions.push(Action::Kill(id));
            }
        }
        let users = now
            .users
            .iter()
            .enumerate()
            .filter(|(_, user)| user.step.is_some());
        actions.extend(users.map(|(id, _)| Action::User(id)));
        if now.edits > 0 {
            let other = [0, 1, 2]
                .into_iter()
                .filter(|content| *content != now.disk.work.artifact);
            actions.extend(other.map(Action::Edit));
        }
        if now.power_failures > 0 {
            actions.extend(now.disk.losses().into_iter().map(Action::PowerFailure));
        }
        let looks = now
            .processes
            .iter()
            .filter(|process| process.role == Role::Looker)
            .count();
        let failures = (self.kills - now.kills) + (self.power_failures - now.power_failures);
        if now.is_quiet() && looks < usize::from(failures) && !now.is_healed() {
            actions.push(Action::NextCommand);
        }
    }

    fn next_state(&self, last: &Everything, action: Action) -> Option<Everything> {
        let mut now = last.clone();
        match action {
            Action::Orch(id, _) => {
                let is_commit_open = now.users.iter().any(Git::is_open);
                let is_index_read = now.users.iter().any(Git::may_hold_index);
                let reported = &mut now.reported;
                let mut around = Around {
                    mistake: self.mistake,
                    is_commit_open,
                    is_index_read,
                    reported,
                };
                steps::advance(&mut now.disk, id, &mut now.processes[id], &mut around)?;
            }
            Action::User(id) => {
                let rules = (self.has_hook, self.mistake);
                now.made +=
                    usize::from(users::advance(&mut now.disk, id, &mut now.users[id], rules));
            }
            Action::Edit(content) => {
                now.edits -= 1;
                now.disk.work.artifact = content;
            }
            Action::Kill(id) => {
                now.kills -= 1;
                steps::release(&mut now.disk, id);
                now.processes[id] = Process::ended(now.processes[id].role);
            }
            Action::PowerFailure(lost) => {
                now.power_failures -= 1;
                now.disk = now.disk.after_power_failure(lost);
                // git does not sync references, so what it said does not count after this.
                let is_torn = lost.branch == LostBranch::Torn;
                now.made = if is_torn {
                    0
                } else {
                    now.made.min(made_by_user(&now.disk))
                };
                for process in now
                    .processes
                    .iter_mut()
                    .filter(|process| process.step != Some(Step::Lock))
                {
                    *process = Process::ended(process.role);
                }
                for user in now.users.iter_mut().filter(|user| user.is_running()) {
                    *user = Git::ended(user.kind);
                }
            }
            Action::NextCommand => now.processes.push(Process::of(Role::Looker)),
        }
        Some(now)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PROVED, |_, now: &Everything| {
                let trees = now.disk.branch.iter().map(|commit| &commit.tree);
                let before = std::iter::once(Tree::default()).chain(trees.clone().cloned());
                before
                    .zip(trees)
                    .all(|(before, after)| before.log == after.log || is_sound(&before, after))
            }),
            Property::always(KEPT, |_, now: &Everything| {
                let held = tree_of(&now.disk.branch).log;
                let is_held = now.reported.iter().all(|event| held.contains(event));
                is_held && !now.disk.is_corrupt && made_by_user(&now.disk) >= now.made
            }),
            Property::always(NOT_UNDONE, |_, now: &Everything| {
                let logs = || now.disk.branch.iter().map(|commit| &commit.tree);
                logs().zip(logs().skip(1)).all(|(before, after)| {
                    after.log.starts_with(&before.log) && after.state.starts_with(&before.state)
                })
            }),
            Property::always(ONE_AT_A_TIME, |_, now: &Everything| {
                let log = tree_of(&now.disk.branch).log;
                (1..log.len()).all(|at| log[at].from == log[at - 1].to)
                    && log.first().is_none_or(|event| event.from == 0)
            }),
            Property::always(HEALED, |model: &Self, now: &Everything| {
                let mut actions = Vec::new();
                model.actions(now, &mut actions);
                // The last word: nobody does anything any more, and no failure is to come.
                !actions
                    .into_iter()
                    .all(|action| model.next_state(now, action).is_none())
                    || now.is_healed()
            }),
            Property::sometimes(DONE, |_, now: &Everything| now.reported.len() == 2),
        ]
    }
}

/// The commits of the user on the branch.
fn made_by_user(disk: &Disk) -> usize {
    disk.branch
        .iter()
        .filter(|commit| commit.by == By::User)
        .count()
}

/// No phase is skipped without an override, and each step has its evidence in its own commit.
pub const PROVED: &str = "each step is proved by its commit";
/// What was reported is on the branch, with its objects; so are the commits of the user.
pub const KEPT: &str = "nothing that was reported is lost";
/// A commit holds all events that its parent holds.
pub const NOT_UNDONE: &str = "no commit undoes a step";
/// The events are one line.
const ONE_AT_A_TIME: &str = "each step follows the one before it";
/// Where everything comes to rest, no journal and no lock is left, and HEAD, the index and the work tree agree.
pub const HEALED: &str = "in the end everything is healed";
/// So that the model is not true because nothing happens.
pub const DONE: &str = "two steps are reported";
