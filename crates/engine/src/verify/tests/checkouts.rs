//! What is in a checkout, and what of an earlier run or of the user cannot get there.

use super::super::{cached_checkouts, remove_cached_checkouts};
use super::*;
use std::os::unix::fs::MetadataExt;

fn store(world: &World) -> Store {
    Store::discover(&world.repo(), &Environment::default())
        .expect("a repository")
        .expect("a repository")
}

#[test]
fn each_run_begins_with_exactly_the_judged_tree() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let world = World::of(format);
        world.commit(&[("src/a.rs", "good\n"), (".gitignore", "conftest.py\n")]);
        let mut asked = ask(sh("true"));
        asked.table.keep = words(&["/target", "/packages/*/cache"]);
        assert_eq!(world.because(&asked), []);
        let root = world.checkout(&asked);
        let kept = root.join("target/debug/built");
        let check = "test -z \"$(find . -name planted)$(cat .git/hooks/* 2>/dev/null)\" && \
            test \"$(cat src/a.rs)\" = good && test -e target/debug/built && test -e packages/p/cache/x && \
            test ! -e conftest.py && git status --porcelain=v1 --ignored | grep -v '!! \\|?? ' | (! grep .) && \
            git fsck --connectivity-only && test \"$(git config core.hooksPath)\" = /dev/null && test -z \"$(git tag)\"";
        // Each is what a run may leave behind, on purpose or not.
        let planted = [
            "mkdir -p src/target && touch src/target/planted",
            "touch conftest.py",
            "echo bad > src/a.rs; touch -r run.sh src/a.rs",
            "git update-index --skip-worktree src/a.rs; echo bad > src/a.rs",
            "git init -q nested && touch nested/planted",
            "git config core.hooksPath x; git config core.fsmonitor 'touch planted'; git tag t; git branch b",
            "mkdir -p .git/hooks && echo 'touch planted' > .git/hooks/post-checkout && chmod +x .git/hooks/*",
            "echo 'src/a.rs filter=x' > .git/info/attributes; mkdir -p .git/info",
            "rm -rf .git",
            "rm -rf .git && ln -s /nowhere .git",
            "rm -rf src && ln -s /tmp src",
            "rm src/a.rs && mkdir src/a.rs && touch src/a.rs/planted",
            "chmod 0 src; mkdir -p deep/er && touch deep/er/planted && chmod 0 deep",
            "rm -f .git/index .git/HEAD",
            "echo garbage > .git/index",
            "touch \"$(printf 'planted')\"; git add -A; git -c user.name=a -c user.email=b commit -qm x",
        ];
        let of_format = match format {
            ObjectFormat::Sha1 => &planted[..],
            ObjectFormat::Sha256 => &planted[..2],
        };
        for planted in of_format {
            fs::create_dir_all(root.join("packages/p/cache")).expect("made");
            fs::write(root.join("packages/p/cache/x"), "").expect("written");
            fs::create_dir_all(kept.parent().expect("a parent")).expect("made");
            fs::write(&kept, "").expect("written");
            asked.table.commands = vec![words(&["sh", "-c", planted])];
            world.verify(&asked);
            asked.table.commands = vec![words(&["sh", "-c", check])];
            let ran = world.ran(&asked);
            let log = fs::read_to_string(&ran.log).expect("a log");
            assert_eq!(ran.result.run.because, [], "{planted}: {log}");
        }
    }
}

#[test]
fn a_broken_checkout_is_made_anew_and_a_whole_one_is_not_touched() {
    let world = World::new();
    world.commit(&[("src/a.rs", "good\n")]);
    let mut asked = ask(sh(
        "test \"$(cat src/a.rs)\" = good && git log -1 --format=%s",
    ));
    asked.table.keep = words(&["/target"]);
    assert_eq!(world.because(&asked), []);
    let root = world.checkout(&asked);
    let repository = root.ancestors().nth(2).expect("above").to_owned();
    let state = repository.join(".state/one/tests");
    let inode = |path: &Path| {
        path.metadata()
            .map(|found| (found.ino(), found.mtime()))
            .ok()
    };
    let before = inode(&root.join("src/a.rs"));
    let head = inode(&root.join(".git/HEAD"));
    assert_eq!(world.because(&asked), []);
    assert_eq!(inode(&root.join("src/a.rs")), before);
    assert_eq!(inode(&root.join(".git/HEAD")), head);
    // What a killed git left does not cost the caches.
    fs::write(state.join("index.lock"), "").expect("written");
    assert_eq!(world.because(&asked), []);
    assert_eq!(inode(&root.join("src/a.rs")), before);
    let remove_packs = || {
        fs::remove_dir_all(repository.join(".store.git/objects/pack")).expect("packs");
    };
    let breaks: [&dyn Fn(); 7] = [
        &|| fs::remove_dir_all(&root).expect("removed"),
        &|| fs::remove_file(state.join("index")).expect("removed"),
        &|| fs::write(state.join("index"), "garbage").expect("written"),
        &|| fs::write(repository.join(".store.git/HEAD"), "garbage").expect("written"),
        &remove_packs,
        &|| fs::remove_dir_all(repository.join(".store.git")).expect("removed"),
        &|| {
            fs::remove_dir_all(&root).expect("removed");
            fs::write(&root, "a file").expect("written");
        },
    ];
    for (number, damage) in breaks.iter().enumerate() {
        damage();
        assert_eq!(world.because(&asked), [], "{number}");
    }
}

