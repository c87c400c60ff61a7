//! How all tasks relate to one another, as a graph.
//!
//! A task *waits for* those that it names in `after`, and for its parts if the rules of its workflow read `children`. A task
//! that is done waits for nothing, so no cycle goes through it. Relations keep the names of archived tasks: `login` also
//! means `archive/login` where no other task has that id.

use super::{Priority, Relations};
use orch_base::TaskId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// A task in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphTask {
    /// Its id.
    pub id: TaskId,
    /// What its record says of others.
    pub relations: Relations,
    /// Whether it was finished well.
    pub done: bool,
    /// Whether its workflow asks about the tasks that are part of it.
    pub waits_for_parts: bool,
}

/// What is wrong with the relations of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelationFault {
    /// It names tasks that do not exist.
    Unknown(Vec<TaskId>),
    /// It waits for itself. The path begins and ends with the same task; each waits for the next one.
    Waits(Vec<TaskId>),
    /// It is part of itself. The path begins and ends with the same task; each is part of the next one.
    Parts(Vec<TaskId>),
}

impl RelationFault {
    /// The path of a cycle; nothing if it is none.
    #[must_use]
    pub fn cycle(&self) -> &[TaskId] {
        match self {
            Self::Unknown(_) => &[],
            Self::Waits(path) | Self::Parts(path) => path,
        }
    }
}

impl fmt::Display for RelationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |ids: &[TaskId], between: &str| {
            let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
            ids.join(between)
        };
        match self {
            Self::Unknown(ids) if ids.len() == 1 => {
                write!(f, "there is no task {}", named(ids, ""))
            }
            Self::Unknown(ids) => write!(f, "there are no tasks {}", named(ids, ", ")),
            Self::Waits(path) => write!(f, "{}", named(path, " waits for ")),
            Self::Parts(path) => write!(f, "{}", named(path, " is part of ")),
        }
    }
}

/// The relations of tasks, and the questions about them.
#[derive(Debug, Clone, Default)]
pub struct RelationGraph {
    tasks: Vec<GraphTask>,
    /// The place of each task in `tasks`, by its id, and of an archived one also by the id that it had before.
    places: BTreeMap<TaskId, usize>,
    /// For each task, those that it waits for as long as it is not done.
    awaited: Vec<Vec<usize>>,
    /// For each task, those that wait for it.
    waiting: Vec<Vec<usize>>,
    parts: Vec<Vec<usize>>,
    /// The number of tasks on the longest chain of open tasks that wait for each, one behind the other.
    behind: Vec<usize>,
    /// The place of the next task on that chain.
    next: Vec<Option<usize>>,
    /// Whether each task is on a cycle, or between two.
    tangled: Vec<bool>,
}

impl RelationGraph {
    /// The graph of these tasks. Of two with one id the first counts.
    #[must_use]
    pub fn new(tasks: impl IntoIterator<Item = GraphTask>) -> Self {
        let mut graph = Self::default();
        for task in tasks {
            if !graph.places.contains_key(&task.id) {
                graph.places.insert(task.id.clone(), graph.tasks.len());
                graph.tasks.push(task);
            }
        }
        for (place, task) in graph.tasks.iter().enumerate() {
            let before = task.id.unarchived();
            if let Some(before) = before.and_then(|id| TaskId::new(id).ok()) {
                graph.places.entry(before).or_insert(place);
            }
        }
        graph.behind = vec![0; graph.tasks.len()];
        graph.next = vec![None; graph.tasks.len()];
        graph.join();
        graph.measure();
        graph
    }

    /// Notes who waits for whom.
    fn join(&mut self) {
        let count = self.tasks.len();
        let mut parts = vec![Vec::new(); count];
        for (place, task) in self.tasks.iter().enumerate() {
            let parent = task.relations.parent.as_ref();
            if let Some(parent) = parent.and_then(|id| self.places.get(id)) {
                parts[*parent].push(place);
            }
        }
        let mut awaited = vec![Vec::new(); count];
        let mut waiting = vec![Vec::new(); count];
        for (place, task) in self.tasks.iter().enumerate() {
            if task.done {
                continue;
            }
            let named = task.relations.after.iter();
            let mut others: BTreeSet<usize> = named
                .filter_map(|id| self.places.get(id))
                .copied()
                .collect();
            if task.waits_for_parts {
                others.extend(&parts[place]);
            }
            for other in others {
                awaited[place].push(other);
                waiting[other].push(place);
            }
        }
        self.awaited = awaited;
        self.waiting = waiting;
        self.parts = parts;
    }

