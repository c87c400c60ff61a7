//! Group commit: the orders that are given at the same time in one process are committed as one batch.
//!
//! Whoever comes while nothing is being committed leads a batch; whoever comes meanwhile waits. The one that leads takes
//! the lock, and then those along that wait, if they are about other tasks. Each decides in its own thread about the
//! same HEAD, which does not move while the lock is held. So each order is decided as if it were alone, and the cost of
//! a commit that does not depend on the number of its steps (locks, journal, index, branch, syncs) is paid once.

use crate::survey::Error;
use orch_base::{TaskId, locked};
use orch_git::{Committed, Head, PlannedCommit, Transaction};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The orders of one process that commit together. All of them act in the same work tree, with the same environment.
#[derive(Debug, Default)]
pub struct CommitGroup(Mutex<Waiting>);

/// What landed of an order: its own commits, and what is common to the batch.
pub(super) struct Landed {
    pub committed: Committed,
    /// HEAD after the batch.
    pub head: Head,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Whether a batch is in progress.
    is_led: bool,
    /// Those that wait for their turn, in the order in which they came.
    seats: VecDeque<Seat>,
    /// How many have waited so far.
    came: u64,
}

/// An order that waits.
#[derive(Debug)]
struct Seat {
    number: u64,
    tasks: Vec<TaskId>,
    role: Sender<Role>,
}

/// What an order does in a batch.
#[derive(Debug)]
enum Role {
    /// Lead a batch.
    Lead,
    /// Decide about this HEAD, and send the plan to the one that leads.
    Follow(Head, Sender<Plan>),
}

/// What an order adds to a batch.
struct Plan {
    commits: Vec<PlannedCommit>,
    done: Sender<Result<Landed, Error>>,
}

/// Leads a batch. Dropping it lets the next one lead.
struct Lead<'g>(&'g CommitGroup);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut waiting = locked(&self.0.0);
        while let Some(next) = waiting.seats.pop_front() {
            if next.role.send(Role::Lead).is_ok() {
                return;
            }
        }
        waiting.is_led = false;
    }
}

impl CommitGroup {
    /// Commits what `decide` plans about HEAD, together with others about other tasks. Waits for its turn at most for
    /// `patience`. `begin` takes the lock, if this order leads the batch. What `decide` returns besides its commits is
    /// returned with what landed.
    ///
    /// Returns the error of `begin` or of `decide`, and otherwise what keeps the commits of this order alone from
    /// landing: an order never fails because of another one. Returns [`Error::moved`] if the batch was given up.
    pub(super) fn commit<'s, P>(
        &self,
        tasks: Vec<TaskId>,
        patience: Duration,
        begin: impl FnOnce() -> Result<Transaction<'s>, Error>,
        decide: impl FnOnce(&Head) -> Result<(P, Vec<PlannedCommit>), Error>,
    ) -> Result<(P, Landed), Error> {
        match self.role(&tasks, patience)? {
            Role::Lead => {
                let lead = Lead(self);
                let mut transaction = begin()?;
                let landed = self.lead(&mut transaction, &tasks, decide);
                // Whoever leads next needs the lock.
                drop(transaction);
                drop(lead);
                landed
            }
            Role::Follow(head, plans) => {
                // After an error, dropping the sender tells that there is no plan.
                let (plan, commits) = decide(&head)?;
                if commits.is_empty() {
                    return Ok((
                        plan,
                        Landed {
                            committed: Committed::default(),
                            head,
                        },
                    ));
                }
                let (done, landed) = channel();
                // If nobody receives it, nobody answers either.
                let _ = plans.send(Plan { commits, done });
                drop(plans);
                Ok((plan, landed.recv().unwrap_or_else(|_| Err(Error::moved()))?))
            }
        }
    }

    /// Waits for its turn. Returns an error if it does not come in time.
    fn role(&self, tasks: &[TaskId], patience: Duration) -> Result<Role, Error> {
        let mut waiting = locked(&self.0);
        if !waiting.is_led {
            waiting.is_led = true;
            return Ok(Role::Lead);
        }
        let (role, given) = channel();
        waiting.came += 1;
        let number = waiting.came;
        waiting.seats.push_back(Seat {
            number,
            tasks: tasks.to_vec(),
            role,
        });
        drop(waiting);
        match given.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => self.leave(number, &given),
            role => role.map_err(|_| Error::moved()),
        }
    }

    /// Stops waiting, unless the turn has come meanwhile.
    fn leave(&self, number: u64, given: &Receiver<Role>) -> Result<Role, Error> {
        let mut waiting = locked(&self.0);
        let before = waiting.seats.len();
        waiting.seats.retain(|seat| seat.number != number);
        if waiting.seats.len() < before {
            return Err(Error::busy(
                "other orders are being committed in this repository",
            ));
        }
        drop(waiting);
        given.recv().map_err(|_| Error::moved())
    }

    /// Takes along those that wait and are about other tasks than those before them.
    fn take_along(&self, tasks: &[TaskId]) -> Vec<Seat> {
        let mut waiting = locked(&self.0);
        let mut known: HashSet<TaskId> = tasks.iter().cloned().collect();
        let mut taken = Vec::new();
        let mut left = VecDeque::new();
        for seat in std::mem::take(&mut waiting.seats) {
            let is_free = !seat.tasks.iter().any(|task| known.contains(task));
            known.extend(seat.tasks.iter().cloned());
            if is_free {
                taken.push(seat)
            } else {
                left.push_back(seat)
            }
        }
        waiting.seats = left;
        taken
    }

    /// Lets those that were taken along decide, decides as well, and commits all of it, first what came first.
    fn lead<P>(
        &self,
        transaction: &mut Transaction<'_>,
        tasks: &[TaskId],
        decide: impl FnOnce(&Head) -> Result<(P, Vec<PlannedCommit>), Error>,
    ) -> Result<(P, Landed), Error> {
        let head = transaction.head().clone();
        let give_role = |seat: Seat| {
            let (plans, planned) = channel();
            // One that is gone sends no plan.
            let _ = seat.role.send(Role::Follow(head.clone(), plans));
            planned
        };
        let others: Vec<_> = self.take_along(tasks).into_iter().map(give_role).collect();
        let own = decide(&head);
        // Waits for each of the others until it has sent its plan or given up.
        let others: Vec<Plan> = others
            .iter()
            .filter_map(|planned| planned.recv().ok())
            .collect();
        let mut batch = Batch::default();
        let own = own.map(|(plan, commits)| (plan, batch.add(commits)));
        let others: Vec<_> = others
            .into_iter()
            .map(|plan| (plan.done, batch.add(plan.commits)))
            .collect();
        let mut landed = batch.commit(transaction);
        let mut landed_of =
            |part: usize| landed[part].take().unwrap_or_else(|| Err(Error::moved()));
        for (done, part) in others {
            // One that is gone finds its commits in git.
            let _ = done.send(landed_of(part));
        }
        own.and_then(|(plan, part)| Ok((plan, landed_of(part)?)))
    }
}

