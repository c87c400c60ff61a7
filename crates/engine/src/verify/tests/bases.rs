//! What is compared with the base, and the run with its protected tests.

use super::*;

#[test]
fn tests_are_compared_with_those_of_the_base_by_name() {
    let world = World::new();
    let base = world.commit(&[
        ("tests/gone.t", "pass\n"),
        ("tests/left.t", "pass\n"),
        ("tests/kept.t", "pass\n"),
        ("tests/old.t", "fail\n"),
        ("tests/broken.t", "pass\n"),
        ("tests/never.t", "skip\n"),
    ]);
    world.commit(&[
        ("tests/gone.t", ""),
        ("tests/never.t", ""),
        ("tests/left.t", "skip\n"),
        ("tests/broken.t", "fail\n"),
        ("tests/added.t", "fail\n"),
    ]);
    let mut asked = ask(runner());
    let count = world.root().join("count");
    let script = format!("echo x >> {}; sh run.sh", count.display());
    asked.table.commands = vec![words(&["sh", "-c", &script])];
    asked.base = Some(base);
    let runs = || fs::read_to_string(&count).expect("a count").lines().count();
    for expected in [2, 3] {
        let found = world.ran(&asked).result.run.base.expect("a base");
        assert_eq!(found.lost, ["gone", "left"]);
        assert_eq!(found.new, ["added", "broken"]);
        assert_eq!(found.known, ["old"]);
        assert_eq!((found.not_run, runs()), (None, expected));
    }
    // Another table is another run of the base; so is one that uses no cache.
    asked.table.timeout = Period::from_seconds(50);
    world.ran(&asked);
    assert_eq!(runs(), 5);
    asked.fresh = true;
    world.ran(&asked);
    assert_eq!(runs(), 7);
}

#[test]
fn a_base_that_cannot_run_says_why_and_nothing_is_lost() {
    let world = World::new();
    let base = world.commit(&[("tests/a.t", "pass\n"), ("run.sh", "exit 1\n")]);
    world.commit(&[("run.sh", RUNNER)]);
    let mut asked = ask(runner());
    asked.base = Some(base);
    let compared = |asked: &Asked| world.ran(asked).result.run.base.expect("a base");
    for _ in 0..2 {
        let found = compared(&asked);
        assert_eq!(found.not_run.as_deref(), Some("the base wrote no report"));
        assert_eq!(found.lost.len() + found.new.len() + found.known.len(), 0);
    }
    asked.table.report = Patterns::default();
    assert!(compared(&asked).not_run.is_some());
    // A commit that is not there.
    asked.table = runner();
    asked.base = Digest::parse(&"1".repeat(40));
    let found = compared(&asked);
    assert!(found.not_run.is_some(), "{found:?}");
    // A run without a report lost no test.
    let base = world.commit(&[("tests/b.t", "pass\n")]);
    world.commit(&[("run.sh", "exit 1\n")]);
    asked.base = Some(base);
    let found = compared(&asked);
    assert_eq!((found.not_run, found.lost), (None, vec![]));
}

#[test]
fn protected_tests_are_those_of_the_base() {
    let world = World::new();
    let base = world.commit(&[
        ("tests/changed.t", "pass\n"),
        ("tests/gone.t", "pass\n"),
        ("tests/kept ä.t", "pass\n"),
        ("src/a.rs", "1\n"),
        ("tests/file", "x\n"),
    ]);
    // The code fails a test, and the tests were made to fit.
    let runner_of_code = "#!/bin/sh\ntest ! -e tests/select && cp src/verdict tests/changed.t\nsh run.sh\nr=$?\n\
        git checkout -q tests\nexit $r\n";
    let mut asked = ask(runner());
    asked.base = Some(base);
    asked.table.protect = globs(&["tests/**"]);
    // Nothing of what is protected has changed: the same tree has run.
    world.commit(&[("src/a.rs", "2\n")]);
    let ran = world.ran(&asked);
    let protected = ran.protected.expect("protected").expect("a result");
    assert_eq!(protected.run.because, []);
    assert_eq!(protected.run.name.as_str(), "tests@base");
    assert_eq!(protected.run.log, ran.result.run.log);
    // New files are dropped, changed ones are put back, also where a file became a directory.
    world.commit(&[
        ("tests/changed.t", "fail\n"),
        ("tests/gone.t", ""),
        ("tests/new.t", "pass\n"),
        ("tests/file", ""),
        ("tests/file/deep.t", "x\n"),
        ("src/judge.sh", runner_of_code),
    ]);
    let ran = world.ran(&asked);
    assert_eq!(ran.result.tests.failed, ["changed"]);
    let protected = ran.protected.expect("protected").expect("a result");
    assert_eq!(protected.tests.passed, ["changed", "gone", "kept ä"]);
    assert_eq!(protected.run.because, []);
    let text = statement(&protected);
    assert!(text.contains("gitTree") && !text.contains("gitCommit"));
    // What the plan names is not protected.
    asked.exempt = &["tests/changed.t", "tests/new.t"];
    let ran = world.ran(&asked);
    let protected = ran.protected.expect("protected").expect("a result");
    assert_eq!(protected.tests.failed, ["changed"]);
    assert_eq!(protected.tests.passed, ["gone", "kept ä", "new"]);
    // One new file cannot deselect the others.
    asked.exempt = &[];
    world.commit(&[
        ("tests/select.t", "pass\n"),
        ("tests/changed.t", "pass\n"),
        (
            "run.sh",
            &format!("test -e tests/select.t && rm tests/[b-r]*.t\n{RUNNER}"),
        ),
    ]);
    let ran = world.ran(&asked);
    let protected = ran.protected.expect("protected").expect("a result");
    assert_eq!(protected.tests.passed.len(), 3);
    assert_eq!(
        ran.result.run.base.expect("a base").lost,
        ["changed", "gone", "kept ä"]
    );
}

