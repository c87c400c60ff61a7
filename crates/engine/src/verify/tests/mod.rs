//! Runs of verifications in repositories made for them, with git and sh alone.

mod bases;
mod checkouts;
mod outcomes;

use super::{
    ClaimedCheckout, CouldNotRun, Judged, RanVerification, VerifyEvent, VerifyOutcome, VerifyPlace,
    VerifyRequest, VerifyWatch, verify,
};
use orch_base::{Digest, ObjectFormat, Patterns, Period, TaskId, VerificationName};
use orch_core::verification::{
    FoundBy, NotPassed, NotRun, PatchedCode, VerifiedBase, VerifiedCode, VerifyTable,
    read_statement, statement,
};
use orch_git::{Environment, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test runner: each file `tests/NAME.t` is a test, and says `pass`, `fail` or `skip`.
const RUNNER: &str = "#!/bin/sh\nbad=0\n{ echo '<testsuite name=\"s\">'\nfor t in tests/*.t; do n=$(basename \"$t\" .t)\n\
    case $(cat \"$t\") in pass) echo \"<testcase name='$n'/>\";;\n\
    skip) echo \"<testcase name='$n'><skipped/></testcase>\";;\n\
    *) bad=1; echo \"<testcase name='$n'><failure message='no in $PWD/src/a.rs'/></testcase>\";; esac; done\n\
    echo '</testsuite>'; } > junit.xml\nexit $bad\n";

/// A repository, a cache and a home directory.
struct World {
    home: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    /// What the caller's environment has beside.
    more: BTreeMap<String, String>,
    format: ObjectFormat,
}

/// One request, to be changed before it is made.
struct Asked {
    task: &'static str,
    name: &'static str,
    table: VerifyTable,
    base: Option<Digest>,
    exempt: &'static [&'static str],
    fresh: bool,
    most: usize,
    patch: Option<Vec<u8>>,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn globs(globs: &[&str]) -> Patterns {
    Patterns::new(globs.iter().copied()).expect("globs")
}

/// A table with a command of the shell, and no report.
fn sh(script: &str) -> VerifyTable {
    VerifyTable {
        setup: Vec::new(),
        setup_key: Patterns::default(),
        commands: vec![words(&["sh", "-c", script])],
        report: Patterns::default(),
        paths: Patterns::default(),
        timeout: Period::from_seconds(60),
        keep: Vec::new(),
        protect: Patterns::default(),
        env: Vec::new(),
        files: Vec::new(),
        network: true,
        retries: 0,
        allow_empty: false,
    }
}

/// The table of the runner above.
fn runner() -> VerifyTable {
    let mut table = sh("sh run.sh");
    table.report = globs(&["junit.xml"]);
    table
}

fn ask(table: VerifyTable) -> Asked {
    Asked {
        task: "one",
        name: "tests",
        table,
        base: None,
        exempt: &[],
        fresh: false,
        most: VerifyPlace::MOST,
        patch: None,
    }
}

impl World {
    fn new() -> Self {
        Self::of(ObjectFormat::Sha1)
    }

    fn of(format: ObjectFormat) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path().canonicalize().expect("a path");
        let path = std::env::var_os("PATH").expect("a PATH");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let environment = BTreeMap::from([
            ("PATH".to_owned(), path.to_string_lossy().into_owned()),
            ("HOME".to_owned(), text(root.join("home"))),
            ("TMPDIR".to_owned(), text(root.join("tmp"))),
        ]);
        for name in ["home", "tmp", "cache", "repo"] {
            fs::create_dir(root.join(name)).expect("made");
        }
        let world = Self {
            home,
            environment,
            more: BTreeMap::new(),
            format,
        };
        let option = match format {
            ObjectFormat::Sha1 => "--object-format=sha1",
            ObjectFormat::Sha256 => "--object-format=sha256",
        };
        world.git(&["init", "-q", "-b", "main", option]);
        world.write("run.sh", RUNNER);
        world
    }

    fn root(&self) -> PathBuf {
        self.home.path().canonicalize().expect("a path")
    }

    fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    fn cache(&self) -> PathBuf {
        self.root().join("cache")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repo(), arguments)
    }

    fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        #[expect(clippy::disallowed_methods, reason = "the repository of a test")]
        let output = Command::new("git")
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(&self.environment)
            .envs([
                ("GIT_AUTHOR_NAME", "A"),
                ("GIT_AUTHOR_EMAIL", "a@b"),
                ("GIT_COMMITTER_NAME", "A"),
                ("GIT_COMMITTER_EMAIL", "a@b"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
            ])
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        said
    }

    /// Commits everything, after these files were written; an empty text removes one.
    fn commit(&self, files: &[(&str, &str)]) -> Digest {
        for (path, text) in files {
            if text.is_empty() {
                fs::remove_file(self.repo().join(path)).expect("removed");
            } else {
                self.write(path, text);
            }
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "change"]);
        self.head()
    }

    fn head(&self) -> Digest {
        Digest::parse(&self.git(&["rev-parse", "HEAD"])).expect("a commit")
    }

    /// The path of the checkout of a request.
    fn checkout(&self, asked: &Asked) -> PathBuf {
        let entries = fs::read_dir(self.cache()).expect("a cache").flatten();
        let repository = entries.map(|entry| entry.path()).next().expect("one");
        repository.join(asked.task).join(asked.name)
    }

    /// Verifies the present HEAD.
    fn verify(&self, asked: &Asked) -> VerifyOutcome {
        self.watch(asked, &mut |_| {})
    }

    fn watch(&self, asked: &Asked, hear: &mut dyn FnMut(VerifyEvent<'_>)) -> VerifyOutcome {
        let store = Store::discover(&self.repo(), &Environment::default())
            .expect("a repository")
            .expect("a repository");
        let head = self.head();
        let task = TaskId::new(asked.task).expect("an id");
        let name = VerificationName::new(asked.name).expect("a name");
        let code = self.format.blob(head.to_string().as_bytes());
        let (judged, code) = match &asked.patch {
            None => (Judged::Commit(head), VerifiedCode::Commit(code)),
            Some(bytes) => {
                let blob = self.format.blob(bytes);
                let judged = Judged::Patch {
                    on: head,
                    blob,
                    bytes,
                };
                let code = PatchedCode {
                    patch: blob,
                    on: code,
                };
                (judged, VerifiedCode::Patch(code))
            }
        };
        let exempt = globs(asked.exempt);
        let request = VerifyRequest {
            store: &store,
            task: &task,
            name: &name,
            table: &asked.table,
            judged,
            code,
            base: asked.base.map(|commit| VerifiedBase {
                commit,
                code: commit,
                by: FoundBy::Branch,
            }),
            exempt: &exempt,
            uncommitted: 0,
            fresh: asked.fresh,
            only: None,
        };
        let cache = self.cache();
        let mut environment = self.environment.clone();
        environment.extend(self.more.clone());
        let place = VerifyPlace {
            cache,
            most: asked.most,
            environment,
            grace: Period::from_milliseconds(200),
        };
        let mut watch = VerifyWatch {
            wants_stop: &|| self.root().join("stop").exists(),
            hear,
        };
        let verified = match ClaimedCheckout::of(&store, &place, &task, &name, &mut watch) {
            Ok(claim) => verify(&request, &place, &claim, &mut watch),
            Err(why) => VerifyOutcome::CouldNotRun(why),
        };
        // Whatever came of it, it can be written and read again, and the user's repository is as it was.
        if let VerifyOutcome::Ran(ran) = &verified {
            let protected = ran.protected.iter().flatten();
            for result in std::iter::once(&ran.result).chain(protected) {
                let read = read_statement(&statement(result));
                assert!(read.is_ok(), "{read:?}");
            }
        }
        verified
    }

    fn ran(&self, asked: &Asked) -> RanVerification {
        match self.verify(asked) {
            VerifyOutcome::Ran(ran) => *ran,
            VerifyOutcome::CouldNotRun(why) => panic!("{why:?}"),
        }
    }

    fn failed_to_run(&self, asked: &Asked) -> CouldNotRun {
        match self.verify(asked) {
            VerifyOutcome::Ran(ran) => panic!("{:?}", ran.result.run),
            VerifyOutcome::CouldNotRun(why) => why,
        }
    }

    /// Why it did not pass; nothing if it passed.
    fn because(&self, asked: &Asked) -> Vec<NotPassed> {
        let ran = self.ran(asked);
        ran.result.run.because
    }

    /// Why it did not pass, or could not run, as words.
    fn outcome(&self, asked: &Asked) -> String {
        match self.verify(asked) {
            VerifyOutcome::CouldNotRun(why) => format!("not run: {}", why.reason.as_str()),
            VerifyOutcome::Ran(ran) => {
                let words: Vec<&str> = ran
                    .result
                    .run
                    .because
                    .iter()
                    .map(|why| why.as_str())
                    .collect();
                if words.is_empty() {
                    "passed".to_owned()
                } else {
                    words.join(" ")
                }
            }
        }
    }
}

fn is(reason: NotRun, why: &CouldNotRun) {
    assert_eq!(why.reason, reason, "{why:?}");
    assert!(!why.message.is_empty());
}
