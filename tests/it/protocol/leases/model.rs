//! The promises of leases, checked in every order of what a few owners, the clock and the network may do.
//!
//! Taking, renewing and releasing is the program's own code over a store that lives in the model. What is recorded goes to a
//! branch of a remote; a push compares the lease and the branch in one step. A mistake, put in on purpose, has to break a
//! promise, or the model would not notice it in the program either. [`super::replay`] plays in it what real processes did.

use super::super::is_long;
use orch_base::{Error, TaskId, Timestamp};
use orch_core::lease::{Lease, LeaseAge, LeaseOwner, SeenLease};
use orch_fleet::leases::{KeptLease, LeaseTerms, Leases, TakeOutcome};
use orch_fleet::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use stateright::{Model, Property};
use std::time::Duration;

/// How many seconds a lease lasts, unless a trace says otherwise.
const LENGTH: u64 = 20;
/// How often the clock moves on while a lease lasts.
const TICKS: u64 = 2;

pub const ONE_HOLDER: &str = "at most one owner believes that it holds the task";
pub const ONE_LINE: &str = "each step of the record is of the owner who took its generation";
pub const RISING: &str = "generations of the record never go down";
pub const NOT_STUCK: &str = "a lease that has ended can be taken over";
const TAKEN_OVER: &str = "a task with a step is taken over";
const REFUSED: &str = "a step of a former holder is refused";
const RENEWED: &str = "a lease outlasts its first length";

/// What may happen, and how the store tells the time.
#[derive(Clone)]
pub struct Fleet {
    pub owners: usize,
    /// Whether writers and readers share a clock.
    pub has_clock: bool,
    /// Whether an owner has a copy of its lease: it looks there first, and writes before it has looked elsewhere.
    pub has_copy: bool,
    /// Whether the push of a step renews the lease.
    pub push_renews: bool,
    /// Whether people break leases.
    pub breaks: bool,
    /// How many seconds a lease lasts.
    pub length: u64,
    pub ticks: u64,
    pub writes: u64,
    pub steps: usize,
    pub mistake: Option<Mistake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
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
pub struct World {
    /// The time in milliseconds.
    pub now: u64,
    pub writes: u64,
    pub cell: Option<Cell>,
    pub record: Vec<Entry>,
    pub owners: Vec<OneOwner>,
    has_refused: bool,
}

/// The lease in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    pub owner: usize,
    pub generation: u64,
    version: u64,
    written: u64,
}

