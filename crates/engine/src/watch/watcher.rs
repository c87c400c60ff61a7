//! The watch itself: listens for events, filters them, waits for quiet and returns what is due.

use super::advice::advice;
use super::debounce::{Debounce, FileHint};
use super::noise::is_noise;
use super::{WatchOptions, WatchSignal};
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind};
use notify::{
    ErrorKind, Event, EventKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _,
};
use orch_base::{Code, Error, RepoPath};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Whether this system reports that a written file was closed; elsewhere a write counts as complete when no
/// other follows.
const REPORTS_CLOSE: bool = cfg!(target_os = "linux");

/// What the system is asked to report. Opening a file is not a change: the reads of `orch` itself would overflow the
/// queue of the system, and a lost event means that everything has to be read again.
const CHANGES: EventKindMask = EventKindMask::CORE.union(EventKindMask::ACCESS_CLOSE);

/// How often to retry when directories vanish while they are being subscribed to.
const ATTEMPTS: usize = 8;

/// Watches directories and files of a repository, even those that do not exist yet.
#[derive(Debug)]
pub struct Watcher {
    root: PathBuf,
    targets: Vec<RepoPath>,
    options: WatchOptions,
    /// The event source; `None` while polling.
    notify: Option<RecommendedWatcher>,
    sender: Sender<WatcherMessage>,
    receiver: Receiver<WatcherMessage>,
    debounce: Debounce<RepoPath>,
    /// Targets to subscribe to again, because they or a parent appeared, disappeared or moved.
    unarmed: BTreeSet<RepoPath>,
    rescan: (Instant, &'static str),
    /// When to report that HEAD may have moved.
    head: Option<Instant>,
    failure: Option<String>,
    stopped: bool,
    woken: bool,
}

#[derive(Debug)]
enum WatcherMessage {
    Event(notify::Result<Event>),
    Wake,
    Stop,
}

/// Stops or wakes the watch from anywhere, for example from a signal handler.
#[derive(Debug, Clone)]
pub struct Stop(Sender<WatcherMessage>);

impl Stop {
    /// Makes [`Watcher::next`] return `None` at once and from then on.
    pub fn stop(&self) {
        // Without a receiver the watch has already ended.
        let _ = self.0.send(WatcherMessage::Stop);
    }

    /// Makes [`Watcher::next`] return at once, with an empty list if nothing is due.
    pub fn wake(&self) {
        let _ = self.0.send(WatcherMessage::Wake);
    }
}

impl Watcher {
    /// Starts watching `targets`, files and directories relative to `root`: the bases of the task roots,
    /// `system`, `orch.toml`. Directories are watched recursively. A target that does not exist is picked up
    /// when it appears.
    ///
    /// Scan after this call, so that no change falls in between. If listening is impossible, the watch starts
    /// by polling, and the first signal says so. Returns an error if `root` does not exist.
    pub fn new(root: &Path, targets: &[RepoPath], options: WatchOptions) -> Result<Self, Error> {
        let (sender, receiver) = channel();
        let mut watcher = Self {
            root: present(root)?,
            targets: Vec::new(),
            notify: None,
            sender,
            receiver,
            debounce: Debounce::new(options.settle),
            unarmed: BTreeSet::new(),
            rescan: (Instant::now(), ""),
            head: None,
            options,
            failure: None,
            stopped: false,
            woken: false,
        };
        watcher.begin(targets);
        Ok(watcher)
    }

    /// Watches other targets from now on. Every [`Stop`] of this watch stays valid, and a stop or a wake that
    /// was already sent still counts; anything else that is not yet due is forgotten.
    ///
    /// Scan after this call. Returns an error, and changes nothing, if `root` does not exist.
    pub fn retarget(
        &mut self,
        root: &Path,
        targets: &[RepoPath],
        options: WatchOptions,
    ) -> Result<(), Error> {
        self.root = present(root)?;
        self.notify = None;
        self.options = options;
        while let Ok(message) = self.receiver.try_recv() {
            if !matches!(message, WatcherMessage::Event(_)) {
                self.take(message);
            }
        }
        self.begin(targets);
        Ok(())
    }

    /// Subscribes to `targets`, with nothing due.
    fn begin(&mut self, targets: &[RepoPath]) {
        self.targets = outermost(targets);
        self.unarmed = self.targets.iter().cloned().collect();
        self.debounce = Debounce::new(self.options.settle);
        self.head = None;
        self.failure = None;
        if !self.options.poll {
            self.listen();
        }
        self.arm();
        self.schedule_rescan(Instant::now());
        tracing::info!(listening = self.is_listening(), targets = ?self.targets, "watching");
    }

