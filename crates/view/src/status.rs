//! `orch status`: the number of tasks in each phase, and one line per task, by who must act.

use super::explain::substate_text;
use super::layout::{
    Cell, ago, columns_of, counted, id_cell, natural, paragraph, plain, shorten, styled, table,
};
use super::text::{headline, mood, problem};
use super::way::way_text;
use super::wire::{Finding, Suggestion};
use super::{DutyView, LeaseView, Paint, Repository, Style, Subject, TaskRank, TaskView};
use orch_base::{Diagnostic, Severity, TaskId, Timestamp};
use orch_core::decide::{Do, DutyKind, ExpectState, Runner, WayStop};
use orch_core::workflow::Owner;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter;

/// The status of every task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// The repository that was read.
    pub repository: Repository,
    /// The tasks, most urgent first.
    pub tasks: Vec<Box<TaskStatus>>,
    /// The number of tasks in each phase, by workflow and in document order.
    pub phases: Vec<PhaseCount>,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
    /// The number of places that were read, if they are several.
    #[serde(skip)]
    pub(super) places: Option<usize>,
}

super::json::documents! { Status = "status" }

/// The status of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskStatus {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// Who must do what about it.
    #[serde(flatten)]
    pub duty: DutyView,
    /// The file that needs attention first; null if no file does.
    pub at: Option<Spot>,
    /// Until when a run of the task waits for a limit of an executor, in UTC; null if none does.
    #[serde(rename = "waitsUntil")]
    pub waits_until: Option<String>,
    /// The line for people.
    #[serde(skip)]
    pub(super) headline: (String, Style),
    /// The way of the task, for people.
    #[serde(skip)]
    pub(super) way: Vec<WayStop>,
    /// Its place among other tasks.
    #[serde(skip)]
    pub(super) order: TaskRank,
    /// The number of its phase in the document; `None` if the state names no phase.
    #[serde(skip)]
    phase_number: Option<usize>,
    /// The time of the last step, for people: it is not part of the answer, which holds no times.
    #[serde(skip)]
    pub(super) unmoved_since: Option<Timestamp>,
    /// What is wrong with its files, for people.
    #[serde(skip)]
    pub(super) flags: TaskFlags,
    /// Whether a verdict is asked for that an agent may give, where no executor is configured: a person gives it then.
    #[serde(skip)]
    pub(super) asks_verdict: bool,
    /// Whether its workflow asks about the tasks that are part of it, for whoever chooses among tasks.
    #[serde(skip)]
    pub waits_for_parts: bool,
    /// Where the task is, and which places disagree, for an overview of several places.
    #[serde(skip)]
    pub(super) whereabouts: Option<(String, Option<String>)>,
}

/// What is wrong with the files that a task expects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFlags {
    /// One is there and does not match what it has to be.
    pub is_invalid: bool,
    /// One is there and does not count, because what it rests on has changed or it was used up.
    pub is_stale: bool,
}

impl TaskFlags {
    fn of(suggestion: &Suggestion) -> Self {
        let is_any = |state| suggestion.expects.iter().any(|file| file.state == state);
        Self {
            is_invalid: is_any(ExpectState::Invalid),
            is_stale: is_any(ExpectState::Stale),
        }
    }

    /// What is wrong, in a word each.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let known = [(self.is_invalid, "invalid"), (self.is_stale, "stale")];
        known
            .into_iter()
            .filter_map(|(is_so, word)| is_so.then_some(word))
            .collect()
    }
}

/// The room for a status as text, and what belongs into it.
#[derive(Debug, Clone, Copy)]
pub struct StatusForm {
    /// The width in columns; 0: unlimited.
    pub width: usize,
    /// The height in lines; 0: unlimited.
    pub height: usize,
    /// The number of tasks that are listed, however low the terminal is.
    pub fewest: usize,
    /// Whether to list the finished tasks too.
    pub finished: bool,
    /// Whether somebody other than the reader may do what agents do.
    pub has_agents: bool,
    /// The present time, for ages.
    pub now: Timestamp,
}

