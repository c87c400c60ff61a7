//! The sheet of a task for a terminal.

use super::{Doubt, GroundView, SheetLine, SheetSection, ShownArtifact, ShownFile, TaskSheet};
use crate::layout::{ago, below, counted, one_line, paragraph, visible};
use crate::way::way_text;
use crate::{Paint, Style};
use orch_base::{Severity, Timestamp, command};
use orch_core::workflow::{ArtifactRole, Owner};

/// How a sheet is written.
#[derive(Debug, Clone, Copy)]
pub struct SheetForm {
    /// The colours.
    pub paint: Paint,
    /// The width of the terminal; 0 if it is unlimited.
    pub width: usize,
    /// The present time, for ages.
    pub now: Timestamp,
    /// Whether of the code only the files are shown, with their counts.
    pub names_only: bool,
}

/// How many digits of a digest are shown.
const SHORT_DIGEST: usize = 10;

/// A sheet that is being written.
struct SheetText<'s> {
    sheet: &'s TaskSheet,
    form: SheetForm,
    out: String,
}

impl TaskSheet {
    /// The sheet as text.
    #[must_use]
    pub fn text(&self, form: SheetForm) -> String {
        let mut text = SheetText {
            sheet: self,
            form,
            out: String::new(),
        };
        self.doubts.iter().for_each(|doubt| text.doubt(doubt));
        if !self.doubts.is_empty() {
            text.out.push('\n');
        }
        text.head();
        for artifact in &self.artifacts {
            text.artifact(artifact);
        }
        text.verifications();
        text.grounds();
        text.code();
        text.out
    }
}

/// Who must act, for people.
fn who(owner: Owner) -> &'static str {
    match owner {
        Owner::Human => "a person",
        Owner::Agent => "an agent",
        Owner::Orch => "orch",
        Owner::Process => "a running process",
        Owner::None => "nobody",
    }
}

/// A time as an age, with the time itself beside it.
pub(crate) fn aged(at: &str, now: Timestamp) -> String {
    match Timestamp::parse(at) {
        Some(since) => format!("{} ({at})", ago(since, now)),
        None => one_line(at),
    }
}

/// The beginning of a digest.
pub(crate) fn short(digest: Option<&str>) -> String {
    digest
        .unwrap_or_default()
        .chars()
        .take(SHORT_DIGEST)
        .collect()
}

impl Doubt {
    /// Its place and its sentence, on one line.
    pub(crate) fn sentence(&self) -> String {
        match &self.place {
            Some(place) => one_line(&format!("{place}: {}", self.message)),
            None => one_line(&self.message),
        }
    }

    /// The style in which it is shown.
    pub(crate) fn style(&self) -> Style {
        match self.severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Warn,
            Severity::Note => Style::Dim,
        }
    }
}

