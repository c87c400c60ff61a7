//! What was made of earlier looks, kept in the git directory together with all that the looks depended on.
//!
//! A command that shows many tasks, or begins to watch them, needs no look at one of which nothing has changed since: as
//! git trusts the stat data in its index, it trusts the stamps of the task's files, unless one is so young that another
//! change could leave it as it is. Nothing that is recorded rests on it: each step, the hook and the audit look for
//! themselves.
//!
//! The cache is split into files by a byte of the digest of the task's directory. Each names the program, the settings
//! and the digest of its own content, so that what another version wrote, or what is damaged, is not read. Deleting
//! the files loses nothing.

use super::listed::{ListedTask, Stamped, listed_digest};
use super::moved::{QuietPasts, is_far_back};
use super::others::Related;
use super::{Error, Look, Reader, Sight, TaskRef, Workspace};
use orch_base::{Digest, RepoPath, TaskId, locked};
use orch_core::config;
use orch_files::{Directory, FileStamp};
use orch_git::{caches, durable};
use orch_read::Observed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The number of files of a cache.
const PARTS: usize = 256;
/// A file that grows beyond this size keeps only the tasks that a command was about: others may be long gone.
const MAX_BYTES: usize = 8 << 20;

/// How to keep what a command makes of each look.
pub struct Keeper<R> {
    /// The text of what was made; `None` if it cannot be kept.
    pub to_text: fn(&R) -> Option<String>,
    /// What was made, given its text; `None` if it is no such text.
    pub of_text: fn(&str) -> Option<R>,
}

/// What was made of a look, and what the look depended on.
#[derive(Clone, Serialize, Deserialize)]
struct KeptLook {
    directory: RepoPath,
    /// The files of the task, if they can be compared without listing them.
    stamped: Option<Stamped>,
    /// The digest of the files of the task.
    listed: Digest,
    /// The digest of what HEAD held of it.
    held: Digest,
    /// The commit that was checked out, if the look has read the history.
    head: Option<Digest>,
    /// The name of the workflow and the commit that was checked out, if committed code can change what was made.
    code: Option<(String, Digest)>,
    /// Files outside the task, and whether they were there.
    files: Vec<(RepoPath, bool)>,
    /// Files of the task that git did not ignore, if that matters.
    unignored: Vec<RepoPath>,
    /// What it has seen of other tasks, if it has read any.
    others: Option<KeptOthers>,
    text: String,
}

/// What a look has seen of other tasks.
#[derive(Clone, Serialize, Deserialize)]
struct KeptOthers {
    related: Related,
    /// Those of which it was asked whether they are done on the base branch.
    on_base: Vec<TaskId>,
    /// The digest of what it has seen.
    seen: Digest,
}

impl KeptOthers {
    /// What a look at a task that is related so sees now. Returns an error if another task cannot be read.
    fn now(
        look: &Look<'_>,
        task: &TaskRef,
        related: Related,
        on_base: Vec<TaskId>,
    ) -> Result<Self, Error> {
        let others = look.others_of(task, &related)?;
        let done = look.done_on_base(&on_base)?;
        let seen = Digest::of_blob(format!("{others:?} {done:?}").as_bytes());
        Ok(Self {
            related,
            on_base,
            seen,
        })
    }

    /// Whether a look would see the same now.
    fn stand(&self, look: &Look<'_>, task: &TaskRef) -> bool {
        let now = Self::now(look, task, self.related.clone(), self.on_base.clone());
        now.is_ok_and(|now| now.seen == self.seen)
    }
}

/// What the search needs of a kept look.
#[derive(Deserialize)]
struct KeptStamps {
    directory: RepoPath,
    stamped: Option<Stamped>,
}

/// What is known of a task without a look.
pub(super) enum Recall<R> {
    /// What was made of an earlier look.
    Made(R),
    /// What a new look begins with.
    Anew(FirstPart),
}

/// The files of a task as a look lists them, and by what a later command compares them and what HEAD holds.
pub(super) struct FirstPart {
    list: ListedTask,
    listed: Option<Digest>,
    held: Option<Digest>,
    stamped: Option<Stamped>,
}

