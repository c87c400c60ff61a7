//! Looks at many tasks, in as many threads as there are cores.

use super::costs::Costs;
use super::known::{Keeper, KnownLooks, Recall, answer_anew, answer_known, first_part, recall};
use super::other_glimpse::KnownOthers;
use super::reader::At;
use super::{Error, Look, LookDepth, Reader, Settings, Sight, TaskRef, Workspace};
use orch_files::FileStamp;
use orch_git::{Environment, Head, Location, Store};
use orch_read::ValidationCache;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// The number of tasks that a thread takes at once, and looks at under one HEAD.
const PART: usize = 32;
/// The stack size of a helper thread, equal to that of the main thread: values and directories may be nested deeply.
pub(crate) const THREAD_STACK: usize = 8 << 20;

/// What it takes to open a workspace again in another thread, with the settings that were read.
pub(crate) struct Opener {
    reader: ReaderOpener,
    environment: Environment,
    wait: Option<Duration>,
    known: Option<Arc<KnownLooks>>,
}

/// What it takes to read the same source in another thread.
struct ReaderOpener {
    root: PathBuf,
    location: Option<Location>,
    settings: Arc<Settings>,
    validations: Arc<ValidationCache>,
    costs: Arc<Costs>,
    at: At,
}

impl Opener {
    /// The same for a workspace that keeps nothing of its looks.
    pub(crate) fn that_forgets(self) -> Self {
        Self {
            known: None,
            ..self
        }
    }

    /// The workspace; `None` if its repository can no longer be opened.
    pub(crate) fn open(&self) -> Option<Workspace> {
        Some(Workspace {
            reader: self.reader.open()?,
            environment: self.environment.clone(),
            wait: self.wait,
            threads: 1,
            // A helper gets tasks, never names.
            whole_ids: false,
            known: self.known.clone(),
        })
    }
}

impl ReaderOpener {
    fn of(reader: &Reader) -> Self {
        Self {
            root: reader.root.clone(),
            location: reader.store.as_ref().map(Store::location),
            settings: Arc::clone(&reader.settings),
            validations: Arc::clone(&reader.validations),
            costs: Arc::clone(&reader.costs),
            at: reader.at,
        }
    }

    /// `None` if the repository can no longer be opened.
    fn open(&self) -> Option<Reader> {
        let store = match &self.location {
            Some(location) => Some(location.open()?),
            None => None,
        };
        Some(Reader {
            root: self.root.clone(),
            store,
            settings: Arc::clone(&self.settings),
            validations: Arc::clone(&self.validations),
            costs: Arc::clone(&self.costs),
            known_log: RefCell::default(),
            others: KnownOthers::default(),
            at: self.at,
        })
    }
}

/// Works on many tasks at once, in as many threads as there are cores.
#[derive(Clone, Copy)]
pub struct Crew<'w> {
    pub(super) reader: &'w Reader,
    /// What is known of earlier looks.
    pub(super) known: Option<&'w KnownLooks>,
    /// In at most how many threads it works.
    pub(crate) threads: usize,
}

impl Workspace {
    /// What another thread needs to open it again.
    pub(crate) fn opener(&self) -> Opener {
        Opener {
            reader: ReaderOpener::of(&self.reader),
            environment: self.environment.clone(),
            wait: self.wait,
            known: self.known.clone(),
        }
    }
}

