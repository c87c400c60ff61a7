//! What went wrong with listening, in words, and what to type about it.

use notify::{Error, ErrorKind};
use std::time::Duration;

/// The error number of "too many open files", which starting inotify gives at the limit of instances.
const EMFILE: i32 = 24;

/// A text for the user: what failed, that the watch goes on by polling, and the remedy.
pub(super) fn advice(error: &Error, poll_interval: Duration) -> String {
    let (what, remedy) = match &error.kind {
        ErrorKind::MaxFilesWatch => (
            "the limit of watched directories is reached".to_owned(),
            Some("fs.inotify.max_user_watches=1048576"),
        ),
        ErrorKind::Io(source) if source.raw_os_error() == Some(EMFILE) => (
            "the limit of watching processes is reached".to_owned(),
            Some("fs.inotify.max_user_instances=1024"),
        ),
        ErrorKind::Io(source) => (cannot(error, source), None),
        ErrorKind::Generic(text) => (cannot(error, text), None),
        other => (cannot(error, &format!("{other:?}")), None),
    };
    let remedy = remedy.map(|setting| format!("; to listen again: `sudo sysctl {setting}`, then start anew"));
    format!("{what}; looking every {poll_interval:?} instead{}", remedy.unwrap_or_default())
}

fn cannot(error: &Error, why: &dyn std::fmt::Display) -> String {
    match error.paths.first() {
        Some(path) => format!("cannot listen to {}: {why}", path.display()),
        None => format!("cannot listen to the file system: {why}"),
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
                "the limit of watched directories is reached; looking every 2s instead; \
                 to listen again: `sudo sysctl fs.inotify.max_user_watches=1048576`, then start anew",
            ),
            (
                Error::io(io::Error::from_raw_os_error(EMFILE)),
                "the limit of watching processes is reached; looking every 2s instead; \
                 to listen again: `sudo sysctl fs.inotify.max_user_instances=1024`, then start anew",
            ),
            (
                Error::io(io::Error::other("broken")).add_path("/r/tasks".into()),
                "cannot listen to /r/tasks: broken; looking every 2s instead",
            ),
            (Error::generic("gone"), "cannot listen to the file system: gone; looking every 2s instead"),
        ] {
            assert_eq!(advice(&error, interval), expected);
        }
    }
}
