//! A workflow as a diagram: its phases below each other, and its rules as arrows between them.
//!
//! Rules that lead on to the next phase are straight. Rules that skip phases are arcs on the right, and rules that lead
//! back are arcs on the left. The way that a task went is drawn on top.

use crate::view::StepView;
use crate::workflow::{Workflow, arrows};
use maud::{Markup, Render, html};
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
    ends: (usize, usize),
    rules: String,
    /// Which arc on its side it is, from the inside.
    lane: usize,
}

impl Chart {
    /// The chart of a workflow.
    #[must_use]
    pub fn of(workflow: &Workflow) -> Self {
        let position = |id| workflow.position(id);
        let arrows = arrows(workflow);
        let connected = arrows.iter().filter_map(|(from, to, rules)| {
            Some(((position(from)?, position(to)?), rules.join(", ")))
        });
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
            arrows: in_lanes(connected.collect()),
        }
    }

    /// The chart of a workflow that cannot be used, so that its phases are not known.
    #[must_use]
    pub fn of_unusable(name: &str) -> Self {
        let (workflow, title) = (name.to_owned(), name.to_owned());
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
        let moves: BTreeSet<(usize, usize)> = steps
            .iter()
            .filter_map(|step| {
                Some((
                    self.position(step.from.as_deref())?,
                    self.position(Some(&step.to))?,
                ))
            })
            .filter(|(from, to)| from != to)
            .collect();
        let visited = steps
            .iter()
            .filter_map(|step| self.position(Some(&step.to)));
        let visited: BTreeSet<usize> = visited.filter(|phase| Some(*phase) != current).collect();
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
                @for ends in &moves {
                    @match self.arrows.iter().find(|arrow| arrow.ends == *ends) {
                        Some(arrow) => (self.line(arrow, "arrow walked", left)),
                        None => {
                            @let arrow = ChartArrow { ends: *ends, rules: "ordered by a person".to_owned(), lane: 0 };
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

    /// Where the boxes begin, and the width of all.
    fn sides(&self) -> (f64, f64) {
        let lanes = |is_back: bool| {
            let arcs = self
                .arrows
                .iter()
                .filter(|arrow| is_arc(arrow.ends) && is_leading_back(arrow.ends) == is_back);
            arcs.map(|arrow| arrow.lane + 1).max().unwrap_or_default()
        };
        let reach = |lanes: usize| {
            if lanes == 0 {
                8.0
            } else {
                (REACH + LANE * number(lanes)) * 0.75 + 4.0
            }
        };
        // Steps that no rule leads to are drawn on either side, in the first lane.
        let (left, right) = (reach(lanes(true).max(1)), reach(lanes(false).max(1)));
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
        let (top, breadth) = (ROW * number(phase) + 2.0, self.breadth());
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
        let (from, to) = arrow.ends;
        let (breadth, middle) = (self.breadth(), |phase: usize| {
            ROW * number(phase) + 2.0 + BOX / 2.0
        });
        let (path, head) = if is_arc(arrow.ends) {
            // Arcs end a little beside the middle, so that the one that comes and the one that goes differ.
            let (start, end) = match from == to {
                true => (middle(from) - 7.0, middle(to) + 7.0),
                false => (middle(from) + 5.0, middle(to) - 5.0),
            };
            let reach = REACH + LANE * number(arrow.lane + 1);
            let (side, out, back) = match is_leading_back(arrow.ends) {
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
            let (start, end) = (middle(from) + BOX / 2.0, middle(to) - BOX / 2.0);
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

/// Whether an arrow is drawn as an arc: it does not lead to the next phase.
fn is_arc((from, to): (usize, usize)) -> bool {
    to != from + 1
}

fn is_leading_back((from, to): (usize, usize)) -> bool {
    to < from
}

/// The arrows, each in the innermost lane in which no arc on its side crosses the same rows. Short arcs come first.
fn in_lanes(connected: Vec<((usize, usize), String)>) -> Vec<ChartArrow> {
    let span = |(from, to): (usize, usize)| (from.min(to), from.max(to));
    let mut order: Vec<usize> = (0..connected.len()).collect();
    order.sort_by_key(|index| {
        let (low, high) = span(connected[*index].0);
        (high - low, low)
    });
    let mut lanes = vec![0; connected.len()];
    let mut taken: Vec<(bool, usize, (usize, usize))> = Vec::new();
    for index in order
        .into_iter()
        .filter(|index| is_arc(connected[*index].0))
    {
        let ends = connected[index].0;
        let (side, (low, high)) = (is_leading_back(ends), span(ends));
        let is_taken = |lane: usize| {
            let crosses = |(other, used, (bottom, top)): &(bool, usize, (usize, usize))| {
                *other == side && *used == lane && low < *top && *bottom < high
            };
            taken.iter().any(crosses)
        };
        let lane = (0..).find(|lane| !is_taken(*lane)).unwrap_or_default();
        lanes[index] = lane;
        taken.push((side, lane, (low, high)));
    }
    connected
        .into_iter()
        .zip(lanes)
        .map(|((ends, rules), lane)| ChartArrow { ends, rules, lane })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_that_cross_the_same_rows_have_lanes_of_their_own() {
        let connected = [(0, 1), (1, 0), (2, 0), (3, 2), (0, 2), (1, 3), (3, 3)];
        let drawn = in_lanes(
            connected
                .iter()
                .map(|ends| (*ends, String::new()))
                .collect(),
        );
        let lanes: Vec<usize> = drawn.iter().map(|arrow| arrow.lane).collect();
        assert_eq!(lanes, [0, 0, 1, 0, 0, 1, 0]);
    }
}
