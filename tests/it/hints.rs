//! Commands are given as arguments, never within the text of a hint, and the program accepts each that it names.

use crate::harness::project;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use orch::cli::Cli;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The commands of git that people are told to type.
const GIT: [&str; 27] = [
    "add",
    "am",
    "bisect",
    "cat-file",
    "checkout",
    "cherry-pick",
    "clone",
    "commit",
    "config",
    "diff",
    "fetch",
    "fsck",
    "init",
    "log",
    "merge",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "show",
    "sparse-checkout",
    "switch",
    "update-index",
    "worktree",
];

/// A part of a source file.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// The content of a string literal.
    Text(String),
    /// A word: a name, a keyword or a number.
    Word(String),
    /// Any other character.
    Sign(char),
}

/// The tokens of a source file up to its tests, without comments and characters.
fn tokens(source: &str) -> Vec<Token> {
    let source = source
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let letters: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let next = letters.get(at + 1).copied();
        if letter == '/' && next == Some('/') {
            while letters.get(at).is_some_and(|letter| *letter != '\n') {
                at += 1;
            }
        } else if letter == '"' {
            let (text, end) = string_literal(&letters, at + 1);
            found.push(Token::Text(text));
            at = end;
        } else if letter == '\'' && next == Some('\\') {
            at += 3;
            while letters.get(at).is_some_and(|letter| *letter != '\'') {
                at += 1;
            }
            at += 1;
        } else if letter == '\'' && letters.get(at + 2) == Some(&'\'') {
            at += 3;
        } else if letter.is_alphanumeric() || letter == '_' {
            let begin = at;
            while letters
                .get(at)
                .is_some_and(|letter| letter.is_alphanumeric() || *letter == '_')
            {
                at += 1;
            }
            found.push(Token::Word(letters[begin..at].iter().collect()));
        } else {
            if !letter.is_whitespace() {
                found.push(Token::Sign(letter));
            }
            at += 1;
        }
    }
    found
}

/// The content of the literal whose first character is at `at`, and what is after it.
fn string_literal(letters: &[char], mut at: usize) -> (String, usize) {
    let mut text = String::new();
    while let Some(&letter) = letters.get(at) {
        match letter {
            '"' => return (text, at + 1),
            '\\' if letters.get(at + 1) == Some(&'\n') => {
                at += 2;
                while letters.get(at).is_some_and(|letter| *letter == ' ') {
                    at += 1;
                }
            }
            '\\' => {
                text.extend(letters.get(at + 1));
                at += 2;
            }
            _ => {
                text.push(letter);
                at += 1;
            }
        }
    }
    (text, at)
}

/// Where the bracket at `open` is closed.
fn closed(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Where the statement at `begin` ends.
fn ended(tokens: &[Token], begin: usize) -> usize {
    let mut at = begin;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Sign('(' | '[' | '{') => at = closed(tokens, at),
            Token::Sign(';' | ')' | ']' | '}') => return at,
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

/// The literals that a hint is made of.
fn hint_texts(tokens: &[Token]) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let next = tokens.get(at + 1);
        let is_call = next == Some(&Token::Sign('('));
        let of_hint = at >= 3 && tokens[at - 3] == Token::Word("Hint".to_owned());
        let is_hint =
            matches!(word.as_str(), "hint" | "with_hint" | "text") || (word == "from" && of_hint);
        let end = match word.as_str() {
            _ if is_call && is_hint => closed(tokens, at + 1),
            "hint" if next == Some(&Token::Sign('=')) => ended(tokens, at + 2),
            name if name.ends_with("HINT") && next == Some(&Token::Sign(':')) => {
                ended(tokens, at + 2)
            }
            _ => continue,
        };
        found.extend(tokens[at..end].iter().filter_map(|token| match token {
            Token::Text(text) => Some(text.as_str()),
            _ => None,
        }));
    }
    found
}

/// The command within a text, unless it is only named, in backquotes.
fn command_in<'t>(text: &'t str, names: &BTreeSet<String>) -> Option<&'t str> {
    ["orch", "git"].into_iter().find_map(|program| {
        text.match_indices(program).find_map(|(at, _)| {
            let before = text[..at].chars().next_back();
            let rest = text[at..].strip_prefix(program)?.strip_prefix(' ')?;
            let word = rest
                .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
                .next()?;
            let is_command = match program {
                "orch" => word.starts_with('-') || names.contains(word),
                _ => GIT.contains(&word),
            };
            let stands_alone = before.is_none_or(|letter| !letter.is_alphanumeric());
            (is_command && stands_alone && before != Some('`')).then_some(&text[at..])
        })
    })
}

/// A list of words that begins with `orch`.
struct GivenCommand {
    words: Vec<String>,
    /// Whether options or arguments may be known only when it runs.
    is_part: bool,
}

