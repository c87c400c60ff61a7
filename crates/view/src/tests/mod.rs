//! Tests of the room as a whole: golden texts, the wire contract, order and safety.

mod contract;
mod duties;
mod golden;
mod schemas;
mod standing;

use super::samples::{self, Sample};
use super::{
    Explanation, Explanations, Paint, SchemaForm, Status, Subject, Suggestions, prompt, suggestions,
};
use golden::envelope;
use orch_base::{Code, Diagnostic, Digest, TaskId, Timestamp};

/// One task of every kind, with ids in the order of this list.
fn numbered() -> Vec<Sample> {
    let samples = [
        samples::transition_due(),
        samples::write_missing(),
        samples::fix_invalid(),
        samples::renew_stale(),
        samples::inconsistent(),
        samples::error(),
        samples::handover(),
        samples::done(),
        samples::livelock(),
        samples::run(),
    ];
    let number = |(number, mut sample): (usize, Sample)| {
        sample.decision.task = TaskId::new(format!("t-{:02}", number + 1)).expect("valid");
        sample
    };
    samples.into_iter().enumerate().map(number).collect()
}

/// The explanations of these tasks, each with a commit.
fn explanations(subjects: &[Subject<'_>]) -> Explanations {
    let commit = Digest::of_blob(b"a commit");
    let explained = subjects
        .iter()
        .map(|subject| Explanation::of(subject, Some(commit)));
    Explanations {
        repository: samples::repository(),
        explanations: explained.collect(),
    }
}

#[test]
fn the_most_urgent_comes_first_then_the_longest_unmoved_then_the_id() {
    let several = numbered();
    let mut subjects: Vec<Subject<'_>> = several.iter().rev().map(Sample::subject).collect();
    let same = [
        samples::renew_stale(),
        samples::renew_stale(),
        samples::renew_stale(),
    ]
    .map(|mut sample| {
        sample.decision.task = TaskId::new("a-1").expect("valid");
        sample
    });
    for (sample, moved) in same.iter().zip([None, Some(20), Some(10)]) {
        let mut subject = sample.subject();
        subject.unmoved_since = moved.map(Timestamp::from_seconds);
        subject.title = moved.map(|moved| if moved == 20 { "20" } else { "10" });
        subjects.push(subject);
    }
    let envelope = Suggestions::new(samples::repository(), &subjects, Some(12), &[]);
    let order: Vec<String> = envelope
        .suggestions
        .iter()
        .map(|suggestion| {
            let moved = suggestion
                .task
                .title
                .as_deref()
                .filter(|_| suggestion.task.id == "a-1");
            format!(
                "{} {} {}",
                suggestion.task.id,
                suggestion.duty.r#do.as_str(),
                moved.unwrap_or_default()
            )
        })
        .map(|line| line.trim_end().to_owned())
        .collect();
    assert_eq!(
        order,
        [
            "t-06 repair",
            "t-09 repair",
            "t-05 repair",
            "t-07 decide",
            "t-01 apply",
            "t-03 fix",
            "a-1 renew 10",
            "a-1 renew 20",
            "a-1 renew",
            "t-04 renew",
            "t-02 write",
            "t-10 run",
        ]
    );
    assert_eq!(envelope.omitted, 1);
}

#[test]
fn text_from_files_cannot_reach_the_terminal() {
    let mut sample = samples::fix_invalid();
    let evil = "x\u{1b}[2J\r\n$ rm -rf /";
    sample.decision.reason = evil.to_owned();
    sample.decision.expects[0].because = evil.to_owned();
    sample.decision.expects[0].problems[0].message = evil.to_owned();
    sample.decision.options[0].effect = evil.to_owned();
    sample.decision.diagnostics = vec![Diagnostic::error(Code::Empty, evil).hint(evil)];
    let subjects = [sample.subject()];
    let texts = [
        suggestions(&envelope(&sample), "", Paint::PLAIN, 0),
        explanations(&subjects).text(Paint::PLAIN, 0),
        Status::new(
            samples::repository(),
            &subjects,
            &sample.decision.diagnostics,
        )
        .text(Paint::PLAIN, &golden::form(0, 0, true)),
        prompt(&sample.subject(), SchemaForm::Compact),
    ];
    for text in texts {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\r') && !text.contains("\n$ rm"),
            "{text}"
        );
    }
}
