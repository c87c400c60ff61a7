//! What passes, what fails, and what could not run.

use super::*;

#[test]
fn a_run_passes_only_if_everything_says_so() {
    let world = World::new();
    world.commit(&[
        ("src/a.rs", "a\n"),
        (
            "junit.xml.of-last-week",
            "<testsuite><testcase name='a'/></testsuite>\n",
        ),
        (".gitignore", "conftest.py\nold.xml\n"),
    ]);
    let ok = "echo \"<testsuite><testcase name='a'/></testsuite>\" > junit.xml";
    let write = |text: &str| format!("echo \"{text}\" > junit.xml");
    let none = write("<testsuite tests='0'/>");
    let left = write("<testsuite><testcase name='a'><skipped/></testcase></testsuite>");
    let bad = write("<testsuite><testcase name='a'><failure/></testcase></testsuite>");
    let claimed = write("<testsuite failures='1'><testcase name='a'/></testsuite>");
    for (script, with_report, without) in [
        ("true", "no-report", "passed"),
        ("false", "exit no-report", "exit"),
        ("kill -9 $$", "signal no-report", "signal"),
        (ok, "passed", "passed"),
        (&format!("{ok}; exit 3"), "exit", "exit"),
        (&none, "no-tests", "passed"),
        (&left, "no-tests", "passed"),
        (&bad, "failures", "passed"),
        (&claimed, "failures", "passed"),
        ("echo broken > junit.xml", "unreadable-report", "passed"),
        (": > junit.xml", "unreadable-report", "passed"),
        ("mkdir junit.xml", "no-report", "passed"),
        (
            "ln -s junit.xml.of-last-week junit.xml",
            "unreadable-report",
            "passed",
        ),
        (&format!("{ok}; echo b >> src/a.rs"), "changed", "changed"),
        (&format!("{ok}; rm src/a.rs"), "changed", "changed"),
        (&format!("{ok}; chmod +x src/a.rs"), "changed", "changed"),
        (&format!("{ok}; git add -A"), "changed", "changed"),
        (
            &format!("{ok}; git checkout -q --orphan x"),
            "changed",
            "changed",
        ),
        (&format!("{ok}; rm -rf .git"), "changed", "changed"),
        (
            &format!("{ok}; git update-index --assume-unchanged src/a.rs; echo b > src/a.rs"),
            "changed",
            "changed",
        ),
        ("exec /nowhere/at/all", "exit no-report", "exit"),
    ] {
        let mut asked = ask(sh(script));
        assert_eq!(world.outcome(&asked), without, "{script}");
        asked.table.report = globs(&["junit.xml"]);
        assert_eq!(world.outcome(&asked), with_report, "{script}");
    }
    let mut asked = ask(sh(&none));
    asked.table.report = globs(&["junit.xml"]);
    asked.table.allow_empty = true;
    assert_eq!(world.outcome(&asked), "passed");
}

#[test]
fn what_a_run_leaves_is_told_and_no_reason_to_fail() {
    let world = World::new();
    world.commit(&[(".gitignore", "ignored\n"), ("src/a.rs", "a\n")]);
    let script = "mkdir -p out target/x left; echo '<testsuite><testcase name=\"a\"/></testsuite>' > out/junit.xml
        touch target/x/y ignored src/new.rs left/a left/b";
    let mut asked = ask(sh(script));
    asked.table.report = globs(&["out/*.xml"]);
    asked.table.keep = words(&["/target"]);
    let run = world.ran(&asked).result.run;
    assert_eq!(run.because, []);
    assert_eq!(run.created, ["ignored", "left/", "src/new.rs"]);
    asked.table = sh("for n in $(seq 60); do touch file-$n; done");
    let run = world.ran(&asked).result.run;
    assert_eq!((run.created.len(), run.created_more), (50, 10));
}