impl Crew<'_> {
    /// Looks at each of these tasks and passes the result to `answer`. Returns what `answer` makes of them, in the order
    /// of the tasks.
    ///
    /// `answer` is called in several threads, with the workspace that has looked. What it does not keep of a look is
    /// dropped, so that the files of all tasks are never in memory together. HEAD and the attribute files above the
    /// tasks are read once for each part of the tasks, before the part is listed.
    pub fn look_at_each<R: Send>(
        &self,
        tasks: &[TaskRef],
        depth: LookDepth,
        answer: impl Fn(&Reader, &TaskRef, Result<Sight, Error>) -> R + Sync,
    ) -> Vec<R> {
        self.in_parts(tasks, |reader, part| {
            let begun = Look::go_on(reader).map(|look| look.to(depth));
            let look = |task: &TaskRef| match &begun {
                Ok(look) => look.at(task),
                // Each task has the error.
                Err(_) => reader.look(task),
            };
            part.iter()
                .map(|task| answer(reader, task, look(task)))
                .collect()
        })
    }

    /// Looks at each of these tasks, of few under this HEAD, of many in several threads; `None` for a task whose look had
    /// not begun when `stops` said so. If looks are known, keeps what `to_text` makes of each and of the stamp of
    /// `suggestion.json`.
    pub(crate) fn sights(
        &self,
        tasks: &[TaskRef],
        head: &Option<Head>,
        to_text: fn(&(Sight, Option<FileStamp>)) -> Option<String>,
        stops: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Option<Result<Sight, Error>>> {
        if let Some(known) = self.known {
            return self.in_parts(tasks, |reader, part| {
                let begun = Look::go_on(reader);
                let answer = |reader: &Reader, sight: Sight| {
                    let stamp = FileStamp::at(&sight.task.suggestion_path().under(&reader.root));
                    (sight, stamp)
                };
                let look = |task: &TaskRef| {
                    let Ok(look) = &begun else {
                        return reader.look(task);
                    };
                    let first = first_part(look, task)?;
                    let answer = answer_anew(look, (task, first), (known, to_text), &answer);
                    answer.map(|(sight, _)| sight)
                };
                part.iter()
                    .map(|task| (!stops()).then(|| look(task)))
                    .collect()
            });
        }
        if tasks.len() > PART {
            let going_on = |_: &Reader, _: &TaskRef, sight| (!stops()).then_some(sight);
            return self.look_at_each(tasks, LookDepth::End, going_on);
        }
        let begun = Look::under(self.reader, head.clone());
        let look = |task| (!stops()).then(|| begun.at(task));
        tasks.iter().map(look).collect()
    }

    /// What `of_text` makes of what was kept of an earlier look at each of these tasks, where a new look would repeat it,
    /// in the order of the tasks.
    pub(crate) fn recall_each<R: Send>(
        &self,
        tasks: &[TaskRef],
        of_text: fn(&str) -> Option<R>,
    ) -> Vec<Option<R>> {
        let Some(known) = self.known else {
            return tasks.iter().map(|_| None).collect();
        };
        self.in_known_order(tasks, |_, task, begun| {
            let look = begun.as_ref().ok()?;
            match recall(look, task, (known, of_text)).ok()? {
                Recall::Made(made) => Some(made),
                Recall::Anew(_) => None,
            }
        })
    }

    /// What `answer` makes of a look at each of these tasks, or has made of an earlier one that a new look would repeat,
    /// in the order of the tasks. `answer` must depend on nothing but the look and the settings.
    pub fn answer_each<R: Send>(
        &self,
        tasks: &[TaskRef],
        keeper: &Keeper<R>,
        answer: impl Fn(&Reader, &Sight) -> R + Sync,
    ) -> Vec<Result<R, Error>> {
        let known = self.known;
        let answer = |reader: &Reader, sight: Sight| answer(reader, &sight);
        let made = self.in_known_order(tasks, |reader, task, begun| match (begun, known) {
            (Ok(look), Some(known)) => answer_known(look, task, (known, keeper), &answer),
            _ => reader.look(task).map(|sight| answer(reader, sight)),
        });
        known.inspect(|known| known.keep());
        made
    }

    /// Passes each of these tasks to `work_on`, with the HEAD of its part, in the order that suits what is known of
    /// earlier looks. Returns what it makes of them, in the order of the tasks.
    fn in_known_order<R: Send>(
        &self,
        tasks: &[TaskRef],
        work_on: impl Fn(&Reader, &TaskRef, &Result<Look<'_>, Error>) -> R + Sync,
    ) -> Vec<R> {
        let known = self.known;
        let order: Vec<usize> =
            known.map_or_else(|| (0..tasks.len()).collect(), |known| known.begin(tasks));
        let in_order: Vec<&TaskRef> = order.iter().map(|at| &tasks[*at]).collect();
        let made = self.in_parts(&in_order, |reader, part| {
            let begun = Look::go_on(reader);
            let work = |task: &&TaskRef| {
                let made = work_on(reader, task, &begun);
                known.inspect(|known| known.done(task.directory()));
                made
            };
            part.iter().map(work).collect()
        });
        in_places(made, order)
    }

    /// What `made` makes of each of these, in the same order, in as many threads as there are cores.
    pub fn map_each<T: Sync, R: Send>(
        &self,
        of: &[T],
        made: impl Fn(&Reader, &T) -> R + Sync,
    ) -> Vec<R> {
        self.in_parts(of, |reader, part| {
            part.iter().map(|one| made(reader, one)).collect()
        })
    }

    /// Passes tasks or directories in parts to `work_on`, in as many threads as there are cores. Returns what it makes
    /// of them, in the same order.
    pub(super) fn in_parts<T: Sync, R: Send>(
        &self,
        of: &[T],
        work_on: impl Fn(&Reader, &[T]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        let parts: Vec<&[T]> = of.chunks(PART).collect();
        let next = AtomicUsize::new(0);
        let work = |reader: &Reader| {
            reader.others.forget();
            let mut done: Vec<(usize, Vec<R>)> = Vec::new();
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(part) = parts.get(number) else {
                    return done;
                };
                done.push((number, work_on(reader, part)));
            }
        };
        let helpers = match parts.len() / 2 {
            0 => 0,
            most => most.min(self.threads - 1),
        };
        let opener = (helpers > 0).then(|| ReaderOpener::of(self.reader));
        let mut done = thread::scope(|scope| {
            let help = || {
                opener
                    .as_ref()
                    .and_then(ReaderOpener::open)
                    .map_or_else(Vec::new, |helper| work(&helper))
            };
            // What a thread that cannot be started would have done, the others do.
            let start = |_| {
                thread::Builder::new()
                    .stack_size(THREAD_STACK)
                    .spawn_scoped(scope, help)
                    .ok()
            };
            let helpers: Vec<_> = (0..helpers).filter_map(start).collect();
            let mut done = work(self.reader);
            for helper in helpers {
                done.extend(
                    helper
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                );
            }
            done
        });
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().flat_map(|(_, part)| part).collect()
    }
}

/// Moves each item to the place that is named for it; without a second list, because there may be very many.
fn in_places<T>(mut made: Vec<T>, mut places: Vec<usize>) -> Vec<T> {
    for at in 0..places.len() {
        while places[at] != at {
            let own = places[at];
            made.swap(at, own);
            places.swap(at, own);
        }
    }
    made
}
