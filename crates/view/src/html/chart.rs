//! A workflow as a diagram: its phases below each other, and its rules as arrows between them.
//!
//! Rules that lead on to the next phase are straight. Rules that skip phases are arcs on the right, and rules that lead
//! back are arcs on the left. The way that a task went is drawn on top.

use crate::StepView;
use maud::{Markup, Render, html};
use orch_core::workflow::{Workflow, arrows};
use std::collections::BTreeSet;

/// The height of a phase, and the distance to the next.
const BOX: f64 = 28.0;
const ROW: f64 = 46.0;
/// The width of a letter.
const LETTER: f64 = 7.6;
/// How far the first arc reaches out, and how much farther each other one.
const REACH: f64 = 26.0;
const LANE: f64 = 13.0;

/// A workflow as a board draws it.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The name of the workflow.
    pub workflow: String,
    /// Its title.
    pub title: String,
    /// Its phases, in document order.
    pub phases: Vec<ChartPhase>,
    /// The pairs of phases that rules connect.
    arrows: Vec<ChartArrow>,
}

/// A phase of a chart.
#[derive(Debug, Clone)]
pub struct ChartPhase {
    /// Its name.
    pub id: String,
    /// A title for people.
    pub title: Option<String>,
    /// Whether tasks end there.
    pub is_end: bool,
}

#[derive(Debug, Clone)]
struct ChartArrow {
    from: usize,
    to: usize,
    rules: String,
    /// Which arc on its side it is, from the inside.
    lane: usize,
}

impl ChartArrow {
    /// Whether it is drawn as an arc: it does not lead to the next phase.
    fn is_arc(&self) -> bool {
        self.to != self.from + 1
    }

    fn is_back(&self) -> bool {
        self.to < self.from
    }

    fn low(&self) -> usize {
        self.from.min(self.to)
    }

    fn high(&self) -> usize {
        self.from.max(self.to)
    }

    /// Whether two arcs would cross in one lane.
    fn crosses(&self, other: &Self) -> bool {
        self.is_back() == other.is_back() && self.low() < other.high() && other.low() < self.high()
    }
}

impl Chart {
    /// The chart of a workflow.
    #[must_use]
    pub fn of(workflow: &Workflow) -> Self {
        let mut connected = Vec::new();
        for (from, to, rules) in arrows(workflow) {
            if let (Some(from), Some(to)) = (workflow.position(from), workflow.position(to)) {
                connected.push(ChartArrow {
                    from,
                    to,
                    rules: rules.join(", "),
                    lane: 0,
                });
            }
        }
        put_in_lanes(&mut connected);
        Self {
            workflow: workflow.name.to_string(),
            title: workflow.title.clone(),
            phases: workflow
                .phases
                .iter()
                .map(|phase| ChartPhase {
                    id: phase.id.to_string(),
                    title: phase.title.clone(),
                    is_end: phase.terminal,
                })
                .collect(),
            arrows: connected,
        }
    }

    /// The chart of a workflow that cannot be used, so that its phases are not known.
    #[must_use]
    pub fn of_unusable(name: &str) -> Self {
        let workflow = name.to_owned();
        let title = name.to_owned();
        Self {
            workflow,
            title,
            phases: Vec::new(),
            arrows: Vec::new(),
        }
    }

    /// The number of a phase.
    pub(super) fn position(&self, phase: Option<&str>) -> Option<usize> {
        self.phases
            .iter()
            .position(|known| Some(known.id.as_str()) == phase)
    }

    /// The name of the diagram within a file.
    fn symbol_name(&self) -> String {
        format!("chart:{}", self.workflow)
    }

    /// The diagram without a task, for the diagrams of tasks in the same file to refer to.
    pub(super) fn symbol(&self) -> Markup {
        html! { svg { symbol id=(self.symbol_name()) viewBox=(self.view_box()) { (self.plain()) } } }
    }

    /// The diagram with the way that a task went, and where it is.
    ///
    /// `is_in_file`: whether the file has the [`Chart::symbol`], so that it need not be repeated.
    pub(super) fn drawn(
        &self,
        steps: &[StepView],
        current: Option<&str>,
        is_in_file: bool,
    ) -> Markup {
        let (left, width) = self.sides();
        let current = self.position(current);
        let mut moves = BTreeSet::new();
        let mut visited = BTreeSet::new();
        for step in steps {
            let Some(to) = self.position(Some(&step.to)) else {
                continue;
            };
            if Some(to) != current {
                visited.insert(to);
            }
            if let Some(from) = self.position(step.from.as_deref())
                && from != to
            {
                moves.insert((from, to));
            }
        }
        let label = match current {
            Some(current) => format!(
                "diagram of the workflow; the task is in {}",
                self.phases[current].id
            ),
            None => "diagram of the workflow".to_owned(),
        };
        html! {
            svg.chart role="img" aria-label=(label) viewBox=(self.view_box()) width=(width) height=(self.height()) {
                @if is_in_file {
                    use href={ "#" (self.symbol_name()) } {}
                } @else {
                    (self.plain())
                }
                @for (from, to) in moves {
                    @match self.arrows.iter().find(|arrow| arrow.from == from && arrow.to == to) {
                        Some(arrow) => (self.line(arrow, "arrow walked", left)),
                        None => {
                            @let arrow = ChartArrow { from, to, rules: "ordered by a person".to_owned(), lane: 0 };
                            (self.line(&arrow, "arrow walked ordered", left))
                        }
                    }
                }
                @for phase in visited { (self.node(phase, "phase visited", left)) }
                @if let Some(current) = current { (self.node(current, "phase current", left)) }
            }
        }
    }

