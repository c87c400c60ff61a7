//! Leases on a git remote.

use super::conformance::{Site, holds, lease, put, task};
use super::git_server::{Reach, World, git, git_command, refuse, store_at};
use crate::copied::CopiedStore;
use crate::document;
use crate::git::{GitLeases, PushedStep, StepPush};
use crate::local::LocalStore;
use crate::seen::SeenLeases;
use crate::store::LeaseStore;
use orch_base::{Code, Digest, TaskId};
use orch_core::lease::LeaseAge;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

fn leases_at(clone: &Path) -> GitLeases {
    GitLeases::open(store_at(clone), "origin").expect("usable")
}

impl Site for World {
    fn open(&self) -> Box<dyn LeaseStore> {
        Box::new(leases_at(&self.cloned()))
    }

    fn damage(&self, task: &TaskId) {
        let clone = self.cloned();
        fs::write(clone.join("text"), "{\n  \"version\": }\n").expect("written");
        let blob = git(&clone, &["hash-object", "-w", "text"]);
        let reference = format!("refs/orch/leases/{}", document::key(task));
        git(
            &clone,
            &["push", "-q", "origin", &format!("{blob}:{reference}")],
        );
    }

    fn is_slow(&self) -> bool {
        self.reach != Reach::File
    }
}

/// A bare repository, with what each clone holds there kept beside.
struct WithCopies(World);

impl Site for WithCopies {
    fn open(&self) -> Box<dyn LeaseStore> {
        let clone = self.0.cloned();
        let git = clone.join(".git");
        let copy = LocalStore::new(&git, &git.join("orch/leases"));
        Box::new(CopiedStore::new(
            copy,
            SeenLeases::new(&git),
            Box::new(move || Ok(Box::new(leases_at(&clone)))),
        ))
    }

    fn damage(&self, task: &TaskId) {
        self.0.damage(task);
    }

    fn is_slow(&self) -> bool {
        false
    }
}

#[test]
fn a_remote_with_copies_keeps_what_every_store_keeps() {
    holds(&WithCopies(World::new(Reach::File, "sha1")));
}

/// Commits a file, and returns the commit.
fn commit(clone: &Path, name: &str) -> Digest {
    fs::write(clone.join(name), name).expect("written");
    git(clone, &["add", "."]);
    git(clone, &["commit", "-q", "-m", name]);
    Digest::parse(&git(clone, &["rev-parse", "HEAD"])).expect("an id")
}

#[test]
fn a_remote_in_a_directory_keeps_what_every_store_keeps() {
    holds(&World::new(Reach::File, "sha1"));
}

#[test]
fn a_remote_over_http_keeps_what_every_store_keeps() {
    holds(&World::new(Reach::Http, "sha1"));
}

#[test]
fn a_remote_over_the_protocol_of_git_with_sha_256_keeps_what_every_store_keeps() {
    holds(&World::new(Reach::Daemon, "sha256"));
}

#[test]
fn a_step_and_its_lease_reach_the_remote_together_or_not_at_all() {
    for is_atomic in [true, false] {
        let world = World::new(Reach::File, "sha1");
        if !is_atomic {
            git(
                &world.bare(),
                &["config", "receive.advertiseAtomic", "false"],
            );
        }
        let ann_clone = world.cloned();
        let mut ann = leases_at(&ann_clone);
        assert_eq!(ann.is_atomic(), is_atomic);
        let a = task("a");
        let branch = "refs/heads/task/a";
        let first = commit(&ann_clone, "one");
        let taken = put(&mut ann, &a, None, &lease("ann", 1));
        let mut step = PushedStep {
            task: &a,
            expected: Some(&taken),
            lease: &lease("ann", 1),
            branch,
            commit: first,
        };
        let StepPush::Done(renewed) = ann.push_step(&step).expect("pushed") else {
            panic!("not pushed");
        };
        assert_ne!(renewed, taken);
        assert_eq!(
            git(&world.bare(), &["rev-parse", branch]),
            first.to_string()
        );

        // Another takes over, and the event of that is on the branch.
        let bob_clone = world.cloned();
        git(&bob_clone, &["fetch", "-q", "origin", branch]);
        git(&bob_clone, &["checkout", "-q", "-B", "main", "FETCH_HEAD"]);
        let mut bob = leases_at(&bob_clone);
        let there = bob.read(&a).expect("read").expect("there");
        let taken_over = commit(&bob_clone, "two");
        let bobs = lease("bob", 2);
        let over = PushedStep {
            task: &a,
            expected: Some(&there.version),
            lease: &bobs,
            branch,
            commit: taken_over,
        };
        assert!(matches!(bob.push_step(&over), Ok(StepPush::Done(_))));

        // The former holder's next step reaches neither.
        let next = lease("ann", 1);
        step.expected = Some(&renewed);
        step.lease = &next;
        step.commit = commit(&ann_clone, "three");
        match ann.push_step(&step).expect("answered") {
            StepPush::LeaseLost(Some(now)) => assert_eq!(now.seen.lease.owner.name, "bob"),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            git(&world.bare(), &["rev-parse", branch]),
            taken_over.to_string()
        );

        // Whoever has the lease, and not the branch, moves neither.
        let now = ann.read(&a).expect("read").expect("there").version;
        step.expected = Some(&now);
        match ann.push_step(&step).expect("answered") {
            StepPush::BranchMoved(tip) => assert_eq!(tip, taken_over),
            other => panic!("{other:?}"),
        }
        let after = ann.read(&a).expect("read").expect("there").version;
        assert_eq!(
            after == now,
            is_atomic,
            "where it cannot be together, the lease is first"
        );
    }
}

