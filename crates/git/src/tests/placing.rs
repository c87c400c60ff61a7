//! Tests of git beside a transition whose branch has moved and whose files are not in place yet.

use super::{Repo, path};
use crate::gc::own_host;
use crate::ref_tables::RefMove;
use crate::sign::Person;
use crate::{LockOrder, LockWait, MovedPath, PlannedCommit, Store, Transaction, Write};
use orch_base::{Class, Digest, ObjectFormat};
use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs `between` when the branch has moved, and then places the files.
fn moved(store: &Store, planned: PlannedCommit, between: impl FnOnce()) {
    made_and_moved(store, planned, || (), between);
}

/// The same; runs `made` when there are the objects of the commit, to which no branch leads yet.
fn made_and_moved(
    store: &Store,
    planned: PlannedCommit,
    made: impl FnOnce(),
    between: impl FnOnce(),
) {
    let transaction = store.transactions().begin().expect("begun");
    let planned = [planned];
    let gc = store.transactions().lock_gc().expect("locked");
    let built = transaction
        .build(&planned, false, &|_| false)
        .expect("built");
    made();
    let mut journal = transaction
        .journal(&planned, &built.commits)
        .expect("a journal");
    let published = transaction
        .publish(&planned, &mut journal, &built.objects, &gc, None)
        .expect("moved");
    drop(gc);
    between();
    transaction.place(&journal, published).expect("placed");
    store.transactions().remove_journal().expect("removed");
}

/// A step with this state of the task, which lies in the work tree.
fn step(text: &str) -> PlannedCommit {
    let writes = vec![Write::evidence(
        path("t/state.json"),
        text.as_bytes().to_vec(),
        false,
    )];
    PlannedCommit {
        message: "step".to_owned(),
        writes,
        removes: Vec::new(),
        moves: Vec::new(),
    }
}

/// A repository with a committed file of a task.
fn with_a_task() -> Repo {
    let repo = Repo::new();
    repo.git(&["config", "user.name", "Ann"]);
    repo.git(&["config", "user.email", "ann@example.com"]);
    repo.write("t/state.json", "old\n");
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "begin"]);
    repo
}

/// `git gc --prune=now` may begin and end while a commit is made.
#[test]
fn git_collects_no_object_of_a_commit_in_the_making() {
    let repo = with_a_task();
    let (lock, collect) = (repo.path(".git/gc.pid"), ["gc", "-q", "--prune=now"]);
    let host = own_host();
    // What a killed process leaves holds nobody up.
    for left in [
        "none\n",
        "no number\n",
        "1 elsewhere orch\n",
        &format!("{} {host}\n", i32::MAX),
    ] {
        repo.write(".git/gc.pid", left);
        let made = || {
            let refused = repo.output("index", &collect, &[]);
            let said = String::from_utf8_lossy(&refused.stderr);
            assert!(
                !refused.status.success() && said.contains("gc is already running"),
                "{said}"
            );
        };
        made_and_moved(&repo.store(), step(left), made, || ());
        assert!(!lock.exists());
        repo.git(&collect);
        repo.git(&["fsck", "--strict"]);
    }
    // What git could not read either is replaced.
    fs::create_dir(&lock).expect("made");
    repo.store()
        .transactions()
        .lock_gc()
        .err()
        .expect("a directory stays");
    fs::remove_dir(&lock).expect("removed");
    repo.write(".git/none", "");
    std::os::unix::fs::symlink("none", &lock).expect("a link");
    drop(repo.store().transactions().lock_gc().expect("locked"));
    assert!(lock.symlink_metadata().is_err());
    // That of another host is believed for as long as git believes it.
    repo.write(".git/gc.pid", "1 elsewhere\n");
    let mut store = repo.store();
    store.options_mut().wait = Some(Duration::from_millis(300));
    let error = store.transactions().begin().err().expect("refused");
    assert!(
        error.class() == Class::Busy && error.to_string().contains("elsewhere"),
        "{error}"
    );
    let old = lock
        .metadata()
        .and_then(|lock| lock.modified())
        .expect("a time")
        - Duration::from_secs(13 * 60 * 60);
    let file = File::options().write(true).open(&lock).expect("a file");
    file.set_times(FileTimes::new().set_modified(old))
        .expect("set");
    drop(store.transactions().begin().expect("begun"));
    // Whoever insists is seen before the branch moves.
    let store = repo.store();
    let transaction = store.transactions().begin().expect("begun");
    let planned = [step("forced")];
    let gc = store.transactions().lock_gc().expect("locked");
    let built = transaction
        .build(&planned, false, &|_| false)
        .expect("built");
    let mut journal = transaction
        .journal(&planned, &built.commits)
        .expect("a journal");
    repo.git(&["gc", "-q", "--prune=now", "--force"]);
    let error = transaction
        .publish(&planned, &mut journal, &built.objects, &gc, None)
        .err()
        .expect("refused");
    assert_eq!(error.class(), Class::Busy);
}

