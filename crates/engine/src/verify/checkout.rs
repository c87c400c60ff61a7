//! Makes a checkout hold exactly one tree, with its submodules and the contents of its large files.

use super::places::{CheckoutPlaces, CheckoutSlot, make, remove_tree, system};
use super::{CouldNotRun, VerifyPart, VerifyRequest, VerifySubject, VerifyWatch};
use crate::run::unstartable;
use orch_base::{Digest, Error, Patterns};
use orch_core::verification::NotRun;
use orch_files::open_regular;
use orch_git::{CloneSource, SeparateCheckout, SeparateClone, SeparateEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The objects of all checkouts of a repository, and where they come from.
pub(super) struct CheckoutMaker<'m> {
    pub request: &'m VerifyRequest<'m>,
    pub places: &'m CheckoutPlaces,
    pub environment: &'m BTreeMap<String, String>,
    /// The commits that are needed.
    pub commits: Vec<Digest>,
    pub clone: SeparateClone,
    /// The tree of the first of them.
    pub tree: Digest,
}

/// What to check out.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckoutTarget {
    pub tree: Digest,
    /// The commit that HEAD names.
    pub head: Digest,
    pub subject: VerifySubject,
}

/// A checkout that holds a tree, and those of its submodules.
pub(super) struct PlacedCode {
    pub checkout: SeparateCheckout,
    pub entries: Vec<SeparateEntry>,
    modules: Vec<PlacedModule>,
}

struct PlacedModule {
    path: String,
    clone: SeparateClone,
    checkout: SeparateCheckout,
}

/// Why a checkout could not be made: git failed, which another try may mend, or something that it does not.
enum CheckoutFault {
    Git(Error),
    Final(CouldNotRun),
}

impl From<Error> for CheckoutFault {
    fn from(error: Error) -> Self {
        Self::Git(error)
    }
}

impl From<CouldNotRun> for CheckoutFault {
    fn from(why: CouldNotRun) -> Self {
        Self::Final(why)
    }
}

/// How many submodules may lie in each other.
const DEEPEST: u32 = 10;
/// How a file begins that stands for one in Git LFS.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