/// A terminal with room for fewer tasks gets no blank lines.
const FEW: usize = 5;
/// The fewest characters in which a title makes sense.
const TITLE: usize = 12;

/// How many columns of what to do must stay readable beside an id and an age, and beside an id alone.
const READABLE: [usize; 2] = [24, 20];
/// How many columns a phase with its substate needs, or a place.
const PHASE: usize = 16;
/// The cell with the age.
const AGE: usize = 4;

/// How the text of a task is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowShape {
    /// On one line, with its age.
    Whole,
    /// On one line, without its age.
    NoAge,
    /// The id on a line of its own, because beside long ids there is no room for the rest.
    Stacked,
}

impl RowShape {
    /// The first shape in which what to do about these tasks can be read.
    fn of(tasks: &[&TaskStatus], form: &StatusForm) -> Self {
        let rows: Vec<Vec<Cell>> = tasks.iter().map(|task| task.row(form)).collect();
        let [id, phase, what, place, age] = natural(&rows).try_into().unwrap_or_default();
        let beside = form.width.saturating_sub(
            id + phase.min(PHASE) + 3 * 2 + if place > 0 { place.min(PHASE) + 2 } else { 0 },
        );
        let with_age = beside.saturating_sub(age + 2);
        match (
            what.min(READABLE[0]) <= with_age,
            what.min(READABLE[1]) <= beside,
        ) {
            _ if form.width == 0 => Self::Whole,
            (true, _) => Self::Whole,
            (false, true) => Self::NoAge,
            (false, false) => Self::Stacked,
        }
    }
}

/// A file, and the position of its first problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spot {
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The line, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub column: Option<u32>,
}

/// The number of tasks in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseCount {
    /// The name of the workflow.
    pub workflow: String,
    /// The phase; null if the state names none.
    pub phase: Option<String>,
    /// The number of tasks.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub count: usize,
}