/// While somebody holds the branch, git commands of the user still stage what they like.
#[test]
fn the_index_is_not_locked_while_the_branch_is_waited_for() {
    let repo = with_a_task();
    let store = repo.store();
    let mut transaction = store.transactions().begin().expect("begun");
    repo.write(".git/refs/heads/main.lock", "");
    // Whoever meets this lock asked for the index.
    repo.write(".git/index.lock", "");
    let error = transaction.commit(&[step("new\n")]).expect_err("refused");
    assert!(error.to_string().contains("main.lock"), "{error}");
    drop(transaction);
    fs::remove_file(repo.path(".git/index.lock")).expect("removed");
    // The next one is refused before it makes anything.
    let error = store.transactions().begin().err().expect("refused");
    assert!(error.to_string().contains("main.lock"), "{error}");
}

/// While nothing is written, a process that holds the index may be ended at any time.
#[test]
fn an_index_that_is_locked_early_is_released_by_an_interrupt() {
    let repo = with_a_task();
    let store = repo.store();
    let lock = repo.path(".git/index.lock");
    let begin = || {
        let mut wait = LockWait::at_most(Duration::ZERO);
        let begun = store
            .transactions()
            .begin_within(&mut wait, LockOrder::Early);
        begun.expect("begun")
    };
    let mut interrupted = begin();
    assert!(lock.exists());
    drop(
        store
            .objects()
            .environment
            .index_gate
            .close()
            .expect("closed"),
    );
    assert!(!lock.exists());
    let error = interrupted.commit(&[step("late")]).expect_err("refused");
    assert!(error.is_moved(), "{error}");
    drop(interrupted);
    drop(begin());
    assert!(!lock.exists(), "nothing was committed");
    repo.write("t/state.json", "early");
    begin().commit(&[step("early")]).expect("committed");
    assert!(!lock.exists());
    assert_eq!(repo.git(&["show", "HEAD:t/state.json"]), "early");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// A process that looks like `git gc`, until it is dropped.
struct Collector(Child);

impl Collector {
    fn begin(repo: &Repo) -> Self {
        let program = repo.path("git-collector");
        if !program.exists() {
            fs::copy("/bin/sh", &program).expect("copied");
            // A shell takes `gc` for the name of a script. It reads on until its pipe is closed.
            repo.write("gc", "read -r nothing\n");
        }
        #[expect(clippy::disallowed_methods, reason = "no git, but what looks like one")]
        let child = Command::new(program)
            .arg("gc")
            .current_dir(repo.path("."))
            .stdin(Stdio::piped())
            .spawn()
            .expect("started");
        // The system gives a process its name a moment after it has begun.
        let name = format!("/proc/{}/comm", child.id());
        while !fs::read(&name).expect("a name").starts_with(b"git-") {
            std::thread::yield_now();
        }
        let file = format!("{} {}\n", child.id(), own_host());
        repo.write(".git/gc.pid", &file);
        Self(child)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_collector_that_spares_young_objects_holds_no_commit_up() {
    let repo = with_a_task();
    let lock = repo.path(".git/gc.pid");
    let sparing = Collector::begin(&repo);
    made_and_moved(&repo.store(), step("one"), || (), || ());
    assert!(lock.exists(), "the file is that of git");
    drop(sparing);
    fs::remove_file(&lock).expect("removed");
    // Nobody knows whether another one came in between.
    let store = repo.store();
    let transaction = store.transactions().begin().expect("begun");
    let sparing = Collector::begin(&repo);
    let gc = store.transactions().lock_gc().expect("locked");
    let planned = [step("two")];
    let built = transaction
        .build(&planned, false, &|_| false)
        .expect("built");
    let mut journal = transaction
        .journal(&planned, &built.commits)
        .expect("a journal");
    drop(sparing);
    fs::remove_file(&lock).expect("removed");
    let error = transaction
        .publish(&planned, &mut journal, &built.objects, &gc, None)
        .err()
        .expect("refused");
    assert!(error.is_moved(), "{error}");
    drop((transaction, gc));
    repo.git(&["config", "gc.pruneExpire", "now"]);
    let mut store = repo.store();
    store.options_mut().wait = Some(Duration::ZERO);
    let _sparing = Collector::begin(&repo);
    let error = store.transactions().begin().err().expect("refused");
    assert_eq!(error.class(), Class::Busy, "{error}");
}

#[test]
fn git_commit_all_waits_until_the_files_are_in_place() {
    for has_hook in [false, true] {
        let repo = Repo::new();
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        for name in ["t/state.json", "t/log", "mine"] {
            repo.write(name, "old\n");
        }
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "begin"]);
        if has_hook {
            // Then git writes the index, and not this process.
            let hook = repo.path(".git/hooks/post-index-change");
            repo.write(".git/hooks/post-index-change", "#!/bin/sh\n");
            fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).expect("set");
        }
        repo.write("mine", "new\n");
        let store = repo.store();
        let old = Some(store.objects().format().blob(b"old\n"));
        let own = |name| Write::own(path(name), path(name), b"new\n".to_vec(), old);
        let writes = vec![own("t/state.json"), own("t/log")];
        let planned = PlannedCommit {
            message: "move".to_owned(),
            writes,
            removes: Vec::new(),
            moves: Vec::new(),
        };
        moved(&store, planned, || {
            assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "move\n");
            let refused = repo.output("index", &["commit", "-q", "-a", "-m", "mine"], &[]);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(
                said.contains("index.lock': File exists"),
                "hook {has_hook}: {said}"
            );
        });
        repo.git(&["commit", "-q", "-a", "-m", "mine"]);
        assert_eq!(
            repo.git(&["show", "--format=", "--name-only"]),
            "mine\n",
            "hook {has_hook}"
        );
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "hook {has_hook}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_a_changed_one() {
    let repo = Repo::new();
    let store = repo.store();
    assert_eq!(
        store
            .transactions()
            .blob_on_disk(&path("none"))
            .expect("nothing is there"),
        None
    );
    // The kernel reports an I/O error for the first page of a process.
    std::os::unix::fs::symlink("/proc/self", repo.path("own")).expect("a link");
    let error = store
        .transactions()
        .blob_on_disk(&path("own/mem"))
        .expect_err("unreadable");
    assert!(
        error.to_string().contains("own/mem: Input/output error"),
        "{error}"
    );
}

