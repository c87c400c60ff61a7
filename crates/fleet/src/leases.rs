//! Takes, renews, releases and breaks leases for one owner, over any store.

use crate::owner::random_token;
use crate::store::{LeaseStore, StoredLease, Swapped};
use crate::trail::LeaseQuestion;
use orch_base::{Error, TaskId, Timestamp};
use orch_core::lease::{Lease, LeaseOwner, LeaseStanding, next_generation, standing};
use std::time::Duration;

/// The answer of a store that could not be reached, in the log.
const UNKNOWN: &str = "unknown";
/// How often a swap is tried again that another process was faster than.
const TRIES: u32 = 64;

/// The leases of one owner.
pub struct Leases<'s> {
    store: &'s mut dyn LeaseStore,
    owner: LeaseOwner,
}

/// What a lease says of its holder, and when it is written.
#[derive(Debug, Clone)]
pub struct LeaseTerms {
    /// How long it lasts; `None` for as long as the lease before, or else as long as usual.
    pub length: Option<Duration>,
    /// How long leases last here by default.
    pub usual: Duration,
    /// The time now.
    pub now: Timestamp,
    /// The machine and the path of the work tree.
    pub place: String,
    /// The branch of the work tree.
    pub branch: Option<String>,
    /// The run that takes the task.
    pub run: Option<String>,
}

/// What came of taking a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each answer of a store, and none is kept"
)]
pub enum TakeOutcome {
    /// The owner holds it now.
    Held {
        /// The lease.
        lease: Lease,
        /// The lease of the owner before, if it was held already.
        before: Option<Lease>,
        /// The lease of another that had ended or was broken.
        over: Option<Lease>,
    },
    /// Another holds it.
    Refused(StoredLease),
}

/// Whether somebody holds a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptLease {
    /// Nobody does, or the lease of another has ended.
    Free,
    /// The owner does.
    Own(Lease),
    /// Another does.
    Other(StoredLease),
}

impl LeaseTerms {
    /// When a lease of so many seconds ends that is written now.
    fn until(&self, length: u64) -> Timestamp {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        Timestamp::from_seconds(self.now.seconds().saturating_add(length))
    }
}

/// The lease of the same holder, written anew. Returns an error if the machine has no random bytes.
pub fn renewed(before: &Lease, terms: &LeaseTerms) -> Result<Lease, Error> {
    Ok(Lease {
        nonce: random_token()?,
        until: terms.until(before.length),
        place: terms.place.clone(),
        branch: terms.branch.clone(),
        ..before.clone()
    })
}

impl TakeOutcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Held { .. } => "own",
            Self::Refused(_) => "other",
        }
    }
}

impl KeptLease {
    fn word(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Own(_) => "own",
            Self::Other(_) => "other",
        }
    }
}

impl<'s> Leases<'s> {
    /// The leases of an owner in a store.
    pub fn new(store: &'s mut dyn LeaseStore, owner: LeaseOwner) -> Self {
        Self { store, owner }
    }

    /// Takes a task whose record knows this generation, or renews the lease that the owner has. With `breaks` the lease of
    /// another is taken over although it has not ended. Returns an error if the store cannot be reached.
    pub fn take(
        &mut self,
        task: &TaskId,
        recorded: u64,
        terms: &LeaseTerms,
        breaks: bool,
    ) -> Result<TakeOutcome, Error> {
        let taken = self.taken(task, recorded, terms, breaks);
        let question = LeaseQuestion {
            what: "take",
            task,
            owner: &self.owner,
            recorded,
            breaks,
        };
        question.answered(taken.as_ref().map_or(UNKNOWN, TakeOutcome::word));
        taken
    }

    fn taken(
        &mut self,
        task: &TaskId,
        recorded: u64,
        terms: &LeaseTerms,
        breaks: bool,
    ) -> Result<TakeOutcome, Error> {
        let mut seen = self.store.known(task)?;
        for _ in 0..TRIES {
            let stands = standing(seen.as_ref().map(|seen| &seen.seen), &self.owner);
            if let (LeaseStanding::Held(_), false, Some(other)) = (stands, breaks, &seen) {
                return Ok(TakeOutcome::Refused(other.clone()));
            }
            let there = seen.as_ref().map(|seen| &seen.seen.lease);
            let (before, over) = match there {
                Some(there) if there.owner.token == self.owner.token => (Some(there), None),
                Some(there) => (None, Some(there)),
                None => (None, None),
            };
            let lease = self.lease(recorded, before, over, terms)?;
            let before = before.cloned();
            let over = over.cloned();
            match self.put(task, seen.as_ref(), &lease)? {
                None => {
                    return Ok(TakeOutcome::Held {
                        lease,
                        before,
                        over,
                    });
                }
                Some(now) => seen = now,
            }
        }
        Err(Error::busy(format!("many processes take `{task}`")))
    }