    /// A handle that stops this watch.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        Stop(self.sender.clone())
    }

    /// Whether the watch listens for events. If not, it reports a `Rescan` every `poll_interval`.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        self.notify.is_some()
    }

    /// Sleeps until something is due and returns it, with sorted paths and no duplicates.
    ///
    /// An empty list means that `timeout` has passed or that the watch was woken, `None` that it was stopped.
    pub fn next(&mut self, timeout: Duration) -> Option<Vec<WatchSignal>> {
        let until = Instant::now().checked_add(timeout);
        loop {
            while let Ok(message) = self.receiver.try_recv() {
                self.take(message);
            }
            self.arm();
            if self.stopped {
                return None;
            }
            let now = Instant::now();
            let due = self.due(now);
            let is_woken = std::mem::take(&mut self.woken);
            if !due.is_empty() || is_woken || until.is_some_and(|until| until <= now) {
                return Some(due);
            }
            let wake = [self.debounce.next_deadline(), self.head, until]
                .into_iter()
                .flatten()
                .fold(self.rescan.0, Instant::min);
            match self
                .receiver
                .recv_timeout(wake.saturating_duration_since(now))
            {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.stopped = true,
            }
        }
    }

    fn due(&mut self, now: Instant) -> Vec<WatchSignal> {
        let paths = self.debounce.due(now);
        self.deepen(
            paths
                .iter()
                .filter(|(_, appeared)| **appeared)
                .map(|(path, _)| path),
        );
        let mut due: Vec<WatchSignal> = self
            .failure
            .take()
            .map(WatchSignal::Failed)
            .into_iter()
            .collect();
        if self.rescan.0 <= now {
            due.push(WatchSignal::Rescan(self.rescan.1));
            self.schedule_rescan(now);
        }
        if self.head.is_some_and(|head| head <= now) {
            self.head = None;
            due.push(WatchSignal::Head);
        }
        due.extend(paths.into_keys().map(WatchSignal::Dirty));
        if !due.is_empty() {
            tracing::debug!(?due, "due");
        }
        due
    }

    fn schedule_rescan(&mut self, now: Instant) {
        self.rescan = match self.notify {
            Some(_) => (now + self.options.reconcile, "time to reconcile"),
            None => (now + self.options.poll_interval, "polling"),
        };
    }

    fn take(&mut self, message: WatcherMessage) {
        match message {
            WatcherMessage::Stop => self.stopped = true,
            WatcherMessage::Wake => self.woken = true,
            WatcherMessage::Event(Err(error)) if self.is_listening() => self.fail(&error),
            WatcherMessage::Event(Err(_)) => {}
            WatcherMessage::Event(Ok(event)) if event.need_rescan() => {
                tracing::warn!("events were lost: reading everything again");
                // Directories that appeared meanwhile are not subscribed to.
                self.unarmed.extend(self.targets.iter().cloned());
                self.rescan_soon("events were lost");
            }
            WatcherMessage::Event(Ok(event)) => {
                for path in &event.paths {
                    self.note(path, &event.kind);
                }
            }
        }
    }

    fn rescan_soon(&mut self, why: &'static str) {
        let soon = Instant::now() + self.options.settle;
        if soon < self.rescan.0 {
            self.rescan = (soon, why);
        }
    }

    fn note(&mut self, path: &Path, kind: &EventKind) {
        tracing::trace!(path = %path.display(), ?kind, "event");
        if self
            .options
            .heads
            .iter()
            .any(|(head, _)| path.starts_with(head))
        {
            // Git changes several files at once; reading once at the end is enough.
            let soon = Instant::now() + self.options.settle;
            self.head.get_or_insert(soon);
            return;
        }
        let Some(path) = self.relative(path) else {
            return;
        };
        let moved = matches!(kind, EventKind::Create(_) | EventKind::Remove(_))
            || matches!(kind, EventKind::Modify(ModifyKind::Name(_)));
        if moved {
            self.unsettle(&path);
        }
        let Some(group) = self.group(&path) else {
            return;
        };
        let written = matches!(
            kind,
            EventKind::Create(CreateKind::File) | EventKind::Modify(ModifyKind::Data(_))
        );
        let hint = match written {
            _ if moved && is_directory(&path.under(&self.root)) => FileHint::Appeared,
            true if REPORTS_CLOSE => FileHint::Writing,
            _ => FileHint::Changed,
        };
        self.debounce.note(Instant::now(), group, path, hint);
    }

    /// Everything at or below a path that appeared, disappeared or moved needs a new subscription, and
    /// earlier changes there went unreported.
    fn unsettle(&mut self, path: &RepoPath) {
        let now = Instant::now();
        for target in self
            .targets
            .iter()
            .filter(|target| *target == path || target.below(path).is_some())
        {
            self.unarmed.insert(target.clone());
            self.debounce
                .note(now, target.clone(), target.clone(), FileHint::Appeared);
        }
    }

    /// The path inside the repository; for a name that is not UTF-8, the directory that contains it.
    fn relative(&self, path: &Path) -> Option<RepoPath> {
        let below = path.strip_prefix(&self.root).ok()?;
        let text = below.ancestors().find_map(Path::to_str)?;
        RepoPath::new(text.replace(std::path::MAIN_SEPARATOR, "/")).ok()
    }

    /// What must be quiet before `path` is read: the first directory below its target, which is a task or
    /// contains several, never a part of one. `None` if the path is not watched or is noise.
    fn group(&self, path: &RepoPath) -> Option<RepoPath> {
        if is_noise(path) {
            return None;
        }
        self.targets
            .iter()
            .find_map(|target| match path.below(target) {
                Some(rest) => target.join(rest.split('/').next().unwrap_or_default()).ok(),
                None => (path == target).then(|| target.clone()),
            })
    }

    fn listen(&mut self) {
        let sender = self.sender.clone();
        let handler = move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, matters) {
                // Without a receiver the watch has ended.
                let _ = sender.send(WatcherMessage::Event(event));
            }
        };
        // A link is content here, not a way into another tree.
        let config = notify::Config::default()
            .with_follow_symlinks(false)
            .with_event_kinds(CHANGES);
        match RecommendedWatcher::new(handler, config) {
            Ok(notify) => self.notify = Some(notify),
            Err(error) => self.fail(&error),
        }
        for (head, below) in self.options.heads.clone() {
            let mode = if below {
                RecursiveMode::Recursive
            } else {
                RecursiveMode::NonRecursive
            };
            let Some(notify) = &mut self.notify else {
                return;
            };
            match notify.watch(&head, mode) {
                Err(error) if !vanished(&error) => self.fail(&error),
                _ => {}
            }
        }
    }

    /// Subscribes to every unarmed target, and to the directories whose changes reveal that a target appears
    /// or disappears.
    fn arm(&mut self) {
        for target in std::mem::take(&mut self.unarmed) {
            let outcome = (0..ATTEMPTS)
                .map(|_| self.subscribe(&target))
                .find(|outcome| match outcome {
                    Err(error) => !vanished(error),
                    Ok(()) => true,
                });
            match outcome {
                Some(Ok(())) => {}
                Some(Err(error)) => self.fail(&error),
                None => {
                    self.unarmed.insert(target);
                    self.rescan_soon("directories appear and disappear");
                }
            }
        }
    }

    /// Subscribes to the target recursively, and to each directory above it non-recursively, from the top
    /// down: a directory that does not exist when its turn comes is reported by its parent.
    fn subscribe(&mut self, target: &RepoPath) -> notify::Result<()> {
        let Some(notify) = &mut self.notify else {
            return Ok(());
        };
        let mut above: Vec<RepoPath> =
            std::iter::successors(target.parent(), RepoPath::parent).collect();
        above.reverse();
        for directory in above {
            let directory = directory.under(&self.root);
            if !directory.is_dir() {
                return Ok(());
            }
            notify.watch(&directory, RecursiveMode::NonRecursive)?;
        }
        let target = target.under(&self.root);
        if target.is_dir() {
            notify.watch(&target, RecursiveMode::Recursive)
        } else {
            Ok(())
        }
    }

    /// Subscribes again to directories that appeared. The subscription at their first event is lost if a
    /// subdirectory vanished meanwhile or a late event of their predecessor arrived.
    fn deepen<'p>(&mut self, appeared: impl Iterator<Item = &'p RepoPath>) {
        let mut outer: Option<&RepoPath> = None;
        for path in appeared {
            let Some(notify) = &mut self.notify else {
                return;
            };
            let place = path.under(&self.root);
            if outer.is_some_and(|outer| path.below(outer).is_some()) || !is_directory(&place) {
                continue;
            }
            outer = Some(path);
            match notify.watch(&place, RecursiveMode::Recursive) {
                Err(error) if !vanished(&error) => self.fail(&error),
                _ => {}
            }
        }
    }

    /// Switches to polling. Releases all file system watches: with some of them left, parts of the tree would
    /// be reported, but it would be unknown which.
    fn fail(&mut self, error: &notify::Error) {
        tracing::warn!(%error, "listening failed: polling from now on");
        self.notify = None;
        self.failure
            .get_or_insert_with(|| advice(error, self.options.poll_interval));
        self.schedule_rescan(Instant::now());
    }
}