    /// Measures the chains behind each task. What is on a cycle, or between two, belongs to no chain.
    fn measure(&mut self) {
        let count = self.tasks.len();
        let in_order = peeled(&self.waiting, &self.awaited);
        let from_the_other_end = peeled(&self.awaited, &self.waiting);
        let mut tangled = vec![true; count];
        for place in in_order.iter().chain(&from_the_other_end) {
            tangled[*place] = false;
        }
        // Those that are left out here wait for a cycle, and the order among them is that of the other end.
        let known: BTreeSet<usize> = in_order.iter().copied().collect();
        let others = from_the_other_end.iter().rev();
        let order = in_order
            .iter()
            .chain(others.filter(|place| !known.contains(place)));
        for place in order {
            for waiting in &self.waiting[*place] {
                if tangled[*waiting] {
                    continue;
                }
                let length = self.behind[*waiting] + 1;
                let is_longer = length > self.behind[*place];
                let is_first = self.next[*place]
                    .is_none_or(|known| self.tasks[*waiting].id < self.tasks[known].id);
                if is_longer || length == self.behind[*place] && is_first {
                    self.behind[*place] = length;
                    self.next[*place] = Some(*waiting);
                }
            }
        }
        self.tangled = tangled;
    }

    /// All tasks, in the order in which they were given.
    #[must_use]
    pub fn tasks(&self) -> &[GraphTask] {
        &self.tasks
    }

    /// The task that a relation means by an id: an archived one too, by the id that it had before.
    #[must_use]
    pub fn task(&self, id: &TaskId) -> Option<&GraphTask> {
        self.places.get(id).map(|place| &self.tasks[*place])
    }

    /// The tasks that are part of one.
    #[must_use]
    pub fn parts(&self, id: &TaskId) -> Vec<&TaskId> {
        self.named(id, &self.parts)
    }

    /// The tasks that a task waits for: those of its `after`, and its parts if its workflow asks about them.
    #[must_use]
    pub fn awaited(&self, id: &TaskId) -> Vec<&TaskId> {
        self.named(id, &self.awaited)
    }

    /// The tasks that are not done and wait for one.
    #[must_use]
    pub fn waiting(&self, id: &TaskId) -> Vec<&TaskId> {
        self.named(id, &self.waiting)
    }

    fn named(&self, id: &TaskId, edges: &[Vec<usize>]) -> Vec<&TaskId> {
        let Some(place) = self.places.get(id) else {
            return Vec::new();
        };
        let mut ids: Vec<&TaskId> = edges[*place]
            .iter()
            .map(|other| &self.tasks[*other].id)
            .collect();
        ids.sort();
        ids
    }

    /// What keeps a task from beginning: those of its `after` that are not done, also those that nobody knows.
    #[must_use]
    pub fn blocked_by(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(task) = self.task(id).filter(|task| !task.done) else {
            return Vec::new();
        };
        let after = task.relations.after.iter();
        let open = after.filter(|other| self.task(other).is_none_or(|other| !other.done));
        open.cloned().collect()
    }

    /// How many tasks wait on the longest chain behind a task: each waits for the one before it, the first for this task.
    #[must_use]
    pub fn chain_behind(&self, id: &TaskId) -> usize {
        self.places.get(id).map_or(0, |place| self.behind[*place])
    }

    /// The key by which tasks are chosen, the smallest first: by priority, then by how much waits for them.
    #[must_use]
    pub fn precedence(&self, id: &TaskId) -> (Priority, std::cmp::Reverse<usize>) {
        let said = self.task(id).and_then(|task| task.relations.priority);
        let priority = said.unwrap_or(Priority::Normal);
        (priority, std::cmp::Reverse(self.chain_behind(id)))
    }

