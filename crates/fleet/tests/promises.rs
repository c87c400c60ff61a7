//! The promises of leases, checked in every order of what a few owners, the clock and the network may do.
//!
//! Taking, renewing and releasing is the program's own code over a store that lives in the model. What is recorded goes to a
//! branch of a remote; a push compares the lease and the branch in one step. A mistake, put in on purpose, has to break a
//! promise, or the model would not notice it in the program either.

use orch_base::{Error, TaskId, Timestamp};
use orch_core::lease::{Lease, LeaseAge, LeaseOwner, SeenLease};
use orch_fleet::leases::{KeptLease, LeaseTerms, Leases, TakeOutcome};
use orch_fleet::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::time::Duration;

/// How many seconds a lease lasts.
const LENGTH: u64 = 20;
/// By how many seconds the clock moves on at once.
const TICK: u64 = 10;

const ONE_HOLDER: &str = "at most one owner believes that it holds the task";
const ONE_LINE: &str = "each step of the record is of the owner who took its generation";
const RISING: &str = "generations of the record never go down";
const NOT_STUCK: &str = "a lease that has ended can be taken over";
const TAKEN_OVER: &str = "a task with a step is taken over";
const REFUSED: &str = "a step of a former holder is refused";
const RENEWED: &str = "a lease outlasts its first length";

/// What may happen, and how the store tells the time.
#[derive(Clone)]
struct Fleet {
    owners: usize,
    has_clock: bool,
    ticks: u64,
    writes: u64,
    steps: usize,
    mistake: Option<Mistake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// The store writes whatever stands there.
    Overwrites,
    /// Of a lease that was not seen before, the reader believes that it has ended.
    Impatient,
    /// A holder relies on its lease for ever.
    Believing,
    /// A push compares the branch alone.
    Unfenced,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    now: u64,
    writes: u64,
    cell: Option<Cell>,
    record: Vec<Entry>,
    owners: Vec<OneOwner>,
    has_refused: bool,
}

/// The lease in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Cell {
    owner: usize,
    generation: u64,
    version: u64,
    written: u64,
}

/// A step on the branch of the remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Entry {
    owner: usize,
    generation: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct OneOwner {
    is_cut_off: bool,
    /// The lease that it was told to have: its version, its generation, and the time when it asked for it.
    belief: Option<Belief>,
    /// The write that it watches, and since when.
    watched: Option<Watched>,
    /// The lease under which it began to push a step. However long it is stopped, it pushes then.
    pushing: Option<Belief>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Belief {
    version: u64,
    generation: u64,
    at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Watched {
    version: u64,
    since: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    /// Time passes.
    Tick,
    /// The owner looks at the store, and takes or renews. Another may take between its look and its write, and the answer
    /// to the write may be lost.
    Take {
        owner: usize,
        between: Option<usize>,
        is_answered: bool,
    },
    /// The owner goes on working.
    Keep(usize),
    Release(usize),
    /// The owner looks at its clock and begins to push a step.
    BeginPush(usize),
    /// The push arrives.
    EndPush(usize),
    /// The network of the owner breaks, or is mended.
    Cut(usize),
}

/// The store as one owner sees it during one call.
struct ModelStore<'w> {
    fleet: &'w Fleet,
    world: &'w mut World,
    owner: usize,
    between: Option<usize>,
    is_answered: bool,
    /// What this call has written.
    written: Option<Lease>,
}

impl ModelStore<'_> {
    fn reached(&self) -> Result<(), Error> {
        if self.world.owners[self.owner].is_cut_off {
            return Err(Error::busy("the store cannot be reached"));
        }
        Ok(())
    }

    fn age(&mut self, cell: &Cell) -> LeaseAge {
        let now = self.world.now;
        if self.fleet.has_clock {
            return LeaseAge::Known(Duration::from_secs(now - cell.written));
        }
        let watched = &mut self.world.owners[self.owner].watched;
        let same = watched
            .as_ref()
            .filter(|watched| watched.version == cell.version);
        let since = match same {
            Some(watched) => watched.since,
            None if self.fleet.mistake == Some(Mistake::Impatient) => {
                return LeaseAge::Watched(Duration::from_secs(LENGTH));
            }
            None => now,
        };
        *watched = Some(Watched {
            version: cell.version,
            since,
        });
        LeaseAge::Watched(Duration::from_secs(now - since))
    }

    fn there(&mut self) -> Option<StoredLease> {
        let cell = self.world.cell.clone()?;
        let nonce = match &self.written {
            Some(lease) if self.world.writes == cell.version => lease.nonce.clone(),
            _ => cell.version.to_string(),
        };
        Some(StoredLease {
            task: task(),
            seen: SeenLease {
                lease: Lease {
                    owner: owner(cell.owner),
                    generation: cell.generation,
                    nonce,
                    length: LENGTH,
                    since: Timestamp::default(),
                    until: Timestamp::default(),
                    place: String::new(),
                    branch: None,
                    run: None,
                },
                age: self.age(&cell),
            },
            version: LeaseVersion(cell.version.to_string()),
        })
    }

    /// Whether the store may not write: it has another version.
    fn differs(&self, expected: Option<&LeaseVersion>) -> bool {
        let version = self
            .world
            .cell
            .as_ref()
            .map(|cell| LeaseVersion(cell.version.to_string()));
        version.as_ref() != expected && self.fleet.mistake != Some(Mistake::Overwrites)
    }
}