impl Status {
    /// The status of these tasks.
    #[must_use]
    pub fn new(
        repository: Repository,
        subjects: &[Subject<'_>],
        diagnostics: &[Diagnostic],
    ) -> Self {
        Self::of_tasks(
            repository,
            subjects
                .iter()
                .map(|subject| TaskStatus::of(subject).into())
                .collect(),
            diagnostics,
        )
    }

    /// The same, given the status of each task, in any order.
    #[must_use]
    pub fn of_tasks(
        repository: Repository,
        mut tasks: Vec<Box<TaskStatus>>,
        diagnostics: &[Diagnostic],
    ) -> Self {
        tasks.sort_by(|one, other| one.in_order(other));
        let phases = count(tasks.iter().map(AsRef::as_ref));
        let diagnostics = diagnostics.iter().map(Finding::of).collect();
        Self {
            repository,
            tasks,
            phases,
            diagnostics,
            places: None,
        }
    }

    /// The status as text: the counts, then the tasks by who must act, the most urgent first.
    ///
    /// If the form is too low for all tasks, the last line says how many are not listed.
    #[must_use]
    pub fn text(&self, paint: Paint, form: &StatusForm) -> String {
        let mut out = String::new();
        paragraph(&mut out, &self.summary(), 0, 4, form.width);
        let mut findings = String::new();
        for finding in &self.diagnostics {
            problem(&mut findings, finding, 0, paint, form.width);
        }
        let groups = self.groups(form);
        // The headings, the line about what is not listed, and the prompt.
        let taken = out.lines().count() + findings.lines().count() + groups.len() + 2;
        let mut listed: Vec<&TaskStatus> = groups
            .iter()
            .flat_map(|(_, tasks)| tasks.iter().copied())
            .collect();
        let shape = RowShape::of(&listed, form);
        let mut blank = "\n";
        let mut room = usize::MAX;
        if form.height > 0 {
            room = form.height.saturating_sub(taken + groups.len() + 1);
            if room < FEW {
                blank = "";
                room = form.height.saturating_sub(taken);
            }
            listed.truncate(room.max(form.fewest));
        }
        let mut lines = TaskStatus::lines(&listed, shape, paint, form);
        let mut rows: usize = lines.iter().map(|line| line.lines().count()).sum();
        while rows > room && lines.len() > form.fewest {
            rows -= lines.pop().map_or(0, |line| line.lines().count());
        }
        listed.truncate(lines.len());
        if let ([only], [line]) = (self.tasks.as_slice(), lines.as_mut_slice()) {
            line.push_str(&way_text(&only.way, 6, paint, form.width));
        }
        let mut lines = lines.into_iter();
        for (group, tasks) in &groups {
            let heading = format!("{}: {}", group.heading(form.has_agents), tasks.len());
            let heading = paint.paint(Style::Strong, &shorten(&heading, form.width));
            out.push_str(&format!("{blank}{heading}\n"));
            out.extend(lines.by_ref().take(tasks.len()));
        }
        if let Some(hidden) = self.hidden(listed.len()) {
            let hidden = paint.paint(Style::Dim, &shorten(&hidden, form.width));
            out.push_str(&format!("{blank}{hidden}\n"));
        }
        out + &findings
    }

    /// The tasks by who must act: people first, then `orch`, agents and processes, then those that wait for other tasks; the
    /// finished ones last, if at all.
    fn groups(&self, form: &StatusForm) -> Vec<(StatusGroup, Vec<&TaskStatus>)> {
        let owners = [
            Owner::Human,
            Owner::Orch,
            Owner::Agent,
            Owner::Process,
            Owner::None,
        ];
        let groups = owners
            .into_iter()
            .map(StatusGroup::Open)
            .chain(form.finished.then_some(StatusGroup::Finished))
            .map(|group| {
                let of_group = self
                    .tasks
                    .iter()
                    .map(AsRef::as_ref)
                    .filter(|task: &&TaskStatus| task.group(form) == group);
                (group, of_group.collect::<Vec<_>>())
            });
        groups.filter(|(_, tasks)| !tasks.is_empty()).collect()
    }

    /// The line about the tasks that are not listed; `None` if all are.
    fn hidden(&self, listed: usize) -> Option<String> {
        let left = self.tasks.len().saturating_sub(listed);
        let finished = self
            .tasks
            .iter()
            .filter(|task| task.is_done())
            .count()
            .min(left);
        let open = left - finished;
        let what = match (open, finished) {
            (0, 0) => return None,
            (0, finished) => format!("{finished} finished"),
            (open, 0) => format!("{open} more"),
            (open, finished) => format!("{open} more, {finished} finished"),
        };
        let everywhere = self.places.map_or("", |_| " --everywhere");
        Some(format!("{what}: orch status{everywhere} --all"))
    }

    /// A summary such as `4 tasks: 2 codegen, 1 test, 1 done`.
    pub(super) fn summary(&self) -> String {
        let workflows = self.phases.iter().map(|count| &count.workflow);
        let several = workflows
            .clone()
            .any(|name| Some(name) != workflows.clone().next());
        let parts: Vec<String> = self
            .phases
            .iter()
            .map(|count| {
                let phase = count.phase.as_deref().unwrap_or("in no phase");
                let workflow = if several {
                    format!(" ({})", count.workflow)
                } else {
                    String::new()
                };
                format!("{} {phase}{workflow}", count.count)
            })
            .collect();
        let colon = if parts.is_empty() { "" } else { ": " };
        let places = self.places.map_or(String::new(), |places| {
            format!(" in {}", counted(places, "place"))
        });
        format!(
            "{}{places}{colon}{}",
            counted(self.tasks.len(), "task"),
            parts.join(", ")
        )
    }
}

impl TaskStatus {
    /// The status of one task.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        Self::suggested(Suggestion::of(subject), subject)
    }

    /// The status of a task that could not be evaluated, given the suggestion for it.
    #[must_use]
    pub fn unread(suggestion: Suggestion, id: &TaskId) -> Self {
        Self::in_place(suggestion, TaskRank::of_unread(id), None, None)
    }