/// The part of a cache in one file.
#[derive(Default)]
struct KeptPart {
    /// The stamps of the tasks, once the search has asked for them.
    stamps: Option<HashMap<RepoPath, Stamped>>,
    /// The looks that were kept and not asked for yet, once one was.
    kept: Option<HashMap<RepoPath, KeptLook>>,
    /// What is to be written.
    new: Vec<KeptLook>,
    /// The tasks that the search has just found unchanged, so that their stamps need not be asked for again.
    unchanged: Vec<RepoPath>,
    /// The tasks that the command is about.
    used: HashSet<RepoPath>,
    /// How many tasks of the command are still to be asked for.
    left: usize,
}

/// A cache of what one kind of command makes of each look.
pub(super) struct KnownLooks {
    root: PathBuf,
    git: PathBuf,
    directory: PathBuf,
    /// What everything in the cache depends on, in one line.
    world: String,
    parts: Vec<Mutex<KeptPart>>,
    pasts: QuietPasts,
}

impl KnownLooks {
    /// The cache with this name; `None` where looks cannot be compared with earlier ones.
    fn of(reader: &Reader, name: &str) -> Option<Self> {
        let store = reader
            .store
            .as_ref()
            .filter(|store| reader.reads_work_dir() && !store.index().is_sparse())?;
        // Another build may look differently, and another user may not read the same files.
        let program = FileStamp::of(&fs::metadata("/proc/self/exe").ok()?)?;
        let user = fs::metadata("/proc/self").ok()?.uid();
        let root = reader.root.as_os_str().as_encoded_bytes();
        let whose = Digest::of_blob(&[&program.bytes()[..], &user.to_le_bytes(), root].concat());
        // A deeper clone knows more under the same HEAD.
        let ends: Vec<String> = store
            .refs()
            .boundary()
            .ok()?
            .iter()
            .map(Digest::to_string)
            .collect();
        let shallow = Digest::of_blob(ends.concat().as_bytes());
        let world = format!("{name} {whose} {} {shallow}", reader.settings.digest());
        Some(Self {
            root: reader.root.clone(),
            git: store.layout().git_directory().to_owned(),
            directory: store.layout().own(caches::LOOKS).join(name),
            world,
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            pasts: QuietPasts::default(),
        })
    }

    /// The number of the part for the task with this directory.
    fn number(directory: &RepoPath) -> usize {
        usize::from(Digest::of_blob(directory.as_str().as_bytes()).as_bytes()[0]) % PARTS
    }

    /// Whether this is the directory of a task that was looked at, and nothing in it has changed since.
    pub(super) fn is_unchanged(&self, directory: &RepoPath) -> bool {
        let number = Self::number(directory);
        let of_rows = || {
            let rows = self.rows(number, |row: KeptStamps| {
                Some((row.directory, row.stamped?))
            });
            rows.into_iter().flatten().collect()
        };
        let stamped = locked(&self.parts[number])
            .stamps
            .get_or_insert_with(of_rows)
            .remove(directory);
        let stands = stamped.is_some_and(|stamped| stamped.stands(&self.root, directory));
        if stands {
            locked(&self.parts[number])
                .unchanged
                .push(directory.clone());
        }
        stands
    }

