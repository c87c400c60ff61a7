//! Leases: takes tasks for this work tree, and lets nobody record a step of a task that another holds.
//!
//! Taking a free task writes to the store of leases alone. The first step that its holder records comes with the event
//! `take` before it, in one commit; taking over what another had is recorded at once. Each step of a held task names the
//! generation of its lease.

use super::advance::{Advance, Steps};
use super::authority::{Authority, OrderedStep};
use super::orders::{first_applied, usable_state};
use crate::survey::{Caller, Error, HeldTasks, NetworkStore, Reader, Sight, TaskRef};
use orch_base::{Code, Hint, TaskId};
use orch_core::config::{LeaseSettings, LeaseStoreKind};
use orch_core::decide::{
    self, Detail, DetailStep, Holder, Kind, Recorded, Settled, Stamp, State, Step, WHY,
};
use orch_core::lease::Lease;
use orch_fleet::copied::CopiedStore;
use orch_fleet::leases::{KeptLease, LeaseTerms, Leases, TakeOutcome};
use orch_fleet::open::{StoreContext, open_remote, open_store};
use orch_fleet::publish::{KnownLeases, PublishedLeases, StepPublisher};
use orch_fleet::store::{LeaseStore, StoredLease};
use std::sync::Arc;
use std::time::Duration;

/// How a task is to be taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct TakeWish<'a> {
    /// How long the lease lasts from each renewal; by default as long as the one before, or half an hour.
    pub length: Option<Duration>,
    /// The name of the owner from here on; by default as it is.
    pub name: Option<&'a str>,
    /// Why a person breaks the lease of another.
    pub breaks: Option<&'a str>,
    /// The run that takes it, which releases it when it ends.
    pub run: Option<&'a str>,
    /// Whether a take-over is recorded later, after this work tree has caught up with what others have recorded.
    pub records_later: bool,
}

/// A task that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenTask {
    /// The lease.
    pub lease: Lease,
    /// Whether this work tree held it before.
    pub was_held: bool,
    /// The lease of another that had ended or was broken.
    pub over: Option<Lease>,
}

/// Takes, keeps and releases tasks.
#[derive(Clone, Copy)]
pub struct Holding<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
}

/// Takes and releases tasks, and records what has to be recorded of that.
#[derive(Clone, Copy)]
pub struct Taking<'w> {
    pub(super) holding: Holding<'w>,
    pub(super) advance: Advance<'w>,
}

