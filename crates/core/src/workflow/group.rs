//! Groups of rules.

use super::Rule;

/// Rules in the order in which they are considered: those of a group stand together where the first of them does.
pub(super) fn grouped(rules: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let rules: Vec<Rule> = rules.collect();
    let mut places: Vec<usize> = Vec::new();
    for (nth, rule) in rules.iter().enumerate() {
        let first = rules[..nth]
            .iter()
            .position(|earlier| earlier.group.is_some() && earlier.group == rule.group);
        places.push(first.unwrap_or(nth));
    }
    let mut placed: Vec<(usize, Rule)> = places.into_iter().zip(rules).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, rule)| rule).collect()
}
