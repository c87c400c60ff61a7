//! Suggestions as text for people: a few lines that end with what to type.

use super::layout::{
    Cell, below, columns, columns_of, counted, id_cell, one_line, paragraph, plain, shorten,
};
use super::way::way_text;
use super::wire::{Expected, Finding, Suggestion, Suggestions};
use super::{Paint, Style};
use orch_base::command;
use orch_core::decide::{Direction, Do, DutyKind, ExpectState};
use orch_core::workflow::{Owner, is_tree_name};

/// The indentation of the lines below a headline.
const INDENT: usize = 4;
/// The longest command, in characters, with whose end the comments of other commands are aligned.
const ALIGNED: usize = 60;
/// How wide the keys of [`next_step`] are.
const NEXT_KEYS: usize = 14;
/// How many columns an id takes in [`standing`].
const STANDING_ID: usize = 30;
/// How many paths a headline names.
const NAMED: usize = 3;
/// How many columns of the reason are shown for which a task was sent back.
const LONGEST_REASON: usize = 300;
/// How many issues of verdicts are shown.
const MOST_ISSUES: usize = 4;

/// The envelope as text: one block per task, most urgent first; `nothing` if there is none.
#[must_use]
pub fn suggestions(envelope: &Suggestions, nothing: &str, paint: Paint, width: usize) -> String {
    let mut out = String::new();
    for (number, suggestion) in envelope.suggestions.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        block(&mut out, suggestion, paint, width);
    }
    match (envelope.suggestions.is_empty(), envelope.omitted) {
        (true, 0) => out.push_str(&format!("{nothing}\n")),
        (true, more) => out.push_str(&format!("{}, none shown\n", counted(more, "task"))),
        (false, 0) => {}
        (false, more) => out.push_str(&format!("\n{more} more\n")),
    }
    for finding in &envelope.diagnostics {
        problem(&mut out, finding, 0, paint, width);
    }
    out
}

/// Where a task stands, in a few words: its phase, the attempt, and who must act, if anyone must.
#[must_use]
pub fn standing(suggestion: &Suggestion, paint: Paint) -> String {
    let task = &suggestion.task;
    let owner = match suggestion.duty.owner {
        Owner::None => "",
        owner => owner.as_str(),
    };
    let text = format!(
        "{}  {}  attempt {}  ",
        shorten(&task.id, STANDING_ID),
        task.phase(),
        task.attempt
    );
    format!("{text}{}", paint.paint(mood(suggestion), owner))
        .trim_end()
        .to_owned()
}

/// The answer to the question what comes next, in three lines: the current phase, the suggested next one, and the
/// reason.
#[must_use]
pub fn next_step(suggestion: &Suggestion, paint: Paint, width: usize) -> String {
    let next = suggestion.duty.suggested_next.as_deref().unwrap_or("none");
    let mut out = String::new();
    for (key, value) in [
        ("current phase", suggestion.task.phase()),
        ("suggested next", next),
        ("reason", &suggestion.duty.reason),
    ] {
        out.push_str(&format!(
            "{}  ",
            paint.paint(Style::Dim, &format!("{key:NEXT_KEYS$}"))
        ));
        let mut text = String::new();
        paragraph(&mut text, value, NEXT_KEYS + 2, 0, width);
        out.push_str(text.trim_start());
    }
    out
}