impl Taking<'_> {
    /// The name under which this work tree holds tasks, or whom it would take them for. Returns an error if the file of the
    /// owner is damaged.
    pub fn owner_name(&self) -> Result<String, Error> {
        let known = self.holding.held_tasks().known_owner()?;
        Ok(known.map_or_else(|| self.holding.who(), |owner| owner.name))
    }

    /// Asks the store that clones share who holds what, so that it is known here; nothing if they share none. Returns an
    /// error if nobody has trusted the store, or it cannot be reached.
    pub fn ask_store(&self) -> Result<(), Error> {
        let settings = &self.holding.reader.settings.config.leases;
        if self.holding.reader.store().is_none() || NetworkStore::of(settings).is_none() {
            return Ok(());
        }
        self.holding.store()?.list().map(drop)
    }

    /// Takes a task that was looked at, or renews the lease that this work tree has. A take-over is recorded, unless the wish says
    /// that it is later.
    ///
    /// Returns [`Code::TaskHeld`] if another holds it and the wish does not break that, and an error if the caller may not
    /// break it, if there is no repository, or if the lease or the take-over cannot be written; then the lease is as
    /// before.
    pub fn take(&self, sight: &Sight, wish: TakeWish<'_>) -> Result<TakenTask, Error> {
        let task = &sight.task;
        sight.require_tracked()?;
        if let Some(why) = wish.breaks {
            decide::refuse_placeholder(why)?;
            self.holding.refuse_breaking(task, "take", why)?;
        }
        let mut store = self.holding.store()?;
        let terms = LeaseTerms {
            length: wish.length,
            ..self.holding.terms(wish.run)
        };
        let owner = self
            .holding
            .held_tasks()
            .owner(wish.name, || self.holding.who())?;
        if wish.breaks.is_some() && store.read(&task.id).is_err() {
            store.clear(&task.id)?;
        }
        let mut leases = Leases::new(&mut *store, owner);
        let recorded = generation_of(sight.state());
        let taken = leases.take(&task.id, recorded, &terms, wish.breaks.is_some())?;
        let (lease, before, over) = match taken {
            TakeOutcome::Refused(other) => return Err(held(task, &other)),
            TakeOutcome::Held {
                lease,
                before,
                over,
            } => (lease, before, over),
        };
        if let Some(other) = over.as_ref().filter(|_| !wish.records_later)
            && let Err(error) = self.record(task, &lease, wish.breaks)
        {
            leases.put_back(&task.id, &lease, other)?;
            return Err(error);
        }
        let was_held = before.is_some();
        tracing::info!(task = %task.id, generation = lease.generation, was_held, "took a task");
        Ok(TakenTask {
            lease,
            was_held,
            over,
        })
    }

    /// Gives a task back. With `breaks` a person gives back what another holds, by taking it over first. Returns the lease
    /// that was given back; `None` if nobody held it. Returns [`Code::TaskHeld`] if another holds it.
    pub fn release(&self, task: &TaskRef, breaks: Option<&str>) -> Result<Option<Lease>, Error> {
        let mut store = self.holding.store()?;
        if breaks.is_some() {
            let own = self
                .holding
                .held_tasks()
                .known_owner()?
                .map(|own| own.token);
            let is_other = match store.read(&task.id) {
                Ok(Some(there)) => {
                    !there.seen.left().is_zero() && own != Some(there.seen.lease.owner.token)
                }
                Ok(None) => false,
                Err(error) => error.code() == Code::LeaseDamaged,
            };
            if is_other {
                let sight = self.holding.reader.look(task)?;
                self.take(
                    &sight,
                    TakeWish {
                        breaks,
                        ..TakeWish::default()
                    },
                )?;
            }
        }
        let Some(owner) = self.holding.held_tasks().known_owner()? else {
            return match store.read(&task.id)? {
                Some(other) if !other.seen.left().is_zero() => Err(held(task, &other)),
                _ => Ok(None),
            };
        };
        match Leases::new(&mut *store, owner).release(&task.id)? {
            None => Ok(None),
            Some(Ok(lease)) => Ok(Some(lease)),
            Some(Err(other)) => Err(held(task, &other)),
        }
    }

    /// Gives a task back that a run of this work tree has taken.
    pub(crate) fn release_of_run(&self, task: &TaskRef) -> Result<(), Error> {
        let known = self.holding.held_tasks().lease_of(&task.id)?;
        match known {
            Some(known) if known.is_own && known.lease.run.is_some() => {
                self.release(task, None).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Records who holds a task, if this work tree does and its record does not say so yet. Returns [`Code::TaskHeld`] if
    /// another holds it, and an error if it cannot be recorded.
    pub(crate) fn record_holder(&self, task: &TaskRef) -> Result<(), Error> {
        let sight = self.holding.reader.look(task)?;
        let state = usable_state(&sight)?;
        let recorded = generation_of(Some(&state));
        match self.holding.keep(task, recorded)? {
            Some(lease) if state.holder != Some(holder_of(&lease)) => {
                self.record(task, &lease, None)
            }
            _ => Ok(()),
        }
    }

    /// Records that the task is held under a lease that another had before.
    fn record(&self, task: &TaskRef, lease: &Lease, why: Option<&str>) -> Result<(), Error> {
        let stamp = self.holding.authority.stamp();
        let outcomes = self
            .advance
            .apply(std::slice::from_ref(task), false, &|sight| {
                let state = usable_state(sight)?;
                let step = take_step(sight, &state, lease, &stamp, why)?;
                Ok(self.holding.reader.settled(sight, vec![step]))
            });
        outcomes.and_then(first_applied).map(drop)
    }
}

impl<'w> Holding<'w> {
    fn held_tasks(&self) -> HeldTasks<'w> {
        HeldTasks::of(self.reader)
    }

    /// The store of leases of the settings, to write them; one on the network is opened when it is asked. Returns an error
    /// outside git.
    fn store(&self) -> Result<Box<dyn LeaseStore + 'w>, Error> {
        let known = self.held_tasks().known_to_write()?;
        let Some(network) = NetworkStore::of(&self.reader.settings.config.leases) else {
            return Ok(Box::new(known.copy));
        };
        let holding = *self;
        let open = move || holding.opened(&network);
        Ok(Box::new(CopiedStore::new(
            known.copy,
            known.seen,
            Box::new(open),
        )))
    }

    /// The store on the network itself. Returns an error if nobody has trusted it, or it cannot be reached.
    fn opened(&self, network: &NetworkStore) -> Result<Box<dyn LeaseStore>, Error> {
        let caller = self.authority.caller;
        network.require_trust(self.reader, caller)?;
        let settings = &self.reader.settings.config.leases;
        let secret = secret_of(settings, caller)?;
        let repository = self.reader.repository_or_refuse()?;
        // The remotes of the clone of a task are not those of its repository.
        let home = self.held_tasks().home();
        let home = home.filter(|home| home != repository.layout().common_directory());
        let other = match home {
            Some(home) => repository.another(&home)?,
            None => None,
        };
        let repository = other.as_ref().unwrap_or(repository);
        open_store(settings, StoreContext { repository, secret })
    }

    /// The leases in the store that clones share, also those that have ended; they are kept for others of this clone. Returns
    /// an error if clones share none, nobody has trusted the store, or it cannot be reached.
    pub(crate) fn shared(&self, remote: &str) -> Result<Vec<StoredLease>, Error> {
        self.refuse_unshared(remote)?;
        self.store()?.list()
    }

    /// Removes a lease that has ended, unless somebody has the task again. Returns an error if the store cannot be reached.
    pub(crate) fn remove_ended(&self, ended: &StoredLease) -> Result<(), Error> {
        self.store()?.remove(&ended.task, &ended.version).map(drop)
    }

    /// Pushes what this work tree holds to a remote. Returns an error as [`Self::shared`] does, or if this work tree has
    /// never taken a task.
    pub(crate) fn publisher(&self, remote: &str) -> Result<StepPublisher<'w>, Error> {
        let network = self.refuse_unshared(remote)?;
        let repository = self.reader.repository_or_refuse()?;
        let settings = &self.reader.settings.config.leases;
        let is_there = settings.store == LeaseStoreKind::Git && settings.remote == remote;
        let leases = if is_there {
            PublishedLeases::Together(Box::new(open_remote(repository, remote)?))
        } else {
            PublishedLeases::Apart(self.opened(&network)?)
        };
        let known: KnownLeases = self.held_tasks().known_to_write()?;
        let owner = self.held_tasks().owner(None, || self.who())?;
        StepPublisher::new(repository, remote, known, leases, owner)
    }

    /// The store that clones share. Returns an error if there is none, or nobody has trusted it.
    fn refuse_unshared(&self, remote: &str) -> Result<NetworkStore, Error> {
        let network = NetworkStore::of(&self.reader.settings.config.leases);
        let network = network.ok_or_else(|| unshared(remote))?;
        network.require_trust(self.reader, self.authority.caller)?;
        Ok(network)
    }

    /// Looks at the lease of a task in a store on the network, or at all, so that this clone knows of others. Returns an error
    /// if nobody has trusted the store, or it cannot be reached.
    pub(crate) fn see(&self, task: Option<&TaskId>) -> Result<(), Error> {
        if NetworkStore::of(&self.reader.settings.config.leases).is_none() {
            return Ok(());
        }
        match task {
            Some(task) => self.store()?.read(task).map(drop),
            None => self.store()?.list().map(drop),
        }
    }

    /// What a lease of this work tree says.
    pub(crate) fn terms(&self, run: Option<&str>) -> LeaseTerms {
        let root = self.reader.root.display();
        LeaseTerms {
            length: None,
            usual: Duration::from_millis(self.reader.settings.config.leases.length.milliseconds()),
            now: self.authority.now(),
            place: match orch_fleet::machine() {
                Some(machine) => format!("{machine}:{root}"),
                None => root.to_string(),
            },
            branch: self.reader.branch().unwrap_or_default(),
            run: run.map(str::to_owned),
        }
    }

    /// Who takes tasks here, if nobody says so.
    fn who(&self) -> String {
        self.authority.stamp().by.name
    }

    /// Returns an error if the caller may not break a lease.
    fn refuse_breaking(&self, task: &TaskRef, word: &str, why: &str) -> Result<(), Error> {
        let argv = ["orch", word, task.id.as_str(), "--break", why];
        let argv = argv.map(str::to_owned).to_vec();
        let ordered = OrderedStep {
            kind: Kind::Take,
            by_human: true,
            argv,
        };
        self.authority.stamp_of(&ordered).map(drop)
    }

    /// The lease of this work tree, renewed if it is time; `None` if nobody holds the task. Returns [`Code::TaskHeld`] if
    /// another does.
    pub(crate) fn keep(&self, task: &TaskRef, recorded: u64) -> Result<Option<Lease>, Error> {
        let Some(mut store) = self.held_tasks().store() else {
            return Ok(None);
        };
        let Some(there) = store.read(&task.id)? else {
            return Ok(None);
        };
        let Some(owner) = self.held_tasks().known_owner()? else {
            return match there.seen.left().is_zero() {
                true => Ok(None),
                false => Err(held(task, &there)),
            };
        };
        let mut store = self.store()?;
        let mut leases = Leases::new(&mut *store, owner);
        match leases.keep(&task.id, recorded, &self.terms(None))? {
            KeptLease::Free => Ok(None),
            KeptLease::Own(lease) => Ok(Some(lease)),
            KeptLease::Other(other) => Err(held(task, &other)),
        }
    }

    /// Moves the lease of this work tree to the new name of a task; an archived one is released. Returns an error if it
    /// cannot be written: then it ends by itself.
    pub(super) fn follow(&self, task: &TaskRef, renamed: Option<&TaskRef>) -> Result<(), Error> {
        let mut store = self.store()?;
        let Some(there) = store.read(&task.id)? else {
            return Ok(());
        };
        if let Some(renamed) = renamed {
            store.put(&renamed.id, None, &there.seen.lease)?;
        }
        store.remove(&task.id, &there.version).map(drop)
    }

    /// Whether this work tree holds the task. Returns [`Code::TaskHeld`] if another does. Writes nothing.
    pub(crate) fn refuse_held(&self, task: &TaskRef) -> Result<bool, Error> {
        let Some(mut store) = self.held_tasks().store() else {
            return Ok(false);
        };
        let Some(there) = store.read(&task.id)? else {
            return Ok(false);
        };
        let owner = self.held_tasks().known_owner()?;
        let is_own = owner.is_some_and(|own| own.token == there.seen.lease.owner.token);
        match is_own || there.seen.left().is_zero() {
            true => Ok(is_own),
            false => Err(held(task, &there)),
        }
    }
}

