//! A Cobertura XML report, as coverage.py, gcovr, istanbul, coverlet, PHPUnit and others write it (the DTD is
//! `coverage-04.dtd` of Cobertura).

use super::{CoverageReport, CoveredFile, CoveredPart, ReadResult};
use crate::read::xml::{self, Element, ReportKind, Taker};
use orch_base::{Code, Diagnostic, Place, RepoPath};

const KIND: ReportKind = ReportKind {
    name: "a Cobertura coverage report",
    roots: &["coverage"],
    may_declare_type: true,
    syntax: Code::CoverageSyntax,
    other: Code::NotCoverage,
    hint: "let the coverage tool write Cobertura XML, and keep other files elsewhere",
};

pub(in crate::read) fn read(path: &RepoPath, bytes: &[u8]) -> ReadResult {
    let mut taken = Cobertura::default();
    match xml::read(&KIND, path, bytes, &mut taken) {
        Ok(()) if taken.is_clover => {
            let message =
                "the file is not a Cobertura coverage report: it is a Clover coverage report";
            let finding = Diagnostic::error(KIND.other, message);
            let place = Place::file(path);
            ReadResult::refused(finding.at(place).hint(KIND.hint))
        }
        Ok(()) => taken.report.finish(path),
        Err(problem) => ReadResult::refused(*problem),
    }
}

/// What was read of a report so far.
#[derive(Default)]
struct Cobertura {
    report: CoverageReport,
    class: Option<OpenClass>,
    method: Option<OpenMethod>,
    /// Whether it has the elements of a Clover report, whose root has the same name.
    is_clover: bool,
}

/// A class that is read. A file may have several.
struct OpenClass {
    file: String,
    listed: CoveredFile,
    /// The lines that stand in its methods only; they count if the class lists none. Most reports list them twice.
    of_methods: CoveredFile,
}

/// A method that is read.
struct OpenMethod {
    name: String,
    covered: bool,
}

impl Taker for Cobertura {
    fn start(&mut self, element: &Element<'_>) {
        match element.name {
            "coverage" => {
                let total = number(element, "lines-valid");
                let covered = number(element, "lines-covered");
                if let (Some(total), Some(covered)) = (total, covered) {
                    self.report.declared = Some(CoveredPart { total, covered });
                }
            }
            "class" => {
                self.class = Some(OpenClass {
                    file: element
                        .text("filename")
                        .or(element.text("name"))
                        .unwrap_or("(without a name)")
                        .to_owned(),
                    listed: CoveredFile::default(),
                    of_methods: CoveredFile::default(),
                });
            }
            "method" => {
                self.method = Some(OpenMethod {
                    name: format!(
                        "{} {}",
                        element.get("name").unwrap_or_default(),
                        element.get("signature").unwrap_or_default()
                    ),
                    covered: number(element, "hits").is_some_and(|hits| hits > 0),
                });
            }
            "line" => self.line(element),
            "metrics" => self.is_clover = true,
            _ => {}
        }
    }

    fn text(&mut self, _: &str) {}

    fn end(&mut self, name: &str) {
        match name {
            "method" => {
                if let (Some(method), Some(class)) = (self.method.take(), &mut self.class) {
                    let class_name = class.file.clone();
                    let full = format!("{class_name} {}", method.name);
                    class.listed.function(&full, method.covered);
                }
            }
            "class" => {
                let Some(mut class) = self.class.take() else {
                    return;
                };
                if class.listed.lines.is_empty() {
                    class.listed.unite(class.of_methods);
                }
                self.report.add(&class.file, class.listed);
            }
            _ => {}
        }
    }
}

impl Cobertura {
    fn line(&mut self, element: &Element<'_>) {
        let (Some(class), Some(line)) = (&mut self.class, number(element, "number")) else {
            return;
        };
        let covered = number(element, "hits").is_some_and(|hits| hits > 0);
        let list = match &mut self.method {
            Some(method) => {
                method.covered |= covered;
                &mut class.of_methods
            }
            None => &mut class.listed,
        };
        list.line(line, covered);
        let is_branch = element
            .get("branch")
            .is_some_and(|branch| branch.eq_ignore_ascii_case("true"));
        if let Some(part) = element.get("condition-coverage").and_then(conditions)
            && is_branch
        {
            list.branch(line, "", part);
        }
    }
}

/// A whole number in an attribute. Some tools count executions beyond 64 bits, or write a fraction.
fn number(element: &Element<'_>, name: &str) -> Option<u64> {
    let text = element.text(name)?.trim();
    text.parse::<u64>()
        .ok()
        .or_else(|| super::lcov::count(text))
}

/// The numbers in `50% (1/2)`.
fn conditions(text: &str) -> Option<CoveredPart> {
    let (_, fraction) = text.split_once('(')?;
    let (covered, total) = fraction.trim().strip_suffix(')')?.split_once('/')?;
    Some(CoveredPart {
        total: total.trim().parse().ok()?,
        covered: covered.trim().parse().ok()?,
    })
}