/// What has to be done, for the line that names the task.
pub(super) fn headline(suggestion: &Suggestion) -> String {
    let next = suggestion
        .duty
        .suggested_next
        .as_deref()
        .unwrap_or_default();
    // What a rule waits for says more than that no file is right for another rule.
    let is_broken = suggestion
        .expects
        .iter()
        .any(|expected| expected.owner.is_none() && expected.state != ExpectState::Unmet);
    if let Some(what) = suggestion.waits_for.as_ref().filter(|_| !is_broken) {
        return format!("wait for {}", one_line(what));
    }
    if !suggestion.duty.blocked_by.is_empty() && suggestion.duty.owner == Owner::None {
        return format!("waits for {}", suggestion.duty.blocked_by.join(", "));
    }
    match suggestion.duty.r#do {
        Do::Write => match misplaced(suggestion) {
            Some((here, there)) => format!("move {here} to {there}"),
            None => format!("write {}", paths(suggestion, &[ExpectState::Missing])),
        },
        Do::Fix => format!(
            "fix {}",
            paths(suggestion, &[ExpectState::Invalid, ExpectState::Unmet])
        ),
        Do::Renew => format!("renew {}", paths(suggestion, &[ExpectState::Stale])),
        Do::Apply => match suggestion.duty.direction {
            Direction::Regress => format!("send back to {next}"),
            Direction::Stay => format!("start {next} again"),
            Direction::Advance | Direction::None => format!("move to {next}"),
        },
        Do::Run => match &suggestion.action {
            Some(action) => format!("run {action}"),
            None => format!("verify {}", verifications(suggestion)),
        },
        Do::Decide => match (suggestion.duty.kind, suggestion.duty.direction) {
            (DutyKind::Stalled, _) => "stalled: decide".to_owned(),
            (_, Direction::Regress) => format!("decide: back to {next}?"),
            (DutyKind::Transition, _) => format!("decide: on to {next}?"),
            (DutyKind::Choose, Direction::Advance) => format!("decide: on to {next}?"),
            _ => "decide".to_owned(),
        },
        Do::Answer => "answer".to_owned(),
        Do::Repair if suggestion.duty.kind == DutyKind::Transition => {
            format!("repair, then move to {next}")
        }
        Do::Repair => format!("{}: repair", suggestion.duty.kind.as_str()),
        Do::Nothing => match suggestion.duty.kind {
            DutyKind::Done => "done".to_owned(),
            _ if suggestion.duty.owner == Owner::Process => "running".to_owned(),
            _ => "nothing to do".to_owned(),
        },
    }
}

