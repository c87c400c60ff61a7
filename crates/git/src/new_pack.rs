//! The files of a new pack, which stay only if something leads to its objects.

use super::durable;
use super::pack::PackFiles;
use orch_files::Directory;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

/// How the names of the files begin while they are written; what stays of them is removed by the next `orch` that takes
/// the lock of `git gc`, or by git. The number of the process follows, because the work trees of a repository share the
/// directory.
const NEW_PACK: &str = "tmp_pack_orch";
const NEW_INDEX: &str = "tmp_idx_orch";

/// The files of a new pack. Dropping it removes them, unless it is kept: nothing leads to its objects yet.
pub(super) struct NewPack {
    directory: Directory,
    /// The present names of the index and of the pack that this process gave them.
    names: [Option<String>; 2],
    /// The time of change of the pack, which git renews when it relies on an object in it.
    written: Option<SystemTime>,
    is_kept: Cell<bool>,
}

impl NewPack {
    /// Writes both files and syncs them, then gives them their names, the pack first: git looks for packs by their
    /// indexes. Whatever fails, no file of them stays.
    pub(super) fn write(base: &Path, directory: &Path, files: &PackFiles) -> io::Result<Self> {
        let directory = Directory::make(base, directory)?;
        let mut new = Self {
            directory,
            names: [None, None],
            written: None,
            is_kept: Cell::new(false),
        };
        let [index, pack] = [NEW_INDEX, NEW_PACK].map(own_name);
        let both = [
            new.create(1, &pack, &files.pack)?,
            new.create(0, &index, &files.index)?,
        ];
        both.iter().try_for_each(File::sync_all)?;
        new.written = Some(both[0].metadata()?.modified()?);
        for (number, present, extension) in [(1, pack, "pack"), (0, index, "idx")] {
            let name = format!("pack-{}.{extension}", files.name);
            // What others wrote under this name has the same bytes, and they may rely on it.
            let is_ours = new.directory.stamp(&name).is_none();
            new.directory.rename(present, &new.directory, &name)?;
            new.names[number] = is_ours.then_some(name);
        }
        Ok(new)
    }

    fn create(&mut self, number: usize, name: &str, bytes: &[u8]) -> io::Result<File> {
        self.directory.remove_if_there(name)?;
        let mut file = self.directory.create_unchanging(name)?;
        self.names[number] = Some(name.to_owned());
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Leaves the files where they are.
    pub(super) fn keep(&self) {
        self.is_kept.set(true);
    }

    /// Removes the files, unless git has come to rely on the pack. git looks for an object before it writes it, and
    /// sets the time of the pack where it finds it. It cannot do so once the pack has another name: from then on it
    /// writes its own.
    fn remove(&self) -> io::Result<()> {
        let [index, pack] = &self.names;
        let Some(pack) = pack else {
            return index
                .iter()
                .try_for_each(|name| self.directory.remove(name));
        };
        let aside = own_name(NEW_PACK);
        let at = &self.directory;
        if pack != &aside {
            at.rename(pack, at, &aside)?;
        }
        let path = self.directory.path().join(&aside);
        let is_as_written = |written: SystemTime| {
            path.symlink_metadata()
                .and_then(|file| file.modified())
                .ok()
                == Some(written)
        };
        if !self.written.is_none_or(is_as_written) {
            return at.rename(&aside, at, pack);
        }
        index
            .iter()
            .try_for_each(|name| self.directory.remove(name))?;
        self.directory.remove(&aside)
    }
}

impl Drop for NewPack {
    fn drop(&mut self) {
        if !self.is_kept.get()
            && let Err(error) = self.remove()
        {
            // Nothing leads to what stays, so that `git gc` removes it.
            tracing::warn!(%error, "cannot remove an abandoned pack");
        }
    }
}

/// The name of a file that this process writes.
pub(super) fn own_name(begin: &str) -> String {
    format!("{begin}-{}", std::process::id())
}

/// Removes the packs that killed `orch` processes did not finish. The caller holds the lock of `git gc`, as all do that
/// write one.
pub(super) fn remove_unfinished(objects: &Path) {
    let Ok(directory) = Directory::open(objects, &objects.join("pack")) else {
        return;
    };
    let own = std::process::id().to_string();
    for name in directory.names().unwrap_or_default() {
        let name = name.to_string_lossy();
        let process = [NEW_PACK, NEW_INDEX]
            .iter()
            .find_map(|begin| name.strip_prefix(begin)?.strip_prefix('-'));
        // This process has not begun one.
        let is_left = |process: &str| process == own || durable::is_dead(process);
        if process.is_some_and(is_left) {
            // git removes one that stays.
            let _ = directory.remove(&*name);
        }
    }
}