/// The root with its links resolved. Returns an error if it does not exist.
fn present(root: &Path) -> Result<PathBuf, Error> {
    root.canonicalize().map_err(|source| {
        Error::new(
            Code::WatchFailed,
            format!("cannot watch {}: {source}", root.display()),
        )
    })
}

/// The distinct targets that are not inside another target.
pub(super) fn outermost(targets: &[RepoPath]) -> Vec<RepoPath> {
    let targets: BTreeSet<&RepoPath> = targets.iter().collect();
    let inside = |path: &RepoPath| {
        targets
            .iter()
            .any(|other| *other != path && path.below(other).is_some())
    };
    targets
        .iter()
        .filter(|path| !inside(path))
        .map(|path| (*path).clone())
        .collect()
}

/// Whether an event can mean a change. Reads by orch are reported too and would fill the queue.
fn matters(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(access) => {
            event.need_rescan() || access == AccessKind::Close(AccessMode::Write)
        }
        _ => true,
    }
}

fn vanished(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(source) => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Whether the path is a directory and not a link to one.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::Flag;

    fn watcher(targets: &[&str], directory: &Path) -> Watcher {
        let targets: Vec<RepoPath> = targets
            .iter()
            .map(|path| RepoPath::new(path).expect("valid"))
            .collect();
        let options = WatchOptions {
            reconcile: Duration::MAX / 4,
            poll_interval: Duration::from_millis(1),
            ..WatchOptions::default()
        };
        Watcher::new(directory, &targets, options).expect("the root is there")
    }

    #[test]
    fn at_a_limit_the_watch_goes_on_by_looking() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let mut watcher = watcher(&["tasks"], directory.path());
        for _ in 0..2 {
            let error = notify::Error::new(ErrorKind::MaxFilesWatch);
            watcher
                .sender
                .send(WatcherMessage::Event(Err(error)))
                .expect("open");
        }
        let first = watcher.next(Duration::MAX).expect("not stopped");
        assert!(
            matches!(&first[0], WatchSignal::Failed(text) if text.contains("max_user_watches")),
            "{first:?}"
        );
        assert!(!watcher.is_listening());
        let second = watcher.next(Duration::MAX).expect("not stopped");
        assert_eq!(second, [WatchSignal::Rescan("polling")]);
    }

    #[test]
    fn lost_events_ask_for_a_rescan() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let mut watcher = watcher(&["tasks"], directory.path());
        let event = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        watcher
            .sender
            .send(WatcherMessage::Event(Ok(event)))
            .expect("open");
        assert_eq!(
            watcher.next(Duration::MAX),
            Some(vec![WatchSignal::Rescan("events were lost")])
        );
        assert!(watcher.is_listening());
    }

    #[test]
    fn targets_inside_others_are_dropped_and_groups_are_never_finer_than_tasks() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let watcher = watcher(
            &["tasks", "tasks/team", "tasks2", "orch.toml", "tasks"],
            directory.path(),
        );
        assert_eq!(
            watcher
                .targets
                .iter()
                .map(RepoPath::as_str)
                .collect::<Vec<_>>(),
            ["orch.toml", "tasks", "tasks2"]
        );
        for (path, group) in [
            ("tasks/t/planning/plan.json", Some("tasks/t")),
            ("tasks/t", Some("tasks/t")),
            ("tasks", Some("tasks")),
            ("orch.toml", Some("orch.toml")),
            ("tasks3/t", None),
            ("tasks/t/suggestion.json", None),
            ("", None),
        ] {
            let found = watcher.group(&RepoPath::new(path).expect("valid"));
            assert_eq!(found.as_ref().map(RepoPath::as_str), group, "{path}");
        }
    }

    #[test]
    fn only_what_can_mean_a_change_is_enqueued() {
        use notify::event::{AccessKind, AccessMode};
        for (kind, expected) in [
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Read)),
                false,
            ),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Write)),
                true,
            ),
            (EventKind::Create(CreateKind::Folder), true),
            (EventKind::Other, true),
        ] {
            assert_eq!(matters(&Event::new(kind)), expected, "{kind:?}");
        }
    }
}