    /// Who must act, as far as people are concerned: also where an agent may give a verdict, and no executor does.
    #[must_use]
    pub fn actor(&self) -> Owner {
        if self.asks_verdict {
            Owner::Human
        } else {
            self.duty.owner
        }
    }

    /// What is to be done, and how it is shown.
    pub(super) fn to_do(&self) -> (&str, Style) {
        if self.asks_verdict {
            ("approve or reject", Style::Warn)
        } else {
            (&self.headline.0, self.headline.1)
        }
    }

    /// Who must act and what is to be done, for the reader of a status: for one with agents, what agents have to do is theirs.
    fn shown(&self, form: &StatusForm) -> (Owner, (&str, Style)) {
        if form.has_agents {
            (self.duty.owner, (&self.headline.0, self.headline.1))
        } else {
            (self.actor(), self.to_do())
        }
    }

    /// Among which tasks it stands.
    fn group(&self, form: &StatusForm) -> StatusGroup {
        if self.is_done() {
            StatusGroup::Finished
        } else {
            StatusGroup::Open(self.shown(form).0)
        }
    }

    /// Whether its id, its title, its phase, its headline or a flag contains a text, in whatever case.
    #[must_use]
    pub fn says(&self, wanted: &str) -> bool {
        let wanted = wanted.trim().to_lowercase();
        let said = [
            Some(self.task.id.as_str()),
            self.task.title.as_deref(),
            self.task.current_phase.as_deref(),
            Some(self.to_do().0),
        ];
        let mut said = said.into_iter().flatten().chain(self.flags.words());
        wanted.is_empty() || said.any(|text| text.to_lowercase().contains(&wanted))
    }

