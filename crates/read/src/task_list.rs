//! The task lists of other programs, as tasks to create: found by what a file contains, whatever its name is.

use crate::{locate, read};
use orch_base::{Code, Diagnostic, Place, RepoPath, words};
use orch_core::decide::Priority;
use orch_core::workflow::Format;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;

/// The byte order mark that some editors write before JSON.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// The member of BMAD's sprint status that maps stories to what was done.
const STORIES: &str = "development_status";
/// The tag of Task Master that a project begins with.
const FIRST_TAG: &str = "master";
/// The statuses of tasks that nobody will work on any more.
const ENDED: [&str; 6] = [
    "done",
    "completed",
    "closed",
    "cancelled",
    "canceled",
    "tombstone",
];

/// The kind of a dependency of beads on what has to be done before.
const BLOCKS: &str = "blocks";
/// The kind of a dependency of beads on what it is a part of.
const PARENT: &str = "parent-child";

words! {
    /// The program that a task list comes from.
    pub enum TaskProgram {
        /// `tasks.json` of Task Master.
        TaskMaster = "task-master",
        /// `sprint-status.yaml` of BMAD.
        Bmad = "bmad",
        /// `.beads/issues.jsonl` of beads.
        Beads = "beads",
    }
}

/// A task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskList {
    /// The program that it comes from.
    pub program: TaskProgram,
    /// Its entries, in the order of the file.
    pub entries: Vec<ListEntry>,
}

/// An entry of a task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// What the program calls it.
    pub source: String,
    /// What it should be called here. It may have letters that an id cannot have, and occur twice.
    pub name: String,
    /// The title, on one line.
    pub title: String,
    /// What is wanted, in Markdown; `None` if the list says no more than the title.
    pub brief: Option<String>,
    /// The entries that have to be done before, by what the program calls them.
    pub after: Vec<String>,
    /// The entry of which it is a part.
    pub parent: Option<String>,
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// Who is to do it.
    pub assignee: Option<String>,
    /// Why it is no task to create; `None` if it is one.
    pub left_out: Option<String>,
}

/// Reads the task list in a file. Returns an error with its place if the file cannot be read, is none of the formats, or has
/// an entry without an id or a title, or two with the same id.
pub fn task_list(path: &RepoPath, bytes: &[u8]) -> Result<TaskList, Box<Diagnostic>> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let format = format_of(bytes);
    let result = read(format, path, bytes);
    let text = String::from_utf8_lossy(bytes);
    let Some(data) = result.data else {
        let is_other = format == Format::Yaml && !text.contains(STORIES);
        let problem = result.problems.into_iter().find(Diagnostic::is_error);
        return Err(match problem {
            Some(problem) if !is_other || problem.code != Code::YamlSyntax => {
                let hint =
                    "the file may be cut off: let the program that it comes from write it again";
                Box::new(problem.hint(hint))
            }
            _ => unknown(path),
        });
    };
    let list = ListText {
        path,
        text: &text,
        format,
    };
    let program = program_of(format, &data).ok_or_else(|| unknown(path))?;
    let entries = match program {
        TaskProgram::TaskMaster => list.task_master(&data),
        TaskProgram::Bmad => Ok(stories(&data)),
        TaskProgram::Beads => list.beads(&data),
    };
    Ok(TaskList {
        program,
        entries: entries?,
    })
}

fn unknown(path: &RepoPath) -> Box<Diagnostic> {
    let message = "the file is no task list that orch knows";
    let hint = "orch reads tasks.json of Task Master, sprint-status.yaml of BMAD, and .beads/issues.jsonl of beads";
    let problem = Diagnostic::error(Code::TaskListUnread, message).at(Place::file(path));
    Box::new(problem.hint(hint))
}

/// JSON Lines if the first line is an issue of beads, JSON if the text begins as an object or a list, otherwise YAML.
fn format_of(bytes: &[u8]) -> Format {
    let bytes = bytes.trim_ascii_start();
    if !bytes.starts_with(b"{") && !bytes.starts_with(b"[") && !bytes.is_empty() {
        return Format::Yaml;
    }
    let first = bytes.split(|byte| *byte == b'\n').next();
    let first = first.and_then(|line| serde_json::from_slice::<Value>(line).ok());
    if first.is_some_and(|line| is_issue(&line)) {
        Format::Jsonl
    } else {
        Format::Json
    }
}

