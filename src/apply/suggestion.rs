//! `suggestion.json`: a copy of the suggestion beside the task, ignored by git.

use super::Writer;
use crate::base::{Code, Diagnostic};
use crate::record::SUGGESTION_FILE;
use crate::store::durable;
use crate::survey::{Error, Judged};
use crate::view::{Repository, Suggestions, pretty};

impl Writer<'_> {
    /// Writes a task's `suggestion.json` anew where one lies, so that none tells of an earlier phase.
    pub fn renew_suggestion(&self, judged: &Judged) -> Result<(), Error> {
        let lies = judged.task.file(SUGGESTION_FILE)?.under(&self.workspace.root).is_file();
        if lies { self.write_suggestion(judged) } else { Ok(()) }
    }

    /// Writes a task's `suggestion.json`, if its content changes and git ignores it.
    pub fn write_suggestion(&self, judged: &Judged) -> Result<(), Error> {
        if judged.untracked {
            return Ok(());
        }
        let path = judged
            .task
            .directory
            .join(SUGGESTION_FILE)
            .map_err(|error| Error::from(Diagnostic::error(Code::BadPath, error.to_string())))?;
        if let Some(store) = &self.workspace.store
            && !store.is_ignored(&path)?
        {
            return Ok(());
        }
        let commit = self.workspace.committed(std::slice::from_ref(judged))?.into_iter().next().flatten();
        let Some(subject) = self.workspace.subject(judged, commit) else { return Ok(()) };
        // The commit of HEAD changes without the task; a copy that lies around must not.
        let repository = Repository { head: None, ..self.workspace.repository() };
        let text = pretty(&Suggestions::new(repository, &[subject], None, &[]));
        let target = path.under(&self.workspace.root);
        if durable::read_regular(&target).is_some_and(|present| present == text.as_bytes()) {
            return Ok(());
        }
        durable::write_atomic(&target, text.as_bytes())
    }
}