#[test]
fn the_users_repository_neither_changes_nor_takes_part() {
    let world = World::new();
    world.commit(&[("a", "a\n"), ("sub/b", "b\n")]);
    world.git(&["tag", "-a", "v1", "-m", "v1"]);
    // A hook, a link and settings that would run something or change files.
    let trap = world.root().join("sprung");
    let hook = world.repo().join(".git/hooks/post-checkout");
    let script = format!("#!/bin/sh\ntouch {}\n", trap.display());
    fs::create_dir_all(hook.parent().expect("a parent")).expect("made");
    fs::write(&hook, &script).expect("written");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let settings = format!(
        "[core]\n\tfsmonitor = {0}\n\thooksPath = {1}\n\tautocrlf = true\n[filter \"x\"]\n\tsmudge = touch {2}\n",
        hook.display(),
        hook.parent().expect("a parent").display(),
        trap.display()
    );
    fs::write(world.root().join("home/.gitconfig"), settings).expect("written");
    let state = || {
        let refs = world.git(&["for-each-ref"]);
        let config = fs::read_to_string(world.repo().join(".git/config")).expect("settings");
        (refs, config, world.git(&["count-objects", "-v"]))
    };
    let before = state();
    fs::remove_file(&trap).ok();
    let script = "git tag made; git config user.name x; git branch made; test \"$(git describe)\" = v1 && \
        test \"$(cat sub/b | wc -c)\" = 2 && ! test -L .git && test -d .git";
    let asked = ask(sh(script));
    assert_eq!(world.because(&asked), []);
    assert!(!trap.exists());
    fs::remove_file(world.root().join("home/.gitconfig")).expect("removed");
    assert_eq!(state(), before);
    // A commit that nothing holds any more is there all the same.
    let lost = world.commit(&[("a", "lost\n")]);
    let asked = ask(sh("test \"$(cat a)\" = lost"));
    assert_eq!(world.because(&asked), []);
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    let root = world.checkout(&asked);
    assert_eq!(
        world.git_in(&root, &["rev-parse", "HEAD"]),
        lost.to_string()
    );
    world.git_in(&root, &["fsck", "--connectivity-only"]);
}

#[test]
fn a_cache_below_the_repository_is_refused() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let inside = world.repo().join("build");
    std::os::unix::fs::symlink(&inside, world.root().join("link")).expect("linked");
    fs::remove_dir(world.cache()).expect("removed");
    fs::create_dir(&inside).expect("made");
    std::os::unix::fs::symlink(&inside, world.cache()).expect("linked");
    is(NotRun::System, &world.failed_to_run(&ask(sh("true"))));
}

#[test]
fn setup_runs_when_what_it_rests_on_has_changed() {
    let world = World::new();
    let count = world.root().join("count");
    world.commit(&[("lock", "1\n"), ("a", "a\n")]);
    let mut asked = ask(sh("test -e made/x"));
    asked.table.setup = words(&[
        "sh",
        "-c",
        &format!("echo x >> {}; mkdir -p made; touch made/x", count.display()),
    ]);
    asked.table.setup_key = globs(&["lock"]);
    asked.table.keep = words(&["/made"]);
    let runs = |asked: &Asked| {
        assert_eq!(world.because(asked), []);
        fs::read_to_string(&count).expect("a count").lines().count()
    };
    assert_eq!(runs(&asked), 1);
    assert_eq!(runs(&asked), 1);
    world.commit(&[("a", "b\n")]);
    assert_eq!(runs(&asked), 1);
    world.commit(&[("lock", "2\n")]);
    assert_eq!(runs(&asked), 2);
    fs::remove_dir_all(world.checkout(&asked).join("made")).expect("removed");
    assert_eq!(runs(&asked), 3);
    asked.table.setup.push("more".to_owned());
    assert_eq!(runs(&asked), 4);
    asked.fresh = true;
    assert_eq!(runs(&asked), 5);
    asked.fresh = false;
    assert_eq!(runs(&asked), 5);
    // What is not kept is made each time.
    asked.table.keep = Vec::new();
    assert_eq!(runs(&asked), 6);
    assert_eq!(runs(&asked), 7);
}