/// A step on the branch of the remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    pub owner: usize,
    pub generation: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct OneOwner {
    is_cut_off: bool,
    /// Whether a person has broken the lease that it may believe to have: two may work then, as the person knows.
    is_broken: bool,
    /// The lease that it was told to have: its version, its generation, and the time when it asked for it.
    pub belief: Option<Belief>,
    /// The write that it watches, and since when.
    watched: Option<Watched>,
    /// The lease under which it began to push a step. However long it is stopped, it pushes then.
    pushing: Option<Belief>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Belief {
    version: u64,
    pub generation: u64,
    at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Watched {
    version: u64,
    since: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Milliseconds pass.
    Tick(u64),
    /// The owner looks at the store, and takes or renews. Another may take between its look and its write, and the answer
    /// to the write may be lost.
    Take {
        owner: usize,
        between: Option<usize>,
        is_answered: bool,
    },
    /// A person lets the owner take over what another holds.
    Break(usize),
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
            return LeaseAge::Known(Duration::from_millis(now - cell.written));
        }
        let watched = &mut self.world.owners[self.owner].watched;
        let same = watched
            .as_ref()
            .filter(|watched| watched.version == cell.version);
        let since = match same {
            Some(watched) => watched.since,
            None if self.fleet.mistake == Some(Mistake::Impatient) => {
                return LeaseAge::Watched(Duration::from_secs(self.fleet.length));
            }
            None => now,
        };
        *watched = Some(Watched {
            version: cell.version,
            since,
        });
        LeaseAge::Watched(Duration::from_millis(now - since))
    }

    fn lease(&self, number: usize, generation: u64, nonce: String) -> Lease {
        Lease {
            owner: owner(number),
            generation,
            nonce,
            length: self.fleet.length,
            since: Timestamp::default(),
            until: Timestamp::default(),
            place: String::new(),
            branch: None,
            run: None,
        }
    }

    /// The copy of the lease that the owner believes to have; `None` if it believes nothing.
    fn copy(&self) -> Option<StoredLease> {
        let belief = self.world.owners[self.owner].belief.as_ref()?;
        let version = belief.version.to_string();
        let age = Duration::from_millis(self.world.now - belief.at);
        Some(StoredLease {
            task: task(),
            seen: SeenLease {
                lease: self.lease(self.owner, belief.generation, version.clone()),
                age: LeaseAge::Known(age),
            },
            version: LeaseVersion(version),
        })
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
                lease: self.lease(cell.owner, cell.generation, nonce),
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
        let copy = self.copy().filter(|copy| !copy.seen.left().is_zero());
        if self.fleet.has_copy && copy.is_some() {
            return Ok(copy);
        }
        self.reached()?;
        // Whoever hears nothing of a write cannot read either.
        if self.written.is_some() && !self.is_answered {
            return Err(Error::busy("the store cannot be reached"));
        }
        Ok(self.there())
    }

    fn known(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        if self.fleet.has_copy && self.copy().is_none() {
            return Ok(None);
        }
        self.read(task)
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

fn terms(length: u64) -> LeaseTerms {
    LeaseTerms {
        length: Some(Duration::from_secs(length)),
        usual: Duration::from_secs(length),
        now: Timestamp::default(),
        place: String::new(),
        branch: None,
        run: None,
    }
}

impl World {
    /// The last generation that the branch knows.
    pub fn recorded(&self) -> u64 {
        self.record.last().map_or(0, |entry| entry.generation)
    }

    /// An owner learns that it holds the lease in the store, or that it does not.
    fn believe(&mut self, owner: usize, lease: Option<&Lease>) {
        self.owners[owner].is_broken = false;
        let known = self.owners[owner].belief.as_ref();
        let known = known.map(|belief| belief.version.to_string());
        if lease.is_some_and(|lease| known.as_ref() == Some(&lease.nonce)) {
            return;
        }
        self.owners[owner].belief = lease.and_then(|lease| {
            let cell = self.cell.as_ref().filter(|cell| cell.owner == owner)?;
            Some(Belief {
                version: cell.version,
                generation: lease.generation,
                at: cell.written,
            })
        });
    }
}

impl Fleet {
    pub fn new(has_clock: bool) -> Self {
        // `make protocol` goes further.
        let more = u64::from(is_long());
        Self {
            owners: 2,
            has_clock,
            has_copy: false,
            push_renews: true,
            breaks: false,
            length: LENGTH,
            ticks: 3 + more,
            writes: 3 + more,
            steps: 2 + usize::from(is_long()),
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
        let terms = terms(self.length);
        let taken = Leases::new(&mut store, owner(number)).take(&task(), recorded, &terms, false);
        Self::took(world, number, taken);
    }

    /// Takes over what another may hold.
    fn seize(&self, world: &mut World, number: usize) {
        let holder = world.cell.as_ref().map(|cell| cell.owner);
        let terms = terms(self.length);
        let taken = self.call(world, number, |leases, recorded| {
            leases.take(&task(), recorded, &terms, true)
        });
        if let (Ok(TakeOutcome::Held { over: Some(_), .. }), Some(holder)) = (&taken, holder) {
            world.owners[holder].is_broken = true;
        }
        Self::took(world, number, taken);
    }

    /// An owner hears what came of taking.
    fn took(world: &mut World, number: usize, taken: Result<TakeOutcome, Error>) {
        match taken {
            Ok(TakeOutcome::Held { lease, .. }) => world.believe(number, Some(&lease)),
            Ok(TakeOutcome::Refused(_)) => world.believe(number, None),
            // Nothing is known: the owner believes what it believed before.
            Err(_) => {}
        }
    }

    /// Whether an owner believes, by its own clock, that it holds the task.
    pub fn believes(&self, world: &World, number: usize) -> bool {
        let Some(belief) = &world.owners[number].belief else {
            return false;
        };
        let length = self.length * 1000;
        let is_over = world.now - belief.at >= length - length / 20;
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
        if is_same && self.push_renews {
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
        let tick = self.length * 1000 / TICKS;
        if world.now < self.ticks * tick {
            actions.push(Action::Tick(tick));
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
            if self.breaks {
                actions.push(Action::Break(owner));
            }
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
            Action::Tick(milliseconds) => next.now += milliseconds,
            Action::Cut(owner) => next.owners[owner].is_cut_off ^= true,
            Action::Take {
                owner,
                between,
                is_answered,
            } => self.take(&mut next, owner, between, is_answered),
            Action::Break(owner) => self.seize(&mut next, owner),
            Action::Keep(owner) => {
                let terms = terms(self.length);
                let kept = self.call(&mut next, owner, |leases, recorded| {
                    leases.keep(&task(), recorded, &terms)
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
                let believers = (0..fleet.owners).filter(|owner| {
                    fleet.believes(world, *owner) && !world.owners[*owner].is_broken
                });
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
                let terms = terms(fleet.length);
                (0..fleet.owners).all(|owner| {
                    let mut later = world.clone();
                    later.owners[owner].is_cut_off = false;
                    // To look begins to watch.
                    fleet.call(&mut later, owner, |leases, recorded| {
                        leases.take(&task(), recorded, &terms, false).is_ok()
                    });
                    later.now += fleet.length * 1000;
                    let taken = fleet.call(&mut later, owner, |leases, recorded| {
                        leases.take(&task(), recorded, &terms, false)
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
                world.now > fleet.length * 1000
                    && world.record.len() > 1
                    && world.record.iter().all(|entry| entry.generation == 1)
                    && (0..fleet.owners).any(|owner| fleet.believes(world, owner))
            }),
        ]
    }
}
