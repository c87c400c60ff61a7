//! The table of `make bench`: what a row says, and what fails a run.

#[path = "../../benches/targets/table.rs"]
mod table;

use table::{Row, Table, Target, Unit};

fn table(rows: impl IntoIterator<Item = Row>) -> Table {
    let mut table = Table::new(|_| {});
    rows.into_iter().for_each(|row| table.add(row));
    table
}

#[test]
fn a_row_has_its_yardstick_target_and_verdict() {
    let row = |unit, ours| Row::new("what", "9 tasks", unit, ours);
    let cases: [(Row, &[&str]); 10] = [
        (Row::ms("what", "9 tasks", 4.567), &["4.57 ms"]),
        (
            Row::ms("what", "9 tasks", 8.0).target(Target::Most(8.0)),
            &["8 ms", "<= 8 ms", "met"],
        ),
        (
            Row::ms("what", "9 tasks", 8.01).target(Target::Most(8.0)),
            &["8.01 ms", "<= 8 ms", "missed"],
        ),
        (
            Row::ms("what", "9 tasks", 123.45)
                .beside("git status", 200.0)
                .target(Target::MostTimes(0.5)),
            &[
                "123.5 ms",
                "git status 200 ms",
                "0.62",
                "<= 0.5 x",
                "missed",
            ],
        ),
        (
            row(Unit::PerSecond, 1234.5)
                .beside("git log", 100.0)
                .target(Target::Least(1000.0)),
            &["1234 /s", "git log 100 /s", "12.35", ">= 1000 /s", "met"],
        ),
        (
            row(Unit::PerSecond, 4999.0).target(Target::Least(5000.0)),
            &["4999 /s", ">= 5000 /s", "missed"],
        ),
        (
            row(Unit::Megabytes, 29.5).target(Target::Most(30.0)),
            &["29.50 MB", "<= 30 MB", "met"],
        ),
        (row(Unit::Count, 3.0), &["3"]),
        // A ratio without a yardstick proves nothing.
        (
            row(Unit::Count, 3.0).target(Target::MostTimes(1.0)),
            &["3", "<= 1 x"],
        ),
        (
            Row::skipped("what", "needs valgrind"),
            &["needs valgrind", "skipped"],
        ),
    ];
    for (row, expected) in cases {
        let text = table([row]).text();
        let line = text.lines().nth(1).expect("a line");
        let cells: Vec<&str> = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect();
        let cells: Vec<&str> = cells
            .into_iter()
            .filter(|cell| !["what", "9 tasks"].contains(cell))
            .collect();
        assert_eq!(cells, expected, "{line}");
    }
}

#[test]
fn all_lines_are_aligned_and_fit_a_terminal() {
    let slow = || Row::ms("suggest TASK", "1600 tasks", 12_345.6).target(Target::Most(8.0));
    let text = table([
        slow(),
        slow().beside("git status", 12.0),
        Row::skipped("opens", "needs strace"),
    ])
    .text();
    let lines: Vec<&str> = text.lines().collect();
    let [head, rows @ .., _, sum] = &lines[..] else {
        panic!("{text}")
    };
    assert_eq!(*sum, "0 met, 2 missed");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    let verdicts: Vec<&str> = rows
        .iter()
        .map(|row| &row[head.find("verdict").expect("a column")..])
        .collect();
    assert_eq!(verdicts, ["missed", "missed", "skipped"]);
}

#[test]
fn only_more_instructions_than_are_kept_fail_a_run() {
    let counted = |ours| Row::new("next TASK", "1 task", Unit::Instructions, ours);
    let beside = |ours: f64| {
        counted(ours)
            .beside("kept", 20.0)
            .target(Target::MostTimes(1.03))
    };
    for (row, fails) in [
        (beside(20.5), false),
        (beside(10.0), false),
        (beside(20.7), true),
        (counted(20.7), false),
        (
            Row::ms("next TASK", "1 task", 900.0).target(Target::Most(1.0)),
            false,
        ),
        (Row::skipped("instructions", "needs valgrind"), false),
    ] {
        let table = table([row]);
        assert_eq!(table.has_regression(), fails, "{}", table.text());
    }
}
