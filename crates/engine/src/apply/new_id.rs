//! Which ids a new task may have. The directory of an existing task may have any name that `TaskId` accepts.

use crate::survey::Error;
use orch_base::{ARCHIVE, Code, Hint, TaskId};
use orch_core::record::{STATE_FILE, SUGGESTION_FILE, TRANSCRIPT_FILE};
use std::collections::HashSet;
use std::iter;

/// Names that `orch` itself uses inside a task.
const RESERVED: [&str; 3] = [STATE_FILE, TRANSCRIPT_FILE, SUGGESTION_FILE];

/// How many letters of a name in a list become part of an id.
const LONGEST_NAME: usize = 40;

/// The command that gives a task its id.
#[derive(Debug, Clone, Copy)]
pub(super) enum Naming<'a> {
    /// `orch new`, with the title of the task.
    New(Option<&'a str>),
    /// `orch rename`, with the id before.
    Rename(&'a TaskId),
}

/// Parses the id that a task will get. Returns an error with a similar id that is valid if the text is not a task id
/// at all.
pub(super) fn parse_task_id(text: &str, naming: Naming<'_>) -> Result<TaskId, Error> {
    TaskId::new(text).map_err(|error| refused(text, &error.to_string(), naming))
}

/// Checks the id of a task whose directory does not exist yet: it is typed in commands and becomes part of
/// branch names. Returns an error with a similar id that is valid.
pub(super) fn check_new_id(id: &TaskId, naming: Naming<'_>) -> Result<(), Error> {
    let first = id.as_str().split('/').next();
    let is_of_archive = first == Some(ARCHIVE);
    let archived = "archived tasks have it; see `orch archive`";
    let reason = if is_of_archive {
        Some(archived)
    } else {
        id.as_str().split('/').find_map(unfit)
    };
    let Some(reason) = reason else { return Ok(()) };
    Err(refused(
        id.as_str(),
        &format!("`{id}` cannot be the id of a task: {reason}"),
        naming,
    ))
}

/// Why a part of an id is not fit for a new task.
fn unfit(part: &str) -> Option<&'static str> {
    let is_fit = |letter: char| match letter {
        '-' | '_' | '.' => true,
        letter if letter.is_ascii() => letter.is_ascii_alphanumeric(),
        letter => !letter.is_whitespace(),
    };
    if RESERVED.iter().any(|name| part.eq_ignore_ascii_case(name)) {
        return Some("orch uses this name for a file of each task");
    }
    if part == "HEAD" || part.ends_with("_HEAD") {
        return Some("git uses this name for a commit");
    }
    if !part.chars().all(is_fit) {
        return Some(
            "it may contain only letters, digits, `-`, `_`, `.` and, between its parts, `/`",
        );
    }
    if part.starts_with('.') || part.ends_with('.') || part.contains("..") {
        return Some("a part must not start or end with `.`, or contain `..`");
    }
    part.ends_with(".lock")
        .then_some("a part must not end with `.lock`, because no git branch may")
}

fn refused(text: &str, message: &str, naming: Naming<'_>) -> Error {
    let hint = similar(text).map(|id| match naming {
        Naming::Rename(old) => Hint::run(&["orch", "rename", old.as_str(), id.as_str()]),
        Naming::New(title) => {
            let title = title.unwrap_or(text).trim();
            let has_words =
                title.contains(char::is_whitespace) && !title.contains(char::is_control);
            let words = ["orch", "new", id.as_str(), "--title", title];
            Hint::run(if has_words { &words } else { &words[..3] })
        }
    });
    Error::new(Code::BadTaskId, message).with_hint_of(hint)
}

/// The fit id that is most like a text; `None` if nothing of the text can be part of an id.
fn similar(text: &str) -> Option<TaskId> {
    let parts = text
        .split(['/', '\\'])
        .map(similar_part)
        .filter(|part| !part.is_empty());
    let parts = parts.skip_while(|part| part == ARCHIVE);
    let id = TaskId::new(parts.collect::<Vec<_>>().join("/")).ok()?;
    id.as_str()
        .split('/')
        .all(|part| unfit(part).is_none())
        .then_some(id)
}