    /// The order in which a command asks for these tasks: part after part, so that no more than a few parts are in memory.
    pub(super) fn begin(&self, tasks: &[TaskRef]) -> Vec<usize> {
        let numbers: Vec<usize> = tasks
            .iter()
            .map(|task| Self::number(task.directory()))
            .collect();
        for number in 0..PARTS {
            locked(&self.parts[number]).stamps = None;
        }
        numbers
            .iter()
            .for_each(|number| locked(&self.parts[*number]).left += 1);
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|at| numbers[*at]);
        order
    }

    /// What was kept of a task, and whether the search has just found it unchanged.
    fn find(&self, directory: &RepoPath) -> Option<(KeptLook, bool)> {
        let number = Self::number(directory);
        let mut part = locked(&self.parts[number]);
        part.used.insert(directory.clone());
        let kept = part
            .kept
            .get_or_insert_with(|| self.read(number))
            .remove(directory)?;
        let place = part
            .unchanged
            .iter()
            .position(|unchanged| unchanged == directory);
        let was_unchanged = place
            .map(|place| part.unchanged.swap_remove(place))
            .is_some();
        Some((kept, was_unchanged))
    }

    fn note(&self, kept: KeptLook) {
        locked(&self.parts[Self::number(&kept.directory)])
            .new
            .push(kept);
    }

    /// What a look at HEAD would note about code in place of this one, which still stands; `None` if that is not
    /// worth writing it again.
    fn code_now(&self, kept: &KeptLook, head: Option<Digest>) -> Option<(String, Digest)> {
        let (workflow, since) = kept.code.as_ref()?;
        let head = head.filter(|head| head != since)?;
        is_far_back(&self.pasts, head, workflow).then(|| (workflow.clone(), head))
    }

    /// Notes that the command has what it asked for of a task. After the last one of a part, that is written.
    pub(super) fn done(&self, directory: &RepoPath) {
        let number = Self::number(directory);
        let mut part = locked(&self.parts[number]);
        part.left = part.left.saturating_sub(1);
        if part.left == 0 {
            self.keep_part(number, &mut part);
        }
    }

    /// Reads what `of_row` makes of each look in a part; of one that is missing, damaged, or of another world nothing.
    fn rows<T: DeserializeOwned, R>(&self, number: usize, of_row: impl Fn(T) -> R) -> Vec<R> {
        let text = durable::text_of(&self.path(number)).unwrap_or_default();
        let rows = || {
            let (world, rest) = text.split_once('\n')?;
            let (digest, rows) = rest.split_once('\n')?;
            let is_whole = || Digest::parse(digest) == Some(Digest::of_blob(rows.as_bytes()));
            (world == self.world && is_whole()).then_some(rows)
        };
        let rows = rows()
            .unwrap_or_default()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        rows.map(of_row).collect()
    }

    fn read(&self, number: usize) -> HashMap<RepoPath, KeptLook> {
        self.rows(number, |kept: KeptLook| (kept.directory.clone(), kept))
            .into_iter()
            .collect()
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.join(format!("{number:02x}"))
    }

    /// Writes what is new, and forgets everything that was read. If that fails, a later command looks again.
    pub(super) fn keep(&self) {
        (0..PARTS).for_each(|number| self.keep_part(number, &mut locked(&self.parts[number])));
    }

    fn keep_part(&self, number: usize, part: &mut KeptPart) {
        let KeptPart { new, used, .. } = std::mem::take(part);
        if new.is_empty() || Directory::make(&self.git, &self.directory).is_err() {
            return;
        }
        let mut kept = self.read(number);
        kept.extend(new.into_iter().map(|look| (look.directory.clone(), look)));
        let line = |kept: &KeptLook| Some(serde_json::to_string(kept).ok()? + "\n");
        let mut rows: String = kept.values().filter_map(line).collect();
        if rows.len() > MAX_BYTES {
            rows = kept
                .values()
                .filter(|kept| used.contains(&kept.directory))
                .filter_map(line)
                .collect();
        }
        let text = format!(
            "{}\n{}\n{rows}",
            self.world,
            Digest::of_blob(rows.as_bytes())
        );
        let _ = durable::write_derived(&self.git, &self.path(number), text.as_bytes());
    }
}

impl Workspace {
    /// Lets [`Finder::survey`](super::Finder::survey), [`Crew::answer_each`](super::Crew::answer_each) and the start of a watch use what is known of earlier looks,
    /// kept under this name.
    pub fn know_looks(&mut self, name: &str) {
        self.known = KnownLooks::of(&self.reader, name).map(Arc::new);
    }

    /// Keeps what was made of the looks, and uses them no longer.
    pub(crate) fn end_known(&mut self) {
        self.known.take().inspect(|known| known.keep());
    }