#[test]
fn a_host_that_takes_only_branches_has_leases_as_branches() {
    let world = World::new(Reach::File, "sha1");
    let earlier = leases_at(&world.cloned());
    drop(earlier);
    refuse(&world.bare(), "refs/orch/*");
    let a = task("a/B");
    let mut ann = leases_at(&world.cloned());
    let taken = put(&mut ann, &a, None, &lease("ann", 1));
    let refs = git(&world.bare(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        refs,
        "refs/heads/orch/leases/=here\nrefs/heads/orch/leases/a=2f=42"
    );
    let mut bob = leases_at(&world.cloned());
    let there = bob.read(&a).expect("read").expect("there");
    assert_eq!(there.version, taken);
    assert_eq!(bob.list().expect("listed").len(), 1);
    assert_eq!(bob.remove(&a, &taken), Ok(None));
    assert_eq!(ann.list(), Ok(Vec::new()));

    refuse(&world.bare(), "*");
    let refused = GitLeases::open(store_at(&world.cloned()), "origin");
    let error = refused.err().expect("refused");
    assert_eq!(error.code(), Code::LeaseStore);
    assert!(error.message().contains("takes no leases"), "{error}");
}

#[test]
fn clones_that_are_refused_differently_are_told() {
    let world = World::new(Reach::File, "sha1");
    let mut ann = leases_at(&world.cloned());
    put(&mut ann, &task("a"), None, &lease("ann", 1));
    refuse(&world.bare(), "refs/orch/*");
    let mut bob = leases_at(&world.cloned());
    for store in [&mut ann, &mut bob] {
        let error = store.list().expect_err("two places");
        assert!(error.message().contains("only some push"), "{error}");
    }
}

#[test]
fn a_clone_watches_across_commands_and_its_own_lease_is_never_told_too_young() {
    let world = World::new(Reach::File, "sha1");
    let ann_clone = world.cloned();
    let bob_clone = world.cloned();
    let a = task("a");
    put(&mut leases_at(&ann_clone), &a, None, &lease("ann", 1));
    sleep(Duration::from_millis(80));
    let age = |clone: &Path| {
        let seen = leases_at(clone)
            .read(&a)
            .expect("read")
            .expect("there")
            .seen;
        match seen.age {
            LeaseAge::Watched(age) => age,
            other => panic!("{other:?}"),
        }
    };
    assert!(
        age(&ann_clone) >= Duration::from_millis(80),
        "since before the push"
    );
    assert_eq!(age(&bob_clone), Duration::ZERO, "he has not watched it");
    sleep(Duration::from_millis(80));
    let watched = age(&bob_clone);
    assert!(watched >= Duration::from_millis(70), "{watched:?}");
    assert!(watched < age(&ann_clone));

    // The machine is started again.
    for clone in [&ann_clone, &bob_clone] {
        let kept = clone.join(".git/orch/lease-remote.json");
        let text = fs::read_to_string(&kept).expect("kept");
        let boot = crate::boot::now().boot.expect("an id");
        fs::write(&kept, text.replace(&boot, "another")).expect("written");
    }
    let seen = leases_at(&ann_clone)
        .read(&a)
        .expect("read")
        .expect("there")
        .seen;
    assert_eq!(seen.age, LeaseAge::Over, "nobody who wrote it is alive");
    assert_eq!(age(&bob_clone), Duration::ZERO, "he watches anew");
}

#[test]
fn a_remote_that_is_none_is_told() {
    let world = World::new(Reach::File, "sha1");
    let clone = world.cloned();
    let refused = |remote: &str| {
        let opened = GitLeases::open(store_at(&clone), remote);
        opened.err().expect("refused")
    };
    let error = refused("nowhere");
    assert_eq!(error.code(), Code::NoRemote);
    git(&clone, &["remote", "add", "two", &world.url]);
    for url in ["/tmp/one", "/tmp/two"] {
        git(
            &clone,
            &["remote", "set-url", "--push", "--add", "two", url],
        );
    }
    let error = refused("two");
    assert_eq!(error.code(), Code::NoRemote);
    assert!(error.message().contains("2 URLs"), "{error}");
    let error = refused("file:///nonexistent/repository.git");
    assert_eq!(error.code(), Code::LeaseStore, "{error}");
    // What is fetched elsewhere is read where it is pushed.
    git(&clone, &["remote", "add", "mirror", "/nonexistent"]);
    git(
        &clone,
        &["remote", "set-url", "--push", "mirror", &world.url],
    );
    let mut leases = GitLeases::open(store_at(&clone), "mirror").expect("usable");
    assert_eq!(leases.list(), Ok(Vec::new()));
}

#[test]
fn hooks_and_settings_of_pushes_do_not_concern_leases() {
    let world = World::new(Reach::File, "sha1");
    let clone = world.cloned();
    refuse(&clone.join(".git"), "*");
    fs::rename(
        clone.join(".git/hooks/update"),
        clone.join(".git/hooks/pre-push"),
    )
    .expect("moved");
    for (key, value) in [
        ("remote.origin.mirror", "true"),
        ("push.followTags", "true"),
        ("push.gpgSign", "if-asked"),
        ("push.recurseSubmodules", "only"),
        ("fetch.prune", "true"),
        ("remote.origin.fetch", "+refs/*:refs/*"),
    ] {
        git(&clone, &["config", key, value]);
    }
    commit(&clone, "one");
    let mut leases = leases_at(&clone);
    let a = task("a");
    let version = put(&mut leases, &a, None, &lease("ann", 1));
    let other = world.cloned();
    put(&mut leases_at(&other), &task("b"), None, &lease("bob", 1));
    assert_eq!(leases.list().expect("listed").len(), 2);
    assert_eq!(leases.remove(&a, &version), Ok(None));
    let refs = git(&clone, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        refs, "refs/heads/main",
        "no reference of this clone was written"
    );
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_lease() {
    let world = World::new(Reach::File, "sha1");
    let clone = world.cloned();
    let a = task("a");
    let mut store = leases_at(&world.cloned());
    let mut there = put(&mut store, &a, None, &lease("ann", 1));
    for delay in 0..12 {
        let text = document::written(&a, &lease("bob", delay)).expect("written");
        fs::write(clone.join("text"), &text).expect("written");
        let blob = git(&clone, &["hash-object", "-w", "text"]);
        let guard = format!("--force-with-lease=refs/orch/leases/a:{}", there.0);
        let spec = format!("{blob}:refs/orch/leases/a");
        let mut push = git_command(&clone, &["push", "-q", &guard, "origin", &spec]);
        let push = push.stderr(std::process::Stdio::null()).spawn();
        let mut push = push.expect("git starts");
        sleep(Duration::from_millis(2 * delay));
        let _ = push.kill();
        push.wait().expect("ended");
        let now = store.read(&a).expect("whole").expect("there");
        assert!([&there.0, &blob].contains(&&now.version.0), "{now:?}");
        // The server may still be at it, and may then win.
        there = match store
            .put(&a, Some(&now.version), &lease("ann", 1))
            .expect("answered")
        {
            crate::store::Swapped::Done(version) => version,
            crate::store::Swapped::Lost(now) => now.expect("there").version,
        };
    }
    git(&world.bare(), &["fsck", "--strict"]);
}