fn is_issue(line: &Value) -> bool {
    line.get("_type").is_some() || line.get("id").is_some() && line.get("title").is_some()
}

fn program_of(format: Format, data: &Value) -> Option<TaskProgram> {
    match format {
        Format::Jsonl => Some(TaskProgram::Beads),
        Format::Json => {
            let has_tasks = |value: &Value| value.get("tasks").is_some_and(Value::is_array);
            let members = data.as_object()?;
            let is_known = has_tasks(data) || members.values().any(has_tasks);
            is_known.then_some(TaskProgram::TaskMaster)
        }
        _ => {
            let is_known = data.get(STORIES).is_some_and(Value::is_object);
            is_known.then_some(TaskProgram::Bmad)
        }
    }
}

/// Where problems with entries are found.
struct ListText<'t> {
    path: &'t RepoPath,
    text: &'t str,
    format: Format,
}

impl ListText<'_> {
    fn refused(&self, pointer: &str, message: String) -> Box<Diagnostic> {
        let place = locate(self.format, self.path, self.text, pointer, None);
        let problem = Diagnostic::error(Code::TaskListUnread, message).at(place);
        Box::new(problem.hint("correct it in the program that the list comes from"))
    }

    /// The id of an entry, a text or a number. Returns an error if there is none, or if an entry before has it.
    fn id(
        &self,
        pointer: &str,
        entry: &Value,
        known: &mut HashSet<String>,
    ) -> Result<String, Box<Diagnostic>> {
        let id = entry.get("id").and_then(word);
        let Some(id) = id else {
            let message = "this entry has no `id`".to_owned();
            return Err(self.refused(pointer, message));
        };
        if known.insert(id.clone()) {
            return Ok(id);
        }
        let message = format!("the id `{id}` occurs twice");
        Err(self.refused(pointer, message))
    }

    /// The title of an entry on one line. Returns an error if there is none, unless the entry is left out.
    fn title(
        &self,
        pointer: &str,
        entry: &Value,
        is_left_out: bool,
    ) -> Result<String, Box<Diagnostic>> {
        let title = on_one_line(text_of(entry, "title").unwrap_or_default());
        if title.is_empty() && !is_left_out {
            let message = "this entry has no `title`".to_owned();
            return Err(self.refused(pointer, message));
        }
        Ok(title)
    }

    /// The tasks of every tag; an older file has no tags.
    fn task_master(&self, data: &Value) -> Result<Vec<ListEntry>, Box<Diagnostic>> {
        let mut entries = Vec::new();
        if let Some(tasks) = data.get("tasks").and_then(Value::as_array) {
            self.tag(FIRST_TAG, "", tasks, &mut entries)?;
            return Ok(entries);
        }
        for (tag, content) in data.as_object().into_iter().flatten() {
            let at = orch_base::pointer::child("", tag);
            if let Some(tasks) = content.get("tasks").and_then(Value::as_array) {
                self.tag(tag, &at, tasks, &mut entries)?;
            }
        }
        Ok(entries)
    }

    fn tag(
        &self,
        tag: &str,
        at: &str,
        tasks: &[Value],
        entries: &mut Vec<ListEntry>,
    ) -> Result<(), Box<Diagnostic>> {
        let mut known = HashSet::new();
        for (index, task) in tasks.iter().enumerate() {
            let pointer = format!("{at}/tasks/{index}");
            let id = self.id(&pointer, task, &mut known)?;
            let left_out = ended(task);
            let title = self.title(&pointer, task, left_out.is_some())?;
            let mut parts = BriefParts::default();
            parts.text(None, text_of(task, "description"));
            parts.text(None, text_of(task, "details"));
            parts.text(Some("Test strategy"), text_of(task, "testStrategy"));
            parts.list("Subtasks", subtasks(task));
            let dependencies = task.get("dependencies").and_then(Value::as_array);
            let needed: Vec<String> = dependencies
                .into_iter()
                .flatten()
                .filter_map(word)
                .collect();
            parts.list("Depends on", needed.clone());
            let is_first = tag == FIRST_TAG;
            let source = |id: &String| match is_first {
                true => id.clone(),
                false => format!("{tag}/{id}"),
            };
            entries.push(ListEntry {
                source: source(&id),
                after: needed.iter().map(source).collect(),
                parent: None,
                priority: text_of(task, "priority").and_then(named_priority),
                assignee: assignee(task),
                name: if is_first {
                    format!("task-{id}")
                } else {
                    format!("{tag}-{id}")
                },
                brief: parts.under(&title),
                title,
                left_out,
            });
        }
        Ok(())
    }

    /// The issues. A line of another `_type`, such as a memory, is no issue.
    fn beads(&self, data: &Value) -> Result<Vec<ListEntry>, Box<Diagnostic>> {
        let mut known = HashSet::new();
        let mut entries = Vec::new();
        for (index, issue) in data.as_array().into_iter().flatten().enumerate() {
            let pointer = format!("/{index}");
            let kind = text_of(issue, "_type").filter(|kind| *kind != "issue");
            if let Some(kind) = kind {
                let name = issue.get("id").or(issue.get("key")).and_then(word);
                let name = name.unwrap_or_else(|| format!("value {}", index + 1));
                entries.push(ListEntry {
                    source: name.clone(),
                    title: name.clone(),
                    name,
                    brief: None,
                    after: Vec::new(),
                    parent: None,
                    priority: None,
                    assignee: None,
                    left_out: Some(format!("it is no issue: its `_type` is `{kind}`")),
                });
                continue;
            }
            let id = self.id(&pointer, issue, &mut known)?;
            let left_out = ended(issue);
            let title = self.title(&pointer, issue, left_out.is_some())?;
            let mut parts = BriefParts::default();
            parts.text(None, text_of(issue, "description"));
            parts.text(Some("Design"), text_of(issue, "design"));
            parts.text(
                Some("Acceptance criteria"),
                text_of(issue, "acceptance_criteria"),
            );
            parts.text(Some("Notes"), text_of(issue, "notes"));
            let dependencies = issue.get("dependencies").and_then(Value::as_array);
            let dependencies: Vec<(String, &str)> = dependencies
                .into_iter()
                .flatten()
                .filter_map(|one| {
                    let kind = text_of(one, "type").unwrap_or(BLOCKS);
                    Some((one.get("depends_on_id").and_then(word)?, kind))
                })
                .collect();
            let needed = dependencies.iter().map(|(id, _)| id.clone());
            parts.list("Depends on", needed.collect());
            let of_kind = |wanted: &str| {
                let found = dependencies.iter().filter(|(_, kind)| *kind == wanted);
                found.map(|(id, _)| id.clone()).collect::<Vec<String>>()
            };
            entries.push(ListEntry {
                source: id.clone(),
                after: of_kind(BLOCKS),
                parent: of_kind(PARENT).into_iter().next(),
                priority: issue.get("priority").and_then(numbered_priority),
                assignee: assignee(issue),
                name: id,
                brief: parts.under(&title),
                title,
                left_out,
            });
        }
        Ok(entries)
    }
}

