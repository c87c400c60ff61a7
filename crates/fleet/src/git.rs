//! Leases as references of a remote: several clones share them without another server.
//!
//! The lease of a task is a reference that names a blob. `git push --force-with-lease=REF:OLD` is an atomic compare-and-swap
//! on the server: it is won if git marks it as made, and after anything else the reference is read before anything is
//! believed. A lease that is given back is deleted, because every push is sent all references.
//!
//! git has no clock. The age of a lease is the time for which this clone has seen the same write (module `watch`), so a
//! lease is taken over within one length after somebody began to watch it.
//!
//! Some hosts take only branches and tags. Where the remote refuses other references, leases are branches, each with a
//! commit that carries the document; a reference that stays tells the other clones.

use crate::boot;
use crate::document::{self, DocumentPlace};
use crate::forward::{PAUSE, RemoteBranches, TRIES, is_made};
use crate::random;
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use crate::watch::{AskedTimes, MemoryFile, RemoteMemory};
use orch_base::{Code, Digest, Error, Hint, TaskId};
use orch_core::lease::{Lease, SeenLease};
use orch_git::{Carrier, Probed, RefAnswer, RefChange, RemotePlace, RemoteRefs, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

/// Where leases are as references of their own.
const REFERENCES: &str = "refs/orch/leases/";
/// Where they are as branches.
const BRANCHES: &str = "refs/heads/orch/leases/";
/// The reference below [`BRANCHES`] that stays, and tells that leases are there. No task has this key.
const MARK: &str = "refs/heads/orch/leases/=here";
/// How a reference begins that is pushed to find out what the host permits. No task has such a key.
const PROBE: &str = "=probe-";
/// What a host permits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Host {
    /// Whether leases are branches, because it refuses other references.
    are_branches: bool,
    /// Whether it makes several changes together or none.
    is_atomic: bool,
}

/// A store of leases on a remote of a repository.
pub struct GitLeases {
    repository: Store,
    place: RemotePlace,
    host: Host,
    /// For how long git may talk with the remote at once.
    patience: Duration,
}

/// A step that is pushed together with the renewal of its lease.
#[derive(Debug, Clone, Copy)]
pub struct PushedStep<'s> {
    /// The task.
    pub task: &'s TaskId,
    /// The write of the lease that its holder knows; `None` if the step takes the task.
    pub expected: Option<&'s LeaseVersion>,
    /// The lease anew.
    pub lease: &'s Lease,
    /// The full name of the branch on the remote.
    pub branch: &'s str,
    /// The commit to which the branch moves. Its history contains what the branch was.
    pub commit: Digest,
}

/// What came of the push of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepPush {
    /// The branch and the lease are there now.
    Done(LeaseVersion),
    /// Somebody else has the lease now, or nobody. The branch is as it was.
    LeaseLost(Option<Box<StoredLease>>),
    /// The branch has moved to this commit. The lease is as it was, or renewed where the host does not do both together.
    BranchMoved(Digest),
}

/// A reference on the remote, and the text that it carries.
struct CarriedLease {
    key: String,
    object: Digest,
    text: Vec<u8>,
}

impl GitLeases {
    /// Opens the leases at a remote, given by name or URL. The first time, finds out what the host permits, by pushing a
    /// reference and deleting it. Returns an error if there is no such remote, if pushes go to several places, if it cannot
    /// be reached, or if it takes neither references of our own nor branches.
    pub fn open(repository: Store, remote: &str) -> Result<Self, Error> {
        let place = repository.remote_refs().place(remote)?;
        let mut leases = Self {
            repository,
            place,
            host: Host::default(),
            patience: Duration::MAX,
        };
        let known = leases.watch()?.read::<Host>()?;
        match known.filter(|known| known.url == leases.place.url) {
            Some(known) => leases.host = known.host,
            None => {
                leases.host = leases.probed()?;
                let remembered = RemoteMemory::of(&leases.place.url, leases.host);
                leases.watch()?.write(&remembered)?;
            }
        }
        Ok(leases)
    }

