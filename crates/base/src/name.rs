//! Newtypes for names: cheap to clone, ordered, and validated when they are parsed.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Why a text is not a valid name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {kind}: {reason}")]
pub struct InvalidName {
    /// The kind of name, for example `task id`.
    pub kind: &'static str,
    /// The offending text.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses a name. Returns [`InvalidName`] if the text breaks the rules of this kind of name.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidName> {
                let text = text.as_ref();
                match $check(text) {
                    Ok(()) => Ok(Self(text.into())),
                    Err(reason) => Err(InvalidName { kind: $kind, text: text.to_owned(), reason }),
                }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// The id of a task: the part of its path that the wildcards of its root match, parts joined by `/`.
    TaskId, "task id", check_task
);
/// The directory below that of the tasks of a root in which archived tasks are, and the first part of their
/// ids.
pub const ARCHIVE: &str = "archive";

impl TaskId {
    /// Whether this is the id of an archived task.
    #[must_use]
    pub fn is_archived(&self) -> bool {
        self.unarchived().is_some()
    }

    /// The id that this task has in the archive.
    #[must_use]
    pub fn archived(&self) -> String {
        format!("{ARCHIVE}/{self}")
    }

    /// The id that an archived task had before; `None` for any other task.
    #[must_use]
    pub fn unarchived(&self) -> Option<&str> {
        self.as_str().strip_prefix(ARCHIVE)?.strip_prefix('/')
    }
}

name!(
    /// The name of a phase of a workflow.
    PhaseId, "phase name", check_identifier
);
name!(
    /// The name of an artifact. It is an identifier, so that guards can use it.
    ArtifactName, "artifact name", check_identifier
);
name!(
    /// The id of a rule.
    RuleId, "rule id", check_label
);
name!(
    /// The name of an action.
    ActionName, "action name", check_label
);
name!(
    /// The name of a workflow: the stem of its document's file name.
    WorkflowName, "workflow name", check_label
);

name!(
    /// The name of a verification, with `@base` behind it for a run with protected files of the base.
    VerificationName, "verification name", check_verification
);

/// What ends the name of a run with protected files of the base.
const PROTECTED: &str = "@base";

impl VerificationName {
    /// The name of its table in the settings.
    #[must_use]
    pub fn table(&self) -> &str {
        self.0.strip_suffix(PROTECTED).unwrap_or(&self.0)
    }

    /// Whether it is the run with protected files of the base.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.0.ends_with(PROTECTED)
    }

    /// The run of the same table with protected files of the base.
    #[must_use]
    pub fn protected(&self) -> Self {
        Self(format!("{}{PROTECTED}", self.table()).into())
    }
}

fn check_verification(text: &str) -> Result<(), &'static str> {
    check_label(text.strip_suffix(PROTECTED).unwrap_or(text))
}

fn check_identifier(text: &str) -> Result<(), &'static str> {
    let mut bytes = text.bytes();
    match bytes.next() {
        None => return Err("it is empty"),
        Some(first) if first.is_ascii_alphabetic() || first == b'_' => {}
        Some(_) => return Err("it must start with a letter or an underscore"),
    }
    if text.len() > 64 {
        return Err("it is longer than 64 characters");
    }
    if bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Ok(())
    } else {
        Err("it may contain only letters, digits and underscores")
    }
}

fn check_label(text: &str) -> Result<(), &'static str> {
    let first_is_plain = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !first_is_plain {
        return Err("it must start with a letter or a digit");
    }
    if text.len() > 100 {
        return Err("it is longer than 100 characters");
    }
    if text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    {
        Ok(())
    } else {
        Err("it may contain only letters, digits, `-`, `_` and `.`")
    }
}

/// A task id becomes a directory, a commit subject and a trailer, so it must be safe in each of these.
fn check_task(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > 200 {
        return Err("it is longer than 200 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("it contains a control character");
    }
    for part in text.split('/') {
        match part {
            "" => return Err("it has an empty part; remove the leading, trailing or double `/`"),
            "." | ".." => return Err("`.` and `..` are not allowed as parts"),
            _ if is_git_directory(part) => {
                return Err("git takes this name for `.git`, which is reserved");
            }
            _ if part.starts_with('-') => return Err("a part must not start with `-`"),
            _ if part.contains('\\') => return Err("use `/`, not `\\`"),
            _ if part.chars().all(is_invisible) => {
                return Err("a part must contain a character that can be seen");
            }
            _ if part.trim() != part => {
                return Err("a part must not start or end with white space");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a character takes no place where it is shown, or only an empty one.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether git takes a name for `.git`, because some file system does: letters count in either case, HFS+ ignores some
/// characters, and NTFS ignores dots and spaces at the end, what follows a `:`, and calls it `git~1`, too.
fn is_git_directory(name: &str) -> bool {
    let is_ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let stream = plain.split(':').next().unwrap_or_default();
    [".git", "git~1"].iter().any(|git| {
        stream
            .trim_end_matches([' ', '.'])
            .eq_ignore_ascii_case(git)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_git_takes_for_its_directory_is_refused() {
        for bad in [
            ".git",
            ".GIT",
            ".g\u{200c}it",
            "git~1",
            "GIT~1",
            ".git.",
            ".git:x",
            "a/.gi\u{feff}t/b",
        ] {
            assert!(TaskId::new(bad).is_err(), "{bad:?}");
        }
        for good in [".github", "git", "git~2", "digit~1"] {
            assert!(TaskId::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn each_part_of_an_id_can_be_seen() {
        for bad in ["\u{200b}", "a/\u{2060}\u{feff}", "\u{3164}/b", "\u{2800}"] {
            assert!(TaskId::new(bad).is_err(), "{bad:?}");
        }
        for good in [
            "\u{1f469}\u{200d}\u{1f4bb}",
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "a\u{200b}",
        ] {
            assert!(TaskId::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn task_ids_are_safe_paths() {
        for good in ["t-42", "team/fix-login", "日本", "a b", "v1.2"] {
            assert!(TaskId::new(good).is_ok(), "{good}");
        }
        for bad in [
            "", "/a", "a/", "a//b", "..", "a/../b", ".git", "a\nb", "-rf", "a\\b", " a",
        ] {
            assert!(TaskId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn artifact_names_are_identifiers() {
        assert!(ArtifactName::new("plan_review").is_ok());
        assert!(ArtifactName::new("plan-review").is_err());
        assert!(ArtifactName::new("1plan").is_err());
    }
}
