//! Lists in pages: which part of a list is sent, and in which order.

use serde_json::{Value, json};

/// The most members of a page.
const MOST: usize = 1000;
/// The members by which a list can be sorted; without one it is in the order of the command.
const KEYS: [&str; 5] = ["task", "title", "workflow", "currentPhase", "owner"];

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Page {
    limit: Option<usize>,
    offset: Option<usize>,
    /// The member to sort by, and whether the last is first.
    sort: Option<(&'static str, bool)>,
}

impl Page {
    /// Takes an argument of the query. Returns whether it is one of a page, and an error if its value is wrong.
    pub(super) fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let is_there = match name {
            "limit" => self.limit.is_some(),
            "offset" => self.offset.is_some(),
            _ => name == "sort" && self.sort.is_some(),
        };
        if is_there {
            return Err(format!("the argument `{name}` appears twice in the query"));
        }
        match name {
            "limit" => match value.parse() {
                Ok(limit) if (1..=MOST).contains(&limit) => self.limit = Some(limit),
                _ => {
                    return Err(format!(
                        "the argument `limit` is not a number from 1 to {MOST}"
                    ));
                }
            },
            "offset" => {
                let wrong = |_| {
                    format!(
                        "the argument `offset` is not a number from 0 to {}",
                        u32::MAX
                    )
                };
                let offset: u32 = value.parse().map_err(wrong)?;
                self.offset = usize::try_from(offset).ok();
            }
            "sort" => {
                let (wanted, is_last_first) = value
                    .strip_prefix('-')
                    .map_or((value, false), |key| (key, true));
                let wrong = || {
                    format!(
                        "the argument `sort` is not one of {}, or one of them after `-`",
                        KEYS.join(", ")
                    )
                };
                let key = KEYS
                    .into_iter()
                    .find(|key| *key == wanted)
                    .ok_or_else(wrong)?;
                self.sort = Some((key, is_last_first));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Leaves only the page of the list. Returns how long the whole list is, and where the next page begins.
    pub(super) fn cut(&self, list: &mut Vec<Value>) -> (usize, Option<usize>) {
        if let Some((key, is_last_first)) = self.sort {
            let text = |row: &Value| row[key].as_str().unwrap_or_default().to_owned();
            // Equal rows stay in the order of the command.
            list.sort_by(|one, other| match is_last_first {
                false => text(one).cmp(&text(other)),
                true => text(other).cmp(&text(one)),
            });
        }
        let total = list.len();
        let offset = self.offset.unwrap_or_default();
        let end = self
            .limit
            .map_or(total, |limit| offset.saturating_add(limit).min(total));
        list.truncate(end);
        list.drain(..offset.min(end));
        (total, (end < total).then_some(end))
    }
}

/// What the OpenAPI document says about the arguments.
pub(super) fn parameters() -> Vec<Value> {
    let parameter = |name: &str, about: &str, schema: Value| json!({"name": name, "in": "query", "required": false, "description": about, "schema": schema});
    let sorts: Vec<String> = KEYS
        .iter()
        .flat_map(|key| [(*key).to_owned(), format!("-{key}")])
        .collect();
    vec![
        parameter(
            "limit",
            "At most this many members of the list; default: all.",
            json!({"type": "integer", "minimum": 1, "maximum": MOST}),
        ),
        parameter(
            "offset",
            "Skip this many members first.",
            json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        ),
        parameter(
            "sort",
            "Sort by this member, with `-` in descending order; default: the most urgent first.",
            json!({"enum": sorts}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_part_of_the_sorted_list() {
        let rows = || {
            ["b", "a", "c"]
                .map(|id| json!({"task": id, "owner": "agent"}))
                .to_vec()
        };
        for (arguments, expected, next) in [
            (&[][..], "bac", None),
            (&[("limit", "2")], "ba", Some(2)),
            (&[("limit", "2"), ("offset", "2")], "c", None),
            (&[("offset", "7")], "", None),
            (&[("offset", "4294967295"), ("limit", "1")], "", None),
            (&[("sort", "task")], "abc", None),
            (&[("sort", "-task"), ("limit", "1")], "c", Some(1)),
            (&[("sort", "owner")], "bac", None),
        ] {
            let mut page = Page::default();
            let mut list = rows();
            for (name, value) in arguments {
                assert_eq!(page.take(name, value), Ok(true));
            }
            assert_eq!(page.cut(&mut list), (3, next), "{arguments:?}");
            let ids: String = list.iter().filter_map(|row| row["task"].as_str()).collect();
            assert_eq!(ids, expected, "{arguments:?}");
        }
        let mut page = Page::default();
        assert_eq!(page.take("phase", "x"), Ok(false));
        for (name, value) in [
            ("limit", "0"),
            ("limit", "1001"),
            ("offset", "-1"),
            ("offset", "4294967296"),
            ("sort", "reason"),
            ("sort", ""),
        ] {
            assert!(page.take(name, value).is_err(), "{name}={value}");
        }
        for (name, value) in [("limit", "1"), ("offset", "0"), ("sort", "task")] {
            assert_eq!(page.take(name, value), Ok(true));
            let twice = page.take(name, value);
            assert_eq!(
                twice,
                Err(format!("the argument `{name}` appears twice in the query"))
            );
        }
    }
}