    /// Whether a step and the renewal of its lease reach the remote together or not at all.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.host.is_atomic
    }

    /// Lets git talk with the remote for so long at most at once.
    pub fn wait_at_most(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// What names the write of a lease that this clone has made. Returns an error if its document cannot be written.
    pub fn version(&self, task: &TaskId, lease: &Lease) -> Result<LeaseVersion, Error> {
        let text = document::written(task, lease)?;
        let object = self.refs().carry(&text, self.host.carrier())?;
        Ok(version_of(object))
    }

    /// Pushes a step, and renews its lease in the same push. Where the host does not do both together, the lease is renewed
    /// first: then nobody takes the task over before the branch moves, or the lease has ended again. Returns an error if
    /// nothing is known of whether it took place.
    pub fn push_step(&mut self, step: &PushedStep<'_>) -> Result<StepPush, Error> {
        let new = self.begin(step.task, step.lease)?;
        let mut change = LeaseChange {
            task: step.task,
            expected: step.expected.map(digest_of).transpose()?,
            new: Some(new),
            branch: None,
        };
        if self.host.is_atomic {
            change.branch = Some(RefChange::Forward {
                name: step.branch.to_owned(),
                new: step.commit,
            });
        }
        let changed = match self.change(&change)? {
            Changed::Done if change.branch.is_none() => match self.forward(step)? {
                None => Changed::Done,
                Some(tip) => Changed::BranchMoved(tip),
            },
            changed => changed,
        };
        Ok(match changed {
            Changed::Done => StepPush::Done(version_of(new)),
            Changed::Lost(now) => StepPush::LeaseLost(now),
            Changed::BranchMoved(tip) => StepPush::BranchMoved(tip),
        })
    }

    /// Moves a branch forward by a push of its own. Returns where it is if it has moved elsewhere.
    fn forward(&self, step: &PushedStep<'_>) -> Result<Option<Digest>, Error> {
        let moved = self.branches().push(step.branch, step.commit);
        moved.map_err(|error| self.said(error))
    }

    /// Swaps a lease, and moves a branch in the same push if there is one.
    fn change(&mut self, change: &LeaseChange<'_>) -> Result<Changed, Error> {
        let mut changes: Vec<RefChange> = change.branch.iter().cloned().collect();
        changes.push(RefChange::Swap {
            name: self.reference(&document::key(change.task)),
            old: change.expected,
            new: change.new,
        });
        let mut pause = PAUSE;
        for _ in 0..TRIES {
            let answers = self.pushed(&changes)?;
            if answers.iter().all(is_made) && answers.last() == Some(&RefAnswer::Done) {
                return Ok(Changed::Done);
            }
            // A stuck lock looks like a lost race, and a lost answer like a refusal.
            let now = self.read(change.task)?;
            let version = now.as_ref().map(|stored| stored.version.clone());
            let is_ours = version == change.new.map(version_of);
            if is_ours && answers.last() != Some(&RefAnswer::Same) {
                return Ok(Changed::Done);
            }
            if version != change.expected.map(version_of) {
                return Ok(Changed::Lost(now.map(Box::new)));
            }
            if let Some(branch) = &change.branch
                && let Some(moved) = self
                    .branches()
                    .moved(branch)
                    .map_err(|error| self.said(error))?
            {
                return Ok(Changed::BranchMoved(moved));
            }
            self.branches().refuse_lasting(&answers)?;
            sleep(pause);
            pause *= 2;
        }
        Err(self.branches().busy())
    }

    fn pushed(&self, changes: &[RefChange]) -> Result<Vec<RefAnswer>, Error> {
        let answers = self.refs().push(&self.place, changes);
        answers.map_err(|error| self.said(error))
    }

    /// Writes the document of a lease as an object of this clone, and notes that it is about to be pushed.
    fn begin(&self, task: &TaskId, lease: &Lease) -> Result<Digest, Error> {
        let text = document::written(task, lease)?;
        let object = self.refs().carry(&text, self.host.carrier())?;
        let watch = self.watch()?;
        let mut remembered = self.remembered(&watch)?;
        remembered.begin(&document::key(task), &object.to_string());
        watch.write(&remembered)?;
        Ok(object)
    }

    /// Reads the references with these keys, or all, and what they carry.
    fn found(&mut self, key: Option<&str>) -> Result<Vec<CarriedLease>, Error> {
        let pattern = key.unwrap_or("*");
        let patterns = [REFERENCES, BRANCHES].map(|prefix| format!("{prefix}{pattern}"));
        let mut pause = PAUSE;
        for _ in 0..TRIES {
            let listed = self
                .refs()
                .list(&self.place, &[&patterns[0], &patterns[1], MARK])
                .map_err(|error| self.said(error))?;
            let here = self.here(listed)?;
            // A lease that is replaced meanwhile may not be to be had any more.
            if let Err(error) = self.refs().fetch(&self.place, &here) {
                tracing::debug!(error = error.logged(), "cannot fetch leases");
            }
            if let Some(found) = self.carried(&here)? {
                return Ok(found);
            }
            sleep(pause);
            pause *= 2;
        }
        Err(self.branches().busy())
    }

    /// Of listed references, the leases. Returns an error if there are leases of both kinds.
    fn here(
        &mut self,
        listed: BTreeMap<String, Digest>,
    ) -> Result<BTreeMap<String, Digest>, Error> {
        let are_branches = listed.contains_key(MARK);
        let is_lease = |name: &str, prefix: &str| {
            let key = name.strip_prefix(prefix);
            key.is_some_and(|key| name != MARK && !key.starts_with(PROBE))
        };
        if are_branches && listed.keys().any(|name| is_lease(name, REFERENCES)) {
            let message = format!(
                "{} has leases below {REFERENCES} and below {BRANCHES}, as if it let only some push the former",
                self.place.remote
            );
            let hint = "let everybody push them, and delete the branches; or wait until they have ended, and delete them";
            return Err(Error::new(Code::LeaseStore, message).with_hint(hint));
        }
        if self.host.are_branches != are_branches {
            self.host.are_branches = are_branches;
            let watch = self.watch()?;
            watch.write(&self.remembered(&watch)?)?;
        }
        let prefix = self.host.prefix();
        let leases = listed
            .into_iter()
            .filter(|(name, _)| is_lease(name, prefix));
        Ok(leases.collect())
    }

    /// What these references carry; `None` if something could not be fetched.
    fn carried(
        &self,
        leases: &BTreeMap<String, Digest>,
    ) -> Result<Option<Vec<CarriedLease>>, Error> {
        let mut found = Vec::new();
        for (name, object) in leases {
            let Some(text) = self.refs().carried(*object)? else {
                return Ok(None);
            };
            let key = name.strip_prefix(self.host.prefix()).unwrap_or(name);
            found.push(CarriedLease {
                key: key.to_owned(),
                object: *object,
                text,
            });
        }
        Ok(Some(found))
    }

    /// The leases with these keys, or all, each with the time for which it was seen.
    fn stored(&mut self, key: Option<&str>) -> Result<Vec<StoredLease>, Error> {
        let before = boot::now();
        let found = self.found(key)?;
        let asked = AskedTimes {
            before,
            after: boot::now(),
        };
        let watch = self.watch()?;
        let known = self.remembered(&watch)?;
        let mut remembered = known.clone();
        let is_there = |key: &str| found.iter().any(|one| one.key == key);
        remembered.keep_only(|seen| key.is_some_and(|key| key != seen) || is_there(seen));
        let mut leases = Vec::new();
        for one in &found {
            let reference = self.reference(&one.key);
            let delete = ["git", "push", &self.place.remote, "--delete", &reference];
            let place = DocumentPlace {
                removal: Hint::run(&delete),
                name: reference.clone(),
            };
            let (task, lease) = document::read(&one.key, &one.text, &place)?;
            let version = one.object.to_string();
            leases.push(StoredLease {
                task,
                seen: SeenLease {
                    lease,
                    age: remembered.see(&one.key, &version, &asked),
                },
                version: LeaseVersion(version),
            });
        }
        if remembered != known {
            watch.write(&remembered)?;
        }
        Ok(leases)
    }

    /// Finds out what the host permits, by pushing a reference and deleting it.
    fn probed(&self) -> Result<Host, Error> {
        let mark = self.refs().list(&self.place, &[MARK]);
        let mark = mark.map_err(|error| self.said(error))?;
        let mut host = Host {
            are_branches: !mark.is_empty(),
            is_atomic: false,
        };
        let first = self.probe(host)?;
        let is_refused = |probed: &Probed| matches!(probed, Probed::Refused(_));
        let (probed, is_new) = if is_refused(&first) && !host.are_branches {
            host.are_branches = true;
            (self.probe(host)?, true)
        } else {
            (first, false)
        };
        match probed {
            Probed::Permitted { is_atomic } => host.is_atomic = is_atomic,
            Probed::Refused(why) => {
                let message = format!("{} takes no leases: {why}", self.place.remote);
                let hint = "ask who runs it to let you push references, or choose another store in `[leases]` of orch.toml";
                return Err(Error::new(Code::LeaseStore, message).with_hint(hint));
            }
        }
        if is_new {
            let text = b"The leases of this repository are branches beside this one.\n";
            let mark = RefChange::Swap {
                name: MARK.to_owned(),
                old: None,
                new: Some(self.refs().carry(text, Carrier::Commit)?),
            };
            let answers = self.pushed(std::slice::from_ref(&mark))?;
            if matches!(answers.last(), Some(RefAnswer::Refused(_))) {
                return Err(self.branches().refused(&answers));
            }
        }
        Ok(host)
    }

    fn probe(&self, host: Host) -> Result<Probed, Error> {
        let nonce = random(16)
            .map_err(|error| Error::new(Code::LeaseStore, format!("no random bytes: {error}")))?;
        let object = self.refs().carry(nonce.as_bytes(), host.carrier())?;
        let name = format!("{}{PROBE}{nonce}", host.prefix());
        let probed = self.refs().probe(&self.place, &name, object);
        probed.map_err(|error| self.said(error))
    }

    fn watch(&self) -> Result<MemoryFile, Error> {
        MemoryFile::lock(self.repository.layout().common_directory())
    }

    /// What this clone knows of the leases at this place.
    fn remembered(&self, watch: &MemoryFile) -> Result<RemoteMemory<Host>, Error> {
        let known = watch.read::<Host>()?;
        let mut remembered = known
            .filter(|known| known.url == self.place.url)
            .unwrap_or_else(|| RemoteMemory::of(&self.place.url, self.host));
        remembered.host = self.host;
        Ok(remembered)
    }

    fn refs(&self) -> RemoteRefs<'_> {
        self.repository.remote_refs().within(self.patience)
    }

    fn branches(&self) -> RemoteBranches<'_> {
        RemoteBranches::new(self.refs(), &self.place)
    }

    fn reference(&self, key: &str) -> String {
        format!("{}{key}", self.host.prefix())
    }

    /// The error of a store that could not be reached.
    fn said(&self, error: Error) -> Error {
        if error.code() == Code::Git {
            let message = format!("leases at {}: {}", self.place.remote, error.message());
            Error::new(Code::LeaseStore, message).with_hint_of(error.hint().cloned())
        } else {
            error
        }
    }
}