/// The stories of a sprint status. Epics and retrospectives stand in the same map.
fn stories(data: &Value) -> Vec<ListEntry> {
    let mut entries = Vec::new();
    for (key, status) in data[STORIES].as_object().into_iter().flatten() {
        let left_out = if key.ends_with("-retrospective") {
            Some("it is a retrospective".to_owned())
        } else if key.starts_with("epic-") {
            Some("it is an epic; its stories are the tasks".to_owned())
        } else {
            status.as_str().and_then(ended_status)
        };
        entries.push(ListEntry {
            source: key.clone(),
            name: key.clone(),
            title: story_title(key),
            brief: None,
            after: Vec::new(),
            parent: epic_of(key),
            priority: None,
            assignee: None,
            left_out,
        });
    }
    entries
}

/// `Story 1.2: user login` of `1-2-user-login`.
fn story_title(key: &str) -> String {
    let mut parts = key.splitn(3, '-');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(epic), Some(story), Some(words)) => {
            format!("Story {epic}.{story}: {}", words.replace('-', " "))
        }
        _ => key.to_owned(),
    }
}

/// `epic-1` of `1-2-user-login`.
fn epic_of(story: &str) -> Option<String> {
    let (epic, _) = story.split_once('-')?;
    let is_number = !epic.is_empty() && epic.bytes().all(|letter| letter.is_ascii_digit());
    is_number.then(|| format!("epic-{epic}"))
}

