//! `orch explain`: every rule that was tried, which part of its guard was false, and the values that it read.

use super::layout::{
    Cell, SHORT, below, columns, counted, id_cell, one_line, paragraph, plain, shorten, styled,
};
use super::suggestion::scope;
use super::text::{headline, mood, sent_back};
use super::way::way_text;
use super::wire::{Finding, Suggestion, in_repository};
use super::{Paint, Repository, Style, Subject};
use orch_base::Digest;
use orch_core::decide::{Derived, DutyKind, GuardPart, Tried, Truth, nearest_rule};
use orch_core::workflow::TreeScope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, from_value};
use std::collections::BTreeMap;

/// The envelope of explanations.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Explanations {
    /// The repository that was read.
    pub repository: Repository,
    /// One explanation per task.
    pub explanations: Vec<Explanation>,
}

super::json::documents! { Explanations = "explanations" }

/// Why one task is where it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The resulting suggestion, as `orch suggest` prints it.
    pub suggestion: Suggestion,
    /// The commit that contains the current state; null if none does.
    pub committed: Option<String>,
    /// The path of the workflow document.
    pub document: String,
    /// The digest of the document and its schemas.
    #[cfg_attr(test, schemars(extend("pattern" = "^[0-9a-f]{40}([0-9a-f]{24})?$")))]
    pub workflow_digest: String,
    /// The rule that decided; otherwise the one that lacks least. Null if no rule was tried.
    pub nearest: Option<String>,
    /// Every rule of the phase, in document order.
    pub rules: Vec<TriedRuleView>,
    /// The facts of every artifact.
    pub artifacts: Vec<ArtifactFacts>,
}

/// A rule that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedRuleView {
    /// The id of the rule.
    pub rule: String,
    /// The outcome of the rule, in words.
    pub outcome: String,
    /// The phase that the rule leads to, if any.
    pub to: Option<String>,
    /// The line of the rule in the document.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub line: Option<u32>,
    /// `true`, `false`, `error` or `not-tried`.
    #[cfg_attr(test, schemars(extend("enum" = ["true", "false", "error", "not-tried"])))]
    pub result: &'static str,
    /// The error, if the guard could not be evaluated.
    pub error: Option<String>,
    /// The parts of its guard.
    pub parts: Vec<GuardPartView>,
}

/// A part of a guard.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GuardPartView {
    /// The source text of the part, in CEL.
    pub text: String,
    /// `true`, `false`, `error`, `not-tried`, or `unknown` if it reads an artifact that does not exist, or not
    /// valid, and the rule does not depend on it.
    #[cfg_attr(test, schemars(extend("enum" = ["true", "false", "error", "not-tried", "unknown"])))]
    pub result: &'static str,
    /// The error, if the part could not be evaluated.
    pub error: Option<String>,
    /// The values that it read.
    pub saw: Vec<SawView>,
    /// The named expression that contains the part; null for a part of the guard itself.
    pub within: Option<String>,
}

/// A value that a guard read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SawView {
    /// The name of the value in the guard.
    pub name: String,
    /// The value; also null if it is missing.
    pub value: Value,
    /// Whether the value is missing.
    pub missing: bool,
    /// The file that the value came from; null if there is none.
    pub path: Option<String>,
}

impl SawView {
    /// The file of the task that the value came from, behind the value.
    fn origin(&self, task: &str) -> String {
        match &self.path {
            Some(path) => format!("  ({})", below(task, path)),
            None => String::new(),
        }
    }
}

/// The facts of one artifact.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ArtifactFacts {
    /// The name of the artifact.
    pub artifact: String,
    /// The paths of its files.
    pub paths: Vec<String>,
    /// Whether at least one file matches.
    pub present: bool,
    /// Whether every file parses and matches the schema.
    pub valid: bool,
    /// Whether the digest is not used up and everything that the artifact judged is unchanged.
    pub fresh: bool,
    /// Whether the latest record of the artifact has another digest.
    pub changed: bool,
    /// The digest of its files.
    pub digest: Option<String>,
    /// Why the artifact is not fresh.
    pub stale_because: Option<String>,
    /// Who wrote its files or made its commits, as far as known.
    pub writers: Vec<String>,
    /// What the artifact says it judged; a null digest means that there was nothing to judge.
    pub of: BTreeMap<String, Option<String>>,
    /// The code that the artifact may consist of; null if it consists of files only.
    pub tree: Option<TreeFacts>,
}