    /// The longest chain of open tasks of which each waits for the one before; nothing if no open task waits for an open one.
    #[must_use]
    pub fn critical_path(&self) -> Vec<&TaskId> {
        let open = |place: &usize| !self.tasks[*place].done;
        let mut first: Option<usize> = None;
        for place in (0..self.tasks.len()).filter(open) {
            let is_longer = first.is_none_or(|known| {
                let longer = self.behind[place] > self.behind[known];
                let same = self.behind[place] == self.behind[known];
                longer || same && self.tasks[place].id < self.tasks[known].id
            });
            if is_longer && self.behind[place] > 0 {
                first = Some(place);
            }
        }
        let mut path = Vec::new();
        while let Some(place) = first {
            path.push(&self.tasks[place].id);
            first = self.next[place];
        }
        path
    }

    /// Whether no task waits for itself or is part of itself.
    #[must_use]
    pub fn is_without_cycles(&self) -> bool {
        !self.tangled.contains(&true)
            && (0..self.tasks.len()).all(|place| self.parts_cycle(place).is_none())
    }

    /// What is wrong with the relations of a task; `None` if nothing is. A task that waits for a cycle is not wrong itself.
    #[must_use]
    pub fn fault(&self, id: &TaskId) -> Option<RelationFault> {
        let place = *self.places.get(id)?;
        let task = &self.tasks[place];
        let relations = &task.relations;
        let named = relations.after.iter().chain(&relations.parent);
        let unknown: BTreeSet<TaskId> = named
            .filter(|other| !self.places.contains_key(*other))
            .cloned()
            .collect();
        if !unknown.is_empty() && !task.done {
            return Some(RelationFault::Unknown(unknown.into_iter().collect()));
        }
        if let Some(path) = self.parts_cycle(place) {
            return Some(RelationFault::Parts(path));
        }
        if !self.tangled[place] {
            return None;
        }
        self.waits_cycle(place).map(RelationFault::Waits)
    }

    /// Every fault, each with a task that has it. A cycle is named once, from the first of its ids.
    #[must_use]
    pub fn faults(&self) -> Vec<(TaskId, RelationFault)> {
        let mut faults = Vec::new();
        let mut told: BTreeSet<TaskId> = BTreeSet::new();
        let ids: BTreeSet<&TaskId> = self.tasks.iter().map(|task| &task.id).collect();
        for id in ids {
            let Some(fault) = self.fault(id) else {
                continue;
            };
            if !told.contains(id) {
                told.extend(fault.cycle().iter().cloned());
                faults.push((id.clone(), fault));
            }
        }
        faults
    }

    /// The path from a task over what it is part of back to itself.
    fn parts_cycle(&self, start: usize) -> Option<Vec<TaskId>> {
        let mut path = vec![self.tasks[start].id.clone()];
        let mut place = start;
        for _ in &self.tasks {
            let parent = self.tasks[place].relations.parent.as_ref()?;
            place = *self.places.get(parent)?;
            path.push(self.tasks[place].id.clone());
            if place == start {
                return Some(path);
            }
        }
        None
    }

    /// The shortest path from a task over what it waits for back to itself.
    fn waits_cycle(&self, start: usize) -> Option<Vec<TaskId>> {
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(place) = queue.pop_front() {
            for other in &self.awaited[place] {
                if *other == start {
                    let mut path = vec![start, place];
                    let mut at = place;
                    while at != start {
                        at = from[&at];
                        path.push(at);
                    }
                    path.reverse();
                    let ids = path.into_iter().map(|place| self.tasks[place].id.clone());
                    let mut ids: Vec<TaskId> = ids.collect();
                    // A task that waits for itself is on its path twice, not three times.
                    if place == start {
                        ids.truncate(2);
                    }
                    return Some(ids);
                }
                if *other != start && !from.contains_key(other) {
                    from.insert(*other, place);
                    queue.push_back(*other);
                }
            }
        }
        None
    }
}

