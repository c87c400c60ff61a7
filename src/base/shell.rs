//! Commands, quoted for a shell, and typed lines, split as a shell does.

/// The command line that runs `argv` in a POSIX shell.
#[must_use]
pub fn command(argv: &[impl AsRef<str>]) -> String {
    argv.iter().map(|argument| shell_word(argument.as_ref())).collect::<Vec<_>>().join(" ")
}

/// One argument, quoted if a POSIX shell would otherwise interpret a character of it.
#[must_use]
pub fn shell_word(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,%".contains(c);
    if !argument.is_empty() && argument.chars().all(|c| is_plain(c) || (c.is_alphanumeric() && !c.is_ascii()))
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
                c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
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
    /// Whether a quote is not closed, or the last character is a backslash: the line goes on.
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
            if quote != Some('\'') && sign == '\\' && signs.next_if(|(_, next)| *next == '\n').is_some() {
                continue;
            }
            if !found.is_in_word {
                found.words.push(TypedWord { text: String::new(), start: at });
                found.is_in_word = true;
            }
            let Some(word) = found.words.last_mut() else { continue };
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
    fn a_typed_line_is_split_as_a_shell_does() {
        for (line, expected) in [
            ("", &[][..]),
            ("  /next  t-1 ", &["/next", "t-1"]),
            (r#"/next --override "it's late""#, &["/next", "--override", "it's late"]),
            (r#"a'b c'd"e \"f\" \g""#, &["ab cde \"f\" \\g"]),
            (r"a\ b \\ ''", &["a b", "\\", ""]),
            ("'two\nlines' $HOME #x *", &["two\nlines", "$HOME", "#x", "*"]),
            ("/next \\\n--dry-run", &["/next", "--dry-run"]),
        ] {
            let found = TypedLine::of(line);
            assert_eq!(
                (found.texts(), found.is_open),
                (expected.iter().map(|word| (*word).to_owned()).collect(), false),
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
        for argv in [&["orch", "next", "t-42"][..], &["x", "it's", "", "a b", "日本", r"\", "\""]] {
            let read = TypedLine::of(&command(argv));
            assert_eq!(read.texts(), argv);
        }
    }

    #[test]
    fn commands_survive_a_shell() {
        assert_eq!(command(&["orch", "next", "t-42"]), "orch next t-42");
        assert_eq!(command(&["x", "it's", "", "a b", "日本"]), r"x 'it'\''s' '' 'a b' 日本");
        assert_eq!(command(&["$(rm)", "a\nb"]), r"'$(rm)' $'a\nb'");
    }
}