/// The commits of several orders.
#[derive(Default)]
struct Batch {
    commits: Vec<PlannedCommit>,
    parts: Vec<Range<usize>>,
}

impl Batch {
    /// Adds the commits of an order, and returns its number.
    fn add(&mut self, commits: Vec<PlannedCommit>) -> usize {
        let start = self.commits.len();
        self.commits.extend(commits);
        self.parts.push(start..self.commits.len());
        self.parts.len() - 1
    }

    /// Commits everything at once or, if that fails, each order alone. Returns what landed of each.
    fn commit(&self, transaction: &mut Transaction<'_>) -> Vec<Option<Result<Landed, Error>>> {
        let whole = transaction.commit(&self.commits);
        let head = transaction.head().clone();
        let landed = self.parts.iter().map(|part| {
            Some(match &whole {
                Ok(committed) => {
                    let commits = committed.commits[part.clone()].to_vec();
                    Ok(Landed {
                        committed: Committed {
                            commits,
                            ..committed.clone()
                        },
                        head: head.clone(),
                    })
                }
                Err(error) if self.parts.len() == 1 => Err(error.clone()),
                Err(_) => transaction
                    .commit(&self.commits[part.clone()])
                    .map(|committed| Landed {
                        committed,
                        head: transaction.head().clone(),
                    }),
            })
        });
        landed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::{Code, Digest, ObjectFormat, RepoPath};
    use orch_git::{Environment, Store, Write};
    use std::fs;
    use std::path::Path;
    use std::thread;

    const LONG: Duration = Duration::from_secs(600);

    /// What an order does when it is its turn.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Does {
        /// It plans a commit that lands.
        Land,
        /// It plans a commit of a file that has changed.
        Stale,
        /// It has nothing to commit.
        Nothing,
        /// It is refused.
        Refuse,
        /// It cannot take the lock, if it leads.
        NoLock,
    }
    use Does::{Land, NoLock, Nothing, Refuse, Stale};

    /// What came of an order: the parent of its commit, its commit, and HEAD after it.
    type Came = Result<(Option<Digest>, Option<Digest>, Option<Digest>), Code>;

    fn store(root: &Path) -> Store {
        Store::discover(root, &Environment::default())
            .expect("opened")
            .expect("a repository")
    }

    fn plan(task: &str, does: Does) -> Result<Vec<PlannedCommit>, Error> {
        let path = RepoPath::new(format!("{task}/state.json")).expect("valid");
        let judged = (does == Stale).then(|| ObjectFormat::Sha1.blob(b"another"));
        let write = Write::own(path.clone(), path, task.as_bytes().to_vec(), judged);
        let message = format!("{task}\n");
        let commit = PlannedCommit {
            message,
            writes: vec![write],
            removes: Vec::new(),
            moves: Vec::new(),
        };
        match does {
            Refuse => Err(Error::new(Code::ByHuman, "refused")),
            Nothing => Ok(Vec::new()),
            Land | Stale | NoLock => Ok(vec![commit]),
        }
    }