/// The facts of an artifact that may be committed code.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeFacts {
    /// The files and directories of the repository.
    pub scope: Vec<String>,
    /// Whether the code counts as the artifact now.
    pub counts: bool,
    /// The commits since the last recorded step, newest first; null if unknown.
    pub commits: Option<Vec<TreeCommit>>,
    /// The files that changed since then; null if unknown.
    pub files: Option<Vec<String>>,
}

/// A commit of code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeCommit {
    /// The id of the commit.
    #[cfg_attr(test, schemars(extend("pattern" = "^[0-9a-f]{40}([0-9a-f]{24})?$")))]
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The tasks that its message names.
    pub tasks: Vec<String>,
}

impl Explanations {
    /// The explanations as text.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let blocks: Vec<String> = self
            .explanations
            .iter()
            .map(|explanation| explanation.text(paint, width))
            .collect();
        blocks.join("\n")
    }
}

impl Explanation {
    /// Why a task is where it is, and the commit that contains its state.
    #[must_use]
    pub fn of(subject: &Subject<'_>, committed: Option<Digest>) -> Self {
        let decision = subject.decision;
        Self {
            suggestion: Suggestion::of(subject),
            committed: committed.map(|commit| commit.to_string()),
            document: subject.workflow.path.clone(),
            workflow_digest: subject.workflow.digest.to_string(),
            nearest: nearest_rule(subject.workflow, decision).map(|tried| tried.rule.to_string()),
            rules: decision
                .tried
                .iter()
                .map(|tried| trial(subject, tried))
                .collect(),
            artifacts: decision
                .artifacts
                .iter()
                .map(|derived| facts(subject, derived))
                .collect(),
        }
    }

    /// The explanation as text.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let suggestion = &self.suggestion;
        let phase = suggestion.task.phase();
        let substate = substate_text(suggestion.task.substate.as_ref());
        let mut out = columns(
            &[vec![
                id_cell(&suggestion.task.id),
                plain(format!(
                    "{phase}{substate}, attempt {}",
                    suggestion.task.attempt
                )),
                styled(headline(suggestion), mood(suggestion)),
            ]],
            &[0],
            0,
            paint,
            width,
        );
        out.push_str(&way_text(&suggestion.way, 4, paint, width));
        for deadline in &suggestion.task.deadlines {
            paragraph(&mut out, &deadline.words(&suggestion.task.id), 4, 4, width);
        }
        paragraph(&mut out, &suggestion.duty.reason, 4, 0, width);
        for remark in &suggestion.remarks {
            paragraph(&mut out, &format!("remark: {remark}"), 4, 4, width);
        }
        sent_back(&mut out, suggestion, width);
        self.rules_text(&mut out, phase, paint, width);
        self.artifacts_text(&mut out, paint, width);
        if !suggestion.diagnostics.is_empty() {
            out.push('\n');
        }
        for finding in suggestion
            .diagnostics
            .iter()
            .filter(|finding| !finding.is_detail())
        {
            paragraph(&mut out, &finding_line(finding), 0, 4, width);
        }
        out
    }

    fn rules_text(&self, out: &mut String, phase: &str, paint: Paint, width: usize) {
        if self.rules.is_empty() {
            out.push_str(match self.suggestion.duty.kind {
                DutyKind::Done => "\nno rule leaves a terminal phase\n",
                _ => "\nno rule was tried\n",
            });
            return;
        }
        let numbered = self.rules.iter().enumerate();
        let (nearest, others): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, rule)| Some(&rule.rule) == self.nearest.as_ref());
        for (heading, rules) in [("nearest rule", nearest), ("other rules", others)] {
            if !rules.is_empty() {
                out.push('\n');
                paragraph(
                    out,
                    &format!("{heading} of {phase} ({})", self.document),
                    0,
                    2,
                    width,
                );
                self.tried_text(out, &rules, paint, width);
            }
        }
    }

    /// Rules, each with its number in the document.
    fn tried_text(
        &self,
        out: &mut String,
        rules: &[(usize, &TriedRuleView)],
        paint: Paint,
        width: usize,
    ) {
        for (number, rule) in rules {
            let place = rule
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            let outcome = shorten(&rule.outcome, SHORT);
            paragraph(
                out,
                &format!("{}. {}: {outcome}{place}", number + 1, rule.rule),
                2,
                3,
                width,
            );
            let (word, style) = rule.standing();
            let because = rule
                .error
                .as_ref()
                .map_or(String::new(), |error| format!(": {error}"));
            painted(out, &format!("{word}{because}"), 5, style, paint, width);
            for part in rule.parts.iter().filter(|_| rule.result != "not-tried") {
                self.part_text(out, part, paint, width);
            }
        }
    }

    /// A part of a guard and, on the lines below, the values that it read, unless the part is itself the only
    /// value.
    fn part_text(&self, out: &mut String, part: &GuardPartView, paint: Paint, width: usize) {
        let task = self.suggestion.task.path.as_str();
        let style = match part.result {
            "true" => Style::Good,
            "error" => Style::Bad,
            "false" => Style::Warn,
            _ => Style::Dim,
        };
        // Cells built by hand, so that the padding and the file after a long value are not cut off.
        let word = (format!("{:7}", part.result), Some(style));
        let (within, indent) = match &part.within {
            Some(name) => (format!("in {name}: "), 7),
            None => (String::new(), 5),
        };
        let mut text = format!("{within}{}", shorten(&part.text, SHORT));
        let obvious = match part.saw.as_slice() {
            [only] => only.name == part.text && only.value.is_boolean(),
            _ => false,
        };
        if obvious {
            for seen in &part.saw {
                text.push_str(&seen.origin(task));
            }
        }
        out.push_str(&columns(
            &[vec![word, (text, None)]],
            &[],
            indent,
            paint,
            width,
        ));
        if obvious {
            return;
        }
        let mut rows = Vec::new();
        for seen in &part.saw {
            let value = if seen.missing {
                "is missing".to_owned()
            } else {
                format!("= {}", value_text(&seen.value))
            };
            let value = format!("{value}{}", seen.origin(task));
            rows.push(vec![plain(&seen.name), (value, None)]);
        }
        out.push_str(&columns(&rows, &[], indent + 11, paint, width));
    }

    fn artifacts_text(&self, out: &mut String, paint: Paint, width: usize) {
        if self.artifacts.is_empty() {
            return;
        }
        out.push_str("\nartifacts\n");
        let rows: Vec<Vec<Cell>> = self
            .artifacts
            .iter()
            .map(|facts| facts.row(&self.suggestion.task.path))
            .collect();
        out.push_str(&columns(&rows, &[0], 2, paint, width));
    }
}