/// A priority in words.
fn named_priority(text: &str) -> Option<Priority> {
    match text.trim().to_ascii_lowercase().as_str() {
        "critical" | "urgent" => Some(Priority::Urgent),
        "high" => Some(Priority::High),
        "medium" | "normal" => Some(Priority::Normal),
        "low" => Some(Priority::Low),
        _ => None,
    }
}

/// A priority of beads, from 0 to 4.
fn numbered_priority(value: &Value) -> Option<Priority> {
    match value.as_u64()? {
        0 => Some(Priority::Urgent),
        1 => Some(Priority::High),
        2 => Some(Priority::Normal),
        _ => Some(Priority::Low),
    }
}

fn assignee(entry: &Value) -> Option<String> {
    entry.get("assignee").and_then(word)
}

fn ended(entry: &Value) -> Option<String> {
    text_of(entry, "status").and_then(ended_status)
}

fn ended_status(status: &str) -> Option<String> {
    let is_ended = ENDED
        .iter()
        .any(|word| status.trim().eq_ignore_ascii_case(word));
    is_ended.then(|| format!("its status is `{}`", status.trim()))
}

fn text_of<'v>(entry: &'v Value, key: &str) -> Option<&'v str> {
    entry.get(key).and_then(Value::as_str)
}

/// A number or a text that is not blank, as text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if !text.trim().is_empty() => Some(on_one_line(text)),
        _ => None,
    }
}

