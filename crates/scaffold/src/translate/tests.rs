//! The translations of conditions, the rejected ones, and equivalence with JavaScript.

use super::super::field;
use super::super::skill::machine_name;
use super::*;
use orch_core::workflow::guard::{Lookup, Scope, follow};
use orch_core::workflow::{Guard, RESERVED_KEYS};
use serde_json::{Value, json};

fn fields() -> Vec<Field> {
    let types = [
        ("flag", "boolean"),
        ("score", "number"),
        ("note", "string"),
        ("level", "low|medium|high"),
        ("items", "string[]"),
        ("maybe", "string | null"),
        ("results", "object"),
        ("thing", "Thing"),
        ("state_of_it", "boolean"),
    ];
    let fields = types.map(|(name, text)| {
        let (kind, nullable) = field::read(text);
        let optional = nullable || kind.starts_absent();
        assert!(!RESERVED_KEYS.contains(&name));
        Field {
            name: name.to_owned(),
            kind,
            optional,
            description: String::new(),
            initial: None,
        }
    });
    fields.to_vec()
}

fn action(id: &str) -> SkillAction {
    SkillAction {
        pointer: String::new(),
        id: id.to_owned(),
        name: machine_name(id),
        title: id.to_owned(),
        description: String::new(),
        preconditions: Vec::new(),
        effects: Vec::new(),
        priority: 0,
    }
}

fn translated(text: &str) -> Result<Translated, SkillRefused> {
    let (fields, actions) = (
        fields(),
        [action("action-init"), action("action-token-count")],
    );
    translate(
        text,
        &FieldNames {
            fields: &fields,
            actions: &actions,
            counts: Cell::new(false),
        },
    )
}

#[test]
fn conditions_become_cel_by_the_types_of_what_they_read() {
    for (text, cel) in [
        ("flag", "state.flag"),
        ("!flag", "!state.flag"),
        ("state.flag", "state.flag"),
        ("score", "state.score != 0"),
        ("note", "state.note != ''"),
        ("results", "has(state.results)"),
        ("maybe", "has(state.maybe) && state.maybe != ''"),
        ("!maybe", "!(has(state.maybe) && state.maybe != '')"),
        ("maybe === null", "!has(state.maybe)"),
        ("null !== maybe", "has(state.maybe)"),
        ("maybe !== 'x'", "!(has(state.maybe) && state.maybe == 'x')"),
        (
            "maybe === thing",
            "(has(state.maybe) && has(state.thing) && state.maybe == state.thing) || (!has(state.maybe) && !has(state.thing))",
        ),
        ("note !== 'x'", "state.note != 'x'"),
        (
            "score >= 0.5 && flag || note === 'it\\'s'",
            "(state.score >= 0.5 && state.flag) || state.note == 'it\\'s'",
        ),
        (
            "(flag || score > -1) && note",
            "(state.flag || state.score > -1) && state.note != ''",
        ),
        ("items.length > 0", "size(state.items) > 0"),
        ("!items.length", "!(size(state.items) != 0)"),
        ("items.includes('a')", "'a' in state.items"),
        ("note.includes('a')", "state.note.contains('a')"),
        (
            "results.a.b === 1",
            "has(state.results) && has(state.results.a) && has(state.results.a.b) && state.results.a.b == 1",
        ),
        (
            "completed_actions.includes('action-init')",
            "action.init.done > 0",
        ),
        (
            "!completed_actions.includes('action-token_count')",
            "!(action.token_count.done > 0)",
        ),
        ("completed_actions.length < 3", "state.iteration_count < 3"),
        ("error_count >= 3", "run.errors >= 3"),
        ("errors.length === 0", "run.errors == 0"),
        ("status !== 'failed'", "state.status != 'failed'"),
        ("true", "true"),
    ] {
        let found = translated(text).expect(text);
        assert_eq!((found.cel.as_str(), found.status), (cel, None), "{text}");
        assert!(Guard::parse(cel).is_ok(), "{cel}");
    }
}

