//! What a coverage report says: how many lines, branches and functions were executed, in all and in each file.
//!
//! What is listed counts, each line once, however often a report lists it; what the report declares of a file or of
//! itself counts only where nothing is listed. Of something that was not measured `percent` is 0: nothing passes for
//! want of a measurement.

mod cobertura;
mod lcov;

pub(super) use cobertura::read as read_cobertura;
pub(super) use lcov::read as read_lcov;

use super::ReadResult;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde_json::{Map, Value, json};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// How many files a report may name. Each takes memory, whether it has lines or not.
const MAX_FILES: usize = 50_000;

/// How much of something there is, and how much of it was executed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct CoveredPart {
    total: u64,
    covered: u64,
}

impl CoveredPart {
    fn of(covered: bool) -> Self {
        Self {
            total: 1,
            covered: u64::from(covered),
        }
    }

    fn add(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.covered = self.covered.saturating_add(other.covered);
    }

    /// Takes what another list says of the same thing.
    fn unite(&mut self, other: Self) {
        self.total = self.total.max(other.total);
        self.covered = self.covered.max(other.covered);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "no report has so many lines that a percentage would show it"
    )]
    fn value(self) -> Value {
        let percent = if self.total == 0 {
            0.0
        } else {
            self.covered as f64 * 100.0 / self.total as f64
        };
        json!({"total": self.total, "covered": self.covered, "percent": percent})
    }
}

/// A branch of a line: the number of the line, and which of its branches it is.
type BranchKey = (u64, Box<str>);

/// What was listed of one file.
#[derive(Debug, Default)]
struct CoveredFile {
    lines: HashMap<u64, CoveredPart>,
    branches: HashMap<BranchKey, CoveredPart>,
    functions: HashMap<Box<str>, CoveredPart>,
    /// What is declared of its lines; it counts if none is listed.
    declared: Option<CoveredPart>,
}

/// What counts of one file, or of all.
#[derive(Debug, Default, Clone, Copy)]
struct CoveredParts {
    lines: CoveredPart,
    branches: CoveredPart,
    functions: CoveredPart,
}

impl CoveredFile {
    fn line(&mut self, number: u64, covered: bool) {
        unite(&mut self.lines, number, CoveredPart::of(covered));
    }

    fn branch(&mut self, line: u64, which: &str, part: CoveredPart) {
        unite(&mut self.branches, (line, which.into()), part);
    }

    fn function(&mut self, name: &str, covered: bool) {
        unite(&mut self.functions, name.into(), CoveredPart::of(covered));
    }

    fn unite(&mut self, other: Self) {
        for (number, part) in other.lines {
            unite(&mut self.lines, number, part);
        }
        for (key, part) in other.branches {
            unite(&mut self.branches, key, part);
        }
        for (name, part) in other.functions {
            unite(&mut self.functions, name, part);
        }
        if let Some(declared) = other.declared {
            self.declared.get_or_insert_default().unite(declared);
        }
    }

    fn parts(&self) -> CoveredParts {
        let listed = sum(&self.lines);
        CoveredParts {
            lines: match self.declared {
                Some(declared) if listed.total == 0 => declared,
                _ => listed,
            },
            branches: sum(&self.branches),
            functions: sum(&self.functions),
        }
    }
}

fn unite<K: Eq + std::hash::Hash>(parts: &mut HashMap<K, CoveredPart>, key: K, part: CoveredPart) {
    match parts.entry(key) {
        Entry::Occupied(mut known) => known.get_mut().unite(part),
        Entry::Vacant(free) => {
            free.insert(part);
        }
    }
}

fn sum<K>(parts: &HashMap<K, CoveredPart>) -> CoveredPart {
    let mut all = CoveredPart::default();
    for part in parts.values() {
        all.add(*part);
    }
    all
}

/// A report that is read.
#[derive(Debug, Default)]
struct CoverageReport {
    files: BTreeMap<String, CoveredFile>,
    /// What it declares of all lines.
    declared: Option<CoveredPart>,
    /// Files of which the report declares other numbers than it lists, and one of them in words.
    differing: usize,
    difference: Option<String>,
    is_too_large: bool,
}

impl CoverageReport {
    /// Adds what one list says of a file; several lists may name the same one.
    fn add(&mut self, path: &str, file: CoveredFile) {
        let listed = sum(&file.lines);
        if let Some(declared) = file.declared
            && listed.total > 0
            && listed != declared
        {
            self.differ(&format!("`{path}`"), declared, listed);
        }
        if let Some(known) = self.files.get_mut(path) {
            known.unite(file);
        } else if self.files.len() < MAX_FILES {
            self.files.insert(path.to_owned(), file);
        } else {
            self.is_too_large = true;
        }
    }

    fn differ(&mut self, what: &str, declared: CoveredPart, listed: CoveredPart) {
        self.differing += 1;
        self.difference.get_or_insert_with(|| {
            format!(
                "{what} declares {} of {} lines and lists {} of {}: what is listed counts",
                declared.covered, declared.total, listed.covered, listed.total
            )
        });
    }

    fn finish(mut self, path: &RepoPath) -> ReadResult {
        let place = Place::file(path);
        if self.is_too_large {
            let message = format!("the report names more than {MAX_FILES} files");
            let hint = "write a report for each part of the project";
            let finding = Diagnostic::error(Code::CoverageSyntax, message);
            return ReadResult::refused(finding.at(place).hint(hint));
        }
        let mut all = CoveredParts::default();
        let mut files = Map::new();
        for (name, file) in &self.files {
            let parts = file.parts();
            all.lines.add(parts.lines);
            all.branches.add(parts.branches);
            all.functions.add(parts.functions);
            let value = json!({"lines": parts.lines.value(), "branches": parts.branches.value()});
            files.insert(name.clone(), value);
        }
        match self.declared {
            Some(declared) if all.lines.total == 0 => all.lines = declared,
            Some(declared) if declared != all.lines => {
                self.differ("the report", declared, all.lines);
            }
            _ => {}
        }
        let mut problems = Vec::new();
        if let Some(difference) = &self.difference {
            let more = match self.differing - 1 {
                0 => String::new(),
                more => format!(" ({more} more like it)"),
            };
            let finding = Diagnostic::note(Code::CoverageCounts, format!("{difference}{more}"));
            problems.push(finding.at(place.clone()));
        }
        if all.lines.total == 0 {
            let files = self.files.len();
            let message = format!("nothing was measured: the report has {files} files and no line");
            let hint = "measure the code that you meant to measure, and write the report again";
            let finding = Diagnostic::note(Code::NothingMeasured, message);
            problems.push(finding.at(place).hint(hint));
        }
        let data = json!({
            "lines": all.lines.value(),
            "branches": all.branches.value(),
            "functions": all.functions.value(),
            "files": files,
        });
        ReadResult {
            data: Some(data),
            problems,
        }
    }
}

#[cfg(test)]
mod tests;
