//! The board on a terminal: what a key does, and what is shown. It reads no key and writes nothing.
//!
//! There is a column for each phase that has tasks. Those with a task that needs a person come first, those of finished
//! tasks last. One task is selected, and what keys ask for is about that one.

use super::layout::{ago, columns_of, counted, shorten};
use super::way::way_text;
use super::{Paint, Status, Style, TaskStatus};
use orch_base::Timestamp;
use orch_core::workflow::Owner;

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardKey {
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Takes the last letter back.
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// A letter, a digit or another sign.
    Letter(char),
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardWish {
    /// Another picture.
    Picture,
    /// The text about this task, for [`TerminalBoard::open`].
    Task(String),
    /// To run `orch` with these arguments.
    Command(Vec<String>),
    /// The end.
    End,
}

/// What the keys are for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BoardMode {
    /// To move among the tasks.
    Cards,
    /// To type what tasks have to contain.
    Filter,
    /// To type why a task is sent back.
    Reason { task: String, text: String },
    /// To say whether a task is approved.
    Approve { task: String },
    /// To read about a task.
    Task {
        id: String,
        lines: Vec<String>,
        top: usize,
    },
    /// To read what the keys do.
    Help,
}

/// The size of the terminal, and how it is written to.
#[derive(Debug, Clone, Copy)]
pub struct BoardForm {
    /// The width in columns.
    pub width: usize,
    /// The height in lines.
    pub height: usize,
    /// The colours.
    pub paint: Paint,
    /// The present time, for ages.
    pub now: Timestamp,
}

/// The board, and what is selected on it.
pub struct TerminalBoard {
    status: Status,
    selected: Option<String>,
    filter: String,
    mode: BoardMode,
}

/// The tasks of a phase.
struct BoardColumn<'s> {
    title: String,
    tasks: Vec<&'s TaskStatus>,
}

/// The narrowest column.
const NARROWEST: usize = 24;
/// What lies between two columns.
const GAP: usize = 2;
/// How many lines a card takes.
const CARD: usize = 3;
/// The lines above the cards: the numbers, the names of the phases, and a rule.
const ABOVE: usize = 3;
/// The lines below them: the selected task, its way or what to do, and the keys.
const BELOW: usize = 4;
/// How many tasks a page has.
const PAGE: usize = 5;

const KEYS: &str = "enter open · a approve · r reject · u undo · / filter · ? keys · q quit";

const HELP: &str = "\
Keys

  arrows, h j k l    another task
  page up and down   five tasks further
  enter              what is known of the task; again, or escape: back
  a                  approve it (asks first)
  r                  reject it (asks why)
  n                  take the step that is due
  u                  undo the last order
  e                  explain why it is where it is
  /                  show only tasks that contain a text; escape shows all again
  q, Ctrl-C          end

The board is renewed by itself. Orders are commands such as `orch approve`,
with what they print.
";

impl TerminalBoard {
    /// The board of these tasks.
    #[must_use]
    pub fn new(status: Status) -> Self {
        let mut board = Self {
            status,
            selected: None,
            filter: String::new(),
            mode: BoardMode::Cards,
        };
        board.select_something();
        board
    }

    /// Shows these tasks from now on; the selected one stays selected if it is among them.
    pub fn renew(&mut self, status: Status) {
        self.status = status;
        self.select_something();
    }

    /// Shows a text about a task, which was asked for.
    pub fn open(&mut self, task: &str, text: &str) {
        self.mode = BoardMode::Task {
            id: task.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            top: 0,
        };
    }