#[test]
fn git_commit_all_waits_until_a_directory_is_moved() {
    let repo = with_a_task();
    let store = repo.store();
    let moves = vec![MovedPath {
        from: path("t"),
        to: path("u"),
    }];
    let planned = PlannedCommit {
        message: "move".to_owned(),
        writes: vec![],
        removes: vec![],
        moves,
    };
    moved(&store, planned, || {
        assert!(
            !repo
                .output("index", &["commit", "-q", "-a", "-m", "mine"], &[])
                .status
                .success()
        );
    });
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// `publish` looks at HEAD before; this is what counts if a commit comes between.
#[test]
fn a_branch_that_is_elsewhere_than_what_was_evaluated_is_not_moved() {
    let repo = Repo::new();
    repo.git(&["config", "user.name", "Ann"]);
    repo.git(&["config", "user.email", "ann@example.com"]);
    let commit = |message| {
        repo.git(&["commit", "-q", "--allow-empty", "-m", message]);
        Digest::parse(repo.git(&["rev-parse", "HEAD"]).trim()).expect("an id")
    };
    let [evaluated, theirs, ours] = ["evaluated", "theirs", "ours"].map(commit);
    repo.git(&["reset", "-q", "--hard", &theirs.to_string()]);
    let store = repo.store();
    let committer = store.identity().person(Person::Committer).expect("known");
    let name = "refs/heads/main";
    for (from, is_right) in [
        (Some(evaluated), false),
        (None, false),
        (Some(theirs), true),
    ] {
        let moved = store
            .refs()
            .lock_reference(
                RefMove {
                    name,
                    from,
                    to: ours,
                    message: "commit: ours",
                },
                &committer,
            )
            .and_then(|lock| lock.commit());
        assert_eq!(moved.is_ok(), is_right, "from {from:?}");
        let expected = if is_right { ours } else { theirs };
        assert_eq!(
            repo.git(&["rev-parse", "HEAD"]).trim(),
            expected.to_string()
        );
        assert!(!repo.path(".git/refs/heads/main.lock").exists());
    }
}

/// The last of the commits that git makes of these, on the same commit and by the same person.
fn by_git(repo: &Repo, transaction: &Transaction<'_>, planned: &[PlannedCommit]) -> String {
    let person = |role: &str, person: &git2::Signature<'static>| {
        let (name, mail, when) = (person.name(), person.email(), person.when());
        let (sign, minutes) = (when.sign(), when.offset_minutes().abs());
        let zone = format!("{sign}{:02}{:02}", minutes / 60, minutes % 60);
        format!(
            "{role} {} <{}> {} {zone}\n",
            name.expect("text"),
            mail.expect("text"),
            when.seconds()
        )
    };
    let mut script = String::new();
    let mut from = transaction
        .head()
        .commit
        .map(|head| format!("from {head}\n"));
    for PlannedCommit {
        message,
        writes,
        removes,
        moves,
    } in planned
    {
        script += "commit refs/heads/by-git\n";
        script += &person("author", &transaction.author);
        script += &person("committer", &transaction.committer);
        script += &format!(
            "data {}\n{message}\n{}",
            message.len(),
            from.take().unwrap_or_default()
        );
        moves
            .iter()
            .for_each(|moved| script += &format!("R {} {}\n", moved.from, moved.to));
        removes
            .iter()
            .for_each(|path| script += &format!("D {path}\n"));
        for write in writes {
            let (mode, text) = (
                u32::from(write.mode()),
                str::from_utf8(write.bytes()).expect("text"),
            );
            script += &format!(
                "M {mode:o} inline {}\ndata {}\n{text}\n",
                write.path(),
                text.len()
            );
        }
    }
    repo.git_on(
        "index",
        &["fast-import", "--quiet", "--force"],
        script.as_bytes(),
    );
    repo.git(&["rev-parse", "by-git"]).trim().to_owned()
}

