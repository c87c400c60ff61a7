//! How tasks relate to others: in the JSON of one task, and as a graph of all, as a tree and as Mermaid.

use super::layout::{counted, one_line, paragraph, shorten};
use super::wire::Finding;
use super::{Paint, Repository, Style};
use orch_base::{Diagnostic, TaskId};
use orch_core::decide::{Priority, RelationGraph, Relations};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How a task relates to others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RelationsView {
    /// The tasks that have to be done before.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub after: Vec<TaskId>,
    /// The task of which it is a part; null if it is part of none.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub parent: Option<TaskId>,
    /// How urgent it is; null if nobody has said so, which counts as `normal`.
    pub priority: Option<Priority>,
    /// Who is to do it; null if nobody in particular.
    pub assignee: Option<String>,
}

impl RelationsView {
    /// The relations of a record.
    #[must_use]
    pub fn of(relations: &Relations) -> Self {
        let Relations {
            after,
            parent,
            priority,
            assignee,
        } = relations.clone();
        Self {
            after,
            parent,
            priority,
            assignee,
        }
    }

    /// The relations that it shows.
    #[must_use]
    pub fn relations(&self) -> Relations {
        let Self {
            after,
            parent,
            priority,
            assignee,
        } = self.clone();
        Relations {
            after,
            parent,
            priority,
            assignee,
        }
    }

    /// In words; `None` if there is nothing to say.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let mut words = Vec::new();
        if !self.after.is_empty() {
            words.push(format!("after {}", listed(&self.after)));
        }
        if let Some(parent) = &self.parent {
            words.push(format!("part of {parent}"));
        }
        if let Some(priority) = self.priority {
            words.push(format!("priority {}", priority.as_str()));
        }
        if let Some(assignee) = &self.assignee {
            words.push(format!("assigned to {}", one_line(assignee)));
        }
        (!words.is_empty()).then(|| words.join(" · "))
    }
}

fn listed(ids: &[TaskId]) -> String {
    let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    ids.join(", ")
}

/// The relations of tasks, as a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskGraph {
    /// The repository that was read.
    pub repository: Repository,
    /// The tasks, sorted by id.
    pub tasks: Vec<GraphNode>,
    /// The longest chain of open tasks of which each waits for the one before.
    pub critical_path: Vec<String>,
    /// The number of tasks that are related to none and were left out.
    pub unrelated: usize,
    /// Cycles, and relations to tasks that do not exist.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { TaskGraph = "graph" }

/// A task in a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The id of the task.
    pub task: String,
    /// The title.
    pub title: Option<String>,
    /// The phase; null if its record cannot be read.
    pub phase: Option<String>,
    /// Whether it was finished well.
    pub done: bool,
    /// How it relates to others.
    pub relations: RelationsView,
    /// Those of `after` that are not done.
    pub blocked_by: Vec<String>,
    /// The tasks that are part of it.
    pub children: Vec<String>,
    /// The number of tasks on the longest chain that waits behind it.
    pub behind: usize,
}

/// What is shown of a task besides its relations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GraphLabel {
    /// The title.
    pub title: Option<String>,
    /// The phase.
    pub phase: Option<String>,
}

impl TaskGraph {
    /// The graph of the tasks that are related to `wanted`, over however many others, or to any if none is wanted.
    #[must_use]
    pub fn new(
        repository: Repository,
        graph: &RelationGraph,
        labels: &BTreeMap<TaskId, GraphLabel>,
        wanted: &[TaskId],
    ) -> Self {
        let shown = shown(graph, wanted);
        let path = graph.critical_path();
        let is_shown = path.first().is_some_and(|id| shown.contains(*id));
        let mut tasks = Vec::new();
        for task in graph.tasks().iter().filter(|task| shown.contains(&task.id)) {
            let label = labels.get(&task.id).cloned().unwrap_or_default();
            let named = |ids: Vec<&TaskId>| ids.into_iter().map(ToString::to_string).collect();
            tasks.push(GraphNode {
                task: task.id.to_string(),
                title: label.title,
                phase: label.phase,
                done: task.done,
                relations: RelationsView::of(&task.relations),
                blocked_by: named(graph.blocked_by(&task.id).iter().collect()),
                children: named(graph.parts(&task.id)),
                behind: graph.chain_behind(&task.id),
            });
        }
        tasks.sort_by(|a, b| a.task.cmp(&b.task));
        let faults = graph
            .faults()
            .into_iter()
            .filter(|(id, _)| shown.contains(id));
        let diagnostics = faults.map(|(id, fault)| {
            let message = format!("{id}: {fault}");
            Finding::of(&Diagnostic::error(fault.code(), message))
        });
        Self {
            repository,
            critical_path: if is_shown {
                path.iter().map(ToString::to_string).collect()
            } else {
                Vec::new()
            },
            unrelated: graph.tasks().len() - tasks.len(),
            diagnostics: diagnostics.collect(),
            tasks,
        }
    }