    /// The task that is open, whose text has to be renewed.
    #[must_use]
    pub fn opened(&self) -> Option<&str> {
        match &self.mode {
            BoardMode::Task { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Takes a key, and returns what it asks for. `height` is that of the terminal.
    pub fn press(&mut self, key: BoardKey, height: usize) -> BoardWish {
        if key == BoardKey::Interrupt {
            return BoardWish::End;
        }
        match self.mode.clone() {
            BoardMode::Cards => return self.press_on_cards(key),
            BoardMode::Filter => self.press_in_filter(key),
            BoardMode::Reason { task, text } => return self.press_in_reason(key, task, text),
            BoardMode::Approve { task } => {
                self.mode = BoardMode::Cards;
                if matches!(key, BoardKey::Letter('y' | 'Y') | BoardKey::Enter) {
                    return command(&["approve", &task]);
                }
            }
            BoardMode::Task { id, lines, top } => {
                return self.press_in_task(key, (id, lines, top), height);
            }
            BoardMode::Help => self.mode = BoardMode::Cards,
        }
        BoardWish::Picture
    }

    fn press_on_cards(&mut self, key: BoardKey) -> BoardWish {
        match key {
            BoardKey::Letter('q') => return BoardWish::End,
            BoardKey::Letter('?') => self.mode = BoardMode::Help,
            BoardKey::Letter('/') => self.mode = BoardMode::Filter,
            BoardKey::Escape => {
                self.filter.clear();
                self.select_something();
            }
            BoardKey::Up | BoardKey::Letter('k') => self.step(0, -1),
            BoardKey::Down | BoardKey::Letter('j') => self.step(0, 1),
            BoardKey::Left | BoardKey::Letter('h') => self.step(-1, 0),
            BoardKey::Right | BoardKey::Letter('l') => self.step(1, 0),
            BoardKey::PageUp => self.step(0, -PAGE.cast_signed()),
            BoardKey::PageDown => self.step(0, PAGE.cast_signed()),
            BoardKey::Home => self.step(0, isize::MIN),
            BoardKey::End => self.step(0, isize::MAX),
            _ => return self.press_for_selected(key),
        }
        BoardWish::Picture
    }

    /// Takes a key that is about the selected task.
    fn press_for_selected(&mut self, key: BoardKey) -> BoardWish {
        let Some(task) = self.selected.clone() else {
            return BoardWish::Picture;
        };
        match key {
            BoardKey::Enter => return BoardWish::Task(task),
            BoardKey::Letter('n') => return command(&["next", &task]),
            BoardKey::Letter('u') => return command(&["undo", &task]),
            BoardKey::Letter('e') => return command(&["explain", &task]),
            BoardKey::Letter('a') => self.mode = BoardMode::Approve { task },
            BoardKey::Letter('r') => {
                let text = String::new();
                self.mode = BoardMode::Reason { task, text };
            }
            _ => {}
        }
        BoardWish::Picture
    }

    fn press_in_filter(&mut self, key: BoardKey) {
        match key {
            BoardKey::Enter => self.mode = BoardMode::Cards,
            BoardKey::Escape => {
                self.filter.clear();
                self.mode = BoardMode::Cards;
            }
            BoardKey::Backspace => drop(self.filter.pop()),
            BoardKey::Letter(letter) => self.filter.push(letter),
            _ => {}
        }
        self.select_something();
    }

    fn press_in_reason(&mut self, key: BoardKey, task: String, mut text: String) -> BoardWish {
        match key {
            BoardKey::Escape => {
                self.mode = BoardMode::Cards;
                return BoardWish::Picture;
            }
            BoardKey::Enter if !text.trim().is_empty() => {
                self.mode = BoardMode::Cards;
                return command(&["reject", &task, "--reason", text.trim()]);
            }
            BoardKey::Backspace => drop(text.pop()),
            BoardKey::Letter(letter) => text.push(letter),
            _ => {}
        }
        self.mode = BoardMode::Reason { task, text };
        BoardWish::Picture
    }

    fn press_in_task(
        &mut self,
        key: BoardKey,
        (id, lines, mut top): (String, Vec<String>, usize),
        height: usize,
    ) -> BoardWish {
        let page = height.saturating_sub(2).max(1);
        let last = lines.len().saturating_sub(page);
        match key {
            BoardKey::Enter
            | BoardKey::Escape
            | BoardKey::Letter('q')
            | BoardKey::Left
            | BoardKey::Letter('h') => {
                self.mode = BoardMode::Cards;
                return BoardWish::Picture;
            }
            BoardKey::Up | BoardKey::Letter('k') => top = top.saturating_sub(1),
            BoardKey::Down | BoardKey::Letter('j') => top += 1,
            BoardKey::PageUp => top = top.saturating_sub(page),
            BoardKey::PageDown | BoardKey::Letter(' ') => top += page,
            BoardKey::Home => top = 0,
            BoardKey::End => top = last,
            BoardKey::Letter('a' | 'r' | 'n' | 'u' | 'e') => {
                self.mode = BoardMode::Cards;
                return self.press_for_selected(key);
            }
            _ => {}
        }
        let top = top.min(last);
        self.mode = BoardMode::Task { id, lines, top };
        BoardWish::Picture
    }

    /// Selects another task: one so many columns to the right, or so many tasks below.
    fn step(&mut self, right: isize, below: isize) {
        let next = {
            let columns = self.columns();
            let Some((column, row)) = self.place(&columns) else {
                return;
            };
            let column = moved(column, right, columns.len());
            let tasks = &columns[column].tasks;
            let row = moved(row.min(tasks.len() - 1), below, tasks.len());
            tasks[row].task.id.clone()
        };
        self.selected = Some(next);
    }

    /// Selects the most urgent task unless the selected one is shown.
    fn select_something(&mut self) {
        let next = {
            let columns = self.columns();
            if self.place(&columns).is_some() {
                return;
            }
            let first = columns.first().and_then(|column| column.tasks.first());
            first.map(|task| task.task.id.clone())
        };
        self.selected = next;
    }

    /// The column and the row of the selected task.
    fn place(&self, columns: &[BoardColumn<'_>]) -> Option<(usize, usize)> {
        let selected = self.selected.as_ref()?;
        for (number, column) in columns.iter().enumerate() {
            let row = column
                .tasks
                .iter()
                .position(|task| task.task.id == *selected);
            if let Some(row) = row {
                return Some((number, row));
            }
        }
        None
    }

    /// The columns that have tasks: those with one that needs a person first, those of finished tasks last.
    fn columns(&self) -> Vec<BoardColumn<'_>> {
        let several = self
            .status
            .phases
            .iter()
            .any(|count| count.workflow != self.status.phases[0].workflow);
        let mut columns: Vec<(u8, BoardColumn<'_>)> = Vec::new();
        for count in &self.status.phases {
            let tasks: Vec<&TaskStatus> = self
                .status
                .tasks
                .iter()
                .map(AsRef::as_ref)
                .filter(|task| {
                    task.task.workflow == count.workflow && task.task.current_phase == count.phase
                })
                .filter(|task| task.says(&self.filter))
                .collect();
            if tasks.is_empty() {
                continue;
            }
            let rank = if tasks.iter().any(|task| task.actor() == Owner::Human) {
                0
            } else if tasks.iter().all(|task| task.is_done()) {
                2
            } else {
                1
            };
            let phase = count.phase.as_deref().unwrap_or("(no phase)");
            let title = if several {
                format!("{phase} ({})", count.workflow)
            } else {
                phase.to_owned()
            };
            columns.push((rank, BoardColumn { title, tasks }));
        }
        columns.sort_by_key(|(rank, _)| *rank);
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// What is shown, as lines that fit.
    #[must_use]
    pub fn text(&self, form: &BoardForm) -> String {
        let mut lines = match &self.mode {
            BoardMode::Task { id, lines, top } => task_lines(id, lines, *top, form),
            BoardMode::Help => HELP.lines().map(str::to_owned).collect(),
            _ => self.picture(form),
        };
        lines.truncate(form.height);
        lines.join("\n")
    }

    fn picture(&self, form: &BoardForm) -> Vec<String> {
        let columns = self.columns();
        let mut lines = vec![self.numbers(form)];
        let Some((column, row)) = self.place(&columns) else {
            let none = if self.status.tasks.is_empty() {
                "There are no tasks yet. To create one: orch new ID"
            } else {
                "No task contains this text. Escape shows all again."
            };
            lines.push(String::new());
            lines.push(shorten(none, form.width));
            lines.resize(form.height.saturating_sub(1), String::new());
            lines.push(self.last_line(form));
            return lines;
        };
        let visible = ((form.width + GAP) / (NARROWEST + GAP)).clamp(1, columns.len());
        let width = (form.width + GAP) / visible - GAP;
        let first = column
            .saturating_sub(visible - 1)
            .min(columns.len() - visible);
        let rows = form.height.saturating_sub(ABOVE + BELOW).max(CARD);
        let shown: Vec<Vec<(String, Option<Style>)>> = columns[first..first + visible]
            .iter()
            .enumerate()
            .map(|(number, shown)| {
                let selected = (first + number == column).then_some(row);
                shown.lines(selected, (width, rows), form)
            })
            .collect();
        for at in 0..rows + ABOVE - 1 {
            let mut line = String::new();
            for (number, cells) in shown.iter().enumerate() {
                let (text, style) = cells.get(at).cloned().unwrap_or_default();
                let is_last = number + 1 == shown.len();
                let gap = if is_last { 0 } else { GAP };
                let blank = (width + gap).saturating_sub(columns_of(&text));
                line.push_str(
                    &style.map_or_else(|| text.clone(), |style| form.paint.paint(style, &text)),
                );
                line.push_str(&" ".repeat(if is_last { 0 } else { blank }));
            }
            lines.push(line);
        }
        lines.extend(selected_lines(columns[column].tasks[row], form));
        lines.push(self.last_line(form));
        lines
    }

    /// How many tasks there are, and who has to act on them.
    fn numbers(&self, form: &BoardForm) -> String {
        let of = |owner: Owner| {
            let tasks = self.status.tasks.iter();
            tasks.filter(|task| task.actor() == owner).count()
        };
        let mut parts = Vec::new();
        for (owner, what) in [
            (Owner::Human, "for a person"),
            (Owner::Orch, "due"),
            (Owner::Agent, "to be done"),
            (Owner::Process, "at work"),
            (Owner::None, "for nobody"),
        ] {
            let count = of(owner);
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let all = counted(self.status.tasks.len(), "task");
        let filter = if self.filter.is_empty() || self.mode == BoardMode::Filter {
            String::new()
        } else {
            format!(" · filter: {}", self.filter)
        };
        let text = format!("{all}: {}{filter}", parts.join(", "));
        form.paint.paint(
            Style::Strong,
            &shorten(text.trim_end_matches([':', ' ']), form.width),
        )
    }

    /// The keys, or what is being typed.
    fn last_line(&self, form: &BoardForm) -> String {
        match &self.mode {
            BoardMode::Filter => shorten(&format!("filter: {}_", self.filter), form.width),
            BoardMode::Reason { task, text } => {
                let asked = format!("why is {task} sent back? {text}_");
                // The end is what is being typed.
                let hidden = columns_of(&asked).saturating_sub(form.width);
                asked.chars().skip(hidden).collect()
            }
            BoardMode::Approve { task } => {
                let asked = format!("approve {task}? y approves, any other key does not");
                form.paint.paint(Style::Warn, &shorten(&asked, form.width))
            }
            _ => form.paint.paint(Style::Dim, &shorten(KEYS, form.width)),
        }
    }
}

impl BoardColumn<'_> {
    /// The lines of a column: its name, a rule and its cards, so that the selected one is shown.
    fn lines(
        &self,
        selected: Option<usize>,
        (width, rows): (usize, usize),
        form: &BoardForm,
    ) -> Vec<(String, Option<Style>)> {
        let title = format!("{} {}", self.title, self.tasks.len());
        let style = if self.tasks.iter().any(|task| task.actor() == Owner::Human) {
            Style::Warn
        } else {
            Style::Strong
        };
        let mut lines = vec![
            (shorten(&title, width), Some(style)),
            ("─".repeat(width), Some(Style::Dim)),
        ];
        let room = (rows / CARD).max(1);
        let first = selected.map_or(0, |row| (row + 1).saturating_sub(room));
        let last = self.tasks.len().min(first + room);
        for (number, task) in self.tasks[first..last].iter().enumerate() {
            let is_selected = selected == Some(first + number);
            lines.extend(card(task, is_selected, width, form));
            lines.push((String::new(), None));
        }
        let hidden = self.tasks.len() - last;
        if hidden > 0 {
            // In place of the blank line after the last card.
            lines.pop();
            lines.push((
                shorten(&format!("  {hidden} more"), width),
                Some(Style::Dim),
            ));
        }
        lines
    }
}

/// The two lines of a card: id and age, and what to do.
fn card(
    task: &TaskStatus,
    is_selected: bool,
    width: usize,
    form: &BoardForm,
) -> [(String, Option<Style>); 2] {
    let mark = if is_selected { "▌" } else { " " };
    let age = task.unmoved_since.map_or(String::new(), |since| {
        ago(since, form.now).replace(" ago", "")
    });
    let room = width.saturating_sub(columns_of(&age) + 2);
    let id = shorten(&task.task.id, room);
    let blank = room.saturating_sub(columns_of(&id)) + 1;
    let (what, style) = task.to_do();
    let head = format!("{mark}{id}{}{age}", " ".repeat(blank));
    let what = format!("{mark}{}", shorten(what, width.saturating_sub(1)));
    let head_style = if is_selected {
        Some(Style::Command)
    } else {
        Some(Style::Strong)
    };
    [(head, head_style), (what, Some(style))]
}

/// The lines about the selected task.
fn selected_lines(task: &TaskStatus, form: &BoardForm) -> [String; BELOW - 1] {
    let title = task.task.title.as_deref().unwrap_or_default();
    let name = shorten(&format!("{} · {title}", task.task.id), form.width);
    let name = name.trim_end_matches([' ', '·']);
    let way = way_text(&task.way, 0, form.paint, form.width);
    let way = way.lines().next().unwrap_or_default().to_owned();
    let reason = match &task.task.held {
        Some(held) => format!("{}; {}", held.words(), task.duty.reason),
        None => task.duty.reason.clone(),
    };
    let reason = shorten(&reason, form.width);
    [form.paint.paint(Style::Strong, name), way, reason]
}

fn task_lines(id: &str, lines: &[String], top: usize, form: &BoardForm) -> Vec<String> {
    let page = form.height.saturating_sub(2).max(1);
    let mut shown: Vec<String> = lines.iter().skip(top).take(page).cloned().collect();
    shown.resize(page, String::new());
    let below = lines.len().saturating_sub(top + page);
    let more = if below > 0 {
        format!("{below} more lines")
    } else {
        String::new()
    };
    shown.push(form.paint.paint(Style::Dim, &more));
    let keys =
        format!("{id} · escape back · j k scroll · a approve · r reject · u undo · e explain");
    shown.push(form.paint.paint(Style::Dim, &shorten(&keys, form.width)));
    shown
}

/// The number, so many further, of `count`.
fn moved(number: usize, by: isize, count: usize) -> usize {
    number
        .saturating_add_signed(by)
        .min(count.saturating_sub(1))
}

fn command(words: &[&str]) -> BoardWish {
    BoardWish::Command(words.iter().map(|word| (*word).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Sample};
    use orch_base::TaskId;
    use snapbox::{assert_data_eq, str};

    /// Three tasks in two phases, of which one waits for a person.
    fn status() -> Status {
        let mut tasks = [
            samples::write_missing(),
            samples::fix_invalid(),
            samples::handover(),
        ];
        for (sample, id) in tasks
            .iter_mut()
            .zip(["add-search", "fix-login", "slow-upload"])
        {
            sample.decision.task = TaskId::new(id).expect("valid");
        }
        let subjects: Vec<_> = tasks.iter().map(Sample::subject).collect();
        Status::new(samples::repository(), &subjects, &[])
    }

    fn form(width: usize, height: usize) -> BoardForm {
        BoardForm {
            width,
            height,
            paint: Paint::PLAIN,
            now: Timestamp::from_seconds(0),
        }
    }

    fn pressed(board: &mut TerminalBoard, keys: &[BoardKey]) -> BoardWish {
        let mut wish = BoardWish::Picture;
        for key in keys {
            wish = board.press(*key, 24);
        }
        wish
    }

    #[test]
    fn the_column_that_needs_a_person_comes_first() {
        let board = TerminalBoard::new(status());
        let drawn = board.text(&form(80, 24));
        assert_eq!(drawn.lines().count(), 24, "{drawn}");
        assert!(drawn.lines().all(|line| columns_of(line) <= 80), "{drawn}");
        let lines: Vec<&str> = drawn.lines().map(str::trim_end).take(5).collect();
        assert_data_eq!(
            lines.join("\n"),
            str![[r#"
3 tasks: 1 for a person, 2 to be done
plan_review 2                            codegen 1
───────────────────────────────────────  ───────────────────────────────────────
▌slow-upload                              add-search
▌decide: back to planning?                write code/diff.patch
"#]]
        );
    }

    #[test]
    fn keys_select_a_task_and_ask_for_orders() {
        let mut board = TerminalBoard::new(status());
        let first = board.selected.clone().expect("a task");
        let next = pressed(&mut board, &[BoardKey::Letter('n')]);
        assert_eq!(next, command(&["next", &first]));
        // An approval is asked for again, and any other key is no.
        let refused = pressed(&mut board, &[BoardKey::Letter('a'), BoardKey::Letter('x')]);
        assert_eq!(refused, BoardWish::Picture);
        let approved = pressed(&mut board, &[BoardKey::Letter('a'), BoardKey::Letter('y')]);
        assert_eq!(approved, command(&["approve", &first]));
        // A rejection needs a reason.
        let silent = pressed(
            &mut board,
            &[
                BoardKey::Letter('r'),
                BoardKey::Letter(' '),
                BoardKey::Enter,
            ],
        );
        assert_eq!(silent, BoardWish::Picture);
        let said = pressed(
            &mut board,
            &[
                BoardKey::Letter('q'),
                BoardKey::Letter('x'),
                BoardKey::Backspace,
                BoardKey::Enter,
            ],
        );
        assert_eq!(said, command(&["reject", &first, "--reason", "q"]));
        pressed(
            &mut board,
            &[BoardKey::Right, BoardKey::Right, BoardKey::Down],
        );
        let second = board.selected.clone().expect("a task");
        assert_ne!(first, second);
        assert_eq!(
            pressed(&mut board, &[BoardKey::Enter]),
            BoardWish::Task(second.clone())
        );
        board.open(&second, &"line\n".repeat(40));
        assert!(board.text(&form(80, 24)).contains("18 more lines"));
        pressed(&mut board, &[BoardKey::End, BoardKey::Down]);
        assert!(!board.text(&form(80, 24)).contains("more lines"));
        assert_eq!(
            pressed(&mut board, &[BoardKey::Escape, BoardKey::Letter('q')]),
            BoardWish::End
        );
    }

    #[test]
    fn a_filter_hides_what_does_not_contain_it() {
        let mut board = TerminalBoard::new(status());
        let typed: Vec<BoardKey> = "/fix-l".chars().map(BoardKey::Letter).collect();
        pressed(&mut board, &typed);
        let drawn = board.text(&form(80, 24));
        assert!(
            drawn.contains("filter: fix-l_") && !drawn.contains("slow-upload"),
            "{drawn}"
        );
        pressed(&mut board, &[BoardKey::Enter]);
        assert_eq!(board.selected.as_deref(), Some("fix-login"));
        // `q` is a letter while the filter is typed.
        pressed(&mut board, &[BoardKey::Letter('/'), BoardKey::Letter('q')]);
        assert!(
            board
                .text(&form(80, 24))
                .contains("No task contains this text")
        );
        pressed(&mut board, &[BoardKey::Escape]);
        assert!(board.text(&form(80, 24)).contains("slow-upload"));
        let empty = Status::new(samples::repository(), &[], &[]);
        board.renew(empty);
        assert!(board.text(&form(20, 6)).contains("There are no tasks"));
        assert_eq!(
            pressed(
                &mut board,
                &[BoardKey::Enter, BoardKey::Down, BoardKey::Letter('a')]
            ),
            BoardWish::Picture
        );
    }
}