impl<'w> Advance<'w> {
    pub(super) fn holding(&self) -> Holding<'w> {
        Holding {
            reader: self.reader,
            authority: self.authority,
        }
    }

    /// The steps that `steps_of` yields for a task, under the lease that this work tree has of it. Returns
    /// [`Code::TaskHeld`] if another has one.
    pub(super) fn under_lease(
        &self,
        sight: &Sight,
        steps_of: &Steps<'_>,
    ) -> Result<Settled, Error> {
        let settled = steps_of(sight)?;
        let Some(first) = settled.steps.first() else {
            return Ok(settled);
        };
        let Some(lease) = self
            .holding()
            .keep(&sight.task, generation_of(sight.state()))?
        else {
            return Ok(settled);
        };
        let Some(state) = sight.state().filter(|_| !sight.untracked) else {
            return Ok(settled);
        };
        let is_taken = |holder: &Holder| *holder == holder_of(&lease);
        let is_known =
            first.transition.kind == Kind::Take || state.holder.as_ref().is_some_and(is_taken);
        let mut settled = if is_known {
            settled
        } else {
            let stamp = self.authority.stamp();
            let taken = take_step(sight, state, &lease, &stamp, None)?;
            let mut after = sight.clone();
            after.recorded = Recorded::Known(Box::new(taken.state.clone()));
            let mut settled = steps_of(&after)?;
            if !settled.steps.is_empty() {
                settled.steps.insert(0, taken);
            }
            settled
        };
        for step in &mut settled.steps {
            name_generation(&mut step.state, state.rev, lease.generation);
        }
        Ok(settled)
    }
}