/// The names of the verifications that have to run.
fn verifications(suggestion: &Suggestion) -> String {
    let due = suggestion
        .expects
        .iter()
        .filter(|expected| expected.owner == Some(Owner::Process));
    due.map(|expected| expected.artifact.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// A missing file that was written elsewhere: its path, and the expected one. A missing file has no other
/// problems.
fn misplaced(suggestion: &Suggestion) -> Option<(String, String)> {
    let missing = suggestion
        .expects
        .iter()
        .filter(|expected| expected.owner.is_none() && expected.state == ExpectState::Missing);
    missing
        .flat_map(|expected| {
            Some((
                expected.problems.first()?.path.clone()?,
                expected.path.clone(),
            ))
        })
        .next()
}

/// The paths that are expected in one of these states, relative to the task.
fn paths(suggestion: &Suggestion, states: &[ExpectState]) -> String {
    let wanted: Vec<&Expected> = suggestion
        .expects
        .iter()
        .filter(|expected| expected.owner.is_none() && states.contains(&expected.state))
        .collect();
    let mut text: Vec<String> = wanted
        .iter()
        .take(NAMED)
        .map(|expected| below(&suggestion.task.path, &expected.path))
        .collect();
    if wanted.len() > NAMED {
        text.push(format!("{} more", wanted.len() - NAMED));
    }
    if text.is_empty() {
        "the outputs".to_owned()
    } else {
        text.join(", ")
    }
}

/// The style of a headline.
pub(super) fn mood(suggestion: &Suggestion) -> Style {
    match (suggestion.duty.r#do, suggestion.duty.owner) {
        (Do::Repair, _) => Style::Bad,
        (_, Owner::Human) => Style::Warn,
        (Do::Apply, _) => Style::Good,
        (Do::Nothing, _) => Style::Dim,
        _ => Style::Strong,
    }
}

fn block(out: &mut String, suggestion: &Suggestion, paint: Paint, width: usize) {
    let phase = suggestion.task.phase();
    let attempt = if suggestion.task.attempt > 1 {
        format!(" (attempt {})", suggestion.task.attempt)
    } else {
        String::new()
    };
    out.push_str(&columns(
        &[vec![
            id_cell(&suggestion.task.id),
            plain(format!("{phase}{attempt}")),
            (one_line(&headline(suggestion)), Some(mood(suggestion))),
        ]],
        &[0],
        0,
        paint,
        width,
    ));
    if let Some(title) = &suggestion.task.title {
        let title = shorten(
            title,
            if width == 0 {
                0
            } else {
                width.saturating_sub(INDENT)
            },
        );
        out.push_str(&format!(
            "{:INDENT$}{}\n",
            "",
            paint.paint(Style::Dim, &title)
        ));
    }
    if let Some(held) = &suggestion.task.held {
        paragraph(out, &held.words(), INDENT, INDENT, width);
    }
    out.push_str(&way_text(&suggestion.way, INDENT, paint, width));
    if let Some(relations) = suggestion.task.relations.words() {
        paragraph(out, &relations, INDENT, INDENT, width);
    }
    for deadline in &suggestion.task.deadlines {
        paragraph(
            out,
            &deadline.words(&suggestion.task.id),
            INDENT,
            INDENT,
            width,
        );
    }
    paragraph(out, &suggestion.duty.reason, INDENT, 0, width);
    for remark in &suggestion.remarks {
        paragraph(out, &format!("remark: {remark}"), INDENT, INDENT, width);
    }
    sent_back(out, suggestion, width);
    for expected in &suggestion.expects {
        expectation(out, suggestion, expected, paint, width);
    }
    if !suggestion.waived.is_empty() {
        paragraph(
            out,
            &format!("waived: {}", suggestion.waived.join(", ")),
            INDENT,
            0,
            width,
        );
    }
    for finding in suggestion.findings() {
        problem(out, finding, INDENT, paint, width);
    }
    command_lines(out, &commands(suggestion), paint, width);
    for field in suggestion
        .question
        .iter()
        .flat_map(|question| &question.fields)
    {
        paragraph(out, &field.text(), INDENT * 2, INDENT, width);
    }
}

/// Why the task was sent back to its phase, and the first of what the verdicts behind that object to.
pub(super) fn sent_back(out: &mut String, suggestion: &Suggestion, width: usize) {
    let Some(back) = &suggestion.sent_back else {
        return;
    };
    paragraph(
        out,
        &shorten(&back.text(), LONGEST_REASON),
        INDENT,
        INDENT,
        width,
    );
    let issues: Vec<String> = suggestion
        .inputs
        .iter()
        .flat_map(|input| {
            input
                .issues
                .iter()
                .map(|issue| (below(&suggestion.task.path, &input.file.path), issue))
        })
        .map(|(path, issue)| format!("{}: {}", issue.place(&path), issue.text()))
        .collect();
    for issue in issues.iter().take(MOST_ISSUES) {
        paragraph(out, issue, INDENT * 2, INDENT, width);
    }
    let more = issues.len().saturating_sub(MOST_ISSUES) + back.omitted;
    if more > 0 {
        paragraph(
            out,
            &format!("{more} more objections"),
            INDENT * 2,
            INDENT,
            width,
        );
    }
}

fn expectation(
    out: &mut String,
    suggestion: &Suggestion,
    expected: &Expected,
    paint: Paint,
    width: usize,
) {
    let schema = match &expected.schema {
        Some(name) => format!("schema {name}"),
        None if is_tree_name(&expected.path) => expected.tree.join(", "),
        None => expected.format.as_str().to_owned(),
    };
    let path = below(&suggestion.task.path, &expected.path);
    let because = own_reason(expected);
    let line = if because.is_empty() {
        format!("{} {path} ({schema})", expected.state.as_str())
    } else {
        format!("{} {path} ({schema}): {because}", expected.state.as_str())
    };
    paragraph(out, &line, INDENT, INDENT, width);
    for finding in expected
        .problems
        .iter()
        .filter(|finding| !finding.is_detail())
    {
        problem(out, finding, INDENT * 2, paint, width);
    }
}

/// Why a file is expected; nothing if one of its problems says the same.
pub(super) fn own_reason(expected: &Expected) -> String {
    let is_repeated = expected
        .problems
        .iter()
        .any(|problem| problem.message == expected.because);
    if is_repeated {
        String::new()
    } else {
        one_line(&expected.because)
    }
}

/// A finding on one line, and its hint on another.
pub(super) fn problem(
    out: &mut String,
    finding: &Finding,
    indent: usize,
    paint: Paint,
    width: usize,
) {
    paragraph(out, &finding.line(), indent, INDENT, width);
    if let Some(hint) = finding.advice.hint() {
        let mut line = String::new();
        paragraph(
            &mut line,
            &format!("hint: {hint}"),
            indent + INDENT,
            6,
            width,
        );
        out.push_str(&paint_lines(&line, paint));
    }
}

fn paint_lines(text: &str, paint: Paint) -> String {
    text.lines()
        .map(|line| format!("{}\n", paint.paint(Style::Dim, line)))
        .collect()
}

/// The rows of [`commands`], with the comments aligned, except behind a command that is much longer than others.
fn command_lines(out: &mut String, rows: &[Vec<Cell>], paint: Paint, width: usize) {
    let lengths = rows
        .iter()
        .map(|row| row.first().map_or(0, |(text, _)| columns_of(text)));
    let aligned = lengths.filter(|length| *length <= ALIGNED).max();
    let aligned = aligned.unwrap_or_default();
    for row in rows {
        let mut row = row.clone();
        if let [(text, _), (effect, _), ..] = row.as_mut_slice()
            && !effect.is_empty()
        {
            text.push_str(&" ".repeat(aligned.saturating_sub(columns_of(text))));
        }
        out.push_str(&columns(&[row], &[0, 1], INDENT, paint, width));
    }
}

/// The commands to type, each with its effect as a shell comment, so that a line can be pasted whole.
fn commands(suggestion: &Suggestion) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let apply = ["orch", "next", &suggestion.task.id].map(str::to_owned);
    let known = suggestion
        .options
        .iter()
        .any(|option| option.argv.starts_with(&apply));
    if suggestion.duty.r#do == Do::Apply && !known {
        rows.push(command_row(&apply, &headline(suggestion)));
    }
    for option in &suggestion.options {
        rows.push(command_row(&option.argv, &option.effect));
    }
    if suggestion.can_be_drafted() {
        let draft = ["orch", "draft", &suggestion.task.id].map(str::to_owned);
        let effect = "write the file with what is to be filled in";
        rows.insert(rows.len().min(1), command_row(&draft, effect));
    }
    if rows.is_empty() && suggestion.duty.owner == Owner::Human {
        let explain = ["orch", "explain", &suggestion.task.id].map(str::to_owned);
        rows.push(command_row(&explain, "every rule, and the values it read"));
    }
    rows
}

fn command_row(argv: &[String], effect: &str) -> Vec<Cell> {
    let effect = if effect.is_empty() {
        String::new()
    } else {
        format!("# {}", one_line(effect))
    };
    vec![
        (format!("$ {}", command(argv)), Some(Style::Command)),
        (effect, Some(Style::Dim)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_command_does_not_move_the_comments_of_the_others() {
        let long = "x".repeat(ALIGNED + 9);
        let cell = |text: &str| (text.to_owned(), None);
        let rows = [
            ["$ a", "# one"],
            ["$ abc", "# two"],
            [long.as_str(), "# long"],
        ];
        let rows: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(|text| cell(text)).collect())
            .collect();
        let mut out = String::new();
        command_lines(&mut out, &rows, Paint::default(), 0);
        let at: Vec<Option<usize>> = out.lines().map(|line| line.find('#')).collect();
        assert_eq!(
            at,
            [
                Some(INDENT + 7),
                Some(INDENT + 7),
                Some(INDENT + ALIGNED + 9 + 2)
            ],
            "{out}"
        );
    }
}