    /// Whether somebody holds a task, whose record knows this generation. A lease of the owner is renewed if a third of it
    /// has passed, or the record knows a later generation. Returns an error if the store cannot be reached.
    pub fn keep(
        &mut self,
        task: &TaskId,
        recorded: u64,
        terms: &LeaseTerms,
    ) -> Result<KeptLease, Error> {
        let kept = self.kept(task, recorded, terms);
        let question = LeaseQuestion {
            what: "keep",
            task,
            owner: &self.owner,
            recorded,
            breaks: false,
        };
        question.answered(kept.as_ref().map_or(UNKNOWN, KeptLease::word));
        kept
    }

    fn kept(
        &mut self,
        task: &TaskId,
        recorded: u64,
        terms: &LeaseTerms,
    ) -> Result<KeptLease, Error> {
        let Some(seen) = self.store.read(task)? else {
            return Ok(KeptLease::Free);
        };
        let is_own = seen.seen.lease.owner.token == self.owner.token;
        match standing(Some(&seen.seen), &self.owner) {
            LeaseStanding::Held(_) => return Ok(KeptLease::Other(seen)),
            LeaseStanding::Free => return Ok(KeptLease::Free),
            LeaseStanding::Ended if !is_own => return Ok(KeptLease::Free),
            LeaseStanding::Own(_)
                if seen.seen.left() > seen.seen.lease.length() * 2 / 3
                    && seen.seen.lease.generation >= recorded =>
            {
                return Ok(KeptLease::Own(seen.seen.lease));
            }
            // One that has ended is the owner's as long as nobody took it over, which the swap shows.
            LeaseStanding::Own(_) | LeaseStanding::Ended => {}
        }
        match self.taken(task, recorded, terms, false)? {
            TakeOutcome::Held { lease, .. } => Ok(KeptLease::Own(lease)),
            TakeOutcome::Refused(other) => Ok(KeptLease::Other(other)),
        }
    }

    /// Gives a task back. Returns the lease that was removed, or that of another who holds it; `None` if nobody does. An
    /// error means that the store cannot be reached.
    pub fn release(&mut self, task: &TaskId) -> Result<Option<Result<Lease, StoredLease>>, Error> {
        let released = self.released(task);
        let question = LeaseQuestion {
            what: "release",
            task,
            owner: &self.owner,
            recorded: 0,
            breaks: false,
        };
        question.answered(match &released {
            Ok(None) => "free",
            Ok(Some(Ok(_))) => "released",
            Ok(Some(Err(_))) => "other",
            Err(_) => UNKNOWN,
        });
        released
    }

    fn released(&mut self, task: &TaskId) -> Result<Option<Result<Lease, StoredLease>>, Error> {
        let mut seen = self.store.read(task)?;
        for _ in 0..TRIES {
            let Some(there) = seen else {
                return Ok(None);
            };
            if there.seen.lease.owner.token != self.owner.token {
                let is_over = there.seen.left().is_zero();
                return Ok((!is_over).then_some(Err(there)));
            }
            seen = self.store.remove(task, &there.version)?;
            if seen.is_none() {
                return Ok(Some(Ok(there.seen.lease)));
            }
        }
        Err(Error::busy(format!("many processes take `{task}`")))
    }

    /// Puts back the lease `over` that was broken for `lease`, because its take-over could not be recorded; what others
    /// did meanwhile stays. Returns an error if the store cannot be reached.
    pub fn put_back(&mut self, task: &TaskId, lease: &Lease, over: &Lease) -> Result<(), Error> {
        let seen = self.store.read(task)?;
        if let Some(seen) = seen.filter(|seen| seen.seen.lease.nonce == lease.nonce) {
            self.store.put(task, Some(&seen.version), over)?;
        }
        Ok(())
    }

    /// The lease that is to be written, after one of the owner or of another.
    fn lease(
        &self,
        recorded: u64,
        before: Option<&Lease>,
        over: Option<&Lease>,
        terms: &LeaseTerms,
    ) -> Result<Lease, Error> {
        let generation = match before {
            Some(before) if before.generation >= recorded => before.generation,
            before => next_generation(recorded, before.or(over)),
        };
        let length = terms
            .length
            .or(before.map(Lease::length))
            .unwrap_or(terms.usual)
            .as_secs()
            .max(1);
        Ok(Lease {
            owner: self.owner.clone(),
            generation,
            nonce: random_token()?,
            length,
            since: before.map_or(terms.now, |before| before.since),
            until: terms.until(length),
            place: terms.place.clone(),
            branch: terms.branch.clone(),
            run: match before {
                Some(before) => before.run.clone(),
                None => terms.run.clone(),
            },
        })
    }

