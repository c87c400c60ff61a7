//! An lcov tracefile, as geninfo(1) describes it, and as coverage.py, gcovr, c8, istanbul, grcov and others write it.
//!
//! A record of a kind that is not known says nothing of lines, branches and functions, and is passed over: each version
//! of lcov has brought some.

use super::{CoverageReport, CoveredFile, CoveredPart, ReadResult};
use orch_base::{Code, Diagnostic, Place, RepoPath};

/// What is wrong with a line.
struct LcovFault {
    code: Code,
    message: String,
    hint: &'static str,
}

const OTHER: &str = "let the coverage tool write an lcov tracefile, and keep other files elsewhere";
const GARBLED: &str =
    "was other output redirected into the file, or was it truncated? Write it again";

pub(in crate::read) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let mut taken = Lcov::default();
    let mut last = 1;
    for (nth, line) in text.lines().enumerate() {
        last = nth + 1;
        if let Err(fault) = taken.line(line.trim_end()) {
            return refused(path, text, last, fault);
        }
    }
    match taken.end() {
        Ok(report) => report.finish(path),
        Err(fault) => refused(path, text, last, fault),
    }
}

fn refused(path: &RepoPath, text: &str, line: usize, fault: LcovFault) -> ReadResult {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    let place = Place::on_line(path.as_str(), text, line, None);
    let finding = Diagnostic::error(fault.code, fault.message);
    ReadResult::refused(finding.at(place).hint(fault.hint))
}

/// What was read of a tracefile so far.
#[derive(Default)]
struct Lcov<'t> {
    report: CoverageReport,
    open: Option<OpenFile<'t>>,
    /// Whether a source file was named.
    has_file: bool,
}

/// The records of one source file.
struct OpenFile<'t> {
    path: &'t str,
    file: CoveredFile,
    lines_found: Option<u64>,
    lines_hit: Option<u64>,
}

impl<'t> Lcov<'t> {
    fn line(&mut self, line: &'t str) -> Result<(), LcovFault> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line == "end_of_record" {
            return self.end_of_record();
        }
        let Some((kind, value)) = line.split_once(':').filter(|(kind, _)| is_kind(kind)) else {
            return Err(self.stray(line));
        };
        match kind {
            "SF" => {
                if let Some(open) = &self.open {
                    let message = format!("the records of `{}` have no `end_of_record`", open.path);
                    return Err(garbled(message));
                }
                self.has_file = true;
                self.open = Some(OpenFile {
                    path: value,
                    file: CoveredFile::default(),
                    lines_found: None,
                    lines_hit: None,
                });
                Ok(())
            }
            "DA" | "BRDA" | "FN" | "FNDA" | "FNL" | "FNA" | "LF" | "LH" => {
                let Some(open) = &mut self.open else {
                    return Err(garbled(format!("`{kind}` belongs to no source file")));
                };
                match open.take(kind, value) {
                    Some(()) => Ok(()),
                    None => Err(garbled(format!("`{line}` is no record of lcov"))),
                }
            }
            _ => Ok(()),
        }
    }

    /// A line that is none of lcov.
    fn stray(&self, line: &str) -> LcovFault {
        if self.has_file {
            return garbled(format!("`{line}` is no record of lcov"));
        }
        LcovFault {
            code: Code::NotCoverage,
            message: "the file is not an lcov tracefile".to_owned(),
            hint: OTHER,
        }
    }

    fn end_of_record(&mut self) -> Result<(), LcovFault> {
        let Some(mut open) = self.open.take() else {
            return Err(garbled("`end_of_record` ends no source file".to_owned()));
        };
        if let (Some(total), Some(covered)) = (open.lines_found, open.lines_hit) {
            open.file.declared = Some(CoveredPart { total, covered });
        }
        self.report.add(open.path, open.file);
        Ok(())
    }

    fn end(self) -> Result<CoverageReport, LcovFault> {
        if let Some(open) = &self.open {
            return Err(garbled(format!(
                "the file ends within the records of `{}`",
                open.path
            )));
        }
        if self.has_file {
            return Ok(self.report);
        }
        Err(LcovFault {
            code: Code::NotCoverage,
            message: "the file is not an lcov tracefile: it names no source file".to_owned(),
            hint: OTHER,
        })
    }
}

fn garbled(message: String) -> LcovFault {
    LcovFault {
        code: Code::CoverageSyntax,
        message,
        hint: GARBLED,
    }
}

fn is_kind(kind: &str) -> bool {
    !kind.is_empty() && kind.chars().all(|letter| letter.is_ascii_uppercase())
}

impl OpenFile<'_> {
    /// Takes a record of the file; `None` if it is malformed.
    fn take(&mut self, kind: &str, value: &str) -> Option<()> {
        let mut fields = value.split(',');
        match kind {
            "DA" => {
                let line = fields.next()?.parse().ok()?;
                self.file.line(line, count(fields.next()?)? > 0);
            }
            "BRDA" => {
                let (line, rest) = value.split_once(',')?;
                // The name of a branch may contain commas; what follows the last one is how often it was taken.
                let (which, taken) = rest.rsplit_once(',')?;
                let taken = CoveredPart::of(count(taken)? > 0);
                self.file.branch(line.parse().ok()?, which, taken);
            }
            "FN" => {
                let (_, rest) = value.split_once(',')?;
                let name = match rest.split_once(',') {
                    Some((end, name)) if end.parse::<u64>().is_ok() => name,
                    _ => rest,
                };
                self.file.function(name, false);
            }
            "FNDA" => {
                let (hits, name) = value.split_once(',')?;
                self.file.function(name, count(hits)? > 0);
            }
            // Since version 2.2, a function has a number, under which all its names stand.
            "FNL" => self.file.function(fields.next()?, false),
            "FNA" => {
                let number = fields.next()?;
                self.file.function(number, count(fields.next()?)? > 0);
            }
            "LF" => self.lines_found = Some(value.parse().ok()?),
            "LH" => self.lines_hit = Some(value.parse().ok()?),
            _ => {}
        }
        Some(())
    }
}

/// How often something was executed: `-` means that it was never reached. Some tools write numbers below zero, with a
/// fraction or beyond 64 bits.
pub(super) fn count(text: &str) -> Option<u64> {
    if text == "-" {
        return Some(0);
    }
    if let Ok(count) = text.parse::<u64>() {
        return Some(count);
    }
    let number: f64 = text.parse().ok()?;
    if number.is_nan() {
        return None;
    }
    Some(u64::from(number > 0.0))
}
