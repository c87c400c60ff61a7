//! Tasks from an issue of the older tool: those of the solution that is bound to it, as tasks of a loop.
//!
//! The tool keeps its issues as JSON Lines in `.workflow/issues`, and the solutions of each in a file of its own.

use super::tasks::members;
use orch_base::{Code, Error, RepoPath};
use orch_core::workflow::Format;
use orch_files::{io_error, open_regular, read_up_to};
use orch_read::read;
use orch_serve::http::wrong;
use serde_json::{Map, Value};
use std::path::Path;

/// Where the issues are.
const ISSUES: &str = ".workflow/issues";
/// The files of issues, the first of which wins.
const FILES: [&str; 2] = ["issues.jsonl", "issue-history.jsonl"];
/// The most bytes of a file.
const MOST: u64 = 16 * 1024 * 1024;

/// The tasks of an issue, as the members of tasks of a loop.
///
/// # Errors
///
/// There is no such issue, its solution has no task, or a file cannot be read.
pub(super) fn tasks_of_issue(root: &Path, id: &str) -> Result<Vec<Map<String, Value>>, Error> {
    if id.is_empty() || id == "." || id == ".." || id.contains(['/', '\\', '\0']) {
        return Err(wrong("`issue_id` is not the id of an issue"));
    }
    let mut issue = None;
    for file in FILES {
        let found = || Ok::<_, Error>(rows(root, file)?.into_iter().find(|row| row["id"] == id));
        issue = issue.map_or_else(found, |issue| Ok(Some(issue)))?;
    }
    let Some(issue) = issue else {
        return Err(Error::new(
            Code::UnknownTask,
            format!("there is no issue `{id}` in {ISSUES}"),
        ));
    };
    let solutions = rows(root, &format!("solutions/{id}.jsonl"))?;
    let is_named = |one: &&Value| one["id"].is_string() && one["id"] == issue["bound_solution_id"];
    let bound = solutions
        .iter()
        .find(is_named)
        .or_else(|| solutions.iter().find(|one| one["is_bound"] == true))
        .or(solutions.first());
    let tasks = bound
        .and_then(|one| one["tasks"].as_array())
        .filter(|tasks| !tasks.is_empty());
    let Some(tasks) = tasks else {
        return Err(
            Error::new(Code::NotEnabled, format!("the issue `{id}` has no tasks"))
                .with_hint("bind a solution with tasks to it first"),
        );
    };
    Ok(tasks
        .iter()
        .enumerate()
        .map(|(order, task)| members(task, order))
        .collect())
}

/// The objects of a file below the directory of issues; none if it is not there.
fn rows(root: &Path, name: &str) -> Result<Vec<Value>, Error> {
    let path = RepoPath::new(format!("{ISSUES}/{name}")).map_err(|why| wrong(&why.to_string()))?;
    let place = path.under(root);
    let opened = match open_regular(&place) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        opened => opened.map_err(|error| io_error(&place, error))?,
    };
    let Some(file) = opened else {
        return Ok(Vec::new());
    };
    let Some(bytes) = read_up_to(&file, MOST).map_err(|error| io_error(&place, error))? else {
        return Err(Error::new(
            Code::TooLarge,
            format!("{path} is larger than {} MiB", MOST >> 20),
        ));
    };
    let found = read(Format::Jsonl, &path, &bytes);
    match (
        found.data,
        found
            .problems
            .into_iter()
            .find(orch_base::Diagnostic::is_error),
    ) {
        (Some(Value::Array(rows)), _) => Ok(rows),
        (_, Some(problem)) => Err(problem.into()),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_solution_that_is_bound_counts() {
        let root = tempfile::tempdir().expect("a directory");
        let issues = root.path().join(ISSUES);
        fs::create_dir_all(issues.join("solutions")).expect("made");
        let found = |id: &str| match tasks_of_issue(root.path(), id) {
            Ok(tasks) => tasks[0]["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            Err(error) => error.code().to_string(),
        };
        assert_eq!(found("I-1"), "unknown-task");
        fs::write(
            issues.join("issues.jsonl"),
            "{\"id\": \"I-1\", \"bound_solution_id\": \"S-2\"}\n{\"id\": \"I-2\"}\n",
        )
        .expect("written");
        fs::write(issues.join("issue-history.jsonl"), "{\"id\": \"I-3\"}\n").expect("written");
        let task = |name: &str| format!("\"tasks\": [{{\"title\": \"{name}\"}}]");
        for (id, lines) in [
            (
                "I-1",
                format!(
                    "{{\"id\": \"S-1\", \"is_bound\": true, {}}}\n{{\"id\": \"S-2\", {}}}\n",
                    task("a"),
                    task("b")
                ),
            ),
            (
                "I-2",
                format!(
                    "{{\"id\": \"S-1\", {}}}\n{{\"id\": \"S-2\", \"is_bound\": true, {}}}\n",
                    task("a"),
                    task("b")
                ),
            ),
            ("I-3", format!("{{\"id\": \"S-1\", {}}}\n", task("c"))),
        ] {
            fs::write(issues.join(format!("solutions/{id}.jsonl")), lines).expect("written");
        }
        assert_eq!(
            (found("I-1"), found("I-2"), found("I-3")),
            ("b".to_owned(), "b".to_owned(), "c".to_owned())
        );
        fs::write(
            issues.join("solutions/I-3.jsonl"),
            "{\"id\": \"S-1\", \"tasks\": []}\n",
        )
        .expect("written");
        assert_eq!(found("I-3"), "not-enabled");
        fs::write(issues.join("solutions/I-3.jsonl"), "{\"id\": \n").expect("written");
        let broken = tasks_of_issue(root.path(), "I-3").expect_err("refused");
        assert!(
            broken
                .to_string()
                .starts_with(".workflow/issues/solutions/I-3.jsonl:1:"),
            "{}",
            broken.to_string()
        );
        assert!(
            broken.message().starts_with("the line is not valid JSON: "),
            "{}",
            broken.message()
        );
        assert_eq!(
            broken.hint().map(ToString::to_string).as_deref(),
            Some("the line ends early: was it truncated?")
        );
        fs::write(issues.join("solutions/I-3.jsonl"), "{}\nnope\n").expect("written");
        let broken = tasks_of_issue(root.path(), "I-3").expect_err("refused");
        assert_eq!(
            broken.hint().map(ToString::to_string).as_deref(),
            Some("each line is one JSON value")
        );
        for id in ["", ".", "..", "../I-1", "a/b", "a\\b"] {
            assert_eq!(found(id), "usage", "{id}");
        }
    }
}