/// A lease to swap.
struct LeaseChange<'c> {
    task: &'c TaskId,
    expected: Option<Digest>,
    new: Option<Digest>,
    /// A branch that moves in the same push.
    branch: Option<RefChange>,
}

/// What came of a change. Only a change with a branch ends with one that has moved.
enum Changed {
    Done,
    Lost(Option<Box<StoredLease>>),
    BranchMoved(Digest),
}

impl Host {
    fn prefix(self) -> &'static str {
        if self.are_branches {
            BRANCHES
        } else {
            REFERENCES
        }
    }

    fn carrier(self) -> Carrier {
        if self.are_branches {
            Carrier::Commit
        } else {
            Carrier::Blob
        }
    }
}

impl LeaseStore for GitLeases {
    fn list(&mut self) -> Result<Vec<StoredLease>, Error> {
        let mut leases = self.stored(None)?;
        leases.sort_by(|one, other| one.task.cmp(&other.task));
        Ok(leases)
    }

    fn read(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        Ok(self.stored(Some(&document::key(task)))?.pop())
    }

    fn put(
        &mut self,
        task: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error> {
        let new = self.begin(task, lease)?;
        let change = LeaseChange {
            task,
            expected: expected.map(digest_of).transpose()?,
            new: Some(new),
            branch: None,
        };
        match self.change(&change)? {
            Changed::Lost(now) => Ok(Swapped::Lost(now.map(|now| *now))),
            Changed::Done | Changed::BranchMoved(_) => Ok(Swapped::Done(version_of(new))),
        }
    }

    fn remove(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error> {
        let change = LeaseChange {
            task,
            expected: Some(digest_of(expected)?),
            new: None,
            branch: None,
        };
        match self.change(&change)? {
            Changed::Lost(now) => Ok(now.map(|now| *now)),
            Changed::Done | Changed::BranchMoved(_) => Ok(None),
        }
    }

    fn clear(&mut self, task: &TaskId) -> Result<(), Error> {
        let name = self.reference(&document::key(task));
        for _ in 0..TRIES {
            let listed = self.refs().list(&self.place, &[&name]);
            let listed = listed.map_err(|error| self.said(error))?;
            let Some(there) = listed.get(&name) else {
                return Ok(());
            };
            let delete = RefChange::Swap {
                name: name.clone(),
                old: Some(*there),
                new: None,
            };
            let answers = self.pushed(&[delete])?;
            self.branches().refuse_lasting(&answers)?;
        }
        Err(self.branches().busy())
    }
}

fn version_of(object: Digest) -> LeaseVersion {
    LeaseVersion(object.to_string())
}

fn digest_of(version: &LeaseVersion) -> Result<Digest, Error> {
    Digest::parse(&version.0).ok_or_else(|| {
        Error::new(
            Code::LeaseStore,
            format!("`{}` names no write of a lease", version.0),
        )
    })
}