    /// Uses looks that were kept no longer, and keeps none.
    pub(crate) fn drop_known(&mut self) {
        self.known = None;
    }
}

fn knew(reader: &Reader, task: &TaskRef) {
    tracing::debug!(task = %task.id, "unchanged since an earlier look");
    reader.costs.knew();
}

/// What was made of an earlier look at a task that a new look would repeat, or else what a new one begins with.
/// Returns an error if the task or HEAD cannot be read.
pub(super) fn recall<R>(
    look: &Look<'_>,
    task: &TaskRef,
    (known, of_text): (&KnownLooks, fn(&str) -> Option<R>),
) -> Result<Recall<R>, Error> {
    let directory = task.directory();
    let commit = look.commit();
    let earlier = known.find(directory);
    let made_earlier = |held: Option<Digest>| {
        let (kept, _) = earlier
            .as_ref()
            .filter(|(kept, _)| Some(kept.held) == held)?;
        let is_unignored = |path| {
            look.reader
                .store
                .as_ref()
                .is_some_and(|store| !store.filters().is_ignored(path).unwrap_or(true))
        };
        let is_quiet = |(workflow, since): &(String, Digest)| {
            commit.is_some_and(|head| {
                look.reader
                    .is_quiet_since(&known.pasts, head, (workflow, *since))
            })
        };
        let stands = (kept.head.is_none() || kept.head == commit)
            && kept.code.as_ref().is_none_or(is_quiet)
            && kept
                .files
                .iter()
                .all(|(path, was_file)| look.is_file_outside(path) == *was_file)
            && kept.unignored.iter().all(is_unignored)
            && kept
                .others
                .as_ref()
                .is_none_or(|others| others.stand(look, task));
        if stands { of_text(&kept.text) } else { None }
    };
    // If the search has asked for the stamps, it did so before HEAD was read. What HEAD holds now is compared.
    if let Some((kept, was_unchanged)) = &earlier
        && let Some(stamped) = &kept.stamped
        && (*was_unchanged || stamped.stands(&look.reader.root, directory))
        && let Some(made) = made_earlier(held_digest(look, task, None)?)
    {
        if let Some(code) = known.code_now(kept, commit) {
            known.note(KeptLook {
                code: Some(code),
                ..KeptLook::clone(kept)
            });
        }
        knew(look.reader, task);
        return Ok(Recall::Made(made));
    }
    let first = first_part(look, task)?;
    if let Some((kept, _)) = earlier
        .as_ref()
        .filter(|(kept, _)| Some(kept.listed) == first.listed)
        && let Some(made) = made_earlier(first.held)
    {
        let code = known.code_now(kept, commit);
        if kept.stamped != first.stamped || code.is_some() {
            let code = code.or_else(|| kept.code.clone());
            known.note(KeptLook {
                stamped: first.stamped,
                code,
                ..KeptLook::clone(kept)
            });
        }
        knew(look.reader, task);
        return Ok(Recall::Made(made));
    }
    Ok(Recall::Anew(first))
}

/// What `answer` makes of a look at a task, or has made of an earlier one that a new look would repeat. Returns an error
/// as a look does.
pub(super) fn answer_known<R>(
    look: &Look<'_>,
    task: &TaskRef,
    (known, keeper): (&KnownLooks, &Keeper<R>),
    answer: &impl Fn(&Reader, Sight) -> R,
) -> Result<R, Error> {
    match recall(look, task, (known, keeper.of_text))? {
        Recall::Made(made) => Ok(made),
        Recall::Anew(first) => answer_anew(look, (task, first), (known, keeper.to_text), answer),
    }
}