    /// The graph as a flowchart of Mermaid: an arrow leads to whatever waits, a dotted line from a part to the whole.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut names = BTreeMap::new();
        for (number, node) in self.tasks.iter().enumerate() {
            let name = format!("t{number}");
            if let Some(before) = node.task.strip_prefix("archive/") {
                names.entry(before).or_insert_with(|| name.clone());
            }
            names.insert(node.task.as_str(), name);
        }
        let mut out = "flowchart LR\n".to_owned();
        for node in &self.tasks {
            let phase = node.phase.as_deref().unwrap_or("?");
            let class = self.class_of(node);
            let label = format!("{}<br/>{}", quoted(&node.task), quoted(phase));
            out.push_str(&format!(
                "    {}[\"{label}\"]{class}\n",
                names[node.task.as_str()]
            ));
        }
        for node in &self.tasks {
            let own = &names[node.task.as_str()];
            for other in &node.relations.after {
                if let Some(other) = names.get(other.as_str()) {
                    out.push_str(&format!("    {other} --> {own}\n"));
                }
            }
            let parent = node.relations.parent.as_ref().map(TaskId::as_str);
            if let Some(parent) = parent.and_then(|parent| names.get(parent)) {
                out.push_str(&format!("    {own} -.- {parent}\n"));
            }
        }
        out.push_str("    classDef done fill:#dfd,stroke:#484\n");
        out.push_str("    classDef critical stroke-width:3px\n");
        out
    }

    fn class_of(&self, node: &GraphNode) -> &'static str {
        if node.done {
            ":::done"
        } else if self.critical_path.contains(&node.task) {
            ":::critical"
        } else {
            ""
        }
    }

    /// The graph as a tree: parts below the whole, with phases and what each task waits for, then the critical path.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.tasks.is_empty() {
            return "no task is related to another\n".to_owned();
        }
        let mut tree = Tree {
            graph: self,
            nodes: self
                .tasks
                .iter()
                .map(|node| (node.task.as_str(), node))
                .collect(),
            shown: BTreeSet::new(),
            rows: Vec::new(),
        };
        for node in &self.tasks {
            let parent = node.relations.parent.as_ref().map(TaskId::as_str);
            if parent.is_none_or(|parent| !tree.nodes.contains_key(parent)) {
                tree.add(node, "", "");
            }
        }
        // What is part of itself is below nothing.
        for node in &self.tasks {
            if !tree.shown.contains(node.task.as_str()) {
                tree.add(node, "", "");
            }
        }
        let mut out = tree.text(paint, width);
        if self.critical_path.len() > 1 {
            let path = self.critical_path.join(" → ");
            let count = counted(self.critical_path.len(), "task");
            out.push('\n');
            paragraph(
                &mut out,
                &format!("critical path ({count}): {path}"),
                0,
                4,
                width,
            );
        }
        if self.unrelated > 0 {
            let count = counted(self.unrelated, "task");
            let line = format!("{count} without relations: orch status");
            out.push_str(&format!("{}\n", paint.paint(Style::Dim, &line)));
        }
        for finding in &self.diagnostics {
            out.push('\n');
            out.push_str(&paint.paint(Style::Bad, &one_line(&finding.message)));
            out.push('\n');
        }
        out
    }
}

/// The tasks of a graph to show.
fn shown<'g>(graph: &'g RelationGraph, wanted: &[TaskId]) -> BTreeSet<&'g TaskId> {
    let mut neighbours: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for task in graph.tasks() {
        let relations = &task.relations;
        for other in relations.after.iter().chain(&relations.parent) {
            if let Some(other) = graph.task(other) {
                neighbours.entry(&task.id).or_default().push(&other.id);
                neighbours.entry(&other.id).or_default().push(&task.id);
            } else {
                neighbours.entry(&task.id).or_default();
            }
        }
    }
    if wanted.is_empty() {
        return neighbours.into_keys().collect();
    }
    let mut shown = BTreeSet::new();
    let mut open: Vec<&TaskId> = wanted
        .iter()
        .filter_map(|id| graph.task(id).map(|task| &task.id))
        .collect();
    while let Some(id) = open.pop() {
        if shown.insert(id) {
            open.extend(neighbours.get(id).into_iter().flatten());
        }
    }
    shown
}

/// A row of the tree.
struct TreeRow<'g> {
    lead: String,
    node: &'g GraphNode,
}

/// The tree in progress.
struct Tree<'g> {
    graph: &'g TaskGraph,
    nodes: BTreeMap<&'g str, &'g GraphNode>,
    shown: BTreeSet<&'g str>,
    rows: Vec<TreeRow<'g>>,
}

impl<'g> Tree<'g> {
    /// Adds a task with its parts below it. `lead` stands before it, `below` before its parts.
    fn add(&mut self, node: &'g GraphNode, lead: &str, below: &str) {
        if !self.shown.insert(&node.task) {
            return;
        }
        self.rows.push(TreeRow {
            lead: lead.to_owned(),
            node,
        });
        let parts: Vec<&'g GraphNode> = node
            .children
            .iter()
            .filter_map(|part| self.nodes.get(part.as_str()).copied())
            .collect();
        for (number, part) in parts.iter().enumerate() {
            let (branch, line) = if number + 1 == parts.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.add(part, &format!("{below}{branch}"), &format!("{below}{line}"));
        }
    }