impl<'m> CheckoutMaker<'m> {
    /// Brings a commit to the clone of the repository.
    pub(super) fn new(
        request: &'m VerifyRequest<'m>,
        places: &'m CheckoutPlaces,
        environment: &'m BTreeMap<String, String>,
        commit: Digest,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Self, CouldNotRun> {
        let _lock = places.lock_store(watch)?;
        let mut maker = Self {
            request,
            places,
            environment,
            commits: vec![commit],
            clone: open(request, places, environment)?,
            tree: commit,
        };
        if maker.can_read_large_files() {
            let common = request.store.layout().common_directory();
            maker.clone.use_large_files(common.join("lfs"));
        }
        let first = maker.bring().is_ok();
        let tree = match maker.clone.tree_of(commit) {
            Ok(tree) if first => Ok(tree),
            // Whatever is wrong with the objects, or with the source.
            _ => {
                maker.bring_anew()?;
                maker.clone.tree_of(commit)
            }
        };
        maker.tree = tree.map_err(|error| refused(NotRun::Checkout, &error))?;
        Ok(maker)
    }

    /// Brings one more commit.
    pub(super) fn bring_also(
        &mut self,
        commit: Digest,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<(), CouldNotRun> {
        let _lock = self.places.lock_store(watch)?;
        self.commits.push(commit);
        let brought = self.bring();
        if brought.is_err() {
            self.commits.pop();
        }
        brought
    }

    fn can_read_large_files(&self) -> bool {
        let path = self.environment.get("PATH").map(OsStr::new);
        unstartable("git-lfs", Path::new("/"), path).is_none()
    }

    fn bring(&self) -> Result<(), CouldNotRun> {
        let layout = self.request.store.layout();
        let source = CloneSource::Directory(layout.common_directory());
        let brought = self.clone.bring(source, &self.commits);
        brought.map_err(|error| {
            let is_shallow = layout.common_directory().join("shallow").is_file();
            if is_shallow {
                let mut why = refused(NotRun::Shallow, &error);
                why.message = format!("the repository is shallow and lacks a commit: {error}");
                why.hint = Some(orch_base::Hint::run(&["git", "fetch", "--unshallow"]));
                why
            } else {
                refused(NotRun::Checkout, &error)
            }
        })
    }

    /// Makes a checkout hold exactly a tree. What fails is made anew: first the checkout, then the objects too.
    pub(super) fn place(
        &self,
        slot: &CheckoutSlot,
        target: CheckoutTarget,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<PlacedCode, CouldNotRun> {
        (watch.hear)(super::VerifyEvent::Begins(VerifyPart::Checkout(
            target.subject,
        )));
        let _lock = self.places.lock_store(watch)?;
        let mut last = None;
        for round in 0..3 {
            match self.try_place(slot, target) {
                Ok(placed) => return Ok(placed),
                Err(CheckoutFault::Final(why)) => return Err(why),
                Err(CheckoutFault::Git(error)) => {
                    tracing::info!(%error, round, "a checkout is made anew");
                    slot.wipe().map_err(|error| system(&slot.root, &error))?;
                    if round == 1 && !self.has(target.tree) {
                        break;
                    }
                    if round == 1 {
                        self.bring_anew()?;
                    }
                    last = Some(error);
                }
            }
        }
        let why = last.map(|error| refused(NotRun::Checkout, &error));
        Err(why.unwrap_or_else(|| {
            let message = "the objects of the judged code cannot be read";
            CouldNotRun::new(NotRun::Checkout, message)
        }))
    }

    /// Whether the tree is one that a commit brings: others are lost with the objects.
    fn has(&self, tree: Digest) -> bool {
        self.commits.iter().any(|commit| {
            self.clone
                .tree_of(*commit)
                .map_or(true, |known| known == tree)
        })
    }

    fn bring_anew(&self) -> Result<(), CouldNotRun> {
        let directory = self.places.store();
        remove_tree(&directory).map_err(|error| system(&directory, &error))?;
        open(self.request, self.places, self.environment)?;
        self.bring()
    }

    fn try_place(
        &self,
        slot: &CheckoutSlot,
        target: CheckoutTarget,
    ) -> Result<PlacedCode, CheckoutFault> {
        let checkout = SeparateCheckout {
            root: slot.root.clone(),
            index: slot.index(""),
            head: target.head,
            tree: target.tree,
        };
        let keep = &self.request.table.keep;
        let entries = self.check_out(&self.clone, &checkout, keep, "")?;
        let mut placed = PlacedCode {
            checkout,
            entries,
            modules: Vec::new(),
        };
        let layout = self.request.store.layout();
        let above = ModulesAbove {
            clone: &self.clone,
            checkout: &placed.checkout,
            entries: &placed.entries,
            path: String::new(),
            git: layout.common_directory().to_owned(),
            url: layout
                .origin()
                .unwrap_or_else(|| layout.root().to_string_lossy().into_owned()),
        };
        let mut modules = Vec::new();
        self.fill(slot, &above, 0, &mut modules)?;
        placed.modules = modules;
        Ok(placed)
    }

    /// Makes the checkout of the whole or of a submodule hold its tree and the contents of its large files, and gives it a
    /// git directory. `prefix` is its path in the whole, with `/` behind, or empty. Returns what git tracks in it.
    fn check_out(
        &self,
        clone: &SeparateClone,
        checkout: &SeparateCheckout,
        keep: &[String],
        prefix: &str,
    ) -> Result<Vec<SeparateEntry>, CheckoutFault> {
        prepare(&checkout.root, keep)?;
        clone.place(checkout, keep)?;
        let entries = clone.entries(checkout)?;
        self.refuse_tracked_reports(&entries, prefix)?;
        self.fill_pointers(clone, checkout, &entries, prefix)?;
        clone.give_git(checkout)?;
        Ok(entries)
    }

    fn refuse_tracked_reports(
        &self,
        entries: &[SeparateEntry],
        prefix: &str,
    ) -> Result<(), CouldNotRun> {
        let reports = &self.request.table.report;
        let is_report =
            |entry: &&SeparateEntry| reports.matches(&format!("{prefix}{}", entry.path));
        let Some(entry) = entries.iter().find(is_report) else {
            return Ok(());
        };
        let message = format!(
            "git tracks {prefix}{}, which `report` names: a report must be written by the run",
            entry.path
        );
        let mut argv = vec!["git"];
        let module = prefix.trim_end_matches('/');
        if !module.is_empty() {
            argv.extend(["-C", module]);
        }
        argv.extend(["rm", "--cached", &entry.path]);
        let mut why = CouldNotRun::new(NotRun::Table, message);
        why.hint = Some(orch_base::Hint::run(&argv));
        Err(why)
    }

    /// Puts the contents of large files in the place of their pointers. `prefix` is the path of the checkout in the whole.
    fn fill_pointers(
        &self,
        clone: &SeparateClone,
        checkout: &SeparateCheckout,
        entries: &[SeparateEntry],
        prefix: &str,
    ) -> Result<(), CheckoutFault> {
        let is_left = |path: &String| is_pointer(&checkout.root.join(path));
        let mut pointers = clone.large(checkout, entries)?;
        pointers.retain(is_left);
        if pointers.is_empty() {
            return Ok(());
        }
        let missing = clone.fill(checkout, &pointers)?;
        let Some(path) = missing.or_else(|| pointers.into_iter().find(is_left)) else {
            return Ok(());
        };
        let message =
            format!("{prefix}{path} is a pointer of Git LFS, and its contents are missing");
        let mut why = CouldNotRun::new(NotRun::Pointer, message);
        why.hint = Some(if self.can_read_large_files() {
            orch_base::Hint::run(&["git", "lfs", "fetch", "--all"])
        } else {
            "install git-lfs".into()
        });
        Err(why.into())
    }

    /// Fills the submodules of a checkout, and those in them.
    fn fill(
        &self,
        slot: &CheckoutSlot,
        above: &ModulesAbove<'_>,
        depth: u32,
        filled: &mut Vec<PlacedModule>,
    ) -> Result<(), CheckoutFault> {
        let wanted: Vec<&SeparateEntry> = above
            .entries
            .iter()
            .filter(|entry| entry.is_submodule)
            .collect();
        if wanted.is_empty() || depth > DEEPEST {
            return Ok(());
        }
        let described = above.clone.submodules(above.checkout)?;
        for entry in wanted {
            // Without a description nobody can fill it, not even git.
            let Some(module) = described.iter().find(|module| module.path == entry.path) else {
                continue;
            };
            let path = format!("{}{}", above.path, entry.path);
            let url = resolved(&above.url, &module.url);
            let is_safe = !module.name.split('/').any(|part| part == "..");
            let git = above.git.join("modules").join(&module.name);
            let git = Some(git).filter(|git| is_safe && git.is_dir());
            let source = git
                .as_ref()
                .map_or_else(|| url.clone(), |git| git.to_string_lossy().into_owned());
            let directory = self.places.module(&source);
            let format = self.request.store.objects().format();
            make(directory.parent().unwrap_or(&directory))
                .map_err(|error| system(&directory, &error))?;
            let mut clone = SeparateClone::at(&directory, format, self.environment)?;
            if let Some(git) = git.as_ref().filter(|_| self.can_read_large_files()) {
                clone.use_large_files(git.join("lfs"));
            }
            let local = git.as_deref().map(CloneSource::Directory);
            let brought = match local.map(|source| clone.bring(source, &[entry.id])) {
                Some(Ok(())) => Ok(()),
                _ => clone.bring(CloneSource::Url(&url), &[entry.id]),
            };
            if let Err(error) = brought {
                let mut why = refused(NotRun::Submodule, &error);
                why.message = format!("the submodule {path} cannot be filled: {error}");
                why.hint = Some(orch_base::Hint::run(&[
                    "git",
                    "submodule",
                    "update",
                    "--init",
                    "--recursive",
                ]));
                return Err(why.into());
            }
            let checkout = SeparateCheckout {
                root: above.checkout.root.join(&entry.path),
                index: slot.index(&path),
                head: entry.id,
                tree: clone.tree_of(entry.id)?,
            };
            let keep: Vec<String> = self
                .request
                .table
                .keep
                .iter()
                .filter_map(|kept| kept.strip_prefix(&format!("/{path}")))
                .filter(|below| below.starts_with('/'))
                .map(str::to_owned)
                .collect();
            let prefix = format!("{path}/");
            let entries = self.check_out(&clone, &checkout, &keep, &prefix)?;
            let inside = ModulesAbove {
                clone: &clone,
                checkout: &checkout,
                entries: &entries,
                path: prefix,
                git: git.unwrap_or_default(),
                url,
            };
            self.fill(slot, &inside, depth + 1, filled)?;
            filled.push(PlacedModule {
                path,
                clone,
                checkout,
            });
        }
        Ok(())
    }
}

/// The clone of a repository. One that cannot be opened is made anew.
fn open(
    request: &VerifyRequest<'_>,
    places: &CheckoutPlaces,
    environment: &BTreeMap<String, String>,
) -> Result<SeparateClone, CouldNotRun> {
    let format = request.store.objects().format();
    let directory = places.store();
    if let Ok(clone) = SeparateClone::at(&directory, format, environment) {
        return Ok(clone);
    }
    remove_tree(&directory).map_err(|error| system(&directory, &error))?;
    SeparateClone::at(&directory, format, environment)
        .map_err(|error| refused(NotRun::Checkout, &error))
}

/// A checkout whose submodules are filled.
struct ModulesAbove<'a> {
    clone: &'a SeparateClone,
    checkout: &'a SeparateCheckout,
    entries: &'a [SeparateEntry],
    /// Its path in the whole, with `/` behind; empty for the whole.
    path: String,
    /// Its git directory in the user's repository.
    git: PathBuf,
    /// Where it comes from.
    url: String,
}

impl PlacedCode {
    /// The checkouts of the whole and of its submodules, each with its path.
    fn all<'p>(
        &'p self,
        clone: &'p SeparateClone,
    ) -> impl Iterator<Item = (String, &'p SeparateClone, &'p SeparateCheckout)> {
        let modules = self
            .modules
            .iter()
            .map(|module| (format!("{}/", module.path), &module.clone, &module.checkout));
        std::iter::once((String::new(), clone, &self.checkout)).chain(modules)
    }

    /// What is in the checkout beside the code: files, and directories of which nothing is in the code, with `/` behind.
    pub(super) fn others(&self, clone: &SeparateClone) -> Result<BTreeSet<String>, CouldNotRun> {
        let mut others = BTreeSet::new();
        for (prefix, clone, checkout) in self.all(clone) {
            let seen = clone
                .others(checkout)
                .map_err(|error| refused(NotRun::System, &error))?;
            others.extend(seen.into_iter().map(|path| format!("{prefix}{path}")));
        }
        Ok(others)
    }

    /// What a run has changed: paths of the judged files, and `HEAD` or `index` if they were. `is_judged` tells which paths
    /// count.
    pub(super) fn changes(
        &self,
        clone: &SeparateClone,
        is_judged: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, CouldNotRun> {
        let mut changed = Vec::new();
        for (prefix, clone, checkout) in self.all(clone) {
            let seen = clone
                .changes(checkout)
                .map_err(|error| refused(NotRun::System, &error))?;
            let files = seen.files.into_iter().map(|path| format!("{prefix}{path}"));
            changed.extend(files.filter(|path| is_judged(path)));
            if !seen.is_same_head {
                changed.push(format!("{prefix}.git/HEAD"));
            }
            if !seen.is_same_index {
                changed.push(format!("{prefix}.git/index"));
            }
        }
        changed.sort();
        Ok(changed)
    }
}

/// Makes the root of a checkout a directory, and leaves no link in the place of a kept directory: through one, a run would
/// use what lies elsewhere.
fn prepare(root: &Path, keep: &[String]) -> Result<(), CouldNotRun> {
    let failed = |error| system(root, &error);
    if root.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(root).map_err(failed)?;
    }
    make(root).map_err(failed)?;
    for kept in keep {
        for place in kept_places(root, kept) {
            let is_link = place
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink());
            if is_link {
                fs::remove_file(&place).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// The places that a kept directory names, with every directory on the way to them.
pub(super) fn kept_places(root: &Path, kept: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut level = vec![root.to_owned()];
    for part in kept.split('/').filter(|part| !part.is_empty()) {
        let Ok(pattern) = Patterns::new([part]) else {
            return all;
        };
        let mut next = Vec::new();
        for directory in level {
            let is_directory = directory
                .symlink_metadata()
                .is_ok_and(|found| found.is_dir());
            if !is_directory {
                continue;
            }
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let named = entries.filter(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| pattern.matches(name))
            });
            next.extend(named.map(|entry| entry.path()));
        }
        all.extend(next.iter().cloned());
        level = next;
    }
    all
}

/// Whether a file is a pointer in the place of a large file.
fn is_pointer(path: &Path) -> bool {
    let Ok(Some(file)) = open_regular(path) else {
        return false;
    };
    let mut begin = Vec::new();
    let read = file.take(POINTER.len() as u64).read_to_end(&mut begin);
    read.is_ok() && begin == POINTER
}

/// A URL as seen from another one, as git resolves it.
fn resolved(above: &str, url: &str) -> String {
    if !url.starts_with("./") && !url.starts_with("../") {
        return url.to_owned();
    }
    let mut base = above.trim_end_matches('/').to_owned();
    let mut rest = url;
    loop {
        if let Some(next) = rest.strip_prefix("./") {
            rest = next;
        } else if let Some(next) = rest.strip_prefix("../") {
            rest = next;
            let at = base.rfind('/').or_else(|| base.rfind(':'));
            base.truncate(at.unwrap_or(0));
        } else {
            return format!("{base}/{rest}");
        }
    }
}

/// The reason that git gave.
pub(super) fn refused(reason: NotRun, error: &Error) -> CouldNotRun {
    CouldNotRun {
        reason,
        message: error.message().to_owned(),
        hint: error.hint().cloned(),
        log: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_seen_from_others() {
        for (above, url, expected) in [
            ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
            ("https://h/a/b.git/", "./c", "https://h/a/b.git/c"),
            ("git@h:a/b.git", "../../c/d", "git@h/c/d"),
            ("/srv/b", "/srv/c", "/srv/c"),
        ] {
            assert_eq!(resolved(above, url), expected, "{url}");
        }
    }
}