    /// What has to be done, in a few words.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.headline.0
    }

    /// Since when it has stood as it does; the oldest first. One that never moved comes last.
    #[must_use]
    pub fn waits_since(&self) -> (bool, Option<Timestamp>) {
        (self.unmoved_since.is_none(), self.unmoved_since)
    }

    /// Whether the task is finished.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.duty.kind == DutyKind::Done
    }

    /// The place of the task beside that of another one.
    #[must_use]
    pub fn in_order(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }

    /// All that the status says, as text for [`TaskStatus::of_text`].
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        let Self {
            task,
            duty,
            at,
            headline,
            way,
            order,
            phase_number,
            unmoved_since,
            flags,
            asks_verdict,
            waits_for_parts,
            ..
        } = self;
        let kept = (
            task,
            duty,
            at,
            headline,
            way,
            order,
            phase_number,
            unmoved_since,
            (flags, asks_verdict, waits_for_parts),
        );
        serde_json::to_string(&kept).ok()
    }

    /// The status with this text; `None` if no status has it.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let (task, duty, at, headline, way, order, phase_number, unmoved_since, kept) =
            serde_json::from_str(text).ok()?;
        let (flags, asks_verdict, waits_for_parts) = kept;
        Some(Self {
            task,
            duty,
            at,
            headline,
            way,
            order,
            phase_number,
            unmoved_since,
            flags,
            asks_verdict,
            waits_for_parts,
            // A status with such a run is not kept.
            waits_until: None,
            whereabouts: None,
        })
    }

    /// The same, given the suggestion for the task.
    pub(super) fn suggested(suggestion: Suggestion, subject: &Subject<'_>) -> Self {
        let phase = subject.decision.phase.as_ref();
        let phases = &subject.workflow.phases;
        let is_approvable = suggestion
            .options
            .iter()
            .any(|option| option.id == "approve");
        let asks_verdict =
            !subject.has_executors && suggestion.duty.owner == Owner::Agent && is_approvable;
        let phase_number = phase.and_then(|id| phases.iter().position(|phase| phase.id == *id));
        let mut status = Self::in_place(
            suggestion,
            TaskRank::of(subject),
            phase_number,
            subject.unmoved_since,
        );
        status.asks_verdict = asks_verdict;
        status.waits_for_parts = subject.workflow.reads_children();
        if let Some(Runner::Limited { until, .. }) = subject.runner {
            let until = until.to_string();
            if status.duty.owner == Owner::Process {
                status.headline.0 = format!("waits until {until}");
            }
            status.waits_until = Some(until);
        }
        status
    }

    fn in_place(
        suggestion: Suggestion,
        order: TaskRank,
        phase_number: Option<usize>,
        unmoved_since: Option<Timestamp>,
    ) -> Self {
        Self {
            headline: (headline(&suggestion), mood(&suggestion)),
            flags: TaskFlags::of(&suggestion),
            asks_verdict: false,
            waits_for_parts: false,
            at: spot(&suggestion),
            way: suggestion.way,
            task: suggestion.task,
            duty: suggestion.duty,
            order,
            phase_number,
            unmoved_since,
            waits_until: None,
            whereabouts: None,
        }
    }

    /// The text of each of these tasks: id, phase, what to do and age; then, as far as there is room, the place of
    /// the first problem, and the title.
    fn lines(tasks: &[&Self], shape: RowShape, paint: Paint, form: &StatusForm) -> Vec<String> {
        let mut lines = Self::rows(tasks, shape, paint, form);
        for (line, task) in lines.iter_mut().zip(tasks) {
            if let Some(disagreement) = task.disagreement() {
                let text = shorten(disagreement, form.width.saturating_sub(6));
                line.push_str(&format!("      {}\n", paint.paint(Style::Warn, &text)));
            }
        }
        lines
    }

    fn disagreement(&self) -> Option<&str> {
        self.whereabouts.as_ref()?.1.as_deref()
    }

    fn rows(tasks: &[&Self], shape: RowShape, paint: Paint, form: &StatusForm) -> Vec<String> {
        let mut rows: Vec<Vec<Cell>> = tasks.iter().map(|task| task.row(form)).collect();
        match shape {
            RowShape::Whole => {}
            RowShape::NoAge => rows.iter_mut().for_each(|row| row.truncate(AGE)),
            RowShape::Stacked => {
                let ids: Vec<Vec<Cell>> = rows.iter_mut().map(|row| vec![row.remove(0)]).collect();
                let ids = table(&ids, &[0], 2, paint, form.width).into_iter();
                let rest = table(&rows, &[], 6, paint, form.width);
                return ids.zip(rest).map(|(id, rest)| id + &rest).collect();
            }
        }
        let columns: [fn(&Self) -> Cell; 2] = [Self::place, Self::name];
        for (cell_of, least) in columns.into_iter().zip([usize::MAX, TITLE]) {
            let cells: Vec<Cell> = tasks.iter().map(|task| cell_of(task)).collect();
            let wanted = cells
                .iter()
                .map(|(text, _)| columns_of(text))
                .max()
                .unwrap_or_default();
            let used: usize = natural(&rows)
                .iter()
                .filter(|width| **width > 0)
                .map(|width| width + 2)
                .sum();
            let room = if form.width == 0 {
                usize::MAX
            } else {
                form.width.saturating_sub(used + 2)
            };
            if wanted > 0 && room >= wanted.min(least) {
                for (row, (text, style)) in rows.iter_mut().zip(cells) {
                    let text = if room < wanted {
                        shorten(&text, room)
                    } else {
                        text
                    };
                    row.push((text, style));
                }
            }
        }
        table(&rows, &[0], 2, paint, form.width)
    }

    fn row(&self, form: &StatusForm) -> Vec<Cell> {
        let phase = self.task.phase();
        let substate = substate_text(self.task.substate.as_ref());
        let attempt = if self.task.attempt > 1 {
            format!(" #{}", self.task.attempt)
        } else {
            String::new()
        };
        let (_, (what, style)) = self.shown(form);
        let deadlines = self.task.deadlines.iter();
        let deadlines = deadlines.filter_map(|deadline| deadline.short(form.now));
        let held = self.task.held.iter().map(LeaseView::short);
        let what: Vec<String> = iter::once(what.to_owned())
            .chain(deadlines)
            .chain(held)
            .collect();
        let what = what.join(", ");
        vec![
            id_cell(&self.task.id),
            plain(format!("{phase}{attempt}{substate}")),
            styled(what, style),
            plain(self.whereabouts.as_ref().map_or("", |(place, _)| place)),
            styled(
                self.unmoved_since
                    .map_or(String::new(), |since| ago(since, form.now)),
                Style::Dim,
            ),
        ]
    }

    /// The line and column of the first problem.
    fn place(&self) -> Cell {
        let problem =
            self.at
                .as_ref()
                .filter(|spot| spot.line.is_some())
                .map_or(String::new(), |spot| {
                    let column = spot
                        .column
                        .map_or(String::new(), |column| format!(":{column}"));
                    format!("{}:{}{column}", spot.path, spot.line.unwrap_or_default())
                });
        styled(problem, Style::Dim)
    }

    fn name(&self) -> Cell {
        styled(self.task.title.as_deref().unwrap_or_default(), Style::Dim)
    }
}