/// Names the generation in the entries of the steps after `rev`.
fn name_generation(state: &mut State, rev: u64, generation: u64) {
    for entry in state.history.iter_mut().chain(&mut state.entered) {
        if entry.seq > rev {
            Arc::make_mut(entry).generation = Some(generation);
        }
    }
}

/// The generation of the last holder that a record knows; 0 if there is none.
fn generation_of(state: Option<&State>) -> u64 {
    state
        .and_then(|state| state.holder.as_ref())
        .map_or(0, |holder| holder.generation)
}

fn holder_of(lease: &Lease) -> Holder {
    Holder {
        generation: lease.generation,
        owner: lease.owner.name.clone(),
    }
}

/// The step that says who holds a task.
fn take_step(
    sight: &Sight,
    state: &State,
    lease: &Lease,
    stamp: &Stamp,
    why: Option<&str>,
) -> Result<Step, Error> {
    let step = DetailStep {
        detail: Detail::Take(holder_of(lease)),
        at: stamp.at,
        to: None,
        former: None,
        why,
    };
    let workflow = sight.workflow();
    let transition = decide::detailed(workflow, state, &sight.task.id, step)
        .map_err(|why| Error::new(Code::StateInvalid, why))?;
    let facts = &sight.observed.facts;
    let state = decide::apply(workflow, state, facts, &transition, stamp);
    Ok(Step { transition, state })
}