impl TriedRuleView {
    /// The outcome of the rule, in words.
    pub(super) fn standing(&self) -> (&'static str, Style) {
        match self.result {
            "true" => ("fires", Style::Good),
            "false" => ("does not hold", Style::Dim),
            "error" => ("cannot be evaluated", Style::Bad),
            _ => ("not tried: an earlier rule decided", Style::Dim),
        }
    }
}

impl ArtifactFacts {
    /// Whether the artifact counts, in one word.
    pub(super) fn standing(&self) -> (&'static str, Style) {
        match (self.present, self.valid, self.fresh) {
            (false, ..) => ("missing", Style::Dim),
            (_, false, _) => ("invalid", Style::Bad),
            (_, _, false) => ("stale", Style::Warn),
            _ => ("ready", Style::Good),
        }
    }

    /// What else is known about it: that it changed, why it does not count, and the commits of its code.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        if self.changed {
            notes.push("changed".to_owned());
        }
        notes.extend(self.stale_because.iter().map(|why| one_line(why)));
        if !self.writers.is_empty() {
            notes.push(format!("by {}", one_line(&self.writers.join(", "))));
        }
        if let Some(commits) = self.tree.as_ref().and_then(|tree| tree.commits.as_ref()) {
            notes.push(format!(
                "{} since the last step",
                counted(commits.len(), "commit")
            ));
        }
        notes
    }

    fn row(&self, task: &str) -> Vec<Cell> {
        let (word, style) = self.standing();
        let place = match self.paths.as_slice() {
            [] => String::new(),
            [only] => below(task, only),
            several => format!("{} files", several.len()),
        };
        let digest = self
            .digest
            .as_deref()
            .map_or(String::new(), |digest| digest.chars().take(10).collect());
        vec![
            plain(&self.artifact),
            styled(word, style),
            plain(place),
            styled(digest, Style::Dim),
            plain(self.notes().join("; ")),
        ]
    }
}

/// A wrapped and indented text in one style.
fn painted(out: &mut String, text: &str, indent: usize, style: Style, paint: Paint, width: usize) {
    let mut lines = String::new();
    paragraph(&mut lines, text, indent, 2, width);
    for line in lines.lines() {
        out.push_str(&paint.paint(style, line));
        out.push('\n');
    }
}

/// The substate, as it follows the name of the phase.
pub(super) fn substate_text(substate: Option<&Value>) -> String {
    match substate {
        Some(Value::String(text)) => format!(" / {}", shorten(text, SHORT)),
        Some(Value::Null) | None => String::new(),
        Some(other) => format!(" / {}", value_text(other)),
    }
}

/// A value on one line.
pub(super) fn value_text(value: &Value) -> String {
    shorten(&value.to_string(), SHORT)
}