/// Tasks that stand under one heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusGroup {
    /// Those for which an owner must act.
    Open(Owner),
    /// Those in a terminal phase.
    Finished,
}

impl StatusGroup {
    fn heading(self, has_agents: bool) -> &'static str {
        match self {
            Self::Open(Owner::Agent) if !has_agents => "to be done by you",
            Self::Open(Owner::Human) => "waiting for a person",
            Self::Open(Owner::Orch) => "waiting for orch (orch next, or orch watch)",
            Self::Open(Owner::Agent) => "waiting for an agent",
            Self::Open(Owner::Process) => "at work",
            Self::Open(Owner::None) => "waiting for other tasks",
            Self::Finished => "finished",
        }
    }
}

/// The place that needs attention first: that of the first problem, otherwise the first expected path.
fn spot(suggestion: &Suggestion) -> Option<Spot> {
    let wanted: &[ExpectState] = match suggestion.duty.r#do {
        Do::Fix => &[ExpectState::Invalid, ExpectState::Unmet],
        Do::Renew => &[ExpectState::Stale],
        Do::Write => &[ExpectState::Missing],
        Do::Repair => &[
            ExpectState::Missing,
            ExpectState::Invalid,
            ExpectState::Stale,
            ExpectState::Unmet,
        ],
        _ => &[],
    };
    let expected = suggestion
        .expects
        .iter()
        .find(|expected| expected.owner.is_none() && wanted.contains(&expected.state));
    let problems = expected.map_or(suggestion.diagnostics.as_slice(), |expected| {
        &expected.problems
    });
    let problem = problems
        .iter()
        .find(|finding| finding.severity == Severity::Error && finding.path.is_some());
    match (problem, expected) {
        (Some(finding), _) if expected.is_some() || suggestion.duty.r#do == Do::Repair => {
            Some(Spot {
                path: finding.path.clone()?,
                line: finding.line,
                column: finding.column,
            })
        }
        (_, Some(expected)) => Some(Spot {
            path: expected.path.clone(),
            line: None,
            column: None,
        }),
        _ => None,
    }
}

/// The phases that contain tasks, by workflow and in document order.
pub(super) fn count<'t>(tasks: impl IntoIterator<Item = &'t TaskStatus>) -> Vec<PhaseCount> {
    let mut counts: BTreeMap<(&str, usize), (Option<&str>, usize)> = BTreeMap::new();
    for TaskStatus {
        task, phase_number, ..
    } in tasks
    {
        let place = (task.workflow.as_str(), phase_number.unwrap_or(usize::MAX));
        counts
            .entry(place)
            .or_insert((task.current_phase.as_deref(), 0))
            .1 += 1;
    }
    let mut counted = Vec::new();
    for ((workflow, _), (phase, count)) in counts {
        counted.push(PhaseCount {
            workflow: workflow.to_owned(),
            phase: phase.map(str::to_owned),
            count,
        });
    }
    counted
}
