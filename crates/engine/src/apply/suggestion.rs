//! `suggestion.json`: a copy of the suggestion in the task's directory, ignored by git.

use super::Writer;
use crate::survey::{Error, Sight};
use orch_git::durable;
use orch_view::{Repository, Suggestions, pretty};

impl Writer<'_> {
    /// Updates a task's `suggestion.json` if it exists, so that it does not describe an earlier phase.
    /// Returns an error if it cannot be written.
    pub fn renew_suggestion(&self, sight: &Sight) -> Result<(), Error> {
        let exists = sight
            .task
            .suggestion_path()
            .under(&self.workspace.reader.root)
            .is_file();
        if exists {
            self.write_suggestion(sight)
        } else {
            Ok(())
        }
    }

    /// Writes a task's `suggestion.json` if its content changes and git ignores it. Returns an error if it cannot be
    /// written although the task is there.
    pub fn write_suggestion(&self, sight: &Sight) -> Result<(), Error> {
        if sight.untracked {
            return Ok(());
        }
        let path = sight.task.suggestion_path();
        if let Some(store) = &self.workspace.reader.store
            && !store.filters().is_ignored(&path)?
        {
            return Ok(());
        }
        let subject = self.workspace.reader.subject(sight);
        // The commit of HEAD changes without the task, but a copy must not.
        let repository = Repository {
            head: None,
            ..self
                .workspace
                .reader
                .repository_under(sight.key.head.clone())
        };
        let text = pretty(&Suggestions::new(repository, &[subject], None, &[]));
        let target = path.under(&self.workspace.reader.root);
        if durable::read_regular(&target).is_some_and(|present| present == text.as_bytes()) {
            return Ok(());
        }
        // Somebody may have removed the task since it was looked at.
        let is_gone = || {
            durable::parent(&target)
                .try_exists()
                .is_ok_and(|exists| !exists)
        };
        let written = durable::write_derived(&self.workspace.reader.root, &target, text.as_bytes());
        written.or_else(|error| if is_gone() { Ok(()) } else { Err(error) })
    }
}
