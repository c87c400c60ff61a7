//! The reports of a run: removed before it, and read after it.

use super::masks::Masks;
use orch_base::{ObjectFormat, Patterns, RepoPath};
use orch_core::verification::{FailedTest, NamedDigest};
use orch_files::{open_regular, read_up_to};
use orch_read::{ReportedTestEnd, tests_of};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A larger report is not read.
const LARGEST: u64 = 64 << 20;
/// Of so many failed tests a result says more than the name.
const MOST_FAILURES: usize = 100;

/// What all reports of a run say.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadReports {
    /// Every report that was found, also those that cannot be read.
    pub files: Vec<NamedDigest>,
    /// Why some of them cannot be read.
    pub unreadable: Vec<String>,
    /// The tests by their names, each with the worst that became of it.
    pub tests: BTreeMap<String, ReportedTestEnd>,
    /// How many tests were executed.
    pub executed: u64,
    /// How many failures and errors there are.
    pub failed: u64,
    /// How many tests were not executed.
    pub skipped: u64,
    /// What is said of failures.
    pub failures: Vec<FailedTest>,
}

/// Removes everything that the globs match, and every link in their way. Returns an error if something cannot be removed.
pub(super) fn remove_reports(root: &Path, globs: &Patterns) -> io::Result<()> {
    for place in matching(root, globs) {
        fs::remove_file(root.join(place))?;
    }
    Ok(())
}

/// Reads everything that the globs match.
pub(super) fn read_reports(
    root: &Path,
    globs: &Patterns,
    masks: &Masks,
    format: ObjectFormat,
) -> ReadReports {
    let mut all = ReadReports::default();
    for path in matching(root, globs) {
        let bytes = match read_report(&root.join(&path)) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(why) => {
                all.unreadable.push(format!("{path}: {why}"));
                continue;
            }
        };
        all.files.push(NamedDigest {
            path: path.clone(),
            // A plain digest would let the value of a secret be guessed.
            digest: format.blob(masks.apply(&String::from_utf8_lossy(&bytes)).as_bytes()),
        });
        let named = RepoPath::new(&path).map_err(|_| "its name cannot be used".to_owned());
        let report =
            named.and_then(|named| tests_of(&named, &bytes).map_err(|finding| finding.to_string()));
        match report {
            Ok(report) => all.add(report, masks),
            Err(why) => all.unreadable.push(format!("{path}: {why}")),
        }
    }
    all
}

impl ReadReports {
    fn add(&mut self, report: orch_read::TestReport, masks: &Masks) {
        self.executed += report.executed;
        self.failed += report.failed;
        self.skipped += report.skipped;
        for test in report.tests {
            let end = self
                .tests
                .entry(masks.apply(&test.name))
                .or_insert(test.end);
            *end = (*end).max(test.end);
        }
        for failure in report.failures {
            let name = masks.apply(&failure.name);
            // A suite, or a test without a name.
            self.tests.insert(name.clone(), ReportedTestEnd::Failed);
            if self.failures.len() < MOST_FAILURES {
                self.failures.push(FailedTest {
                    name,
                    message: Some(masks.apply(&failure.message)),
                    file: failure.file.map(|file| masks.apply(&file)),
                    line: failure.line,
                });
            }
        }
    }

    /// The names of the tests that ended so, in order.
    pub(super) fn named(&self, end: ReportedTestEnd) -> Vec<String> {
        let named = self.tests.iter().filter(|(_, seen)| **seen == end);
        named.map(|(name, _)| name.clone()).collect()
    }
}

/// The bytes of a report; `None` if it is gone.
fn read_report(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let Some(file) = open_regular(path).map_err(|error| error.to_string())? else {
        return Err("it is not a regular file".to_owned());
    };
    match read_up_to(&file, LARGEST) {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Ok(None) => Err(format!("it is larger than {LARGEST} bytes")),
        Err(error) => Err(error.to_string()),
    }
}

/// The files and links in a checkout that the globs match, relative to its root and in order. Links are not followed.
pub(super) fn matching(root: &Path, globs: &Patterns) -> Vec<String> {
    let mut found = Vec::new();
    for glob in globs.texts() {
        let (literal, is_whole) = literal_part(glob);
        let way = if is_whole {
            literal.clone()
        } else {
            literal.join("*")
        };
        if !is_real(root, &way) {
            continue;
        }
        let start = root.join(&literal);
        if is_whole {
            let is_file = start.symlink_metadata().is_ok_and(|seen| !seen.is_dir());
            if is_file {
                found.push(glob.clone());
            }
            continue;
        }
        let entries = WalkDir::new(start)
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
            .flatten();
        for entry in entries.filter(|entry| !entry.file_type().is_dir()) {
            let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let below = below.to_string_lossy().into_owned();
            if globs.matches(&below) {
                found.push(below);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether a part of a glob is none of a plain path.
fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

/// The directories with which a glob begins, before its first wildcard, and whether it has none.
fn literal_part(glob: &str) -> (PathBuf, bool) {
    let parts: Vec<&str> = glob.split('/').collect();
    let plain = parts.iter().position(|part| is_wild(part));
    let is_whole = plain.is_none();
    let plain = plain.unwrap_or(parts.len());
    (parts[..plain].iter().collect(), is_whole)
}

/// Whether every directory on the way to a path below the root is none of a link.
pub(super) fn is_real(root: &Path, below: &Path) -> bool {
    let mut path = root.to_owned();
    let parts: Vec<_> = below.components().collect();
    let Some((_, above)) = parts.split_last() else {
        return true;
    };
    above.iter().all(|part| {
        path.push(part);
        path.symlink_metadata().is_ok_and(|seen| seen.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_without_following_links() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("c");
        let outside = directory.path().join("outside");
        for path in [
            "target/a/r.xml",
            "target/b/c/r.xml",
            "one.xml",
            ".git/r.xml",
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "x").expect("written");
        }
        fs::create_dir_all(&outside).expect("made");
        fs::write(outside.join("r.xml"), "x").expect("written");
        std::os::unix::fs::symlink(&outside, root.join("linked")).expect("linked");
        for (globs, expected) in [
            (&["one.xml"][..], &["one.xml"][..]),
            (&["**/r.xml"], &["target/a/r.xml", "target/b/c/r.xml"]),
            (&["target/*/r.xml"], &["target/a/r.xml"]),
            (&["linked/r.xml", "linked/*.xml", "nothing.xml"], &[]),
            (&["one.xml", "*.xml"], &["one.xml"]),
        ] {
            let globs = Patterns::new(globs.iter().copied()).expect("globs");
            assert_eq!(matching(&root, &globs), expected, "{globs:?}");
        }
        remove_reports(&root, &Patterns::new(["**/*.xml"]).expect("globs")).expect("removed");
        assert!(outside.join("r.xml").is_file() && root.join(".git/r.xml").is_file());
        assert!(!root.join("one.xml").exists() && !root.join("target/a/r.xml").exists());
    }
}
