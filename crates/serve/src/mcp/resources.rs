//! The resources: tasks, workflow documents, schemas and instructions, each with a URI of its own.

use super::agent::Agent;
use orch_engine::survey::Workspace;
use orch_view::uri;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use rmcp::model::{Resource, ResourceTemplate};
use std::time::Duration;

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Task,
    Workflow,
    Schema,
    Instructions,
}

impl ResourceKind {
    const ALL: [Self; 4] = [Self::Task, Self::Workflow, Self::Schema, Self::Instructions];

    /// The beginning of its URIs, its media type, and what it is.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Task => (
                "orch://task/",
                "application/json",
                "What to do next about a task, and why",
            ),
            Self::Workflow => (
                "orch://workflow/",
                "text/markdown",
                "The document of a workflow",
            ),
            Self::Schema => ("orch://schema/", "application/schema+json", "A JSON schema"),
            Self::Instructions => (
                "orch://instructions/",
                "text/markdown",
                "The instructions of an agent",
            ),
        }
    }

    fn uri(self, name: &str) -> String {
        format!("{}{}", self.row().0, utf8_percent_encode(name, uri::PATH))
    }

    /// The kind and the name that a URI means.
    fn of(uri: &str) -> Option<(Self, String)> {
        let (kind, name) = Self::ALL
            .iter()
            .find_map(|kind| Some((*kind, uri.strip_prefix(kind.row().0)?)))?;
        let name = percent_decode_str(name).decode_utf8().ok()?;
        (!name.is_empty()).then(|| (kind, name.into_owned()))
    }

    /// The names of all resources of the kind.
    fn names(self, workspace: &Workspace) -> Vec<String> {
        let of = |folder, suffix| {
            workspace
                .settings()
                .system()
                .names(folder, suffix)
                .map(str::to_owned)
                .collect()
        };
        match self {
            Self::Task => {
                let tasks = workspace.finder().tasks().unwrap_or_default();
                let open = tasks.iter().filter(|task| !task.id.is_archived());
                open.map(|task| task.id.to_string()).collect()
            }
            Self::Workflow => workspace.settings().workflow_names(),
            Self::Schema => of("schemas", ".schema.json"),
            Self::Instructions => of("agents", ".md"),
        }
    }
}

/// The text of a resource, with its media type; `None` if there is none with this URI.
pub(super) fn read(agent: &Agent, uri: &str) -> Option<(String, &'static str)> {
    let (kind, name) = ResourceKind::of(uri)?;
    let workspace = agent.workspace().ok()?;
    let text = match kind {
        ResourceKind::Task => {
            // A beginning of an id means a task on the command line, and is no URI of one.
            let task = workspace
                .finder()
                .task(&name)
                .ok()
                .filter(|task| task.id.as_str() == name)?;
            agent.execute(
                &["suggest".to_owned(), "--".to_owned(), task.id.to_string()],
                None,
                Duration::ZERO,
            )
        }
        ResourceKind::Workflow => workspace
            .settings()
            .workflow(&name)
            .ok()?
            .document
            .text
            .clone(),
        ResourceKind::Schema => workspace.settings().system().schema(&name)?.to_owned(),
        ResourceKind::Instructions => workspace.settings().system().agent(&name)?.to_owned(),
    };
    Some((text, kind.row().1))
}

/// All resources, by kind and name.
pub(super) fn all(workspace: &Workspace) -> Vec<Resource> {
    let of = |kind: ResourceKind| {
        let (_, media, _) = kind.row();
        let names = kind.names(workspace).into_iter();
        names.map(move |name| Resource::new(kind.uri(&name), name).with_mime_type(media))
    };
    ResourceKind::ALL.into_iter().flat_map(of).collect()
}

/// The form of the URIs of each kind. A task that is not listed, such as an archived one, can be read as well.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let of = |kind: ResourceKind| {
        let (beginning, media, about) = kind.row();
        let name = beginning
            .trim_start_matches("orch://")
            .trim_end_matches('/');
        ResourceTemplate::new(format!("{beginning}{{+name}}"), name)
            .with_description(about)
            .with_mime_type(media)
    };
    ResourceKind::ALL.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_what_it_was_made_of() {
        for name in ["t-1", "team/fix", "archive/ä b", "100%", "a?b#c"] {
            for kind in ResourceKind::ALL {
                let uri = kind.uri(name);
                assert!(uri.is_ascii() && !uri.contains([' ', '?', '#']), "{uri}");
                assert_eq!(
                    ResourceKind::of(&uri),
                    Some((kind, name.to_owned())),
                    "{uri}"
                );
            }
        }
        for uri in [
            "",
            "orch://",
            "orch://task/",
            "orch://run/x",
            "file:///etc/passwd",
            "orch://task/%ff",
        ] {
            assert_eq!(ResourceKind::of(uri), None, "{uri}");
        }
    }
}