#[test]
fn a_kept_directory_is_no_way_out() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let outside = world.root().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(
        outside.join("r.xml"),
        "<testsuite><testcase name='a'/></testsuite>",
    )
    .expect("written");
    let mut asked = ask(sh(&format!(
        "rm -rf target; ln -s {} target",
        outside.display()
    )));
    asked.table.keep = words(&["/target"]);
    asked.table.report = globs(&["target/*.xml"]);
    assert_eq!(world.outcome(&asked), "no-report");
    asked.table.commands = vec![words(&["sh", "-c", "mkdir target && touch target/x"])];
    assert_eq!(world.outcome(&asked), "no-report");
    assert!(outside.join("r.xml").is_file() && !outside.join("x").exists());
    // A report of the last run in a kept directory is none of this one.
    let write =
        "mkdir -p target; echo \"<testsuite><testcase name='a'/></testsuite>\" > target/r.xml";
    asked.table.commands = vec![words(&["sh", "-c", write])];
    assert_eq!(world.outcome(&asked), "passed");
    asked.table.commands = vec![words(&["true"])];
    assert_eq!(world.outcome(&asked), "no-report");
}

#[test]
fn submodules_are_filled_or_it_cannot_run() {
    let world = World::new();
    let other = world.root().join("other");
    for name in ["other", "inner"] {
        let path = world.root().join(name);
        fs::create_dir(&path).expect("made");
        world.git_in(&path, &["init", "-q", "-b", "main"]);
        fs::write(path.join("f"), name).expect("written");
    }
    let allow = "protocol.file.allow=always";
    let inner = world.root().join("inner");
    world.git_in(&inner, &["add", "-A"]);
    world.git_in(&inner, &["commit", "-q", "-m", "inner"]);
    world.git_in(
        &other,
        &["-c", allow, "submodule", "add", "-q", "../inner", "in"],
    );
    world.git_in(&other, &["add", "-A"]);
    world.git_in(&other, &["commit", "-q", "-m", "other"]);
    let url = other.to_string_lossy().into_owned();
    world.git(&["-c", allow, "submodule", "add", "-q", &url, "mod/ule"]);
    world.git(&[
        "-c",
        allow,
        "submodule",
        "update",
        "-q",
        "--init",
        "--recursive",
    ]);
    world.commit(&[("a", "a\n")]);
    let script = "test \"$(cat mod/ule/f mod/ule/in/f)\" = otherinner && test ! -e mod/ule/planted && touch mod/ule/planted && \
        git -C mod/ule rev-parse HEAD && test -z \"$(git status --porcelain --ignore-submodules=untracked)\"";
    let asked = ask(sh(script));
    for _ in 0..2 {
        let ran = world.ran(&asked);
        let log = fs::read_to_string(&ran.log).expect("a log");
        assert_eq!(ran.result.run.because, [], "{log}");
    }
    let changing = ask(sh("echo x > mod/ule/in/f"));
    let ran = world.ran(&changing);
    assert_eq!(ran.result.run.changed, ["mod/ule/in/f"]);
    // A report is written by the run, wherever it lies.
    let mut tracked = ask(sh("true"));
    tracked.table.report = globs(&["mod/ule/in/*"]);
    let why = world.failed_to_run(&tracked);
    is(NotRun::Table, &why);
    let hint = why.hint.expect("a hint").to_string();
    assert!(hint.contains("git -C mod/ule/in rm --cached f"), "{hint}");
    // Neither the user's copy nor its source.
    fs::remove_dir_all(world.repo().join(".git/modules")).expect("removed");
    fs::rename(&other, world.root().join("moved")).expect("moved");
    let mut fresh = ask(sh("true"));
    fresh.task = "two";
    is(NotRun::Submodule, &world.failed_to_run(&fresh));
}