    /// Writes a lease where this one is seen. Returns what the store has if that was another, and an error if it cannot be
    /// reached.
    fn put(
        &mut self,
        task: &TaskId,
        seen: Option<&StoredLease>,
        lease: &Lease,
    ) -> Result<Option<Option<StoredLease>>, Error> {
        let expected = seen.map(|seen| &seen.version);
        match self.store.put(task, expected, lease) {
            Ok(Swapped::Done(_)) => Ok(None),
            Ok(Swapped::Lost(there)) => Ok(Some(there)),
            // The write may have taken place all the same.
            Err(error) => match self.store.read(task) {
                Ok(Some(there)) if there.seen.lease.nonce == lease.nonce => Ok(None),
                _ => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::BootTime;
    use crate::local::LocalStore;
    use orch_base::Code;
    use std::path::Path;
    use std::thread;

    fn owner(name: &str) -> LeaseOwner {
        LeaseOwner {
            name: name.to_owned(),
            token: format!("token of {name}"),
        }
    }

    fn task(id: &str) -> TaskId {
        TaskId::new(id).expect("valid")
    }

    fn terms(seconds: u64) -> LeaseTerms {
        LeaseTerms {
            length: Some(Duration::from_secs(seconds)),
            usual: orch_core::lease::DEFAULT_LENGTH,
            now: Timestamp::from_seconds(1000),
            place: "machine:/tree".to_owned(),
            branch: None,
            run: None,
        }
    }

    fn store(home: &Path) -> LocalStore {
        LocalStore::new(home, &home.join("leases"))
    }

    /// The store at another time of the clock.
    fn at(home: &Path, boot: &'static str, seconds: u64) -> LocalStore {
        // A clock is a plain function, so the times that a test asks for are named.
        let clock = match (boot, seconds) {
            ("one", 0) => || time("one", 0),
            ("one", 50) => || time("one", 50),
            ("one", 75) => || time("one", 75),
            ("one", 98) => || time("one", 98),
            ("one", 101) => || time("one", 101),
            ("two", 0) => || time("two", 0),
            _ => unreachable!("no such time"),
        };
        store(home).with_clock(clock)
    }

    fn time(boot: &str, seconds: u64) -> BootTime {
        BootTime {
            boot: Some(boot.to_owned()),
            at: Duration::from_secs(7 + seconds),
        }
    }

    /// A word for what came of taking.
    fn word(taken: &TakeOutcome) -> String {
        match taken {
            TakeOutcome::Held {
                lease,
                before,
                over,
            } => {
                let how = match (before, over) {
                    (Some(_), _) => "renewed",
                    (_, Some(_)) => "taken over",
                    _ => "taken",
                };
                format!("{how} {}", lease.generation)
            }
            TakeOutcome::Refused(other) => {
                format!("refused, {} has it", other.seen.lease.owner.name)
            }
        }
    }

    #[test]
    fn of_sixteen_takers_one_wins_and_a_writer_that_was_killed_stops_nobody() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(home.path().join("leases")).expect("created");
        std::fs::write(home.path().join("leases/.new"), "half a le").expect("written");
        let names: Vec<String> = (0..16).map(|number| format!("taker {number}")).collect();
        let taken: Vec<TakeOutcome> = thread::scope(|scope| {
            let takers: Vec<_> = names
                .iter()
                .map(|name| {
                    scope.spawn(|| {
                        let mut store = store(home.path());
                        let mut leases = Leases::new(&mut store, owner(name));
                        leases
                            .take(&task("epic/one"), 4, &terms(100), false)
                            .expect("reached")
                    })
                })
                .collect();
            takers
                .into_iter()
                .map(|taker| taker.join().expect("it ends"))
                .collect()
        });
        let won = taken
            .iter()
            .filter(|taken| matches!(taken, TakeOutcome::Held { .. }));
        assert_eq!(won.count(), 1, "{taken:?}");
        let winner = taken.iter().position(|taken| word(taken) == "taken 5");
        let winner = &names[winner.expect("one won")];
        let refused = format!("refused, {winner} has it");
        let others = taken.iter().filter(|taken| word(taken) == refused);
        assert_eq!(others.count(), 15, "{taken:?}");
        let listed = store(home.path()).list().expect("read");
        let listed: Vec<&str> = listed.iter().map(|one| one.task.as_str()).collect();
        assert_eq!(listed, ["epic/one"]);
    }

    #[test]
    fn a_lease_lasts_by_the_clock_of_the_boot() {
        let home = tempfile::tempdir().expect("a directory");
        let one = task("one");
        // Who takes when, and what comes of it.
        for (boot, seconds, name, breaks, expected) in [
            ("one", 0, "ada", false, "taken 1"),
            ("one", 50, "eve", false, "refused, ada has it"),
            ("one", 98, "eve", false, "refused, ada has it"),
            ("one", 101, "eve", false, "taken over 2"),
            ("one", 101, "ada", false, "refused, eve has it"),
            ("one", 101, "ada", true, "taken over 3"),
            ("one", 101, "ada", false, "renewed 3"),
            ("two", 0, "eve", false, "taken over 4"),
        ] {
            let mut store = at(home.path(), boot, seconds);
            let taken = Leases::new(&mut store, owner(name)).take(&one, 0, &terms(100), breaks);
            let found = word(&taken.expect("reached"));
            assert_eq!(found, expected, "{name} at {boot} {seconds}");
        }
    }

    #[test]
    fn work_renews_a_lease_of_which_a_third_has_passed() {
        let home = tempfile::tempdir().expect("a directory");
        let one = task("one");
        let keep = |seconds, name: &str, recorded| {
            let mut store = at(home.path(), "one", seconds);
            let kept = Leases::new(&mut store, owner(name)).keep(&one, recorded, &terms(100));
            let nonce = store.read(&one).expect("read").map(|seen| seen.version);
            (kept.expect("reached"), nonce)
        };
        assert_eq!(keep(0, "ada", 0), (KeptLease::Free, None));
        let mut first = at(home.path(), "one", 0);
        Leases::new(&mut first, owner("ada"))
            .take(&one, 0, &terms(100), false)
            .expect("reached");
        let generation = |kept: &KeptLease| match kept {
            KeptLease::Own(lease) => lease.generation,
            _ => 0,
        };
        let (kept, early) = keep(0, "ada", 1);
        assert_eq!(generation(&kept), 1);
        assert!(matches!(keep(50, "eve", 0).0, KeptLease::Other(_)));
        let (kept, late) = keep(50, "ada", 1);
        assert_eq!(generation(&kept), 1);
        assert_ne!(early, late, "it was renewed");
        assert_eq!(keep(75, "ada", 1).1, late, "a quarter has passed since");
        assert_eq!(
            generation(&keep(75, "ada", 6).0),
            7,
            "a merge brought a later holder"
        );
    }

    #[test]
    fn a_lease_that_has_ended_is_its_holders_until_another_takes_it() {
        let home = tempfile::tempdir().expect("a directory");
        let one = task("one");
        let mut early = at(home.path(), "one", 0);
        let mut late = at(home.path(), "one", 101);
        let mut ada = Leases::new(&mut early, owner("ada"));
        ada.take(&one, 0, &terms(100), false).expect("reached");
        let kept = Leases::new(&mut late, owner("eve")).keep(&one, 0, &terms(100));
        assert_eq!(kept.expect("reached"), KeptLease::Free);
        let kept = Leases::new(&mut late, owner("ada")).keep(&one, 0, &terms(100));
        assert!(matches!(kept, Ok(KeptLease::Own(lease)) if lease.generation == 1));
    }

    #[test]
    fn only_its_owner_releases_a_lease() {
        let home = tempfile::tempdir().expect("a directory");
        let one = task("one");
        let mut store = store(home.path());
        let release = |store: &mut LocalStore, name: &str| {
            let released = Leases::new(store, owner(name)).release(&one);
            released.expect("reached").map(|done| {
                done.map(|lease| lease.owner.name)
                    .map_err(|other| other.seen.lease.owner.name)
            })
        };
        assert_eq!(release(&mut store, "ada"), None);
        Leases::new(&mut store, owner("ada"))
            .take(&one, 0, &terms(100), false)
            .expect("reached");
        assert_eq!(release(&mut store, "eve"), Some(Err("ada".to_owned())));
        assert_eq!(release(&mut store, "ada"), Some(Ok("ada".to_owned())));
        assert_eq!(release(&mut store, "ada"), None);
    }

    #[test]
    fn a_damaged_lease_is_an_error_with_its_place_that_clearing_ends() {
        let home = tempfile::tempdir().expect("a directory");
        let one = task("a%/b");
        for (text, is_damaged) in [
            ("", false),
            ("\0\0\0", false),
            ("{", true),
            ("[]", true),
            (r#"{"v": 9}"#, true),
        ] {
            let mut store = store(home.path());
            let file = store.file(&one);
            std::fs::create_dir_all(home.path().join("leases")).expect("created");
            std::fs::write(&file, text).expect("written");
            let found = store.read(&one);
            if !is_damaged {
                assert_eq!(found.expect("read"), None, "{text:?}");
                continue;
            }
            let error = found.expect_err("damaged");
            assert_eq!(error.code(), Code::LeaseDamaged, "{text:?}");
            let place = error.place().map(|place| place.path.clone());
            assert_eq!(place, Some(file.display().to_string()));
            let hint = error.hint().expect("a hint").to_string();
            assert!(hint.contains("orch take a%/b --break"), "{hint}");
            store.list().expect_err("the list is not whole");
            store.clear(&one).expect("cleared");
            assert_eq!(store.list().expect("read"), Vec::new());
        }
    }
}
