//! `orch ci`: everything that CI asks about a pull request, in one command.

use super::audit;
use super::check::{self, Form};
use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::verify;
use orch_base::{Code, Diagnostic, Hint, Place};
use orch_engine::gather;
use orch_engine::history::{AuditScope, Checked, Checker};
use orch_engine::survey::Workspace;
use orch_view::{
    CiPart, CiReport, Finding, GITHUB_CHARACTERS, PullRequestText, VerificationLine, findings,
};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Check the commits of a pull request, as CI does: their artifacts, their records, and the rules.
///
/// The same as `orch check --range`, `orch audit RANGE --strict` and, with --verify, `orch verify` on HEAD, which records
/// nothing. The range is that of the pull request or merge request that GitHub or GitLab runs CI for; --range names another
/// one. Both hosts clone without history unless they are told otherwise, and nothing can be said of commits that are not
/// there: that is an error, with what to write.
///
/// Prints the findings as the host displays them at their lines. --summary and --comment write what was found and what
/// `orch pr --range` says. Exits with 1 if something speaks against the range, and with 5 if a verification could not run.
#[derive(Debug, Args)]
pub struct CiArgs {
    /// Check the commits of B that A does not have, of `A..B`.
    #[arg(long, value_name = "RANGE")]
    range: Option<String>,
    /// Also run the verifications of orch.toml on HEAD.
    #[arg(long)]
    verify: bool,
    /// With --verify: start what orch.toml names in HEAD although nobody has trusted it here.
    #[arg(long, requires = "verify")]
    trust_once: bool,
    /// The form of the findings; default: `github` where GitHub runs it, otherwise `text`.
    #[arg(long)]
    format: Option<Form>,
    /// Write the findings to FILE instead of stdout.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Add what was found and the description of the tasks to FILE, as Markdown.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write the same to FILE, to be posted as a comment that the next run replaces.
    #[arg(long, value_name = "FILE")]
    comment: Option<PathBuf>,
    /// Cut the longest parts so that the Markdown has at most N characters. GitHub permits 65536, GitLab 1048576.
    #[arg(long, value_name = "N", default_value_t = GITHUB_CHARACTERS)]
    limit: usize,
}

pub fn run(args: &CiArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let range = match &args.range {
        Some(range) => range.clone(),
        None => range_of_host(context)?,
    };
    let form = match args.format {
        Some(form) => check::form(form, context)?,
        None if context.global.json => Form::Json,
        None if context.caller.variables.get("GITHUB_ACTIONS").is_some() => Form::Github,
        None => Form::Text,
    };
    refuse_shallow(&context.bare_workspace()?, &range)?;
    let mut found = Found::default();
    found.check(&range, context)?;
    found.audit(&range, context)?;
    if args.verify {
        found.verify(args.trust_once, context, ui)?;
    }
    let (at_end, tasks) = gather::tasks_of_range(context.bare_workspace()?, &range)?;
    let (described, problems) = gather::described_tasks(&at_end, &tasks);
    found.diagnostics.extend(problems);
    let passed = found.parts.iter().all(|part| part.passed);
    let findings: Vec<Finding> = found.diagnostics.iter().map(Finding::of).collect();
    let text = PullRequestText::of_ci(passed, &found.parts, &findings, &described, args.limit);
    if let Some(file) = &args.summary {
        let opened = OpenOptions::new().append(true).create(true).open(file);
        written(
            file,
            opened.and_then(|mut file| file.write_all(text.markdown.as_bytes())),
        )?;
    }
    if let Some(file) = &args.comment {
        written(file, std::fs::write(file, &text.markdown))?;
    }
    let exit = found.exit();
    if form == Form::Json {
        let verifications = found.verifications;
        ui.document(&CiReport {
            range,
            passed,
            parts: found.parts,
            verifications,
            findings,
            text,
        })?;
        return Ok(exit);
    }
    print(args, &found, form, ui)?;
    let lines: String = found.parts.iter().map(CiPart::text).collect();
    ui.problem(lines.trim_end());
    Ok(exit)
}

/// Prints the findings, or writes them to the file that was named.
fn print(args: &CiArgs, found: &Found, form: Form, ui: &Ui) -> Result<(), Failure> {
    let checked = Checked {
        findings: found.diagnostics.clone(),
        ..Checked::default()
    };
    let Some(file) = &args.report else {
        return check::print(&checked, form, true, ui);
    };
    let (kept, answers) = Ui::keeping();
    check::print(&checked, form, true, &kept)?;
    written(file, std::fs::write(file, answers.take()))
}

fn written(file: &Path, result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| {
        let message = format!("cannot write {}: {error}", file.display());
        Failure::new(Code::Io, message).hint("name another file")
    })
}

/// The outcome of a verification that could not run.
const NOT_RUN: &str = "could-not-run";

/// What was found about a range.
#[derive(Default)]
struct Found {
    parts: Vec<CiPart>,
    diagnostics: Vec<Diagnostic>,
    verifications: Vec<VerificationLine>,
}

impl Found {
    fn check(&mut self, range: &str, context: &Context) -> Result<(), Failure> {
        let workspace = context.bare_workspace()?;
        let checked = Checker::new(&workspace, &context.caller).range(range)?;
        self.parts.push(CiPart {
            name: "check".to_owned(),
            passed: check::is_fine(&checked.findings, true),
            summary: findings::summary(&checked.findings),
        });
        self.add(checked.findings);
        Ok(())
    }

