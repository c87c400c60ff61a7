//! What a run gets of the caller's environment: a fixed list, because a list of what is dangerous would never be complete.

use crate::run::unstartable;
use orch_core::verification::VerifyTable;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The variables that are passed on as they are.
const PASSED: [&str; 30] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "JAVA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOPROXY",
    "PYENV_ROOT",
    "NVM_DIR",
    "VOLTA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
];

/// The variables that `orch` sets.
const SET: [(&str, &str); 4] = [
    ("CI", "true"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The places that the environment names or leaves out.
pub(super) struct EnvironmentPlaces<'p> {
    /// The root of the checkout.
    pub checkout: &'p Path,
    /// The directory for temporary files.
    pub temporary: &'p Path,
    /// The root of the user's work tree.
    pub repository: &'p Path,
}

/// The variables of the caller that decide where checkouts are, and which programs are found.
const READ: [&str; 5] = [
    "PATH",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "XDG_CACHE_HOME",
];

/// The names of all variables of the caller that a run of a table may read.
pub fn variables_read(table: Option<&VerifyTable>) -> impl Iterator<Item = String> {
    let own = PASSED.into_iter().chain(READ).map(str::to_owned);
    own.chain(table.map(|table| table.env.clone()).unwrap_or_default())
}

/// The whole environment of the commands of a table.
pub(super) fn environment(
    caller: &BTreeMap<String, String>,
    table: &VerifyTable,
    places: &EnvironmentPlaces<'_>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut variables = BTreeMap::new();
    for name in PASSED {
        if let Some(value) = caller.get(name) {
            variables.insert(name.to_owned(), value.clone());
        }
    }
    variables
        .entry("LC_ALL".to_owned())
        .or_insert_with(|| "C.UTF-8".to_owned());
    for (name, value) in SET {
        variables.insert(name.to_owned(), value.to_owned());
    }
    variables.insert("PATH".to_owned(), search_path(caller, places.repository));
    variables.insert("TMPDIR".to_owned(), text(places.temporary));
    let target = places.checkout.join("target");
    variables.insert("CARGO_TARGET_DIR".to_owned(), text(&target));
    for name in &table.env {
        if let Some(value) = caller.get(name) {
            variables.insert(name.clone(), value.clone());
        }
    }
    variables
}

/// Why a program cannot be started in a run in a repository whose commands have this environment; `None` if it can.
#[must_use]
pub fn unfound_program(
    program: &str,
    repository: &Path,
    caller: &BTreeMap<String, String>,
) -> Option<String> {
    let path = search_path(caller, repository);
    unstartable(program, repository, Some(OsStr::new(&path)))
}

/// The `PATH` of the caller without virtual environments, without directories of the repository, and without what depends
/// on the working directory.
fn search_path(caller: &BTreeMap<String, String>, repository: &Path) -> String {
    let usual = "/usr/local/bin:/usr/bin:/bin".to_owned();
    let path = caller.get("PATH").unwrap_or(&usual);
    let prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| caller.get(*name))
        .map(PathBuf::from)
        .collect();
    let is_usable = |directory: &&str| {
        let directory = Path::new(directory);
        let real = directory.canonicalize();
        let real = real.as_deref().unwrap_or(directory);
        let is_of_project = [directory, real]
            .iter()
            .any(|seen| seen.starts_with(repository) || seen.ends_with("node_modules/.bin"));
        let is_virtual = prefixes.iter().any(|prefix| directory.starts_with(prefix))
            || directory
                .parent()
                .is_some_and(|above| above.join("pyvenv.cfg").is_file());
        directory.is_absolute() && !is_of_project && !is_virtual
    };
    let usable: Vec<&str> = path.split(':').filter(is_usable).collect();
    usable.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Patterns;

    #[test]
    fn only_what_is_listed_is_passed_on() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("a path");
        let venv = root.join("venv");
        std::fs::create_dir_all(venv.join("bin")).expect("made");
        std::fs::write(venv.join("pyvenv.cfg"), "").expect("written");
        let repository = root.join("repository");
        let path = format!(
            "{0}/venv/bin:{0}/active/bin:{0}/repository/bin::bin:/x/node_modules/.bin:/usr/bin",
            root.display()
        );
        let active = root.join("active").to_string_lossy().into_owned();
        let mut caller: BTreeMap<String, String> = [
            "PYTEST_ADDOPTS",
            "GOFLAGS",
            "MAKEFLAGS",
            "MAVEN_OPTS",
            "NODE_OPTIONS",
            "NODE_TEST_CONTEXT",
            "NODE_ENV",
            "RUSTFLAGS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "CARGO_TARGET_DIR",
            "PYTHONPATH",
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "LD_PRELOAD",
            "ORCH_RESULT",
            "TOKEN",
        ]
        .iter()
        .map(|name| ((*name).to_owned(), "bad".to_owned()))
        .collect();
        caller.insert("PATH".to_owned(), path);
        caller.insert("VIRTUAL_ENV".to_owned(), active);
        caller.insert("HOME".to_owned(), "/home/ann".to_owned());
        let mut table = VerifyTable {
            setup: Vec::new(),
            setup_key: Patterns::default(),
            commands: Vec::new(),
            report: Patterns::default(),
            paths: Patterns::default(),
            timeout: VerifyTable::TIMEOUT,
            keep: Vec::new(),
            protect: Patterns::default(),
            env: Vec::new(),
            files: Vec::new(),
            network: true,
            retries: 0,
            allow_empty: false,
        };
        let places = EnvironmentPlaces {
            checkout: Path::new("/c"),
            temporary: Path::new("/t"),
            repository: &repository,
        };
        let given = environment(&caller, &table, &places);
        let shown: Vec<String> = given.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            shown,
            [
                "CARGO_TARGET_DIR=/c/target",
                "CI=true",
                "GIT_TERMINAL_PROMPT=0",
                "HOME=/home/ann",
                "LC_ALL=C.UTF-8",
                "NO_COLOR=1",
                "PATH=/usr/bin",
                "TERM=dumb",
                "TMPDIR=/t"
            ]
        );
        table.env = vec!["TOKEN".to_owned(), "ABSENT".to_owned()];
        caller.insert("LC_ALL".to_owned(), "de_DE.UTF-8".to_owned());
        let given = environment(&caller, &table, &places);
        assert_eq!(
            (&*given["TOKEN"], &*given["LC_ALL"]),
            ("bad", "de_DE.UTF-8")
        );
        assert_eq!(given.len(), 10);
    }
}