    fn give(
        root: &Path,
        group: &CommitGroup,
        task: &str,
        does: Does,
        held: &mut dyn FnMut(),
    ) -> Came {
        let store = store(root);
        let begin = || {
            held();
            if does == NoLock {
                Err(Error::busy("no lock"))
            } else {
                store.transactions().begin()
            }
        };
        let tasks = vec![TaskId::new(task).expect("valid")];
        let decide = |head: &Head| Ok((head.commit, plan(task, does)?));
        let done = group.commit(tasks, LONG, begin, decide);
        done.map(|(before, landed)| {
            (
                before,
                landed.committed.commits.first().copied(),
                landed.head.commit,
            )
        })
        .map_err(|error| error.code())
    }

    /// Gives orders at the same time: the others wait in this order while the first one takes the lock.
    fn together(orders: &[(&str, Does)]) -> Vec<Came> {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path();
        let group = CommitGroup::default();
        Store::create(root).expect("created");
        orders
            .iter()
            .for_each(|(task, _)| fs::create_dir_all(root.join(task)).expect("created"));
        let (took, is_taking) = channel();
        let wait_for = |number: usize| {
            while locked(&group.0).seats.len() < number {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let came = thread::scope(|scope| {
            let group = &group;
            let wait_for = &wait_for;
            let mut given = Vec::new();
            for (at, (task, does)) in orders.iter().enumerate() {
                let took = took.clone();
                let mut held = move || {
                    // The first one takes the lock when all have come.
                    if at == 0 {
                        took.send(()).expect("received");
                        wait_for(orders.len() - 1);
                    }
                };
                given.push(scope.spawn(move || give(root, group, task, *does, &mut held)));
                match at {
                    0 => is_taking.recv().expect("sent"),
                    // The first one continues as soon as the last one has come.
                    _ if at + 1 < orders.len() => wait_for(at),
                    _ => {}
                }
            }
            given
                .into_iter()
                .map(|given| given.join().expect("it ends"))
                .collect()
        });
        assert!(!locked(&group.0).is_led, "{orders:?}");
        let head = store(root).refs().head().expect("read").commit;
        let commits =
            |came: &Vec<Came>| came.iter().flatten().filter(|one| one.1.is_some()).count();
        let landed = |came: &Vec<Came>| came.iter().flatten().any(|one| one.2 == head);
        assert!(commits(&came) == 0 || landed(&came), "{orders:?}");
        came
    }

    #[test]
    fn orders_that_wait_land_in_one_batch() {
        let came = together(&[("a", Land), ("b", Land), ("c", Land)]);
        let came: Vec<_> = came.into_iter().map(|came| came.expect("landed")).collect();
        // All were decided about the same HEAD, and see the same one after.
        assert!(
            came.iter()
                .all(|(before, _, after)| before.is_none() && *after == came[2].1),
            "{came:?}"
        );
        let commits: HashSet<_> = came.iter().filter_map(|came| came.1).collect();
        assert_eq!(commits.len(), 3);
    }

    #[test]
    fn an_order_about_the_same_task_is_decided_about_what_the_first_one_left() {
        let came = together(&[("a", Land), ("a", Nothing), ("b", Land), ("b", Nothing)]);
        let came: Vec<_> = came
            .into_iter()
            .map(|came| came.expect("decided"))
            .collect();
        let befores: Vec<_> = came.iter().map(|came| came.0).collect();
        assert_eq!(befores, [None, came[2].1, None, came[2].1]);
    }

    #[test]
    fn an_order_fails_for_itself_alone() {
        let fails = |does| match does {
            Land | Nothing => None,
            Stale => Some(Code::BranchMoved),
            Refuse => Some(Code::ByHuman),
            NoLock => Some(Code::Busy),
        };
        for orders in [
            [Stale, Land, Land],
            [Land, Stale, Land],
            [Land, Stale, Stale],
            [Refuse, Land, Land],
            [Land, Refuse, Nothing],
            [Nothing, Land, Stale],
            [NoLock, Land, Land],
            [NoLock, Stale, Refuse],
            [Stale, Nothing, Refuse],
        ] {
            let named: Vec<_> = ["a", "b", "c"].into_iter().zip(orders).collect();
            let came = together(&named);
            for (does, came) in orders.into_iter().zip(came) {
                assert_eq!(came.err(), fails(does), "{does:?} of {orders:?}");
                assert_eq!(
                    came.is_ok_and(|came| came.1.is_some()),
                    does == Land,
                    "{does:?} of {orders:?}"
                );
            }
        }
    }

    #[test]
    fn waiting_for_a_turn_ends() {
        let group = CommitGroup::default();
        let tasks = [TaskId::new("a").expect("valid")];
        let first = group.role(&tasks, LONG);
        assert!(matches!(first, Ok(Role::Lead)));
        let lead = Lead(&group);
        let late = group
            .role(&tasks, Duration::from_millis(5))
            .expect_err("too late");
        assert_eq!((late.code(), locked(&group.0).seats.len()), (Code::Busy, 0));
        drop(lead);
        assert!(
            matches!(group.role(&tasks, Duration::ZERO), Ok(Role::Lead)),
            "the next one leads"
        );
    }
}
