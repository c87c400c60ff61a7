//! Programs that git starts and that do not end.

use super::Repo;
use crate::error::GitFault;
use std::fs;
use std::time::Duration;

/// Whether a process is there and not only waits to be collected by its parent.
fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_has_started() {
    let repo = Repo::new();
    let store = repo.store();
    let note = repo.path("process");
    let hang = format!(
        "alias.hang=!sleep 1000 & echo $! >'{0}.new' && mv '{0}.new' '{0}'; wait",
        note.display()
    );
    let mut limit = Duration::from_millis(200);
    let process = loop {
        let ended = store.git().git_within(limit, &["-c", &hang, "hang"], &[]);
        let Err(GitFault::Refused { message, .. }) = ended else {
            panic!("{ended:?}");
        };
        assert!(message.starts_with("it did not end within "), "{message}");
        // On a busy machine it may not even have begun.
        match fs::read_to_string(&note) {
            Ok(process) => break process,
            Err(_) => limit *= 2,
        }
    };
    while lives(process.trim()) {
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_ends_in_time_says_what_it_always_says() {
    let repo = Repo::new();
    let store = repo.store();
    let long = Duration::from_secs(600);
    let said = |arguments: &[&str], input: &[u8]| store.git().git_within(long, arguments, input);
    assert_eq!(
        said(&["hash-object", "--stdin"], b"hello\n").expect("an id"),
        b"ce013625030ba8dba906f756967f9e9ca394464a\n"
    );
    match said(&["rev-parse", "--verify", "none"], &[0; 1 << 20]) {
        Err(GitFault::Refused { command, message }) => {
            assert_eq!(command, "rev-parse");
            assert!(message.contains("Needed a single revision"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}