    fn text(&self, paint: Paint, width: usize) -> String {
        let id_width = |row: &TreeRow<'_>| row.lead.chars().count() + row.node.task.chars().count();
        let ids = self.rows.iter().map(id_width).max().unwrap_or_default();
        let phase = |node: &GraphNode| node.phase.clone().unwrap_or_else(|| "?".to_owned());
        let phases = self.rows.iter().map(|row| phase(row.node).chars().count());
        let phases = phases.max().unwrap_or_default();
        let mut out = String::new();
        for row in &self.rows {
            let node = row.node;
            let gap = " ".repeat(ids - id_width(row));
            let shown = format!("{:phases$}", phase(node));
            let style = if node.done {
                Style::Good
            } else {
                Style::Strong
            };
            let room = width.saturating_sub(ids + phases + 4);
            let about = shorten(&self.about(node), if width == 0 { 0 } else { room.max(1) });
            let blocked = if node.blocked_by.is_empty() {
                Style::Dim
            } else {
                Style::Warn
            };
            let line = format!(
                "{}{}{gap}  {}  {}",
                paint.paint(Style::Dim, &row.lead),
                node.task,
                paint.paint(style, &shown),
                paint.paint(blocked, &about)
            );
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// What a task waits for, and what waits for it, in words.
    fn about(&self, node: &GraphNode) -> String {
        let mut words = Vec::new();
        let is_open = |part: &&String| self.nodes.get(part.as_str()).is_some_and(|part| !part.done);
        if !node.children.is_empty() {
            let open = node.children.iter().filter(is_open).count();
            let all = node.children.len();
            words.push(format!("{} of {all} parts done", all - open));
        }
        if !node.blocked_by.is_empty() {
            words.push(format!("waits for {}", node.blocked_by.join(", ")));
        } else if !node.done && !node.relations.after.is_empty() {
            words.push(format!("after {}", listed(&node.relations.after)));
        }
        if let Some(priority) = node.relations.priority.filter(|_| !node.done) {
            words.push(priority.as_str().to_owned());
        }
        if let Some(assignee) = node.relations.assignee.as_ref().filter(|_| !node.done) {
            words.push(one_line(assignee));
        }
        if self.graph.critical_path.contains(&node.task) {
            words.push("critical".to_owned());
        }
        words.join(" · ")
    }
}

/// A text inside a quoted label of Mermaid.
fn quoted(text: &str) -> String {
    let line = one_line(text);
    line.replace('#', "#35;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use orch_core::decide::GraphTask;
    use snapbox::{assert_data_eq, str};

    fn id(text: &str) -> TaskId {
        TaskId::new(text).expect("valid")
    }

    fn task(name: &str, after: &[&str], parent: Option<&str>, done: bool) -> GraphTask {
        GraphTask {
            id: id(name),
            relations: Relations {
                after: after.iter().map(|name| id(name)).collect(),
                parent: parent.map(id),
                ..Relations::default()
            },
            done,
            waits_for_parts: name == "epic",
        }
    }

    fn graph(wanted: &[TaskId]) -> TaskGraph {
        let tasks = [
            task("epic", &[], None, false),
            task("a", &[], Some("epic"), true),
            task("b", &["a"], Some("epic"), false),
            task("c", &["b", "a"], Some("epic"), false),
            task("x", &["gone"], None, false),
            task("alone", &[], None, false),
        ];
        let labels = ["epic", "a", "b", "c", "x"].map(|name| {
            let phase = if name == "a" { "done" } else { "planning" };
            let phase = Some(phase.to_owned());
            (id(name), GraphLabel { title: None, phase })
        });
        let labels = labels.into_iter().collect();
        TaskGraph::new(
            samples::repository(),
            &RelationGraph::new(tasks),
            &labels,
            wanted,
        )
    }

    #[test]
    fn a_tree_has_parts_below_the_whole() {
        assert_data_eq!(
            graph(&[]).text(Paint::PLAIN, 80),
            str![[r#"
epic  planning  1 of 3 parts done · critical
├─ a  done
├─ b  planning  after a · critical
└─ c  planning  waits for b · critical
x     planning  waits for gone

critical path (3 tasks): b → c → epic
1 task without relations: orch status

x: there is no task `gone`

"#]]
        );
    }

    #[test]
    fn mermaid_draws_what_is_related_to_what_is_wanted() {
        assert_data_eq!(
            graph(&[id("b")]).mermaid(),
            str![[r#"
flowchart LR
    t0["a<br/>done"]:::done
    t1["b<br/>planning"]:::critical
    t2["c<br/>planning"]:::critical
    t3["epic<br/>planning"]:::critical
    t0 -.- t3
    t0 --> t1
    t1 -.- t3
    t1 --> t2
    t0 --> t2
    t2 -.- t3
    classDef done fill:#dfd,stroke:#484
    classDef critical stroke-width:3px

"#]]
        );
        assert!(graph(&[id("alone")]).tasks.len() == 1);
    }
}
