//! Commands, quoted for a shell, and typed lines, split as a shell does.

use super::RepoPath;

/// The command line that runs `argv` in a POSIX shell.
#[must_use]
pub fn command(argv: &[impl AsRef<str>]) -> String {
    argv.iter()
        .map(|argument| shell_word(argument.as_ref()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// One argument, quoted if a POSIX shell would otherwise interpret a character of it.
#[must_use]
pub fn shell_word(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,%".contains(c);
    if !argument.is_empty()
        && argument
            .chars()
            .all(|c| is_plain(c) || (c.is_alphanumeric() && !c.is_ascii()))
    {
        return argument.to_owned();
    }
    if argument.chars().any(char::is_control) {
        let escaped: String = argument
            .chars()
            .map(|c| match c {
                '\'' | '\\' => format!("\\{c}"),
                '\n' => "\\n".to_owned(),
                '\t' => "\\t".to_owned(),
                c if c.is_control() => c
                    .to_string()
                    .bytes()
                    .map(|byte| format!("\\x{byte:02x}"))
                    .collect(),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// The same arguments for whoever types them in the directory `here`: those that are paths from the root of the
/// repository become relative to it. These are the arguments of commands that list, move, remove or create files, and those of
/// git after `--` and the one after `--work-tree`. Commands of orch name tasks, which are the same everywhere.
#[must_use]
pub fn argv_at(here: &RepoPath, argv: &[String]) -> Vec<String> {
    let program = argv.first().map_or("", String::as_str);
    let moves = matches!(program, "mv" | "rm" | "mkdir" | "ls");
    let mut is_paths = moves;
    let mut before = program;
    let mut words: Vec<String> = argv.iter().take(1).cloned().collect();
    for word in argv.iter().skip(1) {
        let is_path = is_paths || (program == "git" && before == "--work-tree");
        words.push(if is_path && !word.starts_with('-') {
            path_at(here, word, moves)
        } else {
            word.clone()
        });
        is_paths |= program == "git" && word == "--";
        before = word;
    }
    words
}

/// A path from the root of the repository, relative to a directory.
fn path_at(here: &RepoPath, path: &str, is_moved: bool) -> String {
    // What begins with a colon is a pattern of git that says itself where it counts from.
    if path.starts_with(['/', ':']) || path.is_empty() {
        return path.to_owned();
    }
    let from: Vec<&str> = here
        .as_str()
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let to: Vec<&str> = path.split('/').collect();
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    // `.` can be neither moved nor removed, so the directory and those above it are named from outside.
    let common = if is_moved {
        common.min(to.len() - 1)
    } else {
        common
    };
    let relative = [vec![".."; from.len() - common], to[common..].to_vec()].concat();
    if relative.is_empty() {
        ".".to_owned()
    } else {
        relative.join("/")
    }
}

/// A word of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedWord {
    /// The word without its quotes.
    pub text: String,
    /// The offset of its first byte in the line.
    pub start: usize,
}

/// The words of a typed line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedLine {
    /// The words, in order.
    pub words: Vec<TypedWord>,
    /// Whether a quote is not closed, or the last character is a backslash: the line continues.
    pub is_open: bool,
    /// Whether the line ends in its last word, so that the next character belongs to it.
    pub is_in_word: bool,
}

impl TypedLine {
    /// Splits a line into words as a POSIX shell does: at white space, with quotes and backslashes. Nothing else has a
    /// meaning: there are no variables, comments, patterns or redirections.
    #[must_use]
    pub fn of(line: &str) -> Self {
        let (mut found, mut quote) = (Self::default(), None);
        let mut signs = line.char_indices().peekable();
        while let Some((at, sign)) = signs.next() {
            if quote.is_none() && sign.is_whitespace() {
                found.is_in_word = false;
                continue;
            }
            // A backslash at the end of a line joins it with the next.
            if quote != Some('\'')
                && sign == '\\'
                && signs.next_if(|(_, next)| *next == '\n').is_some()
            {
                continue;
            }
            if !found.is_in_word {
                found.words.push(TypedWord {
                    text: String::new(),
                    start: at,
                });
                found.is_in_word = true;
            }
            let Some(word) = found.words.last_mut() else {
                continue;
            };
            let next = signs.peek().map(|(_, next)| *next);
            match (quote, sign) {
                (Some(open), _) if sign == open => quote = None,
                (None, '\'' | '"') => quote = Some(sign),
                (None, '\\') => match signs.next() {
                    Some((_, literal)) => word.text.push(literal),
                    None => found.is_open = true,
                },
                (Some('"'), '\\') if matches!(next, Some('"' | '\\')) => {
                    word.text.extend(signs.next().map(|(_, literal)| literal));
                }
                _ => word.text.push(sign),
            }
        }
        found.is_open |= quote.is_some();
        found
    }

    /// The texts of the words.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.text.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_command_count_from_where_it_is_typed() {
        for (here, typed, expected) in [
            (
                "tasks/k",
                "git restore -- tasks/k/state.json",
                "git restore -- state.json",
            ),
            (
                "tasks",
                "git restore --source=HEAD -- tasks/k",
                "git restore --source=HEAD -- k",
            ),
            ("tasks/k", "git restore -- tasks/k", "git restore -- ."),
            (
                "src/a",
                "rm -f tasks/t/state.json",
                "rm -f ../../tasks/t/state.json",
            ),
            ("tasks", "mv 'tasks/a b' tasks/x/b", "mv 'a b' x/b"),
            ("tasks/x", "mkdir -p tasks/x", "mkdir -p ../x"),
            (
                "tasks",
                "git commit -m 'put tasks/k back' -- tasks/k",
                "git commit -m 'put tasks/k back' -- k",
            ),
            (
                "tasks/z",
                "git reset -q -- tasks/k tasks/z",
                "git reset -q -- ../k .",
            ),
            (
                "tasks",
                "git --work-tree tasks/a status",
                "git --work-tree a status",
            ),
            ("tasks", "orch next tasks/k", "orch next tasks/k"),
            ("tasks", "git rebase --onto mv k", "git rebase --onto mv k"),
            ("", "git restore -- tasks/k", "git restore -- tasks/k"),
        ] {
            let here = RepoPath::new(here).unwrap_or_else(|_| RepoPath::root());
            let argv = argv_at(&here, &TypedLine::of(typed).texts());
            assert_eq!(command(&argv), expected, "{here}");
        }
    }

    #[test]
    fn a_typed_line_is_split_as_a_shell_does() {
        for (line, expected) in [
            ("", &[][..]),
            ("  /next  t-1 ", &["/next", "t-1"]),
            (
                r#"/next --override "it's late""#,
                &["/next", "--override", "it's late"],
            ),
            (r#"a'b c'd"e \"f\" \g""#, &["ab cde \"f\" \\g"]),
            (r"a\ b \\ ''", &["a b", "\\", ""]),
            (
                "'two\nlines' $HOME #x *",
                &["two\nlines", "$HOME", "#x", "*"],
            ),
            ("/next \\\n--dry-run", &["/next", "--dry-run"]),
        ] {
            let found = TypedLine::of(line);
            assert_eq!(
                (found.texts(), found.is_open),
                (
                    expected.iter().map(|word| (*word).to_owned()).collect(),
                    false
                ),
                "{line}"
            );
        }
        for open in ["/next --override \"why", "it's", "a \\"] {
            assert!(TypedLine::of(open).is_open, "{open}");
        }
        let line = TypedLine::of("/next lo");
        assert_eq!((line.words[1].start, line.is_in_word), (6, true));
        assert!(!TypedLine::of("/next ").is_in_word);
    }

    #[test]
    fn what_is_quoted_is_read_back() {
        for argv in [
            &["orch", "next", "t-42"][..],
            &["x", "it's", "", "a b", "日本", r"\", "\""],
        ] {
            let read = TypedLine::of(&command(argv));
            assert_eq!(read.texts(), argv);
        }
    }

    #[test]
    fn commands_survive_a_shell() {
        assert_eq!(command(&["orch", "next", "t-42"]), "orch next t-42");
        assert_eq!(
            command(&["x", "it's", "", "a b", "日本"]),
            r"x 'it'\''s' '' 'a b' 日本"
        );
        assert_eq!(command(&["$(rm)", "a\nb"]), r"'$(rm)' $'a\nb'");
    }
}