/// A pack in place of loose objects changes no id, whatever the batch writes, and git can read it.
#[test]
fn a_pack_has_the_commits_that_loose_objects_have() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let repo = Repo::of(format);
        repo.git(&["config", "user.name", "Ann Ö."]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        for number in 0..300 {
            repo.write(
                &format!("tasks/t-{number:03}/state.json"),
                &format!("{number}\n"),
            );
        }
        for name in ["a.b", "a-b", "b/c", "only/one/file", "gone"] {
            repo.write(name, name);
        }
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "begin"]);
        let write = |at: &str, text: &str, executable| {
            Write::evidence(path(at), text.as_bytes().to_vec(), executable)
        };
        let planned: Vec<PlannedCommit> = (0..120)
            .map(|number| {
                let mut writes = vec![write(
                    &format!("tasks/t-{:03}/state.json", number * 2),
                    "moved\n",
                    false,
                )];
                let mut removes = Vec::new();
                match number {
                    // New entries whose order is that of git, not that of their names.
                    0 => writes.push(write("a/x", "1", true)),
                    1 => writes.extend([
                        write("a0", "1", false),
                        write("tasks/t-0000/new", "1", false),
                    ]),
                    // The last file of its directories, and one that does not exist.
                    2 => removes.extend([path("only/one/file"), path("gone"), path("never")]),
                    // A commit without changes, bytes that another object has, and a directory that comes back.
                    3 => writes.clear(),
                    4 => writes.push(write("only/one/other", "gone", false)),
                    5 => writes.push(write("a.b", "a.b", true)),
                    _ => {}
                }
                PlannedCommit {
                    message: format!("step {number}\n\nbody"),
                    writes,
                    removes,
                    moves: Vec::new(),
                }
            })
            .collect();
        let store = repo.store();
        let transaction = store.transactions().begin().expect("begun");
        assert!(transaction.packs(&planned, false).expect("known"));
        let loose = transaction
            .build_loose(&planned, false, &|_| false)
            .expect("built");
        for commit in &loose.commits {
            assert!(
                transaction.parts.objects.loose_file(*commit).exists(),
                "a file of its own"
            );
        }
        let packed = transaction
            .build_pack(&planned, &|_| false)
            .expect("packed");
        let count = |said: &str| {
            repo.git(&["count-objects", "-v"])
                .lines()
                .filter(|line| *line == said)
                .count()
        };
        assert_eq!(count("garbage: 0"), 1);
        let last = packed.commits.last().expect("a commit").to_string();
        repo.git(&["fsck", "--strict", "--no-dangling", &last]);
        repo.git(&["verify-pack", "--", &index_of(&repo)]);
        assert_eq!(packed.commits, loose.commits);
        // Most trees are written as what differs from the one before.
        let listed = repo.git(&["verify-pack", "-v", "--", &index_of(&repo)]);
        let deltas = listed
            .lines()
            .filter(|line| line.contains(" tree ") && line.split_whitespace().count() > 5)
            .count();
        assert!(deltas > 100, "{deltas} in\n{listed}");
        assert_eq!(by_git(&repo, &transaction, &planned), last);
    }
}