impl LeaseStore for ModelStore<'_> {
    fn list(&mut self) -> Result<Vec<StoredLease>, Error> {
        Ok(self.read(&task())?.into_iter().collect())
    }

    fn read(&mut self, _: &TaskId) -> Result<Option<StoredLease>, Error> {
        self.reached()?;
        // Whoever hears nothing of a write cannot read either.
        if self.written.is_some() && !self.is_answered {
            return Err(Error::busy("the store cannot be reached"));
        }
        Ok(self.there())
    }

    fn put(
        &mut self,
        _: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error> {
        self.reached()?;
        if let Some(other) = self.between.take() {
            self.fleet.take(self.world, other, None, true);
        }
        if self.differs(expected) {
            return Ok(Swapped::Lost(self.there()));
        }
        self.world.writes += 1;
        let version = self.world.writes;
        self.world.cell = Some(Cell {
            owner: self.owner,
            generation: lease.generation,
            version,
            written: self.world.now,
        });
        self.written = Some(lease.clone());
        if !self.is_answered {
            return Err(Error::busy("the answer is lost"));
        }
        Ok(Swapped::Done(LeaseVersion(version.to_string())))
    }

    fn remove(
        &mut self,
        _: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error> {
        self.reached()?;
        if self.differs(Some(expected)) {
            return Ok(self.there());
        }
        self.world.cell = None;
        Ok(None)
    }

    fn clear(&mut self, _: &TaskId) -> Result<(), Error> {
        unreachable!("what the model stores can be read")
    }
}

fn task() -> TaskId {
    TaskId::new("t").expect("valid")
}

fn owner(number: usize) -> LeaseOwner {
    LeaseOwner {
        name: String::new(),
        token: number.to_string(),
    }
}

fn terms() -> LeaseTerms {
    LeaseTerms {
        length: Some(Duration::from_secs(LENGTH)),
        usual: Duration::from_secs(LENGTH),
        now: Timestamp::default(),
        place: String::new(),
        branch: None,
        run: None,
    }
}

impl World {
    /// The last generation that the branch knows.
    fn recorded(&self) -> u64 {
        self.record.last().map_or(0, |entry| entry.generation)
    }

    /// An owner learns that it holds the lease in the store, or that it does not.
    fn believe(&mut self, owner: usize, lease: Option<&Lease>) {
        let version = self.writes;
        self.owners[owner].belief = lease.and_then(|lease| {
            let cell = self.cell.as_ref().filter(|cell| cell.owner == owner)?;
            Some(Belief {
                // A lease that was only read was written before.
                version: cell.version.min(version),
                generation: lease.generation,
                at: cell.written,
            })
        });
    }
}

impl Fleet {
    fn new(has_clock: bool) -> Self {
        // `make protocol` goes further.
        let more = u64::from(std::env::var_os("ORCH_PROTOCOL").is_some());
        Self {
            owners: 2,
            has_clock,
            ticks: 3 + more,
            writes: 3 + more,
            steps: 3,
            mistake: None,
        }
    }

    fn call<T>(
        &self,
        world: &mut World,
        number: usize,
        order: impl FnOnce(&mut Leases<'_>, u64) -> T,
    ) -> T {
        let recorded = world.recorded();
        let mut store = ModelStore {
            fleet: self,
            world,
            owner: number,
            between: None,
            is_answered: true,
            written: None,
        };
        order(&mut Leases::new(&mut store, owner(number)), recorded)
    }

    fn take(&self, world: &mut World, number: usize, between: Option<usize>, is_answered: bool) {
        let recorded = world.recorded();
        let mut store = ModelStore {
            fleet: self,
            world,
            owner: number,
            between,
            is_answered,
            written: None,
        };
        let taken = Leases::new(&mut store, owner(number)).take(&task(), recorded, &terms(), false);
        match taken {
            Ok(TakeOutcome::Held { lease, .. }) => world.believe(number, Some(&lease)),
            Ok(TakeOutcome::Refused(_)) => world.believe(number, None),
            // Nothing is known: the owner believes what it believed before.
            Err(_) => {}
        }
    }

    /// Whether an owner believes, by its own clock, that it holds the task.
    fn believes(&self, world: &World, number: usize) -> bool {
        let Some(belief) = &world.owners[number].belief else {
            return false;
        };
        let is_over = world.now - belief.at >= LENGTH - LENGTH / 20;
        !is_over || self.mistake == Some(Mistake::Believing)
    }

    /// Pushes a step: the branch and the lease in one, each compared.
    fn push(&self, world: &mut World, number: usize) {
        let Some(belief) = world.owners[number].pushing.take() else {
            return;
        };
        if world.owners[number].is_cut_off {
            return;
        }
        let is_same = world
            .cell
            .as_ref()
            .is_some_and(|cell| cell.version == belief.version);
        if !is_same && self.mistake != Some(Mistake::Unfenced) {
            world.has_refused = true;
            world.owners[number].belief = None;
            return;
        }
        world.record.push(Entry {
            owner: number,
            generation: belief.generation,
        });
        if is_same {
            world.writes += 1;
            let version = world.writes;
            let at = world.now;
            if let Some(cell) = &mut world.cell {
                cell.version = version;
                cell.written = at;
            }
            world.owners[number].belief = Some(Belief {
                version,
                at,
                ..belief
            });
        }
    }
}

impl Model for Fleet {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            now: 0,
            writes: 0,
            cell: None,
            record: Vec::new(),
            owners: vec![OneOwner::default(); self.owners],
            has_refused: false,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.now < self.ticks * TICK {
            actions.push(Action::Tick);
        }
        for owner in 0..self.owners {
            // One partition is enough: whoever is not cut off is on the other side.
            if owner == 0 {
                actions.push(Action::Cut(owner));
            }
            actions.push(Action::Release(owner));
            actions.push(Action::EndPush(owner));
            if world.record.len() < self.steps && self.believes(world, owner) {
                actions.push(Action::BeginPush(owner));
            }
            if world.writes >= self.writes {
                continue;
            }
            actions.push(Action::Keep(owner));
            let others = (0..self.owners).filter(|other| *other != owner);
            for between in others.map(Some).chain([None]) {
                for is_answered in [true, false] {
                    actions.push(Action::Take {
                        owner,
                        between,
                        is_answered,
                    });
                }
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Tick => next.now += TICK,
            Action::Cut(owner) => next.owners[owner].is_cut_off ^= true,
            Action::Take {
                owner,
                between,
                is_answered,
            } => self.take(&mut next, owner, between, is_answered),
            Action::Keep(owner) => {
                let kept = self.call(&mut next, owner, |leases, recorded| {
                    leases.keep(&task(), recorded, &terms())
                });
                match kept {
                    Ok(KeptLease::Own(lease)) => next.believe(owner, Some(&lease)),
                    Ok(_) => next.believe(owner, None),
                    Err(_) => {}
                }
            }
            Action::Release(owner) => {
                let released = self.call(&mut next, owner, |leases, _| leases.release(&task()));
                // It stops at once, whether or not the store hears of it.
                let _ = released;
                next.owners[owner].belief = None;
            }
            Action::BeginPush(owner) => {
                next.owners[owner].pushing = next.owners[owner].belief.clone();
            }
            Action::EndPush(owner) => self.push(&mut next, owner),
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_HOLDER, |fleet: &Self, world: &World| {
                let believers = (0..fleet.owners).filter(|owner| fleet.believes(world, *owner));
                believers.count() <= 1
            }),
            Property::always(ONE_LINE, |_, world: &World| {
                world.record.iter().all(|entry| {
                    let first = world
                        .record
                        .iter()
                        .find(|other| other.generation == entry.generation);
                    first.is_some_and(|first| first.owner == entry.owner)
                })
            }),
            Property::always(RISING, |_, world: &World| {
                world.record.is_sorted_by_key(|entry| entry.generation)
            }),
            Property::always(NOT_STUCK, |fleet: &Self, world: &World| {
                (0..fleet.owners).all(|owner| {
                    let mut later = world.clone();
                    later.owners[owner].is_cut_off = false;
                    // To look begins to watch.
                    fleet.call(&mut later, owner, |leases, recorded| {
                        leases.take(&task(), recorded, &terms(), false).is_ok()
                    });
                    later.now += LENGTH;
                    let taken = fleet.call(&mut later, owner, |leases, recorded| {
                        leases.take(&task(), recorded, &terms(), false)
                    });
                    matches!(taken, Ok(TakeOutcome::Held { .. }))
                })
            }),
            Property::sometimes(TAKEN_OVER, |_, world: &World| {
                let owners: Vec<usize> = world.record.iter().map(|entry| entry.owner).collect();
                owners.windows(2).any(|pair| pair[0] != pair[1])
            }),
            Property::sometimes(REFUSED, |_, world: &World| world.has_refused),
            Property::sometimes(RENEWED, |fleet: &Self, world: &World| {
                world.now > LENGTH
                    && world.record.len() > 1
                    && world.record.iter().all(|entry| entry.generation == 1)
                    && (0..fleet.owners).any(|owner| fleet.believes(world, owner))
            }),
        ]
    }
}

/// Checks all states.
fn holds(fleet: Fleet) {
    let checked = fleet.checker().spawn_bfs().join();
    checked.assert_properties();
}

/// The first promise that a mistake breaks.
fn broken_by(mistake: Mistake, has_clock: bool) -> Vec<&'static str> {
    let fleet = Fleet {
        mistake: Some(mistake),
        ..Fleet::new(has_clock)
    };
    let found = fleet
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let mut names: Vec<&'static str> = found.discoveries().into_keys().collect();
    names.retain(|name| [ONE_HOLDER, ONE_LINE, RISING, NOT_STUCK].contains(name));
    names.sort_unstable();
    names
}

#[test]
fn a_store_with_a_clock_keeps_its_promises() {
    holds(Fleet::new(true));
}

#[test]
fn a_store_without_a_clock_keeps_its_promises() {
    holds(Fleet::new(false));
}

#[test]
fn each_mistake_breaks_a_promise() {
    for (mistake, has_clock, promise) in [
        (Mistake::Overwrites, true, ONE_HOLDER),
        (Mistake::Impatient, false, ONE_HOLDER),
        (Mistake::Believing, true, ONE_HOLDER),
        (Mistake::Unfenced, true, ONE_LINE),
    ] {
        let broken = broken_by(mistake, has_clock);
        assert!(broken.contains(&promise), "{mistake:?}: {broken:?}");
    }
}