    fn audit(&mut self, range: &str, context: &Context) -> Result<(), Failure> {
        let workspace = context.bare_workspace()?;
        let scope = AuditScope {
            range: Some(range),
            since: None,
            also: &[],
            proven: None,
            progress: None,
        };
        let report = audit::report(&workspace, scope)?;
        self.parts.push(CiPart {
            name: "audit --strict".to_owned(),
            passed: report.is_fine(true),
            summary: report.summary(),
        });
        // The check names what is forged, too, with more of what to do.
        let mut new = report.findings();
        new.retain(|found| {
            let is_same = |known: &Diagnostic| {
                known.code == found.code
                    && known.place.as_ref().map(|place| &place.path)
                        == found.place.as_ref().map(|place| &place.path)
            };
            !self.diagnostics.iter().any(is_same)
        });
        self.add(new);
        Ok(())
    }

    fn verify(&mut self, trust: bool, context: &Context, ui: &Ui) -> Result<(), Failure> {
        let lines = verify::of_head(trust, context, ui)?;
        for line in &lines {
            let passed = line.outcome == "passed";
            let outcome = line.outcome.replace('-', " ");
            self.parts.push(CiPart {
                name: format!("verify {}", line.name),
                passed,
                summary: match line.counts() {
                    Some(counts) => format!("{outcome}: {counts}"),
                    None => outcome,
                },
            });
            if !passed {
                self.add(failures(line));
            }
        }
        self.verifications = lines;
        Ok(())
    }

    /// Adds findings that are not known yet.
    fn add(&mut self, new: Vec<Diagnostic>) {
        for finding in new {
            if !self.diagnostics.contains(&finding) {
                self.diagnostics.push(finding);
            }
        }
    }

    fn exit(&self) -> ExitCode {
        let lines = self.verifications.iter();
        let not_run = lines.filter(|line| line.outcome == NOT_RUN).count();
        let failed = self.parts.iter().filter(|part| !part.passed).count();
        if failed == 0 {
            ExitCode::Fine
        } else if failed == not_run {
            ExitCode::NotNow
        } else {
            ExitCode::No
        }
    }
}

/// A finding for each test that failed, at its line; or for the verification, if its reports name none.
fn failures(line: &VerificationLine) -> Vec<Diagnostic> {
    let name = &line.name;
    if line.outcome == NOT_RUN {
        let why = line.message.as_deref().unwrap_or("there is no result");
        let finding = Diagnostic::error(Code::VerificationNotRun, format!("{name}: {why}"));
        return vec![Diagnostic {
            hint: line.hint.clone().map(Hint::from),
            ..finding
        }];
    }
    let mut found = Vec::new();
    for test in &line.failed {
        let said = match &test.message {
            Some(message) => format!(": {message}"),
            None => String::new(),
        };
        let message = format!("{name}: {} failed{said}", test.name);
        let finding = Diagnostic::error(Code::VerificationFailed, message);
        found.push(match &test.file {
            Some(file) => finding.at(Place {
                path: file.clone(),
                line: test.line.and_then(|line| u32::try_from(line).ok()),
                ..Place::default()
            }),
            None => finding,
        });
    }
    if found.is_empty() {
        let why = line.message.as_deref().unwrap_or("it failed");
        found.push(Diagnostic::error(
            Code::VerificationFailed,
            format!("{name}: {why}"),
        ));
    }
    found
}

/// The range of the pull request that the host runs CI for.
fn range_of_host(context: &Context) -> Result<String, Failure> {
    let variables = &context.caller.variables;
    if let Some(branch) = variables.get("GITHUB_BASE_REF") {
        return Ok(format!("origin/{branch}..HEAD"));
    }
    let of_gitlab = variables
        .get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
        .or_else(|| variables.get("CI_COMMIT_BEFORE_SHA"));
    if let Some(commit) = of_gitlab {
        return Ok(format!("{commit}..HEAD"));
    }
    let message = "no host says which pull request this is";
    Err(
        Failure::new(Code::Usage, message).hint(Hint::from("name the commits: ").command(&[
            "orch",
            "ci",
            "--range",
            "main..HEAD",
        ])),
    )
}

/// Returns an error if the clone ends before the range does, or lacks its beginning.
fn refuse_shallow(workspace: &Workspace, range: &str) -> Result<(), Failure> {
    let store = workspace.reader().repository_or_refuse()?;
    if !store.refs().is_shallow()? {
        return Ok(());
    }
    let history = store.history();
    let is_whole = match history.range(range) {
        Ok(ends) => {
            let has_base = match ends.from {
                Some(from) => !history.merge_bases(from, ends.to)?.is_empty(),
                None => false,
            };
            has_base && !history.commits(&ends)?.iter().any(|one| one.is_boundary)
        }
        Err(_) => false,
    };
    if is_whole {
        return Ok(());
    }
    let message = format!("this clone is shallow and lacks commits of {range}");
    let hint = Hint::run(&["git", "fetch", "--unshallow", "origin"]).text(
        "; in CI, clone with history: `fetch-depth: 0` for actions/checkout, `GIT_DEPTH: \"0\"` for GitLab",
    );
    Err(Failure::new(Code::NotInClone, message).hint(hint))
}
