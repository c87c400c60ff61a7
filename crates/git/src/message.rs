//! Trailers of commit messages, and whether somebody wrote one in the editor.
//!
//! git aborts a commit whose message is empty, or is the template as it was, when the editor ends. A trailer that is
//! there before would defeat that, so the hook that runs before the editor only keeps the message as it is, and the
//! one after it adds the trailer if the message is another.

use super::{Error, GitProgram, Layout, Objects, durable};
use orch_base::Code;
use orch_files::io_error;
use std::io;
use std::path::Path;

/// The file that keeps the message as the editor gets it.
const KEPT: &str = "message";

/// What ends the text of a message; git adds the difference below it.
const SCISSORS: &str = " ------------------------ >8 ------------------------";

/// A comment prefix that begins no line, for a message in which git keeps every line.
const NO_COMMENT: &str = "\u{1}";

/// The lines that git does not count as text when it looks for an empty message.
const SIGN_OFF: &str = "Signed-off-by: ";

/// The messages of commits that git is making.
#[derive(Clone, Copy)]
pub struct Messages<'s> {
    pub(super) objects: &'s Objects,
    pub(super) git: GitProgram<'s>,
    pub(super) layout: Layout<'s>,
}

impl Messages<'_> {
    /// Adds trailers to the message in a file, if it has text that git would commit, and returns
    /// whether it has. `is_final` says that no editor will run; git then keeps lines that begin like comments. Returns
    /// an error if the file cannot be read, its path is not UTF-8, or git cannot rewrite it.
    pub fn add_trailers_to_text(
        &self,
        file: &Path,
        trailers: &[String],
        is_final: bool,
    ) -> Result<bool, Error> {
        let message = message_in(file)?;
        let is_kept = is_final && self.setting("^commit\\.cleanup$").as_deref() != Some("strip");
        let comment = if is_kept {
            NO_COMMENT.to_owned()
        } else {
            self.comment_prefix(&message)
        };
        if text_in(&message, &comment).is_empty() {
            return Ok(false);
        }
        self.add_trailers_above(file, trailers, &comment)?;
        Ok(true)
    }

    /// Adds trailers to the edited message in a file. Returns an error as [`Self::add_trailers_to_text`] does.
    pub fn add_trailers(&self, file: &Path, trailers: &[String]) -> Result<(), Error> {
        self.add_trailers_above(file, trailers, &self.comment_prefix(&message_in(file)?))
    }

    /// Keeps the message in a file, for [`Self::is_edited`]. Returns an error if it cannot be read or kept.
    pub fn keep_message(&self, file: &Path) -> Result<(), Error> {
        let message = message_in(file)?;
        self.layout.own_directory()?;
        durable::write_derived(
            self.objects.repo.path(),
            &self.layout.own(KEPT),
            message.as_bytes(),
        )
    }

    /// Removes the message that was kept.
    pub fn forget_message(&self) {
        durable::remove(self.objects.repo.path(), &self.layout.own(KEPT));
    }

    /// Whether a message was kept and the one in this file has another text, and not an empty one. Returns an error
    /// if a file cannot be read.
    pub fn is_edited(&self, file: &Path) -> Result<bool, Error> {
        let kept = self.layout.own(KEPT);
        if !kept.is_file() {
            return Ok(false);
        }
        let before = message_in(&kept)?;
        let comment = self.comment_prefix(&before);
        let message = message_in(file)?;
        let text = text_in(&message, &comment);
        Ok(!text.is_empty() && text != text_in(&before, &comment))
    }

    /// What begins a line that git ignores. If git chooses it by the message, the lines that git adds at the end of
    /// `message` show it.
    fn comment_prefix(&self, message: &str) -> String {
        let set = self.setting("^core\\.comment(char|string)$");
        let chosen = || {
            let above = message
                .split_once(SCISSORS)
                .map_or(message, |(above, _)| above);
            Some(above.trim_end().lines().last()?.chars().next()?.to_string())
        };
        match set.as_deref() {
            Some("auto") => chosen().unwrap_or_else(|| "#".to_owned()),
            Some(set) if !set.is_empty() => set.to_owned(),
            _ => "#".to_owned(),
        }
    }

    /// The value of the last key of the configuration that matches; `None` if there is none.
    fn setting(&self, keys: &str) -> Option<String> {
        // Only git itself knows what `git -c` sets. It fails if there is no value.
        let found = self.git.git(&["config", "--get-regexp", keys], &[]).ok()?;
        let found = String::from_utf8_lossy(&found);
        Some(found.lines().last()?.split_once(' ')?.1.to_owned())
    }

    /// Adds trailers to the message in a file, above the lines at its end that begin with `comment`; of each token
    /// only if the message has none.
    fn add_trailers_above(
        &self,
        file: &Path,
        trailers: &[String],
        comment: &str,
    ) -> Result<(), Error> {
        // git runs at the root, and the path may be relative to another directory.
        let path = file
            .canonicalize()
            .map_err(|source| io_error(file, source))?;
        let is_not_text = || {
            Error::new(
                Code::BadPath,
                format!("{}: the path is not UTF-8", path.display()),
            )
        };
        let path = path.to_str().ok_or_else(is_not_text)?;
        // `---` divides an e-mail, but not a commit message.
        let comment = format!("core.commentChar={comment}");
        let arguments = [
            "-c",
            &comment,
            "interpret-trailers",
            "--in-place",
            "--no-divider",
            "--where=end",
        ];
        let conditions = ["--if-exists=doNothing", "--if-missing=add"];
        let additions: Vec<&str> = trailers
            .iter()
            .flat_map(|trailer| ["--trailer", trailer.as_str()])
            .collect();
        // The settings about trailers may give these another form.
        self.git
            .git_without_settings(&[&arguments[..], &conditions, &additions, &[path]].concat())?;
        Ok(())
    }
}

