//! Whether the files of a task can serve as evidence: not ignored by git, and not altered by a filter.

use super::basis::LookBasis;
use super::{Error, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Place, RepoPath};
use orch_git::Store;
use orch_read::Observed;
use std::borrow::Cow;

impl Reader {
    /// A finding for each declared artifact that git ignores, because no transition could commit it. Returns
    /// an error if git cannot be read.
    pub fn ignored_evidence(&self, sight: &Sight) -> Result<Vec<Diagnostic>, Error> {
        self.ignored_files(
            (&sight.task, &sight.observed),
            sight.head_commit(),
            &LookBasis::default(),
        )
    }

    /// The same, for what was observed of a task under this commit. The basis notes what git was asked about.
    pub(super) fn ignored_files(
        &self,
        (task, observed): (&TaskRef, &Observed),
        head: Option<Digest>,
        basis: &LookBasis,
    ) -> Result<Vec<Diagnostic>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.commits()) else {
            return Ok(Vec::new());
        };
        let paths = ignored((store, head), observed, &task.transcript_path(), |path| {
            let is_ignored = store.filters().is_ignored(path)?;
            basis.note_ignored(path, is_ignored);
            Ok(is_ignored)
        })?;
        let finding = |path: &RepoPath| {
            let message = "git ignores this file, so no transition can commit it as evidence";
            Diagnostic::error(Code::EvidenceIgnored, message)
                .at(Place::file(path))
                .hint(IGNORED_HINT)
        };
        Ok(paths.iter().map(finding).collect())
    }

    /// A finding for each of orch's own files that a git filter would alter. orch commits them unfiltered, so
    /// that every clone can read them, and git then shows them as modified. Returns an error if a filter
    /// fails.
    pub fn filtered(&self, sight: &Sight) -> Result<Vec<Diagnostic>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.commits()) else {
            return Ok(Vec::new());
        };
        let state = sight
            .observed
            .state
            .as_ref()
            .map(|file| file.bytes.as_slice());
        // If the end of a log was enough, it is already known that nothing changes it.
        let transcript = sight.observed.log.whole();
        let files = [
            (sight.task.state_path(), state),
            (sight.task.transcript_path(), transcript),
        ];
        let mut found = Vec::new();
        for (path, bytes) in files {
            let Some(bytes) = bytes else { continue };
            if store
                .filters()
                .alters(&path, &with_own_line_endings(bytes.into()))?
            {
                let message = "a filter in .gitattributes alters this file; orch commits it unfiltered, so git shows it as modified";
                let hint = format!(
                    "add at the end of .gitattributes: {} -filter -ident",
                    path.name()
                );
                found.push(
                    Diagnostic::warning(Code::OwnFileFiltered, message)
                        .at(Place::file(&path))
                        .hint(hint),
                );
            }
        }
        Ok(found)
    }
}

/// Removes the carriage returns of a checkout that converts line endings; JSON itself contains none.
pub(crate) fn with_own_line_endings(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'\r') {
        return bytes;
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let own = lines.flat_map(|line| {
        line.strip_suffix(b"\r\n")
            .map_or([line, b""], |text| [text, b"\n"])
    });
    Cow::Owned(own.flatten().copied().collect())
}

/// The hint for a declared artifact that git ignores.
pub(crate) const IGNORED_HINT: &str = "un-ignore it in .gitignore, or set `commit = false` at the artifact, or `[git] commit = \"off\"` in orch.toml";

/// The declared artifacts, and the log, that git ignores, as `is_ignored` says, and HEAD does not contain.
pub(crate) fn ignored(
    (store, head): (&Store, Option<Digest>),
    observed: &Observed,
    log: &RepoPath,
    is_ignored: impl Fn(&RepoPath) -> Result<bool, Error>,
) -> Result<Vec<RepoPath>, Error> {
    let declared = observed
        .files
        .iter()
        .filter(|file| file.commit)
        .map(|file| &file.path);
    let mut found = Vec::new();
    let head = store.objects().source_at(head);
    for path in declared.chain(std::iter::once(log)) {
        if head.blob_at(path)?.is_none() && is_ignored(path)? {
            found.push(path.clone());
        }
    }
    Ok(found)
}