/// The error about a task that another holds.
pub(crate) fn held(task: &TaskRef, other: &StoredLease) -> Error {
    let id = task.id.as_str();
    let lease = &other.seen.lease;
    let branch = match &lease.branch {
        Some(branch) => format!(", on branch {branch}"),
        None => String::new(),
    };
    let left = Duration::from_secs(other.seen.left().as_secs().max(1));
    let message = format!(
        "{} holds `{id}` since {}, until {} ({} from now) unless it is renewed, in {}{branch}",
        lease.owner.name,
        lease.since,
        lease.until,
        in_words(left),
        lease.place,
    );
    let hint = Hint::from("another task: ")
        .command(&["orch", "take"])
        .text("; if nobody works on it any more, a person takes it over: ")
        .command(&["orch", "take", id, "--break", WHY]);
    Error::new(Code::TaskHeld, message).with_hint(hint)
}

/// The error about leases that the clones of a remote do not share.
fn unshared(remote: &str) -> Error {
    let message = format!(
        "the clones of {remote} share no leases, because [leases] in orch.toml says nothing else than `store = \"local\"`"
    );
    let hint = format!(
        "write `[leases]`, `store = \"git\"` and `remote = \"{remote}\"`, a line each, into orch.toml, and commit it; then "
    );
    let hint = Hint::from(hint).command(&["orch", "trust"]);
    Error::new(Code::LeasesUnshared, message).with_hint(hint)
}

/// What the variable contains that the settings name for the servers of leases. Returns an error if it is not set.
pub(crate) fn secret_of(
    settings: &LeaseSettings,
    caller: &Caller,
) -> Result<Option<String>, Error> {
    match &settings.secret {
        Some(name) => match caller.variables.get(name) {
            Some(secret) => Ok(Some(secret)),
            None => Err(unset(name)),
        },
        None => Ok(None),
    }
}

/// The error about a variable that a store of leases needs.
fn unset(name: &str) -> Error {
    let message =
        format!("the variable {name} is not set, which `secret` under [leases] in orch.toml names");
    Error::new(Code::LeaseStore, message).with_hint("set it to USER:PASSWORD, or to a token")
}

/// A duration for people.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}