/// Whatever of the objects a power failure tore, the same commits are written whole.
#[test]
fn what_a_power_failure_tore_is_written_anew() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let repo = Repo::of(format);
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        for name in [
            "tasks/t/state.json",
            "tasks/t/plan/plan.json",
            "tasks/u/state.json",
            "other/x",
        ] {
            repo.write(name, name);
        }
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "begin"]);
        let write = |at: &str| Write::evidence(path(at), at.as_bytes().to_vec(), false);
        let one = |writes: Vec<Write>, moves: Vec<MovedPath>| PlannedCommit {
            message: "step".to_owned(),
            writes,
            removes: vec![path("other/x")],
            moves,
        };
        let moved = |from: &str, to: &str| MovedPath {
            from: path(from),
            to: path(to),
        };
        let planned = [
            one(
                vec![write("tasks/t/review/a.json"), write("new/b")],
                Vec::new(),
            ),
            one(
                vec![write("old/u/state.json")],
                vec![moved("tasks/u", "old/u")],
            ),
        ];
        let objects = || -> BTreeSet<String> {
            let listed = repo.git(&[
                "cat-file",
                "--batch-all-objects",
                "--batch-check=%(objectname)",
            ]);
            listed.lines().map(str::to_owned).collect()
        };
        let before = objects();
        let store = repo.store();
        let transaction = store.transactions().begin().expect("begun");
        let built = transaction
            .build_loose(&planned, false, &|_| false)
            .expect("built")
            .commits;
        let new: Vec<String> = objects().difference(&before).cloned().collect();
        assert!(new.len() > 10, "{new:?}");
        assert_eq!(by_git(&repo, &transaction, &planned), built[1].to_string());
        let file =
            |object: &str| repo.path(&format!(".git/objects/{}/{}", &object[..2], &object[2..]));
        for torn in new.iter().map(std::slice::from_ref).chain([new.as_slice()]) {
            for left in ["nothing", "a part", "its size"] {
                for object in torn {
                    let bytes = fs::read(file(object)).expect("loose");
                    let kept = match left {
                        "nothing" => Vec::new(),
                        "a part" => bytes[..bytes.len() - 5].to_vec(),
                        _ => vec![0; bytes.len()],
                    };
                    fs::remove_file(file(object)).expect("removed");
                    fs::write(file(object), kept).expect("written");
                }
                let again = transaction
                    .build_loose(&planned, false, &|_| false)
                    .expect("built again")
                    .commits;
                assert_eq!(again, built, "{left} of {torn:?}");
                repo.git(&["fsck", "--strict", "--no-dangling", &built[1].to_string()]);
            }
        }
    }
}