#[test]
fn what_cannot_run_has_no_result() {
    let world = World::new();
    world.commit(&[(
        "big.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    )]);
    let with = |change: &dyn Fn(&mut VerifyTable)| {
        let mut asked = ask(sh("true"));
        change(&mut asked.table);
        asked
    };
    is(
        NotRun::Command,
        &world.failed_to_run(&with(&|table| {
            table.commands = vec![words(&["no-such-program"])]
        })),
    );
    is(
        NotRun::Command,
        &world.failed_to_run(&with(&|table| table.commands = vec![words(&["./run.sh"])])),
    );
    is(
        NotRun::Setup,
        &world.failed_to_run(&with(&|table| table.setup = words(&["false"]))),
    );
    is(
        NotRun::Table,
        &world.failed_to_run(&with(&|table| table.report = globs(&["*.bin"]))),
    );
    for kept in ["target", "/../x", "/", "/.git", "/**/target"] {
        is(
            NotRun::Table,
            &world.failed_to_run(&with(&|table| table.keep = words(&[kept]))),
        );
    }
    for file in ["run.sh", "absent", "../outside", ".git/config"] {
        is(
            NotRun::Files,
            &world.failed_to_run(&with(&|table| table.files = words(&[file]))),
        );
    }
    let mut slow = with(&|table| table.commands = vec![words(&["sleep", "100"])]);
    slow.table.timeout = Period::from_milliseconds(100);
    let why = world.failed_to_run(&slow);
    is(NotRun::Limit, &why);
    assert!(why.log.is_some_and(|log| log.is_file()));
    // A pointer is one only where git says that Git LFS keeps the file.
    assert_eq!(world.outcome(&with(&|_| {})), "passed");
    world.commit(&[(".gitattributes", "*.bin filter=lfs\n")]);
    is(NotRun::Pointer, &world.failed_to_run(&with(&|_| {})));
}

#[test]
fn no_process_outlives_a_run_or_holds_it_up() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let alive = world.root().join("alive");
    let mark = alive.display();
    // Each writes its number, so that the test can look for it, and has its name before the run ends.
    let named = format!("echo $! > {mark}; until grep -q sleep /proc/$!/comm; do :; done");
    for (script, name) in [
        (format!("sleep 1000 & {named}"), "sleep"),
        (format!("(sleep 1000 & {named}); true"), "sleep"),
        (format!("setsid sleep 1000 & {named}"), "sleep"),
        (
            format!(
                "sh -c 'trap \"\" TERM; echo $$ > {mark}; while :; do sleep 0.05; done' & until test -s {mark}; do :; done"
            ),
            "sh",
        ),
    ] {
        let asked = ask(sh(&script));
        let ran = world.ran(&asked);
        let leftovers = &ran.result.run.leftovers;
        assert!(
            leftovers.iter().any(|left| left == name),
            "{script}: {leftovers:?}"
        );
        assert!(ran.result.run.because.is_empty());
        assert!(!lives(&alive), "{script}");
        let mut limited = ask(sh(&format!("{script}; sleep 1000")));
        limited.table.timeout = Period::from_milliseconds(300);
        is(NotRun::Limit, &world.failed_to_run(&limited));
        assert!(!lives(&alive), "{script}");
    }
}

/// Whether the process lives whose number is in a file.
fn lives(file: &Path) -> bool {
    let number = fs::read_to_string(file).expect("a number");
    let stat = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn what_a_killed_process_left_is_ended_and_a_run_can_be_stopped() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let asked = ask(sh("test ! -e planted"));
    assert_eq!(world.because(&asked), []);
    let root = world.checkout(&asked);
    // As if it had been started by a run that was killed: it goes on to write into the checkout.
    #[expect(
        clippy::disallowed_methods,
        reason = "a process that a killed run has left"
    )]
    let mut left = Command::new("sh")
        .args(["-c", "while :; do touch planted; done"])
        .current_dir(&root)
        .env("ORCH_VERIFICATION", &root)
        .spawn()
        .expect("sh");
    assert_eq!(world.because(&asked), []);
    assert!(!left.wait().expect("ended").success());
    // Killed while it prepares the checkout: what is half there is replaced.
    fs::write(root.join(".git/index.lock"), "").expect("written");
    fs::write(root.join(".git/HEAD"), "").expect("written");
    assert_eq!(world.because(&asked), []);
    let stop = world.root().join("stop");
    let waits = ask(sh(&format!("touch {}; sleep 1000", stop.display())));
    is(NotRun::Stopped, &world.failed_to_run(&waits));
    fs::remove_file(&stop).expect("removed");
    assert_eq!(world.because(&asked), []);
}

