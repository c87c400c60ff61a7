//! How much code there is, in tokens: lines mislead, because a formatter decides how much one holds.

use super::{code, is_test, sources};
use proc_macro2::{Spacing, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// The most tokens outside tests. Lower it with what is deleted.
const MOST_TOKENS: usize = 1_330_000;

/// The number of tokens in a stream. An operator of several characters is one.
fn tokens(stream: TokenStream) -> usize {
    let mut count = 0;
    for tree in stream {
        count += match tree {
            TokenTree::Group(group) => 2 + tokens(group.stream()),
            TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint => 0,
            _ => 1,
        };
    }
    count
}

#[test]
fn there_is_no_more_code_than_before() {
    let mut rooms = BTreeMap::<String, (usize, usize)>::new();
    for (name, room, text) in sources() {
        if is_test(&name) {
            continue;
        }
        let code = code(&text);
        let lines = code.lines().filter(|line| !line.trim().is_empty());
        let counted = rooms.entry(room).or_default();
        counted.0 += tokens(code.parse().expect("Rust"));
        counted.1 += lines.count();
    }
    let mut sum = 0;
    let mut lines = 0;
    for (room, (tokens, of_room)) in rooms {
        println!("{tokens:8} tokens {of_room:7} lines  {room}");
        sum += tokens;
        lines += of_room;
    }
    let by_line = sum as f64 / lines as f64;
    println!("{sum:8} tokens {lines:7} lines  {by_line:.2} tokens a line");
    assert!(sum <= MOST_TOKENS, "{sum} tokens");
    assert!(by_line < 8.3, "{by_line:.2} tokens a line");
}

#[test]
fn an_operator_is_one_token() {
    for (text, expected) in [
        ("fn f() {}", 6),
        ("a::b();", 6),
        ("x <<= 1", 3),
        ("#[derive(Debug)] struct S;", 10),
    ] {
        assert_eq!(tokens(text.parse().expect("Rust")), expected, "{text}");
    }
}