/// The digest of what HEAD holds of a task, and of what determines its workflow; `None` if git may convert its
/// files, which is a matter of more settings. Returns an error if git cannot read HEAD.
fn held_digest(
    look: &Look<'_>,
    task: &TaskRef,
    listed: Option<&ListedTask>,
) -> Result<Option<Digest>, Error> {
    let (Some(store), Some(head)) = (&look.reader.store, &look.head) else {
        return Ok(None);
    };
    if store.filters().converts_somewhere(task.directory()) {
        return Ok(None);
    }
    let source = store.objects().source_at(head.commit);
    let mut text = format!("{} {}", task.workflow, task.is_workflow_chosen);
    let entries = listed.into_iter().flat_map(|listed| &listed.entries);
    let paths = entries.filter_map(|entry| RepoPath::new(&entry.path).ok());
    let outside = paths.filter(|path| path.below(task.directory()).is_none());
    for path in std::iter::once(task.directory().clone()).chain(outside) {
        text.push_str(&format!("\0{path}\0{:?}", source.object(&path)?));
    }
    let settings = RepoPath::new(config::FILE)
        .ok()
        .map(|path| source.object(&path))
        .transpose()?;
    let seen = store
        .layout()
        .seen_writers(task.directory())
        .map(|seen| seen.stamps());
    text.push_str(&format!("\0{settings:?}\0{seen:?}"));
    Ok(Some(Digest::of_blob(text.as_bytes())))
}

/// What a look at a task begins with. Returns an error if the task or HEAD cannot be read.
pub(super) fn first_part(look: &Look<'_>, task: &TaskRef) -> Result<FirstPart, Error> {
    let list = look.list(task)?;
    let held = held_digest(look, task, Some(&list))?;
    let listed = listed_digest(&look.reader.root, task, &list);
    let stamped = Stamped::of(&look.reader.root, task, &list);
    Ok(FirstPart {
        list,
        listed,
        held,
        stamped,
    })
}

/// What `answer` makes of a look that began with this, kept as what `to_text` makes of it. Returns an error as a look
/// does.
pub(super) fn answer_anew<R>(
    look: &Look<'_>,
    (task, first): (&TaskRef, FirstPart),
    (known, to_text): (&KnownLooks, fn(&R) -> Option<String>),
    answer: &impl Fn(&Reader, Sight) -> R,
) -> Result<R, Error> {
    let FirstPart {
        list,
        listed,
        held,
        stamped,
    } = first;
    let commit = look.commit();
    let converted = look
        .reader
        .store
        .as_ref()
        .map(|store| store.filters().converted());
    let sight = look.at_listed(task, list)?;
    // How git converts bytes is a matter of its settings.
    let reads_history = sight.basis.reads_history();
    let on_code = sight.rests_on_code();
    let is_comparable = !sight.basis.is_unknown()
        && look.reader.store.as_ref().map(|store| store.filters().converted()) == converted
        // The base branch moves without HEAD.
        && sight.observed.facts.code.since.is_empty()
        // Without a commit there is nothing by which to see that the history has grown.
        && (commit.is_some() || !(reads_history || on_code));
    let files = sight.basis.files();
    let unignored = sight.basis.unignored();
    let head = commit.filter(|_| reads_history);
    let code = commit
        .filter(|_| on_code)
        .map(|commit| (sight.workflow().name.to_string(), commit));
    let others = match sight.state().filter(|_| sight.basis.rests_on_others()) {
        Some(state) => {
            let related = Related::of(sight.workflow(), &state.relations);
            Some(KeptOthers::now(look, task, related, sight.basis.on_base()))
        }
        None => None,
    };
    // A directory that lost its last artifact since the search is no task, and what is kept would vouch for one.
    let Observed {
        state,
        log,
        files: read,
        ..
    } = &sight.observed;
    let is_task = state.is_some() || log.is_there() || !read.is_empty();
    let made = answer(look.reader, sight);
    if let (true, Some(listed), Some(held)) = (is_comparable && is_task, listed, held)
        && let Ok(others) = others.transpose()
        && let Some(text) = to_text(&made)
    {
        let directory = task.directory().clone();
        known.note(KeptLook {
            directory,
            stamped,
            listed,
            held,
            head,
            code,
            files,
            unignored,
            others,
            text,
        });
    }
    Ok(made)
}