#[test]
fn a_run_sees_nothing_of_the_user_that_its_table_does_not_name() {
    let mut world = World::new();
    world.commit(&[(".gitignore", ".env.test\n")]);
    world.write(".env.test", "SECRET=1\n");
    // As a hook of git finds it, and a shell with a virtual environment.
    let index = world
        .repo()
        .join(".git/index")
        .to_string_lossy()
        .into_owned();
    for (name, value) in [
        ("PYTEST_ADDOPTS", "--collect-only"),
        ("MAKEFLAGS", "n"),
        ("GIT_DIR", ".git"),
        ("GIT_INDEX_FILE", &index),
        ("GIT_WORK_TREE", "/"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("TOKEN", "abcdef"),
    ] {
        world.more.insert(name.to_owned(), value.to_owned());
    }
    let script = "test -z \"$PYTEST_ADDOPTS$MAKEFLAGS$TOKEN\" && test \"$CI$TERM\" = truedumb && test -z \"$(ls $TMPDIR)\" && \
        touch $TMPDIR/x && test ! -e .env.test && test \"$(git rev-parse --show-toplevel)\" = \"$PWD\" && \
        test \"$CARGO_TARGET_DIR\" = \"$PWD/target\" && test \"$PWD\" != \"${PWD#*/cache/}\"";
    let mut asked = ask(sh(script));
    for _ in 0..2 {
        let ran = world.ran(&asked);
        assert_eq!(
            (ran.result.run.because, ran.result.run.given),
            (vec![], None)
        );
    }
    asked.table = sh("test \"$TOKEN\" = abcdef && grep -q SECRET=1 .env.test");
    asked.table.env = words(&["TOKEN"]);
    asked.table.files = words(&[".env.test"]);
    let given = |world: &World, asked: &Asked| {
        let run = world.ran(asked).result.run;
        assert!(run.because.is_empty(), "{run:?}");
        run.given.expect("a digest")
    };
    let first = given(&world, &asked);
    assert_eq!(given(&world, &asked), first);
    world.write(".env.test", "SECRET=1\nMORE=1\n");
    let second = given(&world, &asked);
    assert!(second != first && !second.contains("abcdef"));
    // Another clone has another key.
    fs::remove_file(world.repo().join(".git/orch/verify.key")).expect("a key");
    assert_ne!(given(&world, &asked), second);
}

#[test]
fn failures_are_told_without_the_places_of_this_machine() {
    let mut world = World::new();
    world.commit(&[
        ("tests/a.t", "pass\n"),
        ("tests/b.t", "fail\n"),
        ("tests/c.t", "skip\n"),
    ]);
    let mut asked = ask(runner());
    let ran = world.ran(&asked);
    let run = &ran.result.run;
    assert_eq!(run.because, [NotPassed::Exit, NotPassed::Failures]);
    assert_eq!(ran.result.tests.passed, ["a"]);
    assert_eq!(ran.result.tests.failed, ["b"]);
    let counts = &run.counts;
    assert_eq!(
        (counts.tests, counts.passed, counts.failed, counts.skipped),
        (2, 1, 1, 1)
    );
    let failure = &run.failures[0];
    assert_eq!(failure.message.as_deref(), Some("no in src/a.rs"));
    assert_eq!(run.reports[0].path, "junit.xml");
    world.more.insert("TOKEN".to_owned(), "src/a.rs".to_owned());
    asked.table.env = words(&["TOKEN"]);
    let message = world.ran(&asked).result.run.failures[0].message.clone();
    assert_eq!(message.as_deref(), Some("no in [TOKEN]"));
}

#[test]
fn each_try_is_recorded_and_a_late_pass_is_flaky() {
    let world = World::new();
    world.commit(&[("tests/a.t", "pass\n"), ("tests/b.t", "fail\n")]);
    let mut asked = ask(runner());
    // It counts outside the checkout, as a test with chance in it does.
    let count = world.root().join("count");
    let script = format!(
        "echo x >> {0}; test $(wc -l < {0}) -lt 3 || echo pass > tests/b.t; sh run.sh; r=$?; git checkout -q tests; exit $r",
        count.display()
    );
    asked.table.commands = vec![words(&["sh", "-c", &script])];
    asked.table.retries = 1;
    let ran = world.ran(&asked);
    assert_eq!(ran.result.run.tries.len(), 1);
    assert_eq!(ran.result.run.tries[0].failed, ["b"]);
    assert_eq!(ran.result.tests.failed, ["b"]);
    fs::write(&count, "x\n").expect("written");
    let ran = world.ran(&asked);
    assert_eq!(ran.result.run.because, []);
    assert_eq!(ran.result.tests.flaky, ["b"]);
    assert_eq!(ran.result.tests.passed, ["a"]);
    assert!(statement(&ran.result).contains("WARNED"));
}

#[test]
fn output_is_passed_on_and_kept() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let asked = ask(sh("echo one; echo two >&2; printf three"));
    let mut lines = Vec::new();
    let mut parts = Vec::new();
    let verified = world.watch(&asked, &mut |event| match event {
        VerifyEvent::Line(line) => lines.push(line.to_owned()),
        VerifyEvent::Begins(part) => parts.push(format!("{part:?}")),
        _ => {}
    });
    let VerifyOutcome::Ran(ran) = verified else {
        panic!("{verified:?}")
    };
    assert_eq!(lines[1..], ["one", "two", "three"]);
    assert!(parts[0].starts_with("Checkout(Code)") && parts[1].starts_with("Command(Code"));
    let log = fs::read(&ran.log).expect("a log");
    assert!(log.starts_with(b"$ sh -c ") && log.ends_with(b"one\ntwo\nthree"));
    assert_eq!(ran.result.run.log, ObjectFormat::Sha1.blob(&log));
    // Of a flood the beginning and the end stay.
    let flood = ask(sh("head -c 9000000 /dev/zero | tr '\\0' x; echo; echo end"));
    let log = fs::read(world.ran(&flood).log).expect("a log");
    assert!(log.starts_with(b"$ sh -c ") && log.len() < 5 << 20 && log.ends_with(b"x\nend\n"));
}

