//! The way of a task on one line: `planning ✓ review ✓ [codegen] · test · accept`.

use super::layout::{columns_of, one_line};
use super::{Paint, Style};
use orch_core::decide::{Stage, WayStop};

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
            Stage::Passed => (format!("{name} ✓"), Style::Good),
            Stage::Waived => (format!("{name} (waived)"), Style::Warn),
            Stage::Current => (format!("[{name}]"), Style::Strong),
            Stage::Ahead => (name, Style::Dim),
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
            Stage::Passed | Stage::Waived => " ",
            Stage::Current | Stage::Ahead => " · ",
        };
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::phase;

    fn way(stops: &[(&str, Stage)]) -> Vec<WayStop> {
        let stop = |(name, stage): &(&str, Stage)| WayStop {
            phase: phase(name),
            stage: *stage,
        };
        stops.iter().map(stop).collect()
    }

    #[test]
    fn a_way_marks_what_is_passed_and_where_the_task_is() {
        let way = way(&[
            ("planning", Stage::Passed),
            ("plan_review", Stage::Waived),
            ("codegen", Stage::Current),
            ("test", Stage::Ahead),
            ("accept", Stage::Ahead),
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