fn finding_line(finding: &Finding) -> String {
    let hint = finding
        .advice
        .hint()
        .map_or(String::new(), |hint| format!(" (hint: {hint})"));
    finding.line() + &hint
}

fn truth(result: &Truth) -> (&'static str, Option<String>) {
    match result {
        Truth::True => ("true", None),
        Truth::False => ("false", None),
        Truth::Error(why) => ("error", Some(why.clone())),
        Truth::NotTried => ("not-tried", None),
    }
}

fn trial(subject: &Subject<'_>, tried: &Tried) -> TriedRuleView {
    let (result, error) = truth(&tried.result);
    TriedRuleView {
        rule: tried.rule.to_string(),
        outcome: tried.outcome.clone(),
        to: tried.to.as_ref().map(ToString::to_string),
        line: tried.line,
        result,
        error,
        parts: tried
            .parts
            .iter()
            .map(|part| guard_part(subject, part, tried))
            .collect(),
    }
}

fn guard_part(subject: &Subject<'_>, part: &GuardPart, tried: &Tried) -> GuardPartView {
    let reads_nothing = reads_nothing(subject, part, &tried.parts);
    let (result, error) = match (&part.result, &tried.result) {
        (Truth::Error(_), Truth::True | Truth::False | Truth::NotTried) if reads_nothing => {
            ("unknown", None)
        }
        (result, _) => truth(result),
    };
    let mut saw = Vec::new();
    for (name, value) in &part.saw {
        saw.push(SawView {
            name: name.clone(),
            value: value.clone().unwrap_or_default(),
            missing: value.is_none(),
            path: origin(subject, name),
        });
    }
    GuardPartView {
        text: part.text.clone(),
        result,
        error,
        saw,
        within: part.within.clone(),
    }
}

/// Whether a part has no value because an artifact that it reads, itself or in a named expression, is absent or
/// not valid. `all` are the parts of the rule.
fn reads_nothing(subject: &Subject<'_>, part: &GuardPart, all: &[GuardPart]) -> bool {
    let mut missing = part
        .saw
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| name);
    missing.any(|name| {
        // A named expression cannot contain itself, so this ends.
        let mut inner = all
            .iter()
            .filter(|inner| inner.within.as_ref() == Some(name));
        is_unusable(subject, name) || inner.any(|inner| reads_nothing(subject, inner, all))
    })
}

/// Whether a value of a guard belongs to an artifact that is absent or not valid.
fn is_unusable(subject: &Subject<'_>, name: &str) -> bool {
    let root = name.split(['.', '[']).next();
    subject
        .decision
        .artifacts
        .iter()
        .any(|derived| Some(derived.name.as_str()) == root && !derived.valid)
}

/// The file that a value of a guard came from: that of its artifact, or `state.json`.
fn origin(subject: &Subject<'_>, name: &str) -> Option<String> {
    let root = name.split(['.', '[']).next()?;
    if root == "state" {
        return Some(in_repository(subject.place, "state.json"));
    }
    let derived = subject
        .decision
        .artifacts
        .iter()
        .find(|derived| derived.name.as_str() == root)?;
    Some(in_repository(subject.place, &derived.files.first()?.path))
}

pub(super) fn facts(subject: &Subject<'_>, derived: &Derived) -> ArtifactFacts {
    ArtifactFacts {
        artifact: derived.name.to_string(),
        paths: derived
            .files
            .iter()
            .map(|file| in_repository(subject.place, &file.path))
            .collect(),
        present: derived.present,
        valid: derived.valid,
        fresh: derived.fresh,
        changed: derived.changed,
        digest: derived.digest.map(|digest| digest.to_string()),
        stale_because: derived.stale_because.clone(),
        writers: derived.writers.iter().map(ToString::to_string).collect(),
        of: (derived.of.iter())
            .map(|(name, version)| {
                (
                    name.clone(),
                    version.digest().map(|digest| digest.to_string()),
                )
            })
            .collect(),
        tree: scope(subject, &derived.name).map(|scope| tree_facts(scope, derived)),
    }
}

fn tree_facts(scope: &TreeScope, derived: &Derived) -> TreeFacts {
    let since = derived.tree.as_deref();
    let commits = since.and_then(|since| since.get("commits")).cloned();
    let files = since.and_then(|since| since.get("files")).cloned();
    TreeFacts {
        scope: scope.texts().to_vec(),
        counts: since.is_some(),
        commits: from_value(commits.unwrap_or_default()).ok(),
        files: from_value(files.unwrap_or_default()).ok(),
    }
}
