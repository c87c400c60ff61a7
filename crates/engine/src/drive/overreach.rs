//! What an executor changes in its turn that is not its to change.
//!
//! It gains nothing by it in its run: the settings are those that the run began with, the log decides what the state
//! is, and the record of the run is written again. What it changed is reported, because the next command, or git
//! itself, may read it.

use super::driver::Drive;
use super::home_settings::HomeSettings;
use super::program_settings::{FoundSettings, program_settings};
use super::{Happened, Reporter};
use orch_base::{Code, Diagnostic, Hint, RepoPath};
use orch_core::decide::Work;
use orch_git::{GitGuard, durable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What there was before an executor started.
pub(super) struct TurnGuard {
    git: Option<GitGuard>,
    /// The bytes of `state.json` and of the log.
    record: [Option<Vec<u8>>; 2],
    /// The sizes of the logs of the run.
    logs: BTreeMap<String, u64>,
    /// The settings of agent programs; `None` if they cannot be read.
    settings: Option<FoundSettings>,
    /// The same in the home directory.
    home: HomeSettings,
}

impl Drive<'_> {
    /// What there is before an executor starts, except for the record of the run, which may still be written.
    pub(super) fn guard_turn(&self) -> TurnGuard {
        TurnGuard {
            git: self
                .writer
                .workspace
                .reader
                .store()
                .map(|store| store.settings().guard()),
            record: self.record_bytes(),
            logs: self.files.log_sizes(),
            settings: self.program_settings(),
            home: HomeSettings::of(self.writer),
        }
    }

    fn program_settings(&self) -> Option<FoundSettings> {
        program_settings(self.writer.workspace.reader.root()).ok()
    }

    /// The bytes of `state.json` and of the log; `None` for one that cannot be read.
    fn record_bytes(&self) -> [Option<Vec<u8>>; 2] {
        [self.task.state_path(), self.task.transcript_path()].map(|path| {
            durable::read_if_regular(&path.under(&self.writer.workspace.reader.root))
                .ok()
                .flatten()
        })
    }

    /// Reports what has changed since, and forgets what was written to the caches of `orch`.
    pub(super) fn report_overreach(
        &mut self,
        before: &TurnGuard,
        work: &Work,
        report: &mut Reporter<'_>,
    ) {
        self.report_changed_settings(work, report);
        self.report_changed_git(before, work, report);
        self.report_changed_programs(before, work, report);
        let home = HomeSettings::of(self.writer);
        report_new_home(&home.since(&before.home), work, report);
        let work = work.name();
        let mut note = |message: String| {
            tracing::warn!(
                work,
                message,
                "files of orch changed while an executor worked"
            );
            report(&Happened::Note(&Diagnostic::warning(
                Code::OwnFilesChanged,
                message,
            )));
        };
        let [state, log] = self.record_bytes();
        let [state_before, log_before] = &before.record;
        if (&state, &log) != (state_before, log_before) && log == *log_before {
            note(format!(
                "{} changed while `{work}` worked; the log decides, so the change is undone",
                self.task.state_path()
            ));
        }
        if self.was_overwritten || self.files.record() != self.written {
            note(format!(
                "the record of the run changed while `{work}` worked; it is written again"
            ));
        }
        let logs = self.files.log_sizes();
        let is_cut = |log: &&String| logs.get(*log) < before.logs.get(*log);
        let cut: Vec<&str> = before
            .logs
            .keys()
            .filter(is_cut)
            .map(String::as_str)
            .collect();
        if !cut.is_empty() {
            note(format!(
                "logs of the run were cut or removed while `{work}` worked: {}",
                cut.join(", ")
            ));
        }
    }

    /// Reports the settings that changed while an executor worked. The run continues by those that it began with, so an
    /// executor gains nothing by it, and a person should look before another command reads them.
    fn report_changed_settings(&mut self, work: &Work, report: &mut Reporter<'_>) {
        let changed = self.writer.workspace.changed_settings();
        if changed == self.changed_settings {
            return;
        }
        self.changed_settings = changed;
        if self.changed_settings.is_empty() {
            return;
        }
        let paths: Vec<&str> = self.changed_settings.iter().map(RepoPath::as_str).collect();
        let hint = Hint::from("look at them before another command uses them: ")
            .command(&[&["git", "diff", "HEAD", "--"], &paths[..]].concat());
        report_changed(
            [
                "settings",
                "the run continues with those that it began with",
            ],
            &paths,
            work,
            hint,
            report,
        );
    }

    /// Reports the settings of agent programs that changed while an executor worked: from now on such a program starts
    /// what they name, also for the user. The next executor that is configured starts only if they are trusted again.
    fn report_changed_programs(&self, before: &TurnGuard, work: &Work, report: &mut Reporter<'_>) {
        let Some((before, after)) = before.settings.as_ref().zip(self.program_settings()) else {
            return;
        };
        let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let is_changed = |path: &&String| before.get(*path) != after.get(*path);
        let paths: Vec<&str> = all
            .into_iter()
            .filter(is_changed)
            .map(String::as_str)
            .collect();
        if paths.is_empty() {
            return;
        }
        let hint = Hint::from("look at them before an agent program starts what they name: ")
            .command(&[&["git", "diff", "HEAD", "--"], &paths[..]].concat());
        report_changed(
            [
                "settings of agent programs",
                "such a program uses them from now on",
            ],
            &paths,
            work,
            hint,
            report,
        );
    }

    /// Reports the settings and hooks of git that changed while an executor worked, which count from now on, also for
    /// the user; and a journal that `orch` did not write.
    fn report_changed_git(&self, before: &TurnGuard, work: &Work, report: &mut Reporter<'_>) {
        let workspace = self.writer.workspace;
        let Some((store, before)) = workspace.reader.store().zip(before.git.as_ref()) else {
            return;
        };
        let changed = store.settings().git_changed_since(before);
        if !changed.is_empty() {
            let shown = |path: &PathBuf| {
                path.strip_prefix(&workspace.reader.root)
                    .unwrap_or(path)
                    .display()
                    .to_string()
            };
            let paths: Vec<String> = changed.iter().map(shown).collect();
            let hint = Hint::from("look at them before git starts what they name: ")
                .command(&["git", "config", "--show-origin", "--list"])
                .text("; ")
                .command(&["ls", "-l", ".git/hooks"]);
            report_changed(
                ["settings or hooks of git", "git uses them from now on"],
                &paths,
                work,
                hint,
                report,
            );
        }
        // Nobody else has told of it, and the next step would only put it aside.
        let _ = store.transactions().recover_leftovers();
        for finding in store.transactions().take_set_aside() {
            report(&Happened::Note(&finding));
        }
    }
}

/// Reports settings in the home directory that came while an executor worked: what does not exist cannot be covered.
fn report_new_home(came: &[String], work: &Work, report: &mut Reporter<'_>) {
    if came.is_empty() {
        return;
    }
    let hint = "look at them before a program starts what they name, and remove what is not yours";
    report_changed(
        [
            "settings in the home directory",
            "programs use them from now on",
        ],
        came,
        work,
        Hint::from(hint),
        report,
    );
}

/// Warns of settings that changed: what they are, and what that means.
fn report_changed<P: AsRef<str>>(
    [settings, meaning]: [&str; 2],
    paths: &[P],
    work: &Work,
    hint: Hint,
    report: &mut Reporter<'_>,
) {
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    let work = work.name();
    let paths = paths.join(", ");
    tracing::warn!(work, paths, "{settings} changed while an executor worked");
    let message = format!("these {settings} changed while `{work}` worked, and {meaning}: {paths}");
    report(&Happened::Note(
        &Diagnostic::warning(Code::SettingsChanged, message).hint(hint),
    ));
}