impl SheetText<'_> {
    fn painted(&mut self, style: Style, text: &str, indent: usize, hang: usize) {
        let mut lines = String::new();
        paragraph(&mut lines, text, indent, hang, self.form.width);
        for line in lines.lines() {
            let line = self.form.paint.paint(style, line);
            self.out.push_str(&format!("{line}\n"));
        }
    }

    fn doubt(&mut self, doubt: &Doubt) {
        self.painted(doubt.style(), &format!("! {}", doubt.sentence()), 0, 2);
        if let Some(hint) = doubt.advice.hint() {
            self.painted(Style::Dim, &hint.to_string(), 2, 2);
        }
    }

    /// The title, the way, and what is asked of whom.
    fn head(&mut self) {
        let sheet = self.sheet;
        let paint = self.form.paint;
        let id = paint.paint(Style::Strong, &one_line(&sheet.task.id));
        let title = sheet.task.title.as_deref().map_or(String::new(), one_line);
        self.out.push_str(format!("{id}  {title}").trim_end());
        self.out.push('\n');
        let way = way_text(&sheet.way, 2, paint, self.form.width);
        self.out.push_str(way.trim_end());
        if sheet.task.attempt > 1 {
            self.out
                .push_str(&format!(" (attempt {})", sheet.task.attempt));
        }
        self.out.push('\n');
        if let Some(relations) = sheet.task.relations.words() {
            self.painted(Style::Dim, &relations, 2, 2);
        }
        let asked = match sheet.duty.owner {
            Owner::None => sheet.asked.clone(),
            owner => format!("{}: {}", who(owner), sheet.asked),
        };
        let style = match sheet.duty.owner {
            Owner::Human => Style::Warn,
            _ => Style::Strong,
        };
        self.painted(style, &asked, 2, 2);
        let since = sheet.at.as_ref().map(|at| aged(at, self.form.now));
        let since = since.map_or(String::new(), |since| format!(", since {since}"));
        paragraph(
            &mut self.out,
            &format!("{}{since}", sheet.duty.reason),
            2,
            2,
            self.form.width,
        );
        if let Some(held) = &sheet.task.held {
            paragraph(&mut self.out, &held.words(), 2, 2, self.form.width);
        }
        for option in &sheet.options {
            let typed = paint.paint(Style::Command, &command(&option.argv));
            let effect = one_line(&option.effect);
            self.out.push_str(&format!(
                "    {typed}  {}\n",
                paint.paint(Style::Dim, &effect)
            ));
        }
    }

    /// The heading of a part, and what is said of it in a few words.
    fn heading(&mut self, name: &str, beside: &[(String, Style)]) {
        let paint = self.form.paint;
        self.out.push_str(&format!(
            "\n{}",
            paint.paint(Style::Strong, &one_line(name))
        ));
        for (text, style) in beside.iter().filter(|(text, _)| !text.is_empty()) {
            self.out
                .push_str(&format!("  {}", paint.paint(*style, &one_line(text))));
        }
        self.out.push('\n');
    }

    fn artifact(&mut self, artifact: &ShownArtifact) {
        let mut beside = Vec::new();
        if artifact.standing != "ready" {
            let style = match artifact.standing {
                "invalid" => Style::Bad,
                _ => Style::Warn,
            };
            beside.push((artifact.standing.to_owned(), style));
        }
        if artifact.role == ArtifactRole::Verdict && artifact.files.len() == 1 {
            let verdict = artifact
                .files
                .first()
                .and_then(|file| file.verdict.as_ref());
            beside.extend(verdict.map(|said| (said.word.clone(), said.style())));
        }
        if !artifact.writers.is_empty() {
            let by = format!("by {}", artifact.writers.join(", "));
            beside.push((by, Style::Dim));
        }
        if let [only] = artifact.files.as_slice() {
            let path = below(&self.sheet.task.path, &only.path);
            beside.push((path, Style::Dim));
        }
        let name = match &artifact.title {
            Some(title) => format!("{}: {title}", artifact.artifact),
            None => artifact.artifact.clone(),
        };
        self.heading(&name, &beside);
        for file in &artifact.files {
            if artifact.files.len() > 1 {
                self.file_line(file);
            }
            self.file(file);
        }
        if artifact.omitted > 0 {
            let more = format!("… {}", counted(artifact.omitted, "more file"));
            self.painted(Style::Warn, &more, 2, 2);
        }
    }

    /// The path of one of several files, with its verdict and why it does not count.
    fn file_line(&mut self, file: &ShownFile) {
        let path = below(&self.sheet.task.path, &file.path);
        let mut line = format!("  {path}");
        if let Some(verdict) = &file.verdict {
            let word = self
                .form
                .paint
                .paint(verdict.style(), &one_line(&verdict.word));
            line.push_str(&format!("  {word}"));
        }
        self.out.push_str(&format!("{line}\n"));
        if let Some(why) = &file.not_counted {
            self.painted(Style::Dim, &format!("does not count: {why}"), 4, 2);
        }
    }

    fn file(&mut self, file: &ShownFile) {
        for issue in &file.issues {
            self.painted(issue.style(), &issue.text(), 2, 4);
        }
        for section in &file.sections {
            self.section(section);
        }
        if file.omitted > 0 {
            let more = counted(file.omitted, "more line");
            self.painted(Style::Warn, &format!("… {more} in {}", file.path), 2, 2);
        }
    }

    fn section(&mut self, section: &SheetSection) {
        if let Some(heading) = &section.heading {
            self.painted(Style::Dim, heading, 2, 2);
        }
        let indent = if section.heading.is_some() { 4 } else { 2 };
        for line in &section.lines {
            self.section_line(line, indent);
        }
    }

    fn section_line(&mut self, line: &SheetLine, indent: usize) {
        let mark = match (line.done, line.item) {
            (Some(true), _) => "[x] ",
            (Some(false), _) => "[ ] ",
            (None, true) => "- ",
            (None, false) => "",
        };
        let note = line
            .note
            .as_ref()
            .map_or(String::new(), |note| format!(" ({note})"));
        let indent = indent + 2 * line.depth;
        if line.item {
            let text = format!("{mark}{}{note}", line.text);
            paragraph(&mut self.out, &text, indent, mark.len(), self.form.width);
            return;
        }
        // Code and tables keep their blanks.
        let lead = line.text.len() - line.text.trim_start().len();
        let lead = if lead > 0 {
            " ".repeat(lead)
        } else {
            String::new()
        };
        if lead.is_empty() {
            paragraph(&mut self.out, &line.text, indent, 0, self.form.width);
            if line.text.trim().is_empty() {
                self.out.push('\n');
            }
        } else {
            let shown: String = line.text.trim_start().chars().map(visible).collect();
            self.out
                .push_str(&format!("{}{lead}{shown}\n", " ".repeat(indent)));
        }
    }

    fn verifications(&mut self) {
        if self.sheet.verifications.is_empty() {
            return;
        }
        self.heading("verifications", &[]);
        for verification in &self.sheet.verifications {
            for line in verification.result.text(self.form.paint).lines() {
                self.out.push_str(&format!("  {line}\n"));
            }
        }
    }

    fn grounds(&mut self) {
        if self.sheet.rests_on.is_empty() {
            return;
        }
        let name = match self.sheet.is_done() {
            true => "the approval rested on",
            false => "an approval would rest on",
        };
        self.heading(name, &[]);
        for ground in &self.sheet.rests_on {
            let words = ground.words();
            let style = match ground.why_not {
                Some(_) => Style::Bad,
                None => Style::Good,
            };
            let mark = match ground.why_not {
                Some(_) => "✗",
                None => "✓",
            };
            let paint = self.form.paint;
            let digest = paint.paint(Style::Dim, &short(ground.digest.as_deref()));
            let mark = paint.paint(style, mark);
            self.out.push_str(&format!("  {mark} {words}  {digest}\n"));
        }
    }

    fn code(&mut self) {
        let Some(code) = &self.sheet.code else { return };
        self.heading(
            &format!("code: {}", code.artifact),
            &[(code.counts(), Style::Dim)],
        );
        if let Some(judged) = &code.judged {
            let since = aged(&judged.at, self.form.now);
            let line = match code.files.iter().any(|file| file.changed_since) {
                true => format!(
                    "▌ marks what changed since `{}` judged it, {since}",
                    judged.artifact
                ),
                false => format!("unchanged since `{}` judged it, {since}", judged.artifact),
            };
            self.painted(Style::Dim, &line, 2, 2);
        }
        code.table(&mut self.out, self.form.paint);
        if self.form.names_only {
            return;
        }
        code.patches(&mut self.out, self.form.paint);
        let left = match code.omitted() {
            0 => "all of it:".to_owned(),
            omitted => format!("{} not shown; all of it:", counted(omitted, "line")),
        };
        let typed = self.form.paint.paint(Style::Command, &code.whole());
        self.out.push_str(&format!("\n{left} {typed}\n"));
    }
}

impl GroundView {
    /// The artifact, what it judged, whether it stands, and who made it, in a sentence.
    pub(crate) fn words(&self) -> String {
        let mut words = one_line(&self.artifact);
        if let Some(why) = &self.why_not {
            words.push_str(&format!(" {}", one_line(why)));
        } else if !self.judged.is_empty() {
            words.push_str(&format!(", which judged {}", self.judged.join(", ")));
        }
        if self.ran {
            words.push_str(", run by orch");
        } else if self.writers.is_empty() {
            words.push_str(", by an unknown writer");
        } else {
            words.push_str(&format!(", by {}", one_line(&self.writers.join(", "))));
        }
        words
    }
}