/// The places from which no edge leads, then those from which edges lead only to them, and so on. `edges` are the other
/// ends of the edges from each place, and `back` of those to it.
fn peeled(edges: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<usize> {
    let mut left: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..left.len()).filter(|place| left[*place] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for other in &back[order[next]] {
            left[*other] -= 1;
            if left[*other] == 0 {
                order.push(*other);
            }
        }
        next += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    /// Tasks from lines such as `c after a,b in e high`, with `done` and `epic` as further words.
    fn graph(text: &str) -> RelationGraph {
        RelationGraph::new(
            text.lines()
                .filter(|line| !line.trim().is_empty())
                .map(task),
        )
    }

    fn task(line: &str) -> GraphTask {
        let mut words = line.split_whitespace();
        let mut task = GraphTask {
            id: id(words.next().unwrap()),
            relations: Relations::default(),
            done: false,
            waits_for_parts: false,
        };
        while let Some(word) = words.next() {
            match word {
                "after" => {
                    task.relations.after = words.next().unwrap().split(',').map(id).collect()
                }
                "in" => task.relations.parent = words.next().map(id),
                "done" => task.done = true,
                "epic" => task.waits_for_parts = true,
                priority => task.relations.priority = Priority::named(priority),
            }
        }
        task
    }

    fn faults(text: &str) -> Vec<String> {
        let found = graph(text).faults();
        found
            .iter()
            .map(|(id, fault)| format!("{id}: {fault}"))
            .collect()
    }

    #[test]
    fn cycles_and_unknown_ids_are_told_once_with_their_path() {
        let cases: &[(&str, &[&str])] = &[
            ("a\nb after a\nc after a,b", &[]),
            (
                "a after b\nb after a",
                &["a: `a` waits for `b` waits for `a`"],
            ),
            ("a after a", &["a: `a` waits for `a`"]),
            // A task that waits for a cycle is not on it.
            (
                "z after a\na after b\nb after c\nc after a",
                &["a: `a` waits for `b` waits for `c` waits for `a`"],
            ),
            // Nothing that is done waits.
            ("a after b\nb after a done", &[]),
            ("a in b\nb in a", &["a: `a` is part of `b` is part of `a`"]),
            ("a in a", &["a: `a` is part of `a`"]),
            // An epic waits for its parts, so a part cannot wait for it; any other parent does not.
            (
                "e epic\nc in e after e",
                &["c: `c` waits for `e` waits for `c`"],
            ),
            ("e\nc in e after e", &[]),
            (
                "e epic\nc in e after x\nx after e",
                &["c: `c` waits for `x` waits for `e` waits for `c`"],
            ),
            ("a after b,c", &["a: there are no tasks `b`, `c`"]),
            ("a in b", &["a: there is no task `b`"]),
            ("a after b done", &[]),
            // An archived task is still known by its id.
            ("a after b\narchive/b done", &[]),
            (
                "a after b\nb after a\nx after y\ny after x",
                &[
                    "a: `a` waits for `b` waits for `a`",
                    "x: `x` waits for `y` waits for `x`",
                ],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(faults(text), *expected, "{text}");
        }
    }

    #[test]
    fn what_blocks_a_task_and_what_waits_behind_it() {
        let graph = graph(
            "a\nb after a\nc after b,a\nd after missing,a\ne epic\nf in e after c\ng done\nh after g low\ni after h urgent",
        );
        let behind = |name: &str| graph.chain_behind(&id(name));
        assert_eq!(
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "missing"].map(behind),
            [4, 3, 2, 0, 0, 1, 2, 1, 0, 0],
        );
        let path: Vec<&str> = graph
            .critical_path()
            .into_iter()
            .map(TaskId::as_str)
            .collect();
        assert_eq!(path, ["a", "b", "c", "f", "e"]);
        let blocked = |name: &str| {
            let by = graph.blocked_by(&id(name));
            by.iter()
                .map(TaskId::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        assert_eq!(
            ["a", "c", "d", "e", "g", "h"].map(blocked),
            ["", "b,a", "missing,a", "", "", ""]
        );
        assert_eq!(graph.parts(&id("e")), [&id("f")]);
        assert_eq!(graph.waiting(&id("a")), [&id("b"), &id("c"), &id("d")]);
        let mut ids: Vec<TaskId> = ["a", "b", "h", "i"].map(id).to_vec();
        ids.sort_by_key(|id| graph.precedence(id));
        assert_eq!(ids, ["i", "a", "b", "h"].map(id));
    }

    /// What is on a cycle, or waits for one, is behind nothing that can be counted.
    #[test]
    fn a_cycle_does_not_keep_the_rest_from_being_measured() {
        let graph = graph("a after b,x\nb after a\nx\ny after x");
        assert_eq!(graph.chain_behind(&id("x")), 1);
        assert_eq!(graph.critical_path(), [&id("x"), &id("y")]);
    }
}
