//! Explains to the user why listening for file system events failed, and how to fix it.

use notify::{Error, ErrorKind};
use std::time::Duration;

/// The error number of "too many open files", which inotify returns at the limit of instances.
const EMFILE: i32 = 24;

/// The setting of the kernel that allows enough watches for any repository.
pub(super) const MORE_WATCHES: &str = "fs.inotify.max_user_watches=1048576";

/// A message for the user: what failed, that the watch continues by polling, and the remedy.
pub(super) fn advice(error: &Error, poll_interval: Duration) -> String {
    let (what, remedy) = match &error.kind {
        ErrorKind::MaxFilesWatch => (
            "the limit of watched directories is exceeded".to_owned(),
            Some(MORE_WATCHES),
        ),
        ErrorKind::Io(source) if source.raw_os_error() == Some(EMFILE) => (
            "the limit of inotify instances is exceeded".to_owned(),
            Some("fs.inotify.max_user_instances=1024"),
        ),
        ErrorKind::Io(source) => (cannot(error, source), None),
        ErrorKind::Generic(text) => (cannot(error, text), None),
        other => (cannot(error, &format!("{other:?}")), None),
    };
    let remedy = remedy
        .map(|setting| format!("; to fix this, run `sudo sysctl {setting}` and restart the watch"));
    format!(
        "{what}; polling every {poll_interval:?} instead{}",
        remedy.unwrap_or_default()
    )
}

fn cannot(error: &Error, why: &dyn std::fmt::Display) -> String {
    match error.paths.first() {
        Some(path) => format!("cannot watch {}: {why}", path.display()),
        None => format!("cannot watch the file system: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn limits_name_their_setting() {
        let interval = Duration::from_secs(2);
        for (error, expected) in [
            (
                Error::new(ErrorKind::MaxFilesWatch),
                "the limit of watched directories is exceeded; polling every 2s instead; \
                 to fix this, run `sudo sysctl fs.inotify.max_user_watches=1048576` and restart the watch",
            ),
            (
                Error::io(io::Error::from_raw_os_error(EMFILE)),
                "the limit of inotify instances is exceeded; polling every 2s instead; \
                 to fix this, run `sudo sysctl fs.inotify.max_user_instances=1024` and restart the watch",
            ),
            (
                Error::io(io::Error::other("broken")).add_path("/r/tasks".into()),
                "cannot watch /r/tasks: broken; polling every 2s instead",
            ),
            (
                Error::generic("gone"),
                "cannot watch the file system: gone; polling every 2s instead",
            ),
        ] {
            assert_eq!(advice(&error, interval), expected);
        }
    }
}
