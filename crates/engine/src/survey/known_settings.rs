//! The settings that a process keeps which executes many commands.

use super::setting::{OnDisk, Settings, Texts, UnreadText};
use orch_base::{Class, ObjectFormat, RepoPath, locked};
use orch_files::FileStamp;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The settings of a work tree that were read last. They are read again when the stamp of a text or of a directory of
/// texts has changed, and what was compiled of them is used again for as long as every text stays the same.
#[derive(Clone, Default)]
pub struct KnownSettings(Arc<Mutex<Option<KeptSetting>>>);

struct KeptSetting {
    root: PathBuf,
    format: ObjectFormat,
    setting: Arc<Settings>,
    /// What was read; `None` if a stamp would not show a change.
    stamps: Option<Stamps>,
}

/// The files and directories that were read or looked for, and their stamps.
type Stamps = BTreeMap<PathBuf, Option<FileStamp>>;

impl KnownSettings {
    /// The settings of the work tree at `root`, which is checked out completely.
    pub(super) fn read(&self, root: &Path, format: ObjectFormat) -> Arc<Settings> {
        let mut known = locked(&self.0);
        let before = known
            .take()
            .filter(|kept| kept.root == root && kept.format == format);
        let kept = match before {
            Some(kept) if kept.stamps.as_ref().is_some_and(stand) => kept,
            before => {
                let now = super::caller::present();
                let texts = NotedTexts {
                    texts: OnDisk(root),
                    noted: RefCell::default(),
                };
                let fresh = Settings::read(&texts, format);
                let stamps = texts.noted.into_inner();
                // What the machine failed to read may be there the next time.
                let is_whole = fresh
                    .findings
                    .iter()
                    .all(|finding| finding.code.class() != Class::Fault);
                let shows_changes =
                    is_whole && stamps.values().flatten().all(|stamp| is_plain(stamp, now));
                let setting = match before {
                    Some(kept) if kept.setting.is_same(&fresh) => kept.setting,
                    _ => fresh.into(),
                };
                KeptSetting {
                    root: root.to_owned(),
                    format,
                    setting,
                    stamps: shows_changes.then_some(stamps),
                }
            }
        };
        Arc::clone(&known.insert(kept).setting)
    }
}

/// Whether a change of this file would change its stamp: it has not changed just now, and it leads nowhere else.
fn is_plain(stamp: &FileStamp, now: SystemTime) -> bool {
    !stamp.is_recent(now) && !stamp.is_link()
}

/// Whether everything is as it was.
fn stand(stamps: &Stamps) -> bool {
    stamps
        .iter()
        .all(|(path, stamp)| FileStamp::at(path) == *stamp)
}

/// The texts in the work tree; notes the stamp of each, before it is read.
struct NotedTexts<'a> {
    texts: OnDisk<'a>,
    noted: RefCell<Stamps>,
}

impl NotedTexts<'_> {
    fn note(&self, path: &RepoPath) {
        let path = path.under(self.texts.0);
        let stamp = FileStamp::at(&path);
        self.noted.borrow_mut().entry(path).or_insert(stamp);
    }
}

impl Texts for NotedTexts<'_> {
    fn text(&self, path: &RepoPath) -> Result<Option<String>, UnreadText> {
        self.note(path);
        self.texts.text(path)
    }

    fn leads_out(&self, path: &RepoPath) -> Result<bool, UnreadText> {
        // A directory above it may be a link.
        let above = std::iter::successors(Some(path.clone()), RepoPath::parent);
        above
            .filter(|path| !path.as_str().is_empty())
            .for_each(|path| self.note(&path));
        self.texts.leads_out(path)
    }

    fn names(&self, directory: &RepoPath) -> Result<Vec<String>, UnreadText> {
        self.note(directory);
        self.texts.names(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::thread::sleep;
    use std::time::Duration;

    /// Long enough for a stamp to be trusted.
    const SETTLED: Duration = Duration::from_millis(200);

    #[test]
    fn settings_are_used_again_only_while_every_text_is_the_same() {
        let home = tempfile::tempdir().expect("a directory");
        let at = |path: &str| home.path().join(path);
        let write = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().expect("a directory")).expect("made");
            fs::write(at(path), text).expect("written");
        };
        let known = KnownSettings::default();
        let read = || known.read(home.path(), ObjectFormat::Sha1);
        let mut last = read();
        let texts = [
            ("orch.toml", "version = 1\n"),
            ("orch.toml", "version = 1\n[watch]\nreconcile_seconds = 7\n"),
            ("orch.toml", "version = 1\n[watch]\nreconcile_seconds = 8\n"),
            ("orch.toml", "version = 1\n[watch\n"),
            ("system/workflows/mine.md", "# Mine\n"),
            ("system/workflows/mine.md", "# Your\n"),
            ("system/agents/planner.md", "Plan.\n"),
        ];
        for pause in [Duration::ZERO, SETTLED] {
            for (path, text) in texts {
                write(path, text);
                let now = read();
                assert!(!Arc::ptr_eq(&last, &now), "{text:?} is seen");
                let loaded = now.workflow("global-state-machine").expect("it ships");
                for _ in 0..2 {
                    sleep(pause);
                    let again = read();
                    assert!(
                        Arc::ptr_eq(&now, &again),
                        "nothing has changed since {text:?}"
                    );
                    let kept = again.workflow("global-state-machine").expect("it ships");
                    assert!(Arc::ptr_eq(&loaded, &kept), "it is compiled once");
                }
                last = now;
            }
            for path in [
                "system/agents/planner.md",
                "system/workflows/mine.md",
                "orch.toml",
            ] {
                fs::remove_file(at(path)).expect("removed");
                let now = read();
                assert!(!Arc::ptr_eq(&last, &now), "{path} is gone");
                last = now;
            }
        }
        sleep(SETTLED);
        assert!(!Arc::ptr_eq(
            &last,
            &known.read(home.path(), ObjectFormat::Sha256)
        ));
    }

    #[test]
    fn texts_are_read_again_only_after_a_change_or_through_a_link() {
        let home = tempfile::tempdir().expect("a directory");
        let is_known = |known: &KnownSettings| {
            known.read(home.path(), ObjectFormat::Sha1);
            let kept = known.0.lock().expect("a lock");
            kept.as_ref().is_some_and(|kept| kept.stamps.is_some())
        };
        let known = KnownSettings::default();
        let is_doubted = (0..50).any(|_| {
            fs::write(home.path().join("orch.toml"), "version = 1\n").expect("written");
            !is_known(&KnownSettings::default())
        });
        assert!(is_doubted, "it could still change under the same stamp");
        sleep(SETTLED);
        assert!(is_known(&known));
        fs::rename(
            home.path().join("orch.toml"),
            home.path().join("other.toml"),
        )
        .expect("moved");
        symlink("other.toml", home.path().join("orch.toml")).expect("a link");
        sleep(SETTLED);
        assert!(!is_known(&known), "a link does not show what it leads to");
    }
}
