//! The way of a task on one line: `planning ✓ review ✓ [codegen] · test · accept`.

use super::layout::{columns_of, one_line};
use super::{Paint, Style};
use orch_core::decide::{WayStage, WayStop};

/// The way as text: each phase that is passed with a check mark, the current one in brackets, and those ahead. Empty if
/// nothing is known but the current phase. What does not fit into `width` columns (0: unlimited) continues on further
/// lines. Each line is indented by `indent`.
#[must_use]
pub fn way_text(way: &[WayStop], indent: usize, paint: Paint, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    let mut joint = "";
    if way.len() < 2 {
        return out;
    }
    for stop in way {
        let name = one_line(stop.phase.as_str());
        let (text, style) = match stop.stage {
            WayStage::Passed => (format!("{name} ✓"), Style::Good),
            WayStage::Waived => (format!("{name} (waived)"), Style::Warn),
            WayStage::Current => (format!("[{name}]"), Style::Strong),
            WayStage::Ahead => (name, Style::Dim),
        };
        let size = columns_of(&text);
        let needed = used + columns_of(joint) + size;
        if used == 0 || (width > 0 && needed > width) {
            if used > 0 {
                out.push('\n');
            }
            out.push_str(&" ".repeat(indent));
            used = indent + size;
        } else {
            out.push_str(joint);
            used = needed;
        }
        out.push_str(&paint.paint(style, &text));
        joint = match stop.stage {
            WayStage::Passed | WayStage::Waived => " ",
            WayStage::Current | WayStage::Ahead => " · ",
        };
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// A phase of a way as the schemas describe it.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct WayStopSchema {
    /// The phase.
    phase: String,
    /// How far the task is with it.
    stage: WayStage,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::phase;

    fn way(stops: &[(&str, WayStage)]) -> Vec<WayStop> {
        let stop = |(name, stage): &(&str, WayStage)| WayStop {
            phase: phase(name),
            stage: *stage,
        };
        stops.iter().map(stop).collect()
    }

    #[test]
    fn a_way_marks_what_is_passed_and_where_the_task_is() {
        let way = way(&[
            ("planning", WayStage::Passed),
            ("plan_review", WayStage::Waived),
            ("codegen", WayStage::Current),
            ("test", WayStage::Ahead),
            ("accept", WayStage::Ahead),
        ]);
        assert_eq!(
            way_text(&way, 2, Paint::PLAIN, 80),
            "  planning ✓ plan_review (waived) [codegen] · test · accept\n"
        );
        assert_eq!(
            way_text(&way, 2, Paint::PLAIN, 36),
            "  planning ✓ plan_review (waived)\n  [codegen] · test · accept\n"
        );
        assert_eq!(way_text(&[], 2, Paint::PLAIN, 80), "");
    }
}