#[test]
fn a_fence_keeps_the_network_away_or_says_that_there_is_none() {
    let world = World::new();
    world.commit(&[("a", "a\n")]);
    let script = "test $(grep -c : /proc/net/dev) = 1 && ! grep -q eth /proc/net/dev";
    let mut asked = ask(sh(script));
    asked.table.network = false;
    let outcome = world.outcome(&asked);
    assert!(
        ["passed", "not run: network", "not run: command-not-found"].contains(&&*outcome),
        "{outcome}"
    );
}

#[test]
fn a_patch_is_applied_exactly_or_that_is_the_failure() {
    let world = World::new();
    world.commit(&[("tests/a.t", "pass\n")]);
    world.write("tests/a.t", "fail\n");
    world.write("tests/new.t", "pass\n");
    world.git(&["add", "-AN"]);
    let patch = world.git(&["diff"]) + "\n";
    let bare = world.git(&["diff", "--no-prefix"]) + "\n";
    world.git(&["reset", "-q", "--hard"]);
    let mut asked = ask(runner());
    let before = world.git(&["status", "--porcelain"]);
    for text in [patch, bare] {
        asked.patch = Some(text.into_bytes());
        let ran = world.ran(&asked);
        assert_eq!(ran.result.tests.failed, ["a"]);
        assert_eq!(ran.result.tests.passed, ["new"]);
    }
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    for other in ["no patch\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-q\n+r\n"] {
        asked.patch = Some(other.as_bytes().to_vec());
        assert_eq!(world.because(&asked), [NotPassed::Patch], "{other}");
    }
    asked.patch = None;
    assert_eq!(world.because(&asked), []);
}
