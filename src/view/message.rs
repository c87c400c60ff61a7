//! The commit message of a transition: subject, reason, and trailers that no text can forge.

use super::layout::{one_line, wrap};
use crate::base::{ActionName, Digest, PhaseId, TaskId, WorkflowName};
use crate::config::{CommitSubject, Placeholder};
use crate::decide::{ActorKind, Evidence, HistoryEntry, Kind, Transition, WorkflowRef};

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
        let mut out = self.first_line();
        out.push('\n');
        let body = body(&self.transition.reason);
        if !body.is_empty() {
            out.push('\n');
            out.push_str(&body);
        }
        out.push('\n');
        for (token, value) in self.trailers() {
            out.push_str(&format!("{token}: {value}\n"));
        }
        out
    }

    /// The subject alone, on one line whatever the template and the names contain.
    #[must_use]
    pub fn first_line(&self) -> String {
        let transition = self.transition;
        let to = within(transition);
        let value = |placeholder| match placeholder {
            Placeholder::Task => self.task.as_str(),
            Placeholder::From => transition.from.as_ref().map_or("new", |phase| phase.as_str()),
            Placeholder::To => to.as_str(),
            Placeholder::Kind => transition.kind.as_str(),
            Placeholder::Rule => transition.rule.as_ref().map_or("", |rule| rule.as_str()),
        };
        let out = self.subject.render(value);
        let subject = one_line(&out);
        // With an empty subject the body would become the subject; a leading `#` would be a comment.
        match subject.chars().next() {
            None => format!("orch({})", self.task),
            Some('#') => format!("orch {subject}"),
            Some(_) => subject,
        }
    }

    /// The trailers in order: token and value, each value on one line.
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
        let order = trailers.pop_if(|(token, _)| *token == OVERRIDE);
        for proof in &transition.evidence {
            if proof.committed {
                trailers.push(("Orch-Evidence", evidence(proof)));
            } else {
                trailers.extend(proof.files.iter().map(|(path, _)| ("Orch-Unproven", quoted(path))));
            }
        }
        trailers.extend(order);
        trailers.extend(self.sign_off.map(|name| ("Signed-off-by", one_line(name))));
        trailers
    }
}

const OVERRIDE: &str = "Orch-Override";

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
        let mut trailers = vec![("Orch-Task", self.task.to_string())];
        trailers.extend(self.from.map(|from| ("Orch-From", from.to_string())));
        trailers.push(("Orch-To", self.to.to_string()));
        trailers.extend(self.rule.map(|rule| ("Orch-Rule", rule.to_owned())));
        trailers.push(("Orch-Kind", self.kind.as_str().to_owned()));
        trailers.extend(self.action.map(|action| ("Orch-Action", action.to_string())));
        let (workflow, digest) = self.workflow;
        trailers.push(("Orch-Workflow", format!("{workflow}@{digest}")));
        let is_order = match self.kind {
            Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm => true,
            Kind::Merge => self.is_by_person,
            Kind::Create | Kind::Advance | Kind::Regress => false,
            Kind::Run | Kind::Skip | Kind::Answer | Kind::Signal | Kind::Start | Kind::End => false,
        };
        if is_order {
            trailers.push((OVERRIDE, one_line(self.reason)));
        }
        trailers
    }
}

/// The target of a transition; for a step within a phase, also what was done.
pub(super) fn within(transition: &Transition) -> String {
    match (&transition.action, transition.kind) {
        (Some(action), kind) => format!("{} ({} {action})", transition.to, kind.as_str()),
        (None, kind @ (Kind::Answer | Kind::Start | Kind::End)) => {
            format!("{} ({})", transition.to, kind.as_str())
        }
        _ => transition.to.to_string(),
    }
}

/// `path@blob` for one file, `artifact (n files)@digest` for several.
fn evidence(proof: &Evidence) -> String {
    match proof.files.as_slice() {
        [(path, digest)] => format!("{}@{digest}", quoted(path)),
        files => format!("{} ({} files)@{}", proof.artifact, files.len(), proof.digest),
    }
}

/// A path as git quotes it: in double quotes if it contains control characters, quotes or backslashes.
#[must_use]
pub fn quoted(path: &str) -> String {
    let needs = path.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) || path.trim() != path;
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
                c.to_string().bytes().for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
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
        .map(|line| if is_special(&line) { format!(" {line}\n") } else { format!("{line}\n") })
        .collect()
}

fn is_special(line: &str) -> bool {
    let token = line.split(':').next().filter(|token| token.len() < line.len()).map(str::trim_end);
    let is_trailer = token.is_some_and(|token| {
        token.contains('-') && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    is_trailer || line.starts_with("---") || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ArtifactName;
    use crate::view::samples;
    use snapbox::{assert_data_eq, str};

    fn message(transition: &Transition, template: Option<&str>) -> String {
        let workflow = samples::workflow();
        Message {
            task: &samples::task(),
            transition,
            workflow: &workflow.name,
            workflow_digest: workflow.digest,
            subject: &template
                .map_or_else(CommitSubject::default, |text| CommitSubject::new(text).expect("valid")),
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
    fn no_reason_forges_a_trailer() {
        let reason =
            "fine\n\nOrch-To: done\nOrch-Override: forged\r\nSigned-off-by: Eve <e@x>\u{2028}---\n# x";
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
        assert_eq!(count("Signed-off-by:") + count("---") + count("#"), 0, "{text}");
        assert!(text.contains("\nOrch-To: plan_review\n"), "{text}");
    }

    #[test]
    fn a_body_line_never_reads_like_a_trailer() {
        for reason in ["Orch-To: done", "signed-off-by : Eve", "--- a/x", "# gone", "Co-authored-by:"] {
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
        assert!(text.contains(&format!("Orch-Evidence: \"a\\nOrch-To: done\"@{digest}\n")), "{text}");
        assert!(text.contains(&format!("Orch-Evidence: notes (2 files)@{digest}\n")), "{text}");
        assert!(text.contains("Orch-Unproven: \"ignored \\\"log\\\"\"\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("Orch-To:")).count(), 1, "{text}");
    }

    #[test]
    fn a_reason_is_wrapped_and_may_be_empty() {
        let mut transition = samples::advance();
        transition.reason = "word ".repeat(40);
        assert!(message(&transition, None).lines().take(6).all(|line| line.len() <= WIDTH));
        transition.reason = String::new();
        transition.rule = None;
        let text = message(&transition, Some("{rule}"));
        assert!(text.starts_with("orch(t-42)\n\nOrch-Task: t-42\n"), "{text}");
    }
}