#[test]
fn a_new_checkout_begins_with_the_caches_of_the_base_that_can_be_moved() {
    let world = World::new();
    let base = world.commit(&[("tests/a.t", "pass\n"), ("code", "1\n")]);
    world.commit(&[("code", "2\n")]);
    // A cache like that of Cargo, one that holds nothing of its place, and three that name it.
    let script = "for d in target plain venv linked; do test ! -e $d/x || echo $d >> $TMPDIR/../found; mkdir -p $d; done\n\
        touch target/.rustc_info.json target/CACHEDIR.TAG; echo $PWD > target/x; echo 1 > plain/x; echo $PWD > venv/x\n\
        test -e linked/x || ln -s $PWD/code linked/x\nsh run.sh";
    let mut asked = ask(runner());
    asked.base = Some(base);
    asked.table.commands = vec![words(&["sh", "-c", script])];
    asked.table.keep = words(&["/target", "/plain", "/venv", "/linked"]);
    let found = world.root().join("tmp/found");
    let kept = || {
        let text = fs::read_to_string(&found).unwrap_or_default();
        let _ = fs::remove_file(&found);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(world.because(&asked), []);
    assert_eq!(kept(), ["target", "plain"]);
    assert_eq!(world.because(&asked), []);
    assert_eq!(kept(), ["target", "plain", "venv", "linked"]);
    // Another task begins with the base's, never with those of this one.
    fs::write(world.checkout(&asked).join("plain/planted"), "").expect("written");
    asked.task = "two";
    assert_eq!(world.because(&asked), []);
    assert_eq!(kept(), ["target", "plain"]);
    assert!(!world.checkout(&asked).join("plain/planted").exists());
    asked.fresh = true;
    assert_eq!(world.because(&asked), []);
    assert_eq!(kept(), Vec::<String>::new());
}

#[test]
fn several_at_once_wait_for_each_other_and_share_the_base() {
    let world = World::new();
    let base = world.commit(&[("tests/a.t", "pass\n"), ("tests/b.t", "pass\n")]);
    world.commit(&[("tests/b.t", "")]);
    let count = world.root().join("count");
    // Each fails if another one is in its checkout, and leaves a process that is not the others'.
    let script = format!(
        "mkdir alone || exit 9; test ! -e tests/b.t || echo x >> {}; sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; sh run.sh; r=$?; rmdir alone; exit $r",
        count.display()
    );
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for task in ["one", "two", "one"] {
            let world = &world;
            let script = &script;
            running.push(scope.spawn(move || {
                let mut asked = ask(runner());
                asked.task = task;
                asked.base = Some(base);
                asked.table.keep = words(&["/alone"]);
                asked.table.commands = vec![words(&["sh", "-c", script])];
                world.ran(&asked).result.run
            }));
        }
        for one in running {
            let run = one.join().expect("no panic");
            assert_eq!(run.because, [], "{run:?}");
            assert_eq!(run.base.expect("a base").lost, ["b"]);
            assert_eq!(run.leftovers, ["sleep"]);
        }
    });
    let bases = fs::read_to_string(&count).expect("a count");
    assert_eq!(bases.lines().count(), 1);
}
