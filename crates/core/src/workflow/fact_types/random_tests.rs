//! Random guards over random data that a schema allows: what has no finding never fails, and what may fail does for some data.

use super::{TypeMemo, check_types};
use crate::workflow::guard::{Guard, Lookup, Scope, follow};
use crate::workflow::{Document, System, compile};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type": "object", "required": ["n", "t", "list"], "additionalProperties": false, "properties": {
  "n": {"type": "integer", "minimum": 0}, "t": {"enum": ["a", "b"]}, "o": {"type": "integer"}, "z": {"type": ["string", "null"]},
  "list": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "k": {"type": "integer"}}}},
  "m": {"type": "object", "properties": {"x": {"type": "boolean"}}, "additionalProperties": false}}}"#;

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[usize::try_from(self.below(texts.len() as u64)).expect("small")]
    }

    fn condition(&mut self, depth: u32) -> String {
        if depth > 0 && self.below(3) > 0 {
            let [one, two] = [self.condition(depth - 1), self.condition(depth - 1)];
            return match self.below(6) {
                0 | 1 => format!("({one} && {two})"),
                2 | 3 => format!("({one} || {two})"),
                4 => format!("!{one}"),
                _ => format!("({one} ? {two} : {})", self.condition(depth - 1)),
            };
        }
        let text = self.one_of(&[
            "has(p.data.o)",
            "has(p.data.z)",
            "has(p.data.m)",
            "('o' in p.data)",
            "(p.data.n > 1)",
            "(p.data.t == 'a')",
            "(p.data.o > 1)",
            "(p.data.z == null)",
            "(p.data.z != null)",
            "p.data.z.startsWith('a')",
            "has(p.data.m.x)",
            "p.data.m.x",
            "(p.data.list[0].id == 'a')",
            "(size(p.data.list) > 0)",
            "(p.data.list != [])",
            "(10 / p.data.n > 2)",
            "(p.data.n != 0)",
            "p.data.list.exists(i, i.k > 1)",
            "p.data.list.all(i, has(i.k))",
            "p.data.list.exists(i, has(i.k) && i.k > 1)",
            "p.data.list.filter(i, has(i.k)).all(i, i.k > 0)",
            "(p.data.list.map(i, i.id).max() == 'a')",
        ]);
        text.to_owned()
    }

    fn data(&mut self) -> Value {
        let mut data = json!({"n": self.below(4), "t": self.one_of(&["a", "b"]), "list": []});
        for _ in 0..self.below(3) {
            let mut item = json!({"id": self.one_of(&["a", "b"])});
            if self.below(2) == 0 {
                item["k"] = json!(self.below(3));
            }
            data["list"].as_array_mut().expect("a list").push(item);
        }
        if self.below(2) == 0 {
            data["o"] = json!(self.below(4));
        }
        match self.below(3) {
            0 => data["z"] = Value::Null,
            1 => data["z"] = json!(self.one_of(&["ab", "b"])),
            _ => {}
        }
        match self.below(3) {
            0 => data["m"] = json!({}),
            1 => data["m"] = json!({"x": self.below(2) == 0}),
            _ => {}
        }
        data
    }
}

struct Plan(Value);

impl Scope for Plan {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        follow(&self.0, path, 0)
    }
}

#[test]
fn what_is_found_is_what_fails() {
    let mut dice = Dice(7);
    let system = System::empty().with("schemas/p.schema.json", SCHEMA);
    let data: Vec<Plan> = (0..200)
        .map(|_| Plan(json!({"p": {"data": dice.data()}})))
        .collect();
    let mut found_faults = 0;
    let mut unfounded = Vec::new();
    for _ in 0..400 {
        let guard = dice.condition(2);
        let text = format!(
            "```toml orch\n[artifact.p]\npath = \"p.json\"\nschema = \"p\"\n[phase.a]\nproduces = [\"p\"]\n[phase.b]\nterminal = true\n\
             [[rule]]\nid = \"go\"\nfrom = \"a\"\nwhen = \"\"\"p.valid && {guard}\"\"\"\nto = \"b\"\nbecause = \"so\"\n```\n"
        );
        let document = Document::new("w", "w.md", text);
        let (workflow, problems) = compile(&document, &system);
        let workflow = workflow.unwrap_or_else(|| panic!("{problems:?}"));
        let found = check_types(&document, &workflow, &mut TypeMemo::default());
        let parsed = Guard::parse(&guard).expect("a guard");
        let failing = data.iter().find_map(|plan| parsed.result(plan).err());
        match (failing, found.first()) {
            (Some(why), None) => panic!("{guard}\nfails: {why:?}, and nothing was found"),
            (None, Some(finding)) => unfounded.push(format!("{guard}\n   {}", finding.message)),
            (Some(_), Some(_)) => found_faults += 1,
            (None, None) => {}
        }
    }
    assert!(found_faults > 50, "{found_faults}");
    // Guards that contradict or repeat themselves are not followed.
    assert!(unfounded.len() < 10, "{}", unfounded.join("\n"));
}
