//! Keeps the programs of a repository that rewrite files away from the records of tasks.

use super::files::SetupFiles;
use super::join;
use super::section::{CommentStyle, TextSection};
use crate::cli::Failure;
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use serde_json::Value;

/// The file with the paths that Prettier leaves alone; it has the form of a `.gitignore`.
const IGNORE_FILE: &str = ".prettierignore";

/// Excepts the records below these directories from Prettier, if the repository uses it. Returns an error if a file
/// cannot be read or written.
pub fn except_records(bases: &[String], made: &mut SetupFiles) -> Result<(), Failure> {
    if !made.has(IGNORE_FILE) && !uses_prettier(made)? {
        return Ok(());
    }
    let mut text = String::new();
    for base in bases {
        for file in [STATE_FILE, TRANSCRIPT_FILE] {
            let line = format!("/{}\n", join(base, &format!("**/{file}")));
            if !text.contains(&line) {
                text.push_str(&line);
            }
        }
    }
    made.section(
        IGNORE_FILE,
        &TextSection {
            style: CommentStyle::Hash,
            text: &text,
            who: None,
        },
    )
}

/// Whether a file at the root of the repository configures, depends on or starts Prettier.
fn uses_prettier(files: &SetupFiles) -> Result<bool, Failure> {
    let is_setting =
        |name: &String| name.starts_with(".prettierrc") || name.starts_with("prettier.config.");
    let names = files.names()?;
    if names.iter().any(is_setting) {
        return Ok(true);
    }
    let package = if files.has("package.json") {
        files.read("package.json")?
    } else {
        None
    };
    // npm itself reports a file that is not JSON.
    let package: Value = package
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let has = |member: &str| {
        package
            .get(member)
            .is_some_and(|member| member.get("prettier").is_some())
    };
    let is_dependency = ["dependencies", "devDependencies"].into_iter().any(has);
    if is_dependency || package.get("prettier").is_some() {
        return Ok(true);
    }
    for name in [".pre-commit-config.yaml", "lefthook.yml"]
        .into_iter()
        .filter(|name| files.has(name))
    {
        if files
            .read(name)?
            .is_some_and(|text| text.contains("prettier"))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