#[test]
fn sparse_shallow_and_partial_clones_work_or_say_why() {
    let world = World::new();
    let first = world.commit(&[("a/x", "1\n"), ("b/y", "1\n"), ("tests/a.t", "pass\n")]);
    world.commit(&[("b/y", "2\n")]);
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let source = format!("file://{}", world.repo().display());
    let check = "test -s a/x && test -s b/y && sh run.sh";
    for (options, base_runs) in [
        (&["--depth=1"][..], false),
        (&["--filter=blob:none"], true),
        (&["--sparse"], true),
        (&["--bare"], true),
    ] {
        let clone = World::new();
        let repo = clone.repo();
        fs::remove_dir_all(&repo).expect("removed");
        let to = repo.to_string_lossy().into_owned();
        let mut words: Vec<&str> = vec!["clone", "-q"];
        words.extend(options);
        words.extend([source.as_str(), &to]);
        clone.git_in(&clone.root(), &words);
        let mut asked = ask(runner());
        asked.table.commands = vec![super::words(&["sh", "-c", check])];
        asked.base = Some(first);
        let ran = clone.ran(&asked);
        assert_eq!(ran.result.run.because, [], "{options:?}");
        let base = ran.result.run.base.expect("a base");
        assert_eq!(base.not_run.is_none(), base_runs, "{options:?} {base:?}");
    }
}

#[test]
fn only_so_many_checkouts_stay_and_all_can_be_removed() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let mut asked = ask(sh("true"));
    asked.most = 2;
    for task in ["one", "two", "three"] {
        asked.task = task;
        assert_eq!(world.because(&asked), []);
    }
    let store = store(&world);
    let names: Vec<String> = cached_checkouts(&store, &world.cache())
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["two/tests", "three/tests"]);
    assert!(
        cached_checkouts(&store, &world.cache())
            .iter()
            .all(|one| one.bytes > 0 && !one.is_in_use)
    );
    let left = remove_cached_checkouts(&store, &world.cache()).expect("removed");
    assert_eq!(left, []);
    assert_eq!(fs::read_dir(world.cache()).expect("a cache").count(), 0);
    assert_eq!(world.because(&asked), []);
}

#[test]
fn a_checkout_in_use_is_waited_for() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let asked = ask(sh("true"));
    assert_eq!(world.because(&asked), []);
    let root = world.checkout(&asked);
    let repository = root.ancestors().nth(2).expect("above").to_owned();
    let lock = fs::File::open(repository.join(".state/one/tests/lock")).expect("a lock");
    lock.lock().expect("locked");
    let mut held = Some(lock);
    let store = store(&world);
    assert!(cached_checkouts(&store, &world.cache())[0].is_in_use);
    let left = remove_cached_checkouts(&store, &world.cache()).expect("tried");
    assert_eq!(left.len(), 1);
    let mut has_waited = false;
    let verified = world.watch(&asked, &mut |event| {
        if event == VerifyEvent::Waits {
            has_waited = true;
            held = None;
        }
    });
    assert!(has_waited && matches!(verified, VerifyOutcome::Ran(_)));
}

#[test]
fn large_files_have_their_contents() {
    let world = World::new();
    let path = world.environment["PATH"].clone();
    let mut places = path
        .split(':')
        .map(|place| Path::new(place).join("git-lfs"));
    // Where there is none, `what_cannot_run_has_no_result` is all that can be seen.
    if !places.any(|place| place.is_file()) {
        return;
    }
    world.git(&["lfs", "install", "--local"]);
    world.git(&["lfs", "track", "*.bin"]);
    world.commit(&[("a.bin", "large contents\n"), ("sub/b.bin", "more\n")]);
    assert!(world.git(&["show", "HEAD:a.bin"]).starts_with("version"));
    let script =
        "grep -q large a.bin && grep -q more sub/b.bin && test -z \"$(git status --porcelain)\"";
    let mut asked = ask(sh(script));
    for _ in 0..2 {
        assert_eq!(world.outcome(&asked), "passed");
    }
    asked.table = sh("echo more >> a.bin");
    assert_eq!(world.outcome(&asked), "changed");
    // Later nothing of the user's is needed, and what was never there is missed.
    fs::remove_dir_all(world.repo().join(".git/lfs/objects")).expect("removed");
    asked.table = sh(script);
    assert_eq!(world.outcome(&asked), "passed");
    world.commit(&[("a.bin", "other contents\n")]);
    fs::remove_dir_all(world.repo().join(".git/lfs/objects")).expect("removed");
    assert_eq!(world.outcome(&asked), "not run: lfs-pointer");
}
