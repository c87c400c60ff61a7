//! Names in a sentence: the first of them, and how many more there are.

use std::fmt::Display;

/// The first `most` names with commas between them, and how many more there are: "a, b, c and 3 more". Empty without names.
#[must_use]
pub fn enumeration<T: Display>(names: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut text = String::new();
    let mut more = 0;
    for (nth, name) in names.into_iter().enumerate() {
        if nth >= most {
            more += 1;
            continue;
        }
        if nth > 0 {
            text.push_str(", ");
        }
        text.push_str(&name.to_string());
    }
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_told_and_the_others_counted() {
        for (names, told) in [
            ("", ""),
            ("a", "a"),
            ("a b c", "a, b, c"),
            ("a b c d", "a, b, c and 1 more"),
            ("a b c d e f", "a, b, c and 3 more"),
        ] {
            assert_eq!(enumeration(names.split_whitespace(), 3), told);
        }
    }
}
