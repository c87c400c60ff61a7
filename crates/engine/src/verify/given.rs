//! What a run is given beside the judged code: files that git ignores, and values of variables.

use super::CouldNotRun;
use super::places::{make, system};
use super::reports::is_real;
use orch_base::{RepoPath, hexadecimal};
use orch_core::verification::{NotRun, VerifyTable};
use orch_files::{open_regular, read_up_to};
use orch_git::durable::{PrivateFile, read_private};
use orch_git::{SeparateEntry, Store};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A larger file is not copied.
const LARGEST: u64 = 64 << 20;
/// The file with the key, in the directory of `orch` in the git directory.
const KEY: &str = "verify.key";

/// Copies the files of the table from the user's work tree into a checkout. Returns their paths and bytes.
pub(super) fn copy_files(
    store: &Store,
    table: &VerifyTable,
    entries: &[SeparateEntry],
    checkout: &Path,
) -> Result<Vec<(String, Vec<u8>)>, CouldNotRun> {
    let layout = store.layout();
    let mut copied = Vec::new();
    for text in &table.files {
        let refuse = |message: String| CouldNotRun::new(NotRun::Files, message);
        let path = RepoPath::new(text)
            .map_err(|_| refuse(format!("`files` names {text}, which is no path of a file")))?;
        if text
            .split('/')
            .any(|part| part.eq_ignore_ascii_case(".git"))
        {
            return Err(refuse(format!(
                "`files` names {text}, which belongs to git"
            )));
        }
        let is_tracked = entries.iter().any(|entry| entry.path == *text);
        let is_ignored = layout
            .ignores(&path)
            .map_err(|error| refuse(error.message().to_owned()))?;
        if is_tracked || !is_ignored {
            let mut why = refuse(format!(
                "`files` names {text}, which git does not ignore: only the judged code and ignored files reach a run"
            ));
            why.hint = Some("commit it, or add it to .gitignore".into());
            return Err(why);
        }
        let source = path.under(layout.root());
        let place = path.under(checkout);
        let read = open_regular(&source).and_then(|file| match file {
            Some(file) => Ok(Some((
                read_up_to(&file, LARGEST)?,
                file.metadata()?.permissions().mode(),
            ))),
            None => Ok(None),
        });
        let (bytes, mode) = match read {
            Ok(Some((Some(bytes), mode))) => (bytes, mode),
            Ok(Some((None, _))) => {
                return Err(refuse(format!("{text} is larger than {LARGEST} bytes")));
            }
            Ok(None) => return Err(refuse(format!("{text} is not a regular file"))),
            Err(error) => {
                let mut why = refuse(format!("{text}, which `files` names: {error}"));
                why.hint = Some(format!("make {text} in the work tree").into());
                return Err(why);
            }
        };
        let above = place.parent().unwrap_or(checkout);
        let written = make(above).and_then(|()| {
            if !is_real(checkout, Path::new(text)) {
                return Err(std::io::ErrorKind::NotADirectory.into());
            }
            let _ = fs::remove_file(&place);
            fs::write(&place, &bytes)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(mode & 0o777))
        });
        written.map_err(|error| system(&place, &error))?;
        copied.push((text.clone(), bytes));
    }
    Ok(copied)
}

/// A digest of the values of `env` and of the copied files, which only this clone can make: else a short secret could be
/// guessed from it. `None` if there are none.
pub(super) fn keyed_digest(
    store: &Store,
    table: &VerifyTable,
    caller: &BTreeMap<String, String>,
    files: &[(String, Vec<u8>)],
) -> Result<Option<String>, CouldNotRun> {
    if table.env.is_empty() && files.is_empty() {
        return Ok(None);
    }
    let key = key(store)?;
    let mut inner = Sha256::new_with_prefix(&key);
    let mut add = |kind: &str, name: &str, value: Option<&[u8]>| {
        let length = value.map(<[u8]>::len);
        inner.update(format!("{kind} {name} {length:?}\0"));
        inner.update(value.unwrap_or_default());
    };
    for name in &table.env {
        add("env", name, caller.get(name).map(String::as_bytes));
    }
    for (path, bytes) in files {
        add("file", path, Some(bytes));
    }
    let mut outer = Sha256::new_with_prefix(&key);
    outer.update(inner.finalize());
    Ok(Some(hexadecimal(&outer.finalize())))
}

/// The key of this clone, which is made once.
fn key(store: &Store) -> Result<Vec<u8>, CouldNotRun> {
    let layout = store.layout();
    let path = layout.own(KEY);
    let failed = |error| system(&path, &error);
    if let PrivateFile::Own(key) = read_private(&path).map_err(failed)?
        && !key.is_empty()
    {
        return Ok(key);
    }
    let key = crate::random(32).map_err(failed)?.into_bytes();
    layout
        .keep_private(KEY, &key)
        .map_err(|error| CouldNotRun::new(NotRun::System, error.message()))?;
    Ok(key)
}