    fn plain(&self) -> Markup {
        let (left, _) = self.sides();
        html! {
            @for arrow in &self.arrows { (self.line(arrow, "arrow", left)) }
            @for phase in 0..self.phases.len() {
                (self.node(phase, if self.phases[phase].is_end { "phase end" } else { "phase" }, left))
            }
        }
    }

    /// The width of a box.
    fn breadth(&self) -> f64 {
        let letters = self
            .phases
            .iter()
            .map(|phase| phase.id.chars().count())
            .max()
            .unwrap_or_default();
        f64::from(u16::try_from(letters).unwrap_or(u16::MAX)) * LETTER + 24.0
    }

    /// How far the arcs on one side reach out. Steps that no rule leads to are drawn on either side, in the first lane.
    fn reach(&self, is_back: bool) -> f64 {
        let arcs = self
            .arrows
            .iter()
            .filter(|arrow| arrow.is_arc() && arrow.is_back() == is_back);
        let lanes = arcs.map(|arrow| arrow.lane + 1).max().unwrap_or(1);
        (REACH + LANE * number(lanes)) * 0.75 + 4.0
    }

    /// Where the boxes begin, and the width of all.
    fn sides(&self) -> (f64, f64) {
        let left = self.reach(true);
        let right = self.reach(false);
        (left, left + self.breadth() + right)
    }

    fn height(&self) -> f64 {
        ROW * number(self.phases.len()) - (ROW - BOX) + 4.0
    }

    fn view_box(&self) -> String {
        format!(
            "0 0 {} {}",
            Coordinate(self.sides().1),
            Coordinate(self.height())
        )
    }

    fn node(&self, phase: usize, class: &str, left: f64) -> Markup {
        let top = ROW * number(phase) + 2.0;
        let breadth = self.breadth();
        let phase = &self.phases[phase];
        html! {
            g class=(class) {
                @if let Some(title) = &phase.title { title { (title) } }
                rect x=(Coordinate(left)) y=(Coordinate(top)) width=(Coordinate(breadth)) height=(BOX) rx="7" {}
                text x=(Coordinate(left + breadth / 2.0)) y=(Coordinate(top + BOX / 2.0 + 4.0)) { (phase.id) }
            }
        }
    }

    /// An arrow with its head.
    fn line(&self, arrow: &ChartArrow, class: &str, left: f64) -> Markup {
        let ChartArrow { from, to, .. } = *arrow;
        let breadth = self.breadth();
        let (path, head) = if arrow.is_arc() {
            // Arcs end a little beside the middle, so that the one that comes and the one that goes differ.
            let beside = if from == to { -7.0 } else { 5.0 };
            let start = middle(from) + beside;
            let end = middle(to) - beside;
            let reach = REACH + LANE * number(arrow.lane + 1);
            let (side, out, back) = match arrow.is_back() {
                true => (left, left - reach, -6.0),
                false => (left + breadth, left + breadth + reach, 6.0),
            };
            let path = format!(
                "M{} {}C{out} {} {out} {end} {} {end}",
                Coordinate(side),
                Coordinate(start),
                Coordinate(start),
                Coordinate(side + back),
                out = Coordinate(out),
                end = Coordinate(end),
            );
            let head = format!(
                "M{} {end}l{back} -4v8z",
                Coordinate(side),
                end = Coordinate(end),
                back = Coordinate(back)
            );
            (path, head)
        } else {
            let x = left + breadth / 2.0;
            let start = middle(from) + BOX / 2.0;
            let end = middle(to) - BOX / 2.0;
            let path = format!(
                "M{} {}V{}",
                Coordinate(x),
                Coordinate(start),
                Coordinate(end - 6.0)
            );
            (
                path,
                format!("M{} {}l-4 -6h8z", Coordinate(x), Coordinate(end)),
            )
        };
        html! {
            g class=(class) {
                title { (self.phases[from].id) " → " (self.phases[to].id) ": " (arrow.rules) }
                path.shaft d=(path) {}
                path.head d=(head) {}
            }
        }
    }
}

/// A length in a diagram, with one digit after the point at most.
struct Coordinate(f64);

impl std::fmt::Display for Coordinate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 10.0).round() / 10.0)
    }
}

impl Render for Coordinate {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&self.to_string());
    }
}

fn number(count: usize) -> f64 {
    f64::from(u16::try_from(count).unwrap_or(u16::MAX))
}

/// The height of the middle of a phase.
fn middle(phase: usize) -> f64 {
    ROW * number(phase) + 2.0 + BOX / 2.0
}

/// Puts each arc in the innermost lane in which no arc on its side crosses the same rows. Short arcs come first.
fn put_in_lanes(arrows: &mut [ChartArrow]) {
    let mut order: Vec<usize> = (0..arrows.len())
        .filter(|index| arrows[*index].is_arc())
        .collect();
    order.sort_by_key(|index| {
        let arrow = &arrows[*index];
        (arrow.high() - arrow.low(), arrow.low())
    });
    for (known, index) in order.iter().enumerate() {
        let mut taken = BTreeSet::new();
        for other in &order[..known] {
            if arrows[*index].crosses(&arrows[*other]) {
                taken.insert(arrows[*other].lane);
            }
        }
        let free = (0..).find(|lane| !taken.contains(lane));
        arrows[*index].lane = free.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_that_cross_the_same_rows_have_lanes_of_their_own() {
        let mut arrows =
            [(0, 1), (1, 0), (2, 0), (3, 2), (0, 2), (1, 3), (3, 3)].map(|(from, to)| {
                let rules = String::new();
                ChartArrow {
                    from,
                    to,
                    rules,
                    lane: 0,
                }
            });
        put_in_lanes(&mut arrows);
        let lanes: Vec<usize> = arrows.iter().map(|arrow| arrow.lane).collect();
        assert_eq!(lanes, [0, 0, 1, 0, 0, 1, 0]);
    }
}