fn on_one_line(text: &str) -> String {
    let is_between = |letter: char| letter.is_whitespace() || letter.is_control();
    let words = text.split(is_between).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Each subtask with its status and its description.
fn subtasks(task: &Value) -> Vec<String> {
    let subtasks = task.get("subtasks").and_then(Value::as_array);
    let shown = |subtask: &Value| {
        let mut line = on_one_line(text_of(subtask, "title")?);
        if let Some(status) = text_of(subtask, "status") {
            let _ = write!(line, " ({})", on_one_line(status));
        }
        for key in ["description", "details"] {
            let text = on_one_line(text_of(subtask, key).unwrap_or_default());
            if !text.is_empty() {
                let _ = write!(line, ": {text}");
            }
        }
        Some(line)
    };
    subtasks.into_iter().flatten().filter_map(shown).collect()
}

/// The parts of a brief below its title.
#[derive(Default)]
struct BriefParts(String);

impl BriefParts {
    fn text(&mut self, heading: Option<&str>, text: Option<&str>) {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            return;
        };
        if let Some(heading) = heading {
            let _ = write!(self.0, "\n## {heading}\n");
        }
        let _ = write!(self.0, "\n{text}\n");
    }

    fn list(&mut self, heading: &str, lines: Vec<String>) {
        let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
        self.text(Some(heading), Some(&lines.join("\n")));
    }

    fn under(self, title: &str) -> Option<String> {
        if self.0.is_empty() {
            None
        } else {
            Some(format!("# {title}\n{}", self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Result<TaskList, Box<Diagnostic>> {
        task_list(&RepoPath::new("f").expect("valid"), text.as_bytes())
    }

    #[test]
    fn a_list_is_known_by_its_content() {
        // The program, and of each entry: what it is called there and here, its title, and why it is left out.
        type Row<'r> = (&'r str, &'r str, &'r str, Option<&'r str>);
        let cases: [(&str, TaskProgram, &[Row<'_>]); 7] = [
            (
                "\u{feff}{\"tasks\": [{\"id\": 1, \"title\": \"A\\n b\"}, {\"id\": \"2\", \"title\": \"B\", \"status\": \"Done\"}]}",
                TaskProgram::TaskMaster,
                &[
                    ("1", "task-1", "A b", None),
                    ("2", "task-2", "B", Some("its status is `Done`")),
                ],
            ),
            (
                "{\n\"master\": {\"tasks\": [{\"id\": 1, \"title\": \"A\"}], \"metadata\": {}},\n\
                 \"new ui\": {\"tasks\": [{\"id\": 1, \"title\": \"B\", \"status\": \"cancelled\"}]}}",
                TaskProgram::TaskMaster,
                &[
                    ("1", "task-1", "A", None),
                    (
                        "new ui/1",
                        "new ui-1",
                        "B",
                        Some("its status is `cancelled`"),
                    ),
                ],
            ),
            (
                "{\"master\": {\"tasks\": []}}",
                TaskProgram::TaskMaster,
                &[],
            ),
            (
                "{\"tasks\": {\"tasks\": [{\"id\": 3, \"title\": \"C\"}]}}",
                TaskProgram::TaskMaster,
                &[("tasks/3", "tasks-3", "C", None)],
            ),
            (
                "# a comment\nproject: x\ndevelopment_status:\n  epic-1: in-progress\n  1-2-user-log-in: backlog\n  \
                 1-1-x: done\n  epic-1-retrospective: optional\naction_items: []\n",
                TaskProgram::Bmad,
                &[
                    (
                        "epic-1",
                        "epic-1",
                        "epic-1",
                        Some("it is an epic; its stories are the tasks"),
                    ),
                    (
                        "1-2-user-log-in",
                        "1-2-user-log-in",
                        "Story 1.2: user log in",
                        None,
                    ),
                    (
                        "1-1-x",
                        "1-1-x",
                        "Story 1.1: x",
                        Some("its status is `done`"),
                    ),
                    (
                        "epic-1-retrospective",
                        "epic-1-retrospective",
                        "Story epic.1: retrospective",
                        Some("it is a retrospective"),
                    ),
                ],
            ),
            (
                "{\"id\": \"bd-1\", \"title\": \"A\", \"status\": \"open\", \"issue_type\": \"bug\"}\n\n\
                 {\"_type\": \"issue\", \"id\": \"bd-1.2\", \"title\": \"B\", \"status\": \"closed\"}\n\
                 {\"_type\": \"memory\", \"key\": \"k\"}\n{\"id\": \"bd-3\", \"status\": \"tombstone\"}\n",
                TaskProgram::Beads,
                &[
                    ("bd-1", "bd-1", "A", None),
                    ("bd-1.2", "bd-1.2", "B", Some("its status is `closed`")),
                    (
                        "k",
                        "k",
                        "k",
                        Some("it is no issue: its `_type` is `memory`"),
                    ),
                    ("bd-3", "bd-3", "", Some("its status is `tombstone`")),
                ],
            ),
            (
                "{\"id\": \"bd-1\", \"title\": \"A\"}",
                TaskProgram::Beads,
                &[("bd-1", "bd-1", "A", None)],
            ),
        ];
        for (text, program, rows) in cases {
            let list = listed(text).expect(text);
            assert_eq!(list.program, program, "{text}");
            let entries = list.entries.iter().map(|entry| {
                (
                    entry.source.as_str(),
                    entry.name.as_str(),
                    entry.title.as_str(),
                    entry.left_out.as_deref(),
                )
            });
            assert_eq!(entries.collect::<Vec<_>>(), rows, "{text}");
        }
    }

    #[test]
    fn what_is_wanted_becomes_a_brief() {
        for (text, brief) in [
            (
                "{\"tasks\": [{\"id\": 1, \"title\": \"A\", \"description\": \"What.\\n\", \"details\": \"How.\", \
                 \"testStrategy\": \"\", \"dependencies\": [2, \"3.1\"], \
                 \"subtasks\": [{\"id\": 1, \"title\": \"S\", \"status\": \"done\", \"description\": \"x\\ny\"}]}]}",
                Some(
                    "# A\n\nWhat.\n\nHow.\n\n## Subtasks\n\n- S (done): x y\n\n## Depends on\n\n- 2\n- 3.1\n",
                ),
            ),
            (
                "{\"id\": \"b\", \"title\": \"A\", \"description\": \"D\", \"notes\": \"N\", \
                 \"dependencies\": [{\"depends_on_id\": \"c\", \"type\": \"blocks\"}]}",
                Some("# A\n\nD\n\n## Notes\n\nN\n\n## Depends on\n\n- c\n"),
            ),
            (
                "{\"tasks\": [{\"id\": 1, \"title\": \"A\", \"details\": \" \"}]}",
                None,
            ),
        ] {
            let list = listed(text).expect(text);
            assert_eq!(list.entries[0].brief.as_deref(), brief, "{text}");
        }
    }

    #[test]
    fn what_a_list_says_of_relations_is_read() {
        type Row<'r> = (
            &'r str,
            &'r [&'r str],
            Option<&'r str>,
            Option<Priority>,
            Option<&'r str>,
        );
        let cases: [(&str, &[Row<'_>]); 3] = [
            (
                "{\"new ui\": {\"tasks\": [{\"id\": 1, \"title\": \"A\", \"priority\": \"medium\"}, \
                 {\"id\": 2, \"title\": \"B\", \"dependencies\": [1], \"priority\": \"high\"}]}}",
                &[
                    ("new ui/1", &[], None, Some(Priority::Normal), None),
                    ("new ui/2", &["new ui/1"], None, Some(Priority::High), None),
                ],
            ),
            (
                "development_status:\n  epic-1: backlog\n  1-1-x: backlog\n",
                &[
                    ("epic-1", &[], None, None, None),
                    ("1-1-x", &[], Some("epic-1"), None, None),
                ],
            ),
            (
                "{\"id\": \"b\", \"title\": \"A\", \"priority\": 0, \"assignee\": \"eva\", \"dependencies\": [\
                 {\"depends_on_id\": \"c\", \"type\": \"blocks\"}, {\"depends_on_id\": \"e\", \"type\": \"parent-child\"}, \
                 {\"depends_on_id\": \"r\", \"type\": \"related\"}]}",
                &[("b", &["c"], Some("e"), Some(Priority::Urgent), Some("eva"))],
            ),
        ];
        for (text, rows) in cases {
            let list = listed(text).expect(text);
            for (entry, (source, after, parent, priority, assignee)) in
                list.entries.iter().zip(rows)
            {
                assert_eq!(entry.source, *source, "{text}");
                assert_eq!(entry.after, *after, "{text}");
                assert_eq!(entry.parent.as_deref(), *parent, "{text}");
                assert_eq!(entry.priority, *priority, "{text}");
                assert_eq!(entry.assignee.as_deref(), *assignee, "{text}");
            }
            assert_eq!(list.entries.len(), rows.len(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_has_a_place_and_a_hint() {
        for (text, code, place) in [
            ("", "empty", "f"),
            (" \n", "empty", "f"),
            (
                "{\"master\": {\"tasks\": [\n{\"id\": 1,",
                "json-syntax",
                "f:2:",
            ),
            (
                "{\"id\": 1, \"title\": \"A\"}\n{\"id\": 2, \"ti",
                "json-syntax",
                "f:2:",
            ),
            ("development_status:\n  a: [\n", "yaml-syntax", "f:2:"),
            ("a: [\n", "task-list-unread", "f"),
            ("# Title\n\nSome text: [x\n", "task-list-unread", "f"),
            ("development_status: [1-1-a]\n", "task-list-unread", "f"),
            ("{\"items\": []}", "task-list-unread", "f"),
            ("[]", "task-list-unread", "f"),
            (
                "{\"tasks\": [\n{\"title\": \"A\"}]}",
                "task-list-unread",
                "f:2:",
            ),
            (
                "{\"tasks\": [\n{\"id\": 1, \"title\": \" \"}]}",
                "task-list-unread",
                "f:2:",
            ),
            ("{\"tasks\": [\n7]}", "task-list-unread", "f:2:"),
            (
                "{\"tasks\": [{\"id\": 1, \"title\": \"A\"},\n{\"id\": \"1\", \"title\": \"B\"}]}",
                "task-list-unread",
                "f:2:",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\"}\n{\"id\": \"a\", \"title\": \"A\"}\n",
                "task-list-unread",
                "f:2:",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\"}\n[]\n",
                "task-list-unread",
                "f:2:",
            ),
            ("\u{feff}a\0b", "nul-byte", "f:1:"),
        ] {
            let problem = listed(text).expect_err(text);
            let found = problem.place.as_ref().map(ToString::to_string);
            let found = found.unwrap_or_default();
            assert_eq!(problem.code.as_str(), code, "{text:?}");
            assert!(found.starts_with(place), "{text:?}: {found}");
            assert!(problem.hint.is_some(), "{text:?}");
        }
    }
}