/// The commands of `orch` in a source file. What is known only when it runs is a `t`.
fn given_commands(tokens: &[Token]) -> Vec<GivenCommand> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = tokens[at] == Token::Sign('[')
            && tokens.get(at + 1) == Some(&Token::Text("orch".to_owned()))
            && matches!(tokens.get(at + 2), Some(Token::Sign(',' | ']')));
        if !begins {
            continue;
        }
        let end = closed(tokens, at);
        let mut words = Vec::new();
        let mut word = at + 1;
        while word < end {
            let mut after = word;
            while after < end && tokens[after] != Token::Sign(',') {
                after = match tokens[after] {
                    Token::Sign('(' | '[' | '{') => closed(tokens, after) + 1,
                    _ => after + 1,
                };
            }
            words.push(match &tokens[word..after] {
                [Token::Text(text)] => text.clone(),
                [Token::Word(name)] if name.to_uppercase() == *name => name.clone(),
                _ => "t".to_owned(),
            });
            word = after + 1;
        }
        let unknown = words.iter().filter(|word| *word == "t").count();
        let is_part = unknown > 1 || tokens[..at].ends_with(&[Token::Sign('['), Token::Sign('&')]);
        // Which command it is may be known only when it runs.
        let name = if words.get(1).is_some_and(|word| word == "-C") {
            words.get(3)
        } else {
            words.get(1)
        };
        if name.is_some_and(|name| name != "t") {
            found.push(GivenCommand { words, is_part });
        }
    }
    found
}

/// The Rust files of the program, with their text.
fn sources() -> Vec<(String, String)> {
    fn add(directory: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                add(&path, found);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("readable");
                found.push((path.display().to_string(), text));
            }
        }
    }
    let mut found = Vec::new();
    add(&project().join("src"), &mut found);
    for entry in fs::read_dir(project().join("crates"))
        .expect("crates")
        .flatten()
    {
        add(&entry.path().join("src"), &mut found);
    }
    found.sort();
    found
}

fn names() -> BTreeSet<String> {
    let program = Cli::command();
    program
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect()
}

#[test]
fn no_hint_has_a_command_in_its_text() {
    let names = names();
    let mut found = Vec::new();
    let mut texts = 0;
    for (path, source) in sources() {
        let tokens = tokens(&source);
        for text in hint_texts(&tokens) {
            texts += 1;
            found.extend(command_in(text, &names).map(|command| format!("{path}: {command}")));
        }
    }
    assert!(texts > 300, "{texts}");
    assert_eq!(found, [""; 0], "give a command with `Hint::command`");
}

#[test]
fn every_command_that_is_named_is_accepted() {
    let mut refused = Vec::new();
    let mut count = 0;
    for (path, source) in sources() {
        for given in given_commands(&tokens(&source)) {
            count += 1;
            let Err(error) = Cli::try_parse_from(&given.words) else {
                continue;
            };
            let is_fine = match error.kind() {
                ErrorKind::DisplayHelp => true,
                ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => given.is_part,
                // One of the values is to be chosen.
                ErrorKind::InvalidValue => given.words.iter().any(|word| word == "NAME"),
                _ => false,
            };
            if !is_fine {
                let words = given.words.join(" ");
                refused.push(format!("{path}: {words}: {error}"));
            }
        }
    }
    assert!(count > 80, "{count}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn a_command_within_a_text_is_seen() {
    let names = names();
    for (source, is_seen) in [
        ("x.hint(\"orch next t\")", true),
        ("x.hint(format!(\"list them: orch status, or {y}\"))", true),
        (
            "let hint = match y { 1 => \"a\", _ => \"git commit it\" };",
            true,
        ),
        ("Hint::from(\"then: \\\n    orch --help\")", true),
        ("const TREE_HINT: &str = \"see git log\";", true),
        ("x.hint(Hint::run(&[\"orch\", \"next\"]))", false),
        (
            "x.hint(\"orch folds it again, and git ignores `orch next`\")",
            false,
        ),
        ("x.message(\"orch next t\")", false),
        ("// x.hint(\"orch next t\")", false),
    ] {
        let tokens = tokens(source);
        let mut texts = hint_texts(&tokens).into_iter();
        assert_eq!(
            texts.any(|text| command_in(text, &names).is_some()),
            is_seen,
            "{source}"
        );
    }
    let source = "f(&[\"orch\", \"next\", g(a, b).as_str(), \"--override\", WHY])";
    let given = given_commands(&tokens(source));
    let words: Vec<String> = given.iter().map(|given| given.words.join(" ")).collect();
    assert_eq!(words, ["orch next t --override WHY"]);
}
