//! An index that a file system monitor helps to keep up to date.

use super::against_git::Chance;
use super::{FORMATS, Repo, change, info};
use crate::entries::IndexFile;
use crate::splice::Edit;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A monitor that has seen no change.
const MONITOR: &str = "#!/bin/sh\nprintf 'moment\\0'\n";

#[test]
fn git_looks_at_what_it_would_look_at_after_its_own_change() {
    let names: Vec<String> = (0..150)
        .map(|number| format!("d{}/{number}", number % 7))
        .collect();
    let mut chance = Chance(0x5eed);
    for repo in FORMATS.map(Repo::of) {
        names
            .iter()
            .step_by(2)
            .for_each(|name| repo.write(name, "1\n"));
        repo.git(&["add", "-A"]);
        repo.write(".git/monitor", MONITOR);
        fs::set_permissions(repo.path(".git/monitor"), fs::Permissions::from_mode(0o755))
            .expect("executable");
        repo.git(&["config", "core.fsmonitor", ".git/monitor"]);
        repo.git(&["config", "core.fsmonitorHookVersion", "2"]);
        let one = repo.blob("1\n");
        let mut valid = 0;
        for case in 0..40 {
            // git finds anew what it may trust.
            if case % 3 == 0 {
                repo.git(&["update-index", "--index-version", ["2", "4"][case / 3 % 2]]);
                repo.git(&["status"]);
            }
            let listed = repo.git(&["ls-files"]);
            let changes: Vec<_> = (0..1 + chance.below(3))
                .map(|_| &names[chance.below(names.len())])
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .map(|name| match listed.lines().any(|line| line == name) {
                    true => change(name, Some(one), None),
                    false => change(name, None, Some(one)),
                })
                .collect();
            let index = fs::read(repo.path(".git/index")).expect("an index");
            let index = IndexFile::parse(index, repo.format).expect("a plain index");
            assert!(
                index
                    .extensions()
                    .any(|(signature, _)| signature == b"FSMN"),
                "case {case}"
            );
            fs::copy(repo.path(".git/index"), repo.path(".git/theirs")).expect("copied");
            repo.store().sync_index(&changes, false).expect("written");
            let edits: Vec<Edit<'_>> = changes
                .iter()
                .map(|change| Edit {
                    path: &change.path,
                    entry: change.after,
                })
                .collect();
            repo.git_on(
                "theirs",
                &["update-index", "-z", "--index-info"],
                &info(&repo, &edits),
            );
            let [ours, theirs] =
                ["index", "theirs"].map(|index| repo.git_on(index, &["ls-files", "-f", "-s"], b""));
            assert_eq!(ours, theirs, "case {case}: {changes:?}");
            valid += ours.lines().filter(|line| line.starts_with('h')).count();
        }
        assert!(valid > 1000, "{valid} entries count as unchanged");
    }
}
