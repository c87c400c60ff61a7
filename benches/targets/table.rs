//! The one table that `make bench` prints: what was measured, beside its yardstick and its target.

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    PerSecond,
    Megabytes,
    /// Millions of instructions, which do not depend on how busy the machine is.
    Instructions,
    Count,
}

impl Unit {
    /// A number in this unit, with three digits or more.
    fn shown(self, number: f64) -> String {
        let number = match number.abs() {
            _ if number.fract() == 0.0 => format!("{number:.0}"),
            1000.0.. => format!("{number:.0}"),
            100.0.. => format!("{number:.1}"),
            _ => format!("{number:.2}"),
        };
        match self {
            Self::Milliseconds => format!("{number} ms"),
            Self::PerSecond => format!("{number} /s"),
            Self::Megabytes => format!("{number} MB"),
            Self::Instructions => format!("{number} M"),
            Self::Count => number,
        }
    }
}

/// What is wanted of a measure.
#[derive(Clone, Copy)]
pub enum Target {
    Most(f64),
    Least(f64),
    /// At most so many times the yardstick.
    MostTimes(f64),
}

/// A measure.
pub struct Row {
    what: String,
    size: String,
    unit: Unit,
    ours: f64,
    yardstick: Option<(String, f64)>,
    target: Option<Target>,
    /// Why there is no measure.
    skipped: Option<&'static str>,
}

impl Row {
    /// A measure of something in a repository of a size.
    pub fn new(what: &str, size: &str, unit: Unit, ours: f64) -> Self {
        let (what, size) = (what.to_owned(), size.to_owned());
        Self {
            what,
            size,
            unit,
            ours,
            yardstick: None,
            target: None,
            skipped: None,
        }
    }

    /// A time in milliseconds.
    pub fn ms(what: &str, size: &str, ours: f64) -> Self {
        Self::new(what, size, Unit::Milliseconds, ours)
    }

    /// Says that something is not measured here, and why.
    pub fn skipped(what: &str, why: &'static str) -> Self {
        Self {
            skipped: Some(why),
            ..Self::new(what, "", Unit::Count, 0.0)
        }
    }

    /// Compares it with what something else took in the same run.
    pub fn beside(self, yardstick: &str, took: f64) -> Self {
        Self {
            yardstick: Some((yardstick.to_owned(), took)),
            ..self
        }
    }

    pub fn target(self, target: Target) -> Self {
        Self {
            target: Some(target),
            ..self
        }
    }

    fn ratio(&self) -> Option<f64> {
        self.yardstick.as_ref().map(|(_, took)| self.ours / took)
    }

    /// Whether the target is met; `None` without a target.
    fn is_met(&self) -> Option<bool> {
        Some(match self.target? {
            Target::Most(most) => self.ours <= most,
            Target::Least(least) => self.ours >= least,
            Target::MostTimes(most) => self.ratio()? <= most,
        })
    }

    /// Whether it counts more instructions than it may. Nothing else can fail a run: times move with the machine.
    fn is_regression(&self) -> bool {
        self.unit == Unit::Instructions && self.is_met() == Some(false)
    }

    fn cells(&self) -> [String; COLUMNS.len()] {
        let (what, size) = (self.what.clone(), self.size.clone());
        if let Some(why) = self.skipped {
            return [
                what,
                size,
                String::new(),
                why.to_owned(),
                String::new(),
                String::new(),
                "skipped".into(),
            ];
        }
        let yardstick = self
            .yardstick
            .as_ref()
            .map(|(name, took)| format!("{name} {}", self.unit.shown(*took)));
        let target = self.target.map(|target| match target {
            Target::Most(most) => format!("<= {}", self.unit.shown(most)),
            Target::Least(least) => format!(">= {}", self.unit.shown(least)),
            Target::MostTimes(most) => format!("<= {most} x"),
        });
        let ratio = self.ratio().map(|ratio| Unit::Count.shown(ratio));
        let verdict = self
            .is_met()
            .map(|is_met| if is_met { "met" } else { "missed" }.to_owned());
        let ours = self.unit.shown(self.ours);
        let [yardstick, ratio, target, verdict] =
            [yardstick, ratio, target, verdict].map(Option::unwrap_or_default);
        [what, size, ours, yardstick, ratio, target, verdict]
    }
}

/// The columns with their widths; a line has 120 characters. Where a width is negative, cells are aligned at the right.
const COLUMNS: [(&str, i8); 7] = [
    ("what", 26),
    ("size", 16),
    ("ours", -11),
    ("yardstick", 31),
    ("ratio", -6),
    ("target", 11),
    ("verdict", 7),
];

/// A line of cells.
fn line(cells: &[String; COLUMNS.len()]) -> String {
    let padded = cells.iter().zip(COLUMNS).map(|(cell, (_, width))| {
        let columns = usize::from(width.unsigned_abs());
        if width < 0 {
            format!("{cell:>columns$}")
        } else {
            format!("{cell:columns$}")
        }
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// All measures of a run.
pub struct Table {
    rows: Vec<Row>,
    /// Receives each line as soon as it is known.
    tell: fn(&str),
}

impl Table {
    pub fn new(tell: fn(&str)) -> Self {
        tell(&head());
        Self {
            rows: Vec::new(),
            tell,
        }
    }

    pub fn add(&mut self, row: Row) {
        (self.tell)(&line(&row.cells()));
        self.rows.push(row);
    }

    /// All lines, and how many targets are met.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.rows.iter().map(|row| line(&row.cells())).collect();
        let count = |verdict| {
            self.rows
                .iter()
                .filter(|row| row.is_met() == Some(verdict))
                .count()
        };
        format!(
            "{}\n{}\n\n{} met, {} missed\n",
            head(),
            lines.join("\n"),
            count(true),
            count(false)
        )
    }

    /// Whether a count of instructions exceeds what is kept of it.
    pub fn has_regression(&self) -> bool {
        self.rows.iter().any(Row::is_regression)
    }
}

/// The names of the columns.
fn head() -> String {
    line(&COLUMNS.map(|(name, _)| name.to_owned()))
}