/// The trailers of a commit message, in order; see git-interpret-trailers(1).
#[must_use]
pub fn trailers(message: &str) -> Vec<(String, String)> {
    // libgit2 takes a line `---` for the end of the message, which git does only in an e-mail.
    let lines = message
        .lines()
        .map(|line| if line.starts_with("---") { "." } else { line });
    let message = lines.collect::<Vec<_>>().join("\n");
    git2::message_trailers_strs(message.as_str()).map_or_else(
        |_| Vec::new(),
        |trailers| {
            trailers
                .iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        },
    )
}

/// The message in a file; its encoding does not matter for what is asked of it. Returns an error if there is none.
fn message_in(file: &Path) -> Result<String, Error> {
    let bytes = durable::read_if_regular(file)
        .and_then(|bytes| bytes.ok_or(io::ErrorKind::NotFound.into()));
    Ok(String::from_utf8_lossy(&bytes.map_err(|source| io_error(file, source))?).into_owned())
}

/// The lines of a message that git counts as text.
fn text_in<'m>(message: &'m str, comment: &str) -> Vec<&'m str> {
    let is_cut = |line: &&str| line.strip_prefix(comment) == Some(SCISSORS);
    let is_text =
        |line: &&str| !line.is_empty() && !line.starts_with(comment) && !line.starts_with(SIGN_OFF);
    message
        .lines()
        .take_while(|line| !is_cut(line))
        .map(str::trim_end)
        .filter(is_text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_message_is_what_git_would_commit() {
        for (message, comment, expected) in [
            ("", "#", &[][..]),
            ("\n# Please enter\n#\n", "#", &[]),
            ("\n\nSigned-off-by: A <a@b>\n# c\n", "#", &[]),
            ("; c\n# text\n", ";", &["# text"]),
            ("Subject  \n\nBody\n# c\n", "#", &["Subject", "Body"]),
            (
                "//\nText\n// ------------------------ >8 ------------------------\n+diff\n",
                "//",
                &["Text"],
            ),
            (
                "# ------------------------ >8 ------------------------\n+diff\n",
                "#",
                &[],
            ),
        ] {
            assert_eq!(text_in(message, comment), expected, "{message:?}");
        }
    }
}