/// The first commit of a branch, with files or without.
#[test]
fn a_first_commit_is_that_of_git() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let repo = Repo::of(format);
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        let store = repo.store();
        let transaction = store.transactions().begin().expect("begun");
        for paths in [&[][..], &["a", "b/c/d", "b/c.d"]] {
            let writes = paths
                .iter()
                .map(|at| Write::evidence(path(at), b"x\n".to_vec(), false))
                .collect();
            let message = "first\n".to_owned();
            let planned = [PlannedCommit {
                message,
                writes,
                removes: Vec::new(),
                moves: Vec::new(),
            }];
            let built = transaction
                .build(&planned, false, &|_| false)
                .expect("built")
                .commits;
            repo.git(&["fsck", "--strict", "--no-dangling", &built[0].to_string()]);
            assert_eq!(by_git(&repo, &transaction, &planned), built[0].to_string());
            repo.git(&["branch", "-q", "-D", "by-git"]);
        }
    }
}

/// What has the name of an object of the step and not its bytes is not taken for it, whatever it is and wherever it is.
#[test]
fn no_commit_rests_on_a_damaged_object() {
    let repo = with_a_task();
    let write = |text: &str| {
        vec![Write::evidence(
            path("t/state.json"),
            text.as_bytes().to_vec(),
            false,
        )]
    };
    let planned = [PlannedCommit {
        message: "m".to_owned(),
        writes: write("new\n"),
        removes: vec![],
        moves: vec![],
    }];
    let built = || {
        let store = repo.store();
        let transaction = store.transactions().begin().expect("begun");
        transaction
            .build(&planned, false, &|_| false)
            .map(|built| built.commits[0].to_string())
    };
    let objects = || -> BTreeSet<String> {
        let listed = repo.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ]);
        listed.lines().map(str::to_owned).collect()
    };
    let file = |object: &str| repo.path(&format!(".git/objects/{}/{}", &object[..2], &object[2..]));
    let before = objects();
    let commit = built().expect("all is whole");
    let new: Vec<String> = objects().difference(&before).cloned().collect();
    // A blob, two trees, and the commit of each second.
    assert!(new.len() >= 4, "{new:?}");
    let other = fs::read(file(before.first().expect("an object"))).expect("loose");
    for object in new.iter().filter(|object| **object != commit) {
        let whole = fs::read(file(object)).expect("loose");
        for damage in ["another object", "a directory", "a damaged pack"] {
            fs::remove_file(file(object)).expect("removed");
            match damage {
                "another object" => fs::write(file(object), &other).expect("written"),
                "a directory" => fs::create_dir(file(object)).expect("made"),
                _ => {
                    fs::write(file(object), &whole).expect("written");
                    let base = repo
                        .path(".git/objects/pack/pack")
                        .to_string_lossy()
                        .into_owned();
                    let name =
                        repo.git_on("index", &["pack-objects", "-q", &base], object.as_bytes());
                    let pack = PathBuf::from(format!("{base}-{}.pack", name.trim()));
                    let mut bytes = fs::read(&pack).expect("a pack");
                    bytes[16..20].fill(0);
                    fs::remove_file(&pack)
                        .and_then(|()| fs::write(&pack, bytes))
                        .expect("damaged");
                    fs::remove_file(file(object)).expect("only in the pack");
                }
            }
            let refused = built().expect_err(damage).to_string();
            assert!(refused.contains(object), "{damage}: {refused}");
            match damage {
                "another object" => fs::remove_file(file(object)).expect("removed"),
                "a directory" => fs::remove_dir(file(object)).expect("removed"),
                _ => fs::remove_dir_all(repo.path(".git/objects/pack")).expect("removed"),
            }
            fs::write(file(object), &whole).expect("mended");
            built().expect("all is whole again");
        }
    }
}

