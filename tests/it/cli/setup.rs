//! What `orch init` writes.

use crate::harness::World;

#[test]
fn init_writes_every_schema_and_agent_text_that_the_workflow_names() {
    let world = World::ready();
    world.orch(&["workflow", "check"]).succeeds();
    let text = world.read("system/workflows/global-state-machine.md");
    let named = |key: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| {
            line.strip_prefix(key)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')
        });
        lines.map(str::to_owned).collect()
    };
    assert!(!named("schema").is_empty() && !named("agent").is_empty());
    for schema in named("schema") {
        assert!(
            world
                .path(&format!("system/schemas/{schema}.schema.json"))
                .is_file(),
            "{schema}"
        );
    }
    for agent in named("agent") {
        assert!(
            world.path(&format!("system/agents/{agent}.md")).is_file(),
            "{agent}"
        );
    }
}
