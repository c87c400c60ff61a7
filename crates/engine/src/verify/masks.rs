//! What is never recorded: where a checkout was, who ran it, and the values of secrets.

/// Texts and what stands for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Masks(Vec<(String, String)>);

/// Shorter values are in too many other words, and no secret.
const SHORTEST: usize = 4;

impl Masks {
    /// Replaces a directory by a word, which is nothing for the root of the checkout.
    pub(super) fn directory(&mut self, path: &str, word: &str) {
        let path = path.trim_end_matches('/');
        if path.len() < SHORTEST {
            return;
        }
        let below = if word.is_empty() {
            String::new()
        } else {
            format!("{word}/")
        };
        let itself = if word.is_empty() { "." } else { word };
        self.0.push((format!("{path}/"), below));
        self.0.push((path.to_owned(), itself.to_owned()));
    }

    /// Replaces the value of a variable by its name.
    pub(super) fn value(&mut self, name: &str, value: &str) {
        if value.len() >= SHORTEST {
            self.0.push((value.to_owned(), format!("[{name}]")));
        }
    }

    /// The text with all of them replaced, the longest first.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut pairs: Vec<&(String, String)> = self.0.iter().collect();
        pairs.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let mut masked = text.to_owned();
        for (text, word) in pairs {
            if masked.contains(text) {
                masked = masked.replace(text, word);
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_values_are_replaced() {
        let mut masks = Masks::default();
        masks.directory("/home/ann", "~");
        masks.directory("/home/ann/.cache/orch/verify/r/t/tests", "");
        masks.directory("/", "never");
        masks.value("TOKEN", "s3cret");
        masks.value("SHORT", "1");
        for (text, expected) in [
            (
                "/home/ann/.cache/orch/verify/r/t/tests/src/a.rs:1",
                "src/a.rs:1",
            ),
            ("cd /home/ann/.cache/orch/verify/r/t/tests;", "cd .;"),
            ("/home/ann/x /home/ann", "~/x ~"),
            ("s3cret11", "[TOKEN]11"),
            ("/usr/bin", "/usr/bin"),
        ] {
            assert_eq!(masks.apply(text), expected, "{text}");
        }
    }
}