/// Someone may have made links of the directories of objects.
#[test]
fn directories_of_objects_may_be_links() {
    let repo = with_a_task();
    fs::create_dir(repo.path("elsewhere")).expect("made");
    for first in 0..=255_u8 {
        let (at, there) = (
            format!(".git/objects/{first:02x}"),
            format!("elsewhere/{first:02x}"),
        );
        if repo.path(&at).exists() {
            fs::rename(repo.path(&at), repo.path(&there)).expect("moved");
        } else {
            fs::create_dir(repo.path(&there)).expect("made");
        }
        symlink(repo.path(&there), repo.path(&at)).expect("linked");
    }
    let writes = vec![Write::evidence(
        path("t/state.json"),
        b"new\n".to_vec(),
        false,
    )];
    let planned = PlannedCommit {
        message: "m".to_owned(),
        writes,
        removes: vec![],
        moves: vec![],
    };
    moved(&repo.store(), planned, || {});
    repo.git(&["fsck", "--strict"]);
}

/// An object that a power failure tore where objects are borrowed from is not taken for one that is there.
#[test]
fn no_commit_rests_on_a_borrowed_object_that_is_torn() {
    let lender = with_a_task();
    let repo = Repo::new();
    for (name, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        repo.git(&["config", name, value]);
    }
    let lent = lender.path(".git/objects");
    fs::create_dir_all(repo.path(".git/objects/info")).expect("made");
    repo.write(
        ".git/objects/info/alternates",
        &format!("{}\n", lent.display()),
    );
    let write = || {
        vec![Write::evidence(
            path("t/state.json"),
            b"old\n".to_vec(),
            false,
        )]
    };
    let planned = || {
        [PlannedCommit {
            message: "m".into(),
            writes: write(),
            removes: vec![],
            moves: vec![],
        }]
    };
    let built = |repo: &Repo| {
        let store = repo.store();
        let transaction = store.transactions().begin().expect("begun");
        transaction
            .build(&planned(), false, &|_| false)
            .map(|built| built.commits)
    };
    built(&repo).expect("all is whole");
    let tree = lender.git(&["rev-parse", "HEAD:t"]);
    let file = lent.join(&tree[..2]).join(tree[2..].trim());
    let bytes = fs::read(&file).expect("loose");
    fs::remove_file(&file).expect("removed");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("cut off");
    let refused = built(&repo).expect_err("torn");
    assert!(refused.to_string().contains(tree.trim()), "{refused}");
    fs::write(&file, &bytes).expect("mended");
    built(&repo).expect("all is whole again");
}

fn index_of(repo: &Repo) -> String {
    let files = repo.path(".git/objects/pack").read_dir().expect("listed");
    let mut paths = files.map(|file| file.expect("a file").path());
    let index = paths
        .find(|path| path.extension().is_some_and(|end| end == "idx"))
        .expect("an index");
    index.to_string_lossy().into_owned()
}