/// A fit id for each name, all different: the one that is most like it, with a number if another name has that one. The
/// same names always get the same ids.
pub fn ids_like<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<TaskId> {
    let mut known = HashSet::new();
    let mut ids = Vec::new();
    for name in names {
        let name: String = name.chars().take(LONGEST_NAME).collect();
        let name = name.replace(['/', '\\'], "-");
        let like = similar(&name).map_or_else(|| "task".to_owned(), |id| id.to_string());
        let numbered = (2_u64..).map(|number| format!("{like}-{number}"));
        let mut wanted = iter::once(like.clone()).chain(numbered);
        let free = wanted.find_map(|id| TaskId::new(id).ok().filter(|id| !known.contains(id)));
        if let Some(id) = free {
            known.insert(id.clone());
            ids.push(id);
        }
    }
    ids
}

/// Small letters and digits, with one `-` for everything between them; `.` and `_` stay inside a word.
fn similar_part(part: &str) -> String {
    let is_reserved = unfit(part).is_some() && part.is_ascii() && !part.contains(' ');
    let kept =
        |letter: char| letter.is_alphanumeric() || (['_', '.'].contains(&letter) && !is_reserved);
    let words = part
        .split(|letter| !kept(letter))
        .map(|word| word.trim_matches('.'));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_can_be_typed_and_can_name_a_branch() {
        for good in [
            "fix-login",
            "T-42",
            "v1.2",
            "team/fix_login",
            "日本",
            "caf\u{e9}",
            "cafe\u{301}",
            "state",
        ] {
            assert!(
                check_new_id(&TaskId::new(good).expect("an id"), Naming::New(None)).is_ok(),
                "{good}"
            );
        }
        for (bad, suggested) in [
            ("Fix login", Some("orch new fix-login --title 'Fix login'")),
            ("state.json", Some("orch new state-json")),
            (
                "team/Transcript.jsonl",
                Some("orch new team/transcript-jsonl"),
            ),
            ("it's", Some("orch new it-s")),
            ("a:b", Some("orch new a-b")),
            ("v1..2", Some("orch new v1-2")),
            ("a.lock", Some("orch new a-lock")),
            (".hidden", Some("orch new hidden")),
            (
                "Release 1.2 now",
                Some("orch new release-1.2-now --title 'Release 1.2 now'"),
            ),
            (
                "über uns/x",
                Some("orch new über-uns/x --title 'über uns/x'"),
            ),
            ("archive/login", Some("orch new login")),
            ("archive", None),
            ("HEAD", Some("orch new head")),
            ("team/FETCH_HEAD", Some("orch new team/fetch-head")),
            ("@", None),
            ("*", None),
        ] {
            let error =
                check_new_id(&TaskId::new(bad).expect("an id"), Naming::New(None)).expect_err(bad);
            assert_eq!(
                (error.code(), error.hint().map(Hint::to_string).as_deref()),
                (Code::BadTaskId, suggested),
                "{bad}"
            );
        }
    }

    #[test]
    fn names_of_a_list_become_different_ids() {
        let names = [
            "task-1", "Task 1", "a/b", "@", "*", "bd-1.2", "HEAD", "archive", "x.lock",
        ];
        let ids = ids_like(names);
        let expected = [
            "task-1", "task-1-2", "a-b", "task", "task-2", "bd-1.2", "head", "task-3", "x-lock",
        ];
        assert_eq!(ids.iter().map(TaskId::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_rename_to_a_bad_id_suggests_a_rename() {
        let old = TaskId::new("a").expect("an id");
        let error = check_new_id(&TaskId::new("Bad Id").expect("an id"), Naming::Rename(&old))
            .expect_err("refused");
        assert_eq!(
            error.hint().map(Hint::to_string).as_deref(),
            Some("orch rename a bad-id")
        );
        let error = parse_task_id("-rf", Naming::Rename(&old)).expect_err("refused");
        assert_eq!(
            error.hint().map(Hint::to_string).as_deref(),
            Some("orch rename a rf")
        );
    }

    #[test]
    fn a_text_that_is_no_id_is_refused_with_a_similar_one() {
        for (bad, suggested) in [
            ("", None),
            ("..", None),
            ("-rf", Some("orch new rf")),
            ("a//b/", Some("orch new a/b")),
            (" Fix it ", Some("orch new fix-it --title 'Fix it'")),
            ("a\nb", Some("orch new a-b")),
        ] {
            let error = parse_task_id(bad, Naming::New(None)).expect_err(bad);
            assert_eq!(
                (error.code(), error.hint().map(Hint::to_string).as_deref()),
                (Code::BadTaskId, suggested),
                "{bad}"
            );
        }
    }
}