#[test]
fn the_status_says_in_which_phase_an_action_runs() {
    let found = translated("status === 'running' && flag").expect("translates");
    assert_eq!(
        (found.status.as_deref(), found.cel.as_str()),
        (Some("running"), "state.flag")
    );
    let found = translated("'pending' === state.status").expect("translates");
    assert_eq!(
        (found.status.as_deref(), found.cel.as_str()),
        (Some("pending"), "")
    );
}

#[test]
fn what_javascript_would_get_wrong_in_silence_is_refused() {
    for (text, span, message) in [
        ("items", 0..5, "a list is always true, even an empty one"),
        ("note > 3", 0..8, "a string is compared with a number"),
        (
            "flag === 'true'",
            0..15,
            "true or false is compared with a string",
        ),
        ("items === 'a'", 0..13, "a list is compared with a string"),
        ("flag < true", 0..11, "true or false has no order"),
        (
            "flag && level === 'hihg'",
            18..24,
            "`level` is never `hihg`",
        ),
        ("status === 'done'", 0..17, "there is no status `done`"),
        ("gone", 0..4, "there is no field `gone`"),
        ("flag && scoer > 1", 8..13, "there is no field `scoer`"),
        ("note.a", 0..6, "`note` is not a map, so it has no `a`"),
        (
            "score.length",
            0..12,
            "only a list or a string has a length",
        ),
        ("note === null", 0..13, "the value is never null"),
        ("maybe < null", 0..12, "null has no order"),
        (
            "note.includes(null)",
            14..18,
            "a string never includes null",
        ),
        (
            "completed_actions.includes('action-gone')",
            27..40,
            "there is no action `action-gone`",
        ),
        (
            "completed_actions.length.x",
            0..26,
            "only `.length` and `.includes(x)` of `completed_actions` are supported",
        ),
        (
            "current_action === 'x'",
            0..14,
            "`current_action` has no value while the next action is chosen",
        ),
        ("'x'", 0..3, "a value alone is not a condition"),
        (
            "(flag && flag) === true",
            0..14,
            "expected a path or a literal",
        ),
        (
            "flag.includes('x')",
            0..18,
            "only a list or a string has `.includes(x)`",
        ),
    ] {
        let refused = translated(text).expect_err(text);
        assert_eq!(
            (refused.message.as_str(), refused.span),
            (message, span),
            "{text}"
        );
    }
}

struct Json(Value);

impl Scope for Json {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        follow(&self.0, path, 0)
    }
}

#[test]
fn they_hold_where_javascript_says_so() {
    let bare = json!({"flag": false, "score": 0, "note": "", "level": "low", "items": [], "state_of_it": false});
    let full = json!({"flag": true, "score": 1, "note": "ab", "level": "high", "items": ["a"], "maybe": "",
        "results": {"a": {"b": 1.0}}, "thing": 7, "state_of_it": true});
    for (text, in_bare, in_full) in [
        ("flag && state_of_it", false, true),
        ("score === 1", false, true),
        ("score >= 0.5", false, true),
        ("note", false, true),
        ("items.length >= 1 && items.includes('a')", false, true),
        ("maybe === null", true, false),
        ("maybe", false, false),
        ("!maybe", true, true),
        ("maybe !== 'x'", true, true),
        ("maybe === thing", true, false),
        ("maybe !== thing", false, true),
        ("maybe !== results.a.c", false, true),
        ("maybe === maybe", true, true),
        ("results.a.b === 1", false, true),
        ("results.a.c === 1", false, false),
        ("results.a.c !== 1", true, true),
        ("thing", false, true),
        ("thing === 'seven'", false, false),
        ("!thing || flag", true, true),
        ("level === 'low' || level === 'high' && flag", true, true),
        ("note.includes('b')", false, true),
    ] {
        let guard = Guard::parse(&translated(text).expect(text).cel).expect(text);
        for (state, expected) in [(&bare, in_bare), (&full, in_full)] {
            let held = guard.holds(&Json(json!({ "state": state }))).result;
            assert_eq!(held, Ok(expected), "{text}: {} of {state}", guard.text());
        }
    }
}
