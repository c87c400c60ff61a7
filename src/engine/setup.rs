//! Opening an engine: find the root, read the configuration, lay the repository's texts over what ships.

use super::{Caller, Engine, Error, workflows};
use crate::base::{Diagnostic, RepoPath};
use crate::config;
use crate::scan::{Limits, Schemas, Verdicts};
use crate::store::{self, Store};
use crate::workflow::System;
use std::path::{Path, PathBuf};

/// Where contents known to be valid are kept; another reader of artifacts gets another name.
const KNOWN_VALID: &str = concat!("valid-", env!("CARGO_PKG_VERSION"));

impl Engine {
    /// Opens the repository that `start` lies in; outside git, the nearest directory with an
    /// `orch.toml`, else `start` itself.
    ///
    /// A faulty configuration does not keep it from opening: what is faulty falls back to its
    /// default and is among [`Engine::findings`].
    pub fn open(start: &Path, caller: Caller) -> Result<Self, Error> {
        let start = start.canonicalize().map_err(|error| no_directory(start, &error))?;
        let found = Store::discover(&start, store::Options::default())?;
        let root = found.as_ref().map_or_else(|| configured_root(&start), |store| store.root().to_owned());
        if let Some(store) = &found {
            // A killed process may have left a transition half placed; everybody who looks finishes it.
            // Where that is not possible now, the next one does.
            let _ = store.recover_leftovers();
        }
        let (text, unreadable) = match read_text(&root.join(config::FILE)) {
            Ok(text) => (text.unwrap_or_default(), None),
            Err(error) => {
                let message = format!("{} cannot be read: {error}", config::FILE);
                (String::new(), Some(Diagnostic::error("config-unreadable", message)))
            }
        };
        let (config, mut findings) = config::parse(&text, config::FILE);
        findings.extend(unreadable);
        let store = found.map(|store| {
            store.with_options(store::Options {
                detached_head: config.git.detached_head,
                protected: config.git.protected.clone(),
            })
        });
        let verdicts =
            store.as_ref().map_or_else(Verdicts::default, |store| Verdicts::kept_in(store.own(KNOWN_VALID)));
        let (system, system_on_disk) = overlay(&root, &config.system, &mut findings);
        findings.extend(config::unknown_workflows(&text, config::FILE, &workflows::names(&system)));
        Ok(Self {
            root,
            config,
            store,
            system,
            system_on_disk,
            schemas: Schemas::default(),
            verdicts,
            workflows: workflows::Cache::default(),
            caller,
            findings,
        })
    }

    /// Reads configuration and texts anew, after they have changed.
    pub(super) fn reload(&mut self) -> Result<(), Error> {
        let fresh = Self::open(&self.root, self.caller.clone())?;
        let verdicts = std::mem::take(&mut self.verdicts);
        *self = Self { verdicts, ..fresh };
        Ok(())
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { bytes: self.config.limit_bytes }
    }
}

fn no_directory(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("{} cannot be opened: {error}", path.display());
    Diagnostic::error("no-directory", message).hint("name a directory that exists with -C").into()
}

/// The nearest directory at or above `start` that holds an `orch.toml`, else `start`.
fn configured_root(start: &Path) -> PathBuf {
    start.ancestors().find(|directory| directory.join(config::FILE).is_file()).unwrap_or(start).to_owned()
}

/// The text of a file; `None` if there is none.
fn read_text(path: &Path) -> std::io::Result<Option<String>> {
    // A pipe in the place of a file would be waited for for ever.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(std::io::Error::other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What ships, with every workflow, schema and agent text of the repository laid over it.
fn overlay(root: &Path, directory: &RepoPath, findings: &mut Vec<Diagnostic>) -> (System, bool) {
    let mut system = System::shipped();
    let base = directory.under(root);
    let mut any = false;
    for (folder, suffix) in [("workflows", ".md"), ("schemas", ".schema.json"), ("agents", ".md")] {
        let Ok(entries) = std::fs::read_dir(base.join(folder)) else { continue };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(suffix))
            .collect();
        names.sort_unstable();
        for name in names {
            let path = format!("{folder}/{name}");
            match read_text(&base.join(&path)) {
                Ok(Some(text)) => {
                    any = true;
                    // A checkout may have converted line endings; every clone must compute one digest.
                    system.insert(path, text.replace("\r\n", "\n"));
                }
                Ok(None) => {}
                Err(error) => findings.push(Diagnostic::error(
                    "system-unreadable",
                    format!("{directory}/{path} cannot be read: {error}"),
                )),
            }
        }
    }
    (system, any)
}
