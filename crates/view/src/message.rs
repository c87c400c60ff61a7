//! The commit message of a transition: subject, reason, and trailers that no text can forge.

use super::layout::{one_line, wrap};
use orch_base::{ActionName, Digest, PhaseId, TaskId, WorkflowName, trailer};
use orch_core::config::{CommitSubject, Placeholder};
use orch_core::decide::{ActorKind, Detail, Evidence, HistoryEntry, Kind, Transition, WorkflowRef};

/// The customary width of the body of a git commit message.
const WIDTH: usize = 72;

/// The contents of a commit message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The id of the task.
    pub task: &'a TaskId,
    /// The transition to describe.
    pub transition: &'a Transition,
    /// The workflow that decided.
    pub workflow: &'a WorkflowName,
    /// The digest of that workflow.
    pub workflow_digest: Digest,
    /// The template of the first line, from `orch.toml`.
    pub subject: &'a CommitSubject,
    /// The name and address for a `Signed-off-by` trailer.
    pub sign_off: Option<&'a str>,
}

impl Message<'_> {
    /// The complete message: subject, reason, trailers, with a final newline.
    #[must_use]
    pub fn text(&self) -> String {
        Self::text_of_all(&[*self])
    }

    /// The message of a commit with all these steps, those of one task in a row. The trailers of each step
    /// begin with `Orch-Task`. With several steps, the body lists each with its reason.
    #[must_use]
    pub fn text_of_all(steps: &[Self]) -> String {
        let body: String = match steps {
            [only] => only.paragraphs(),
            several => several.iter().map(Self::item).collect(),
        };
        let gap = if body.is_empty() { "" } else { "\n" };
        let mut out = format!("{}\n{gap}{body}\n", first_line(steps));
        let signature = steps.last().and_then(|step| step.sign_off);
        let trailers = steps.iter().flat_map(Self::trailers);
        for (token, value) in
            trailers.chain(signature.map(|name| ("Signed-off-by", one_line(name))))
        {
            out.push_str(&format!("{token}: {value}\n"));
        }
        out
    }

    /// The reason, and what the step waives.
    fn paragraphs(&self) -> String {
        let mut paragraphs = vec![body(&self.transition.reason)];
        paragraphs.extend(
            self.waived()
                .map(|waived| body(&format!("It waives {waived}."))),
        );
        paragraphs.retain(|paragraph| !paragraph.is_empty());
        paragraphs.join("\n")
    }

    /// What the step continues without.
    fn waived(&self) -> Option<String> {
        let names: Vec<&str> = self
            .transition
            .waive
            .iter()
            .map(|name| name.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The step as an item of a list.
    fn item(&self) -> String {
        let Transition { from, reason, .. } = self.transition;
        let from = from.as_ref().map_or("new", |phase| phase.as_str());
        let text = format!(
            "{}: {from} -> {}: {reason}",
            self.task,
            within(self.transition)
        );
        let text = text.trim_end_matches([':', ' ']);
        let waived = self
            .waived()
            .map_or(String::new(), |waived| format!(" (it waives {waived})"));
        let lines = wrap(&format!("{text}{waived}"), WIDTH - 2);
        // No line of an item begins like a trailer, a divider or a comment.
        lines
            .iter()
            .zip(std::iter::once("- ").chain(std::iter::repeat("  ")))
            .map(|(line, start)| format!("{start}{line}\n"))
            .collect()
    }

    /// The trailers of the step in order: token and value, each value on one line.
    #[must_use]
    pub fn trailers(&self) -> Vec<(&'static str, String)> {
        let transition = self.transition;
        let step = StepTrailers {
            task: self.task,
            from: transition.from.as_ref(),
            to: &transition.to,
            rule: transition.rule.as_ref().map(|rule| rule.as_str()),
            kind: transition.kind,
            action: transition.action.as_ref(),
            workflow: (self.workflow, self.workflow_digest),
            reason: &transition.reason,
            is_by_person: transition.by_human,
        };
        let mut trailers = step.list();
        // What a person ordered stands last, after the evidence.
        let order = trailers.pop_if(|(token, _)| *token == trailer::OVERRIDE);
        for proof in &transition.evidence {
            if proof.committed {
                trailers.push((trailer::EVIDENCE, evidence(proof)));
            } else {
                trailers.extend(
                    proof
                        .files
                        .iter()
                        .map(|(path, _)| (trailer::UNPROVEN, quoted(path))),
                );
            }
        }
        trailers.extend(order);
        trailers
    }
}

/// The message of the commit that keeps files of older tools before they are imported.
#[must_use]
pub fn kept_message(tasks: &[&TaskId], sign_off: Option<&str>) -> String {
    let names = joined(tasks.iter().map(ToString::to_string), "tasks");
    let body = wrap(
        "The next commit imports it, and replaces the file by the record of orch.",
        WIDTH,
    );
    let mut out = format!(
        "orch({names}): keep the state of the older tool\n\n{}\n",
        body.join("\n")
    );
    if let Some(name) = sign_off {
        out.push_str(&format!("\nSigned-off-by: {}\n", one_line(name)));
    }
    out
}

/// The first line of a message, on one line whatever the template and the names contain. With several steps,
/// a placeholder stands for the values of all: of a task, the phase that it left first and the one that it
/// entered last.
fn first_line(steps: &[Message<'_>]) -> String {
    let mut tasks = Vec::new();
    let mut left = Vec::new();
    let mut entered = Vec::new();
    for span in steps.chunk_by(|one, next| one.task == next.task) {
        let [first, ..] = span else { continue };
        let from = first.transition.from.as_ref();
        tasks.push(first.task.to_string());
        left.push(from.map_or_else(|| "new".to_owned(), ToString::to_string));
        entered.extend(span.last().map(|step| within(step.transition)));
    }
    let task = joined(tasks, "tasks");
    let from = joined(left, "phases");
    let to = joined(entered, "phases");
    let kind = joined(
        steps
            .iter()
            .map(|step| step.transition.kind.as_str().to_owned()),
        "kinds",
    );
    let rules = steps
        .iter()
        .filter_map(|step| step.transition.rule.as_ref());
    let rule = joined(rules.map(ToString::to_string), "rules");
    let rendered = steps.first().map(|step| {
        step.subject.render(|placeholder| match placeholder {
            Placeholder::Task => task.as_str(),
            Placeholder::From => &from,
            Placeholder::To => &to,
            Placeholder::Kind => &kind,
            Placeholder::Rule => &rule,
        })
    });
    let rendered = rendered.unwrap_or_default();
    let subject = one_line(&rendered);
    // With an empty subject the body would become the subject; a leading `#` would be a comment.
    match subject.chars().next() {
        None => format!("orch({task})"),
        Some('#') => format!("orch {subject}"),
        Some(_) => subject,
    }
}

/// Different values as one text, or only their number if there are many.
fn joined(values: impl IntoIterator<Item = String>, noun: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    for value in values {
        if !known.contains(&value) {
            known.push(value);
        }
    }
    if known.len() > MOST_NAMES {
        format!("{} {noun}", known.len())
    } else {
        known.join(", ")
    }
}

/// How many values a subject lists.
const MOST_NAMES: usize = 3;

/// The trailers that tell of a step, apart from its evidence.
#[derive(Debug, Clone, Copy)]
pub struct StepTrailers<'a> {
    task: &'a TaskId,
    from: Option<&'a PhaseId>,
    to: &'a PhaseId,
    rule: Option<&'a str>,
    kind: Kind,
    action: Option<&'a ActionName>,
    workflow: (&'a WorkflowName, Digest),
    reason: &'a str,
    is_by_person: bool,
}

impl<'a> StepTrailers<'a> {
    /// The trailers of a recorded step.
    #[must_use]
    pub fn recorded(task: &'a TaskId, entry: &'a HistoryEntry, workflow: &'a WorkflowRef) -> Self {
        Self {
            task,
            from: entry.from.as_ref(),
            to: &entry.to,
            rule: entry.rule.as_deref(),
            kind: entry.kind,
            action: entry.action.as_ref(),
            workflow: (&workflow.name, workflow.digest),
            reason: &entry.reason,
            is_by_person: entry.actor.kind != ActorKind::Orch,
        }
    }

    /// The trailers in order: token and value, each value on one line.
    #[must_use]
    pub fn list(&self) -> Vec<(&'static str, String)> {
        let mut trailers = vec![(trailer::TASK, self.task.to_string())];
        trailers.extend(self.from.map(|from| ("Orch-From", from.to_string())));
        trailers.push((trailer::TO, self.to.to_string()));
        trailers.extend(self.rule.map(|rule| ("Orch-Rule", rule.to_owned())));
        trailers.push(("Orch-Kind", self.kind.as_str().to_owned()));
        trailers.extend(
            self.action
                .map(|action| ("Orch-Action", action.to_string())),
        );
        let (workflow, digest) = self.workflow;
        trailers.push(("Orch-Workflow", format!("{workflow}@{digest}")));
        let is_order = match self.kind {
            Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm | Kind::Undo => true,
            Kind::Merge => self.is_by_person,
            Kind::Create | Kind::Advance | Kind::Regress | Kind::Rename => false,
            Kind::Verify
            | Kind::Approve
            | Kind::Relate
            | Kind::Take
            | Kind::Lapse
            | Kind::Migrate => false,
            Kind::Run | Kind::Skip | Kind::Answer | Kind::Signal | Kind::Start | Kind::End => false,
        };
        if is_order {
            trailers.push((trailer::OVERRIDE, one_line(self.reason)));
        }
        trailers
    }
}

/// The target of a transition; for a step within a phase, also what was done.
pub(super) fn within(transition: &Transition) -> String {
    match (&transition.action, transition.kind) {
        (Some(action), kind) => format!("{} ({} {action})", transition.to, kind.as_str()),
        (None, kind @ (Kind::Answer | Kind::Start | Kind::End | Kind::Rename)) => {
            format!("{} ({})", transition.to, kind.as_str())
        }
        (None, kind) if Detail::is_of(kind) => format!("{} ({})", transition.to, kind.as_str()),
        _ => transition.to.to_string(),
    }
}

/// `path@blob` for one file, `artifact (n files)@digest` for several.
fn evidence(proof: &Evidence) -> String {
    match proof.files.as_slice() {
        [(path, digest)] => format!("{}@{digest}", quoted(path)),
        files => format!(
            "{} ({} files)@{}",
            proof.artifact,
            files.len(),
            proof.digest
        ),
    }
}

/// A path as git quotes it: in double quotes if it contains control characters, quotes or backslashes.
#[must_use]
pub fn quoted(path: &str) -> String {
    let needs = path
        .chars()
        .any(|c| c.is_control() || matches!(c, '"' | '\\'))
        || path.trim() != path;
    if !needs {
        return path.to_owned();
    }
    let mut out = String::from("\"");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                c.to_string()
                    .bytes()
                    .for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The reason as one paragraph in which no line looks like a trailer, a divider or a comment.
///
/// Git reads trailers only from the last paragraph, which is under orch's control; the indent guards against
/// tools that read every line.
fn body(reason: &str) -> String {
    wrap(reason, WIDTH)
        .into_iter()
        .map(|line| {
            if is_special(&line) {
                format!(" {line}\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

fn is_special(line: &str) -> bool {
    let token = line
        .split(':')
        .next()
        .filter(|token| token.len() < line.len())
        .map(str::trim_end);
    let is_trailer = token.is_some_and(|token| {
        token.contains('-')
            && token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    is_trailer || line.starts_with("---") || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use orch_base::ArtifactName;
    use snapbox::{assert_data_eq, str};

    fn message(transition: &Transition, template: Option<&str>) -> String {
        let workflow = samples::workflow();
        Message {
            task: &samples::task(),
            transition,
            workflow: &workflow.name,
            workflow_digest: workflow.digest,
            subject: &template.map_or_else(CommitSubject::default, |text| {
                CommitSubject::new(text).expect("valid")
            }),
            sign_off: None,
        }
        .text()
    }

    #[test]
    fn a_message_holds_the_reason_and_the_proof() {
        assert_data_eq!(
            message(&samples::advance(), None),
            str![[r#"
orch(t-42): planning -> plan_review

the plan is final and holds no blocking question

Orch-Task: t-42
Orch-From: planning
Orch-To: plan_review
Orch-Rule: plan-final
Orch-Kind: advance
Orch-Workflow: global-state-machine@80adca4ac20953863d4e599f3963999a218b9a37
Orch-Evidence: planning/plan.json@d68ba18a52c364f111335b4357c5a4ba8ac0c110

"#]]
        );
        assert_data_eq!(
            message(&samples::create(), Some("{kind} {task}: {to} {rule}")),
            str![[r#"
create t-42: planning

the task is new

Orch-Task: t-42
Orch-To: planning
Orch-Kind: create
Orch-Workflow: global-state-machine@80adca4ac20953863d4e599f3963999a218b9a37

"#]]
        );
    }

    #[test]
    fn a_message_names_what_an_override_waives() {
        let mut transition = samples::advance();
        transition.kind = Kind::Override;
        transition.reason = "reviewed while pairing".to_owned();
        let named = |transition: &Transition| message(transition, None).matches("waive").count();
        assert_eq!(named(&transition), 0);
        transition.waive = ["plan_review", "patch"]
            .map(|name| ArtifactName::new(name).expect("valid"))
            .to_vec();
        let text = message(&transition, None);
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(
            paragraphs[1..3],
            ["reviewed while pairing", "It waives plan_review, patch."]
        );
        assert!(paragraphs[3].starts_with("Orch-Task: "), "{text}");
        let workflow = samples::workflow();
        let step = Message {
            task: &samples::task(),
            transition: &transition,
            workflow: &workflow.name,
            workflow_digest: workflow.digest,
            subject: &CommitSubject::default(),
            sign_off: None,
        };
        let both = Message::text_of_all(&[step, step]);
        assert_eq!(both.matches("pairing (it waives").count(), 2, "{both}");
    }

    #[test]
    fn a_message_of_several_steps_lists_each_with_its_trailers() {
        let workflow = samples::workflow();
        let create = samples::create();
        let advance = samples::advance();
        let template = CommitSubject::default();
        let tasks = ["a-1", "a-1", "b", "c", "d"].map(|id| TaskId::new(id).expect("valid"));
        let transitions = [&create, &advance, &create, &create, &create];
        let messages = tasks
            .iter()
            .zip(transitions)
            .map(|(task, transition)| Message {
                task,
                transition,
                workflow: &workflow.name,
                workflow_digest: workflow.digest,
                subject: &template,
                sign_off: Some("Ann <a@x>"),
            });
        let messages: Vec<Message<'_>> = messages.collect();
        assert_data_eq!(
            Message::text_of_all(&messages[..3]),
            str![[r#"
orch(a-1, b): new -> plan_review, planning

- a-1: new -> planning: the task is new
- a-1: planning -> plan_review: the plan is final and holds no blocking
  question
- b: new -> planning: the task is new

Orch-Task: a-1
Orch-To: planning
Orch-Kind: create
Orch-Workflow: global-state-machine@80adca4ac20953863d4e599f3963999a218b9a37
Orch-Task: a-1
Orch-From: planning
Orch-To: plan_review
Orch-Rule: plan-final
Orch-Kind: advance
Orch-Workflow: global-state-machine@80adca4ac20953863d4e599f3963999a218b9a37
Orch-Evidence: planning/plan.json@d68ba18a52c364f111335b4357c5a4ba8ac0c110
Orch-Task: b
Orch-To: planning
Orch-Kind: create
Orch-Workflow: global-state-machine@80adca4ac20953863d4e599f3963999a218b9a37
Signed-off-by: Ann <a@x>

"#]]
        );
        assert!(
            Message::text_of_all(&messages)
                .starts_with("orch(4 tasks): new -> plan_review, planning\n")
        );
    }

    #[test]
    fn no_reason_forges_a_trailer() {
        let reason = "fine\n\nOrch-To: done\nOrch-Override: forged\r\nSigned-off-by: Eve <e@x>\u{2028}---\n# x";
        let mut transition = samples::advance();
        transition.kind = Kind::Override;
        transition.reason = format!("{reason} {}", "Orch-Kind: create ".repeat(20));
        let text = message(&transition, Some("work on {task}"));
        let paragraphs: Vec<&str> = text.trim_end().split("\n\n").collect();
        assert_eq!(paragraphs.len(), 3, "{text}");
        let count = |token: &str| text.lines().filter(|line| line.starts_with(token)).count();
        for token in ["Orch-Task:", "Orch-To:", "Orch-Kind:", "Orch-Override:"] {
            assert_eq!(count(token), 1, "{token} in {text}");
        }
        assert_eq!(
            count("Signed-off-by:") + count("---") + count("#"),
            0,
            "{text}"
        );
        assert!(text.contains("\nOrch-To: plan_review\n"), "{text}");
    }

    #[test]
    fn a_body_line_never_reads_like_a_trailer() {
        for reason in [
            "Orch-To: done",
            "signed-off-by : Eve",
            "--- a/x",
            "# gone",
            "Co-authored-by:",
        ] {
            assert_eq!(body(reason), format!(" {reason}\n"));
        }
        assert_eq!(body("note: the plan is final"), "note: the plan is final\n");
    }

    #[test]
    fn no_path_forges_a_trailer() {
        let mut transition = samples::advance();
        let digest = Digest::of_blob(b"x");
        let file = |path: &str| (path.to_owned(), digest);
        let proof = |files: Vec<(String, Digest)>, committed| Evidence {
            artifact: ArtifactName::new("notes").expect("valid"),
            files,
            digest,
            valid: true,
            committed,
        };
        transition.evidence = vec![
            proof(vec![file("a\nOrch-To: done")], true),
            proof(vec![file("x"), file("y")], true),
            proof(vec![file("ignored \"log\"")], false),
        ];
        let text = message(&transition, None);
        assert!(
            text.contains(&format!("Orch-Evidence: \"a\\nOrch-To: done\"@{digest}\n")),
            "{text}"
        );
        assert!(
            text.contains(&format!("Orch-Evidence: notes (2 files)@{digest}\n")),
            "{text}"
        );
        assert!(
            text.contains("Orch-Unproven: \"ignored \\\"log\\\"\"\n"),
            "{text}"
        );
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("Orch-To:"))
                .count(),
            1,
            "{text}"
        );
    }

    #[test]
    fn a_reason_is_wrapped_and_may_be_empty() {
        let mut transition = samples::advance();
        transition.reason = "word ".repeat(40);
        assert!(
            message(&transition, None)
                .lines()
                .take(6)
                .all(|line| line.len() <= WIDTH)
        );
        transition.reason = String::new();
        transition.rule = None;
        let text = message(&transition, Some("{rule}"));
        assert!(
            text.starts_with("orch(t-42)\n\nOrch-Task: t-42\n"),
            "{text}"
        );
    }
}
