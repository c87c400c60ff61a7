//! How much code there is, in tokens: lines mislead, because a formatter decides how much one holds.

use crate::harness::project;
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most tokens outside of tests. Lower it with what is deleted.
const MOST_TOKENS: usize = 880_000;

/// Code outside of tests: its tokens, and the lines that hold at least one of them.
#[derive(Default)]
struct Count {
    tokens: usize,
    lines: BTreeSet<usize>,
}

impl Count {
    /// Adds a stream. Passes over doc comments, and over items that exist only in tests.
    fn add(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        while let Some(tree) = trees.next() {
            if let TokenTree::Punct(punct) = &tree
                && punct.as_char() == '#'
                && let Some(TokenTree::Group(attribute)) = trees.peek()
            {
                if is_doc(attribute) {
                    trees.next();
                    continue;
                }
                if is_of_tests(attribute) {
                    let _item = trees.by_ref().find(ends_item);
                    continue;
                }
            }
            self.add_tree(tree);
        }
    }

    fn add_tree(&mut self, tree: TokenTree) {
        match tree {
            TokenTree::Group(group) => {
                self.tokens += 2;
                self.lines.insert(group.span_open().start().line);
                self.lines.insert(group.span_close().end().line);
                self.add(group.stream());
            }
            other => {
                let span = other.span();
                self.lines.extend(span.start().line..=span.end().line);
                // An operator of several characters is one token.
                if !is_continued(&other) {
                    self.tokens += 1;
                }
            }
        }
    }
}

fn is_continued(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
}

fn is_doc(attribute: &Group) -> bool {
    let first = attribute.stream().into_iter().next();
    first.is_some_and(|tree| tree.to_string() == "doc")
}

fn is_of_tests(attribute: &Group) -> bool {
    attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

fn ends_item(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// The tokens and lines of the Rust files below a directory, by the name of the directory or file directly in it.
fn counted_below(root: &Path) -> BTreeMap<String, (usize, usize)> {
    let mut counted = BTreeMap::<String, (usize, usize)>::new();
    for path in super::files(root) {
        let name = path.strip_prefix(root).expect("inside").to_string_lossy();
        if !name.ends_with(".rs") || super::is_test(&name) || name.starts_with("tests/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable");
        let stream: TokenStream = text.parse().expect("Rust");
        let mut count = Count::default();
        count.add(stream);
        let part = name.split('/').next().unwrap_or_default().to_owned();
        let sum = counted.entry(part).or_default();
        sum.0 += count.tokens;
        sum.1 += count.lines.len();
    }
    counted
}

#[test]
fn there_is_no_more_code_than_before() {
    let mut tokens = 0;
    let mut lines = 0;
    let crates = fs::read_dir(project().join("crates")).expect("crates");
    let mut roots = vec![project().join("src")];
    roots.extend(crates.flatten().map(|entry| entry.path().join("src")));
    roots.sort();
    for root in roots {
        let counted = counted_below(&root);
        let of_root = counted.values().map(|(tokens, _)| tokens).sum::<usize>();
        let of_lines = counted.values().map(|(_, lines)| lines).sum::<usize>();
        let name = root.strip_prefix(project()).expect("inside").display();
        println!("{of_root:8} tokens {of_lines:7} lines  {name}");
        tokens += of_root;
        lines += of_lines;
    }
    let by_line = tokens as f64 / lines as f64;
    println!("{tokens:8} tokens {lines:7} lines  {by_line:.2} tokens a line");
    assert!(tokens <= MOST_TOKENS, "{tokens} tokens");
    assert!(by_line < 8.0, "{by_line:.2} tokens a line");
}

#[test]
fn tests_and_comments_are_not_counted() {
    for (text, tokens, lines) in [
        ("fn f() {}", 6, 1),
        ("/// Says.\nfn f() {\n    // Why.\n    a::b();\n}", 12, 3),
        (
            "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nstruct S;",
            3,
            1,
        ),
        ("#[cfg(test)]\nmod tests;\nstruct S;", 3, 1),
        ("#[derive(Debug)]\nstruct S;", 9, 2),
    ] {
        let mut count = Count::default();
        count.add(text.parse().expect("Rust"));
        assert_eq!((count.tokens, count.lines.len()), (tokens, lines), "{text}");
    }
}
