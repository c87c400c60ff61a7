//! Which requests give the orders that are offered for a task: the table of routes, read backwards.

use super::routes::Route;
use crate::{Argument, ArgumentForm};
use orch_base::PhaseId;
use orch_core::decide::{PHASE, PersonOrder, Priority, WHY, is_order};
use orch_core::workflow::Owner;
use orch_view::html::{InputForm, OrderForm, OrderInput};
use orch_view::{CommandView, FieldView, RunLine, Suggestion};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What an offered command has in place of a value.
const VALUE: &str = "VALUE";

/// The routes that have a button where their command is offered, or where a run hears it.
pub(super) const BUTTONS: [&str; 16] = [
    "next", "override", "approve", "reject", "rollback", "reopen", "confirm", "answer", "newTask",
    "undo", "relate", "recover", "run", "pause", "resume", "stop",
];

/// The orders that may be given about a task now: the commands that its suggestion offers, those that its run hears,
/// and what a person may order in any case. Those against the rules are last.
pub(super) fn orders_of(
    routes: &[Arc<Route>],
    suggestion: &Suggestion,
    run: Option<&RunLine>,
    person: &[PersonOrder],
) -> Vec<OrderForm> {
    let fields = suggestion
        .question
        .as_ref()
        .map(|question| question.fields.as_slice())
        .unwrap_or_default();
    let heard: &[(&'static str, &str)] = match run.map(|run| run.state) {
        Some("running") => &[
            ("pause", "pause the run after the work in progress"),
            ("stop", "end the run now"),
        ],
        Some("interrupted" | "paused") => &[("resume", "continue with the run")],
        _ => &[],
    };
    let heard = heard.iter().map(|(command, effect)| {
        let argv = ["orch", command, &suggestion.task.id]
            .map(str::to_owned)
            .to_vec();
        (argv, (*effect).to_owned())
    });
    let offered = suggestion
        .options
        .iter()
        .map(|CommandView { argv, effect, .. }| (argv.clone(), effect.clone()));
    let mut orders: Vec<OrderForm> = Vec::new();
    for (argv, effect) in offered.chain(heard) {
        if orders.iter().all(|order| order.argv != argv) {
            orders.extend(order_of(routes, &argv, &effect, fields));
        }
    }
    for PersonOrder { choice, targets } in person {
        let Some(order) = order_of(routes, &choice.argv, &choice.effect, fields) else {
            continue;
        };
        let order = OrderForm {
            is_offered: false,
            ..with_targets(order, targets)
        };
        add(&mut orders, order);
    }
    // Where an agent must act, a person lets it: nothing else is as near.
    let is_agents = suggestion.duty.owner == Owner::Agent;
    for order in orders.iter_mut().filter(|order| order.name == "run") {
        order.is_offered |= is_agents;
    }
    orders.sort_by_key(|order| (!order.is_offered, is_order(&order.name)));
    orders
}

/// The order that creates a task below one of these roots; `None` if there is no such route.
pub(super) fn new_task(routes: &[Arc<Route>], roots: &[&str]) -> Option<OrderForm> {
    let route = routes.iter().find(|route| route.name == "newTask")?;
    let input = |name: &str, label: &str, form: InputForm| OrderInput {
        name: name.to_owned(),
        label: label.to_owned(),
        is_required: matches!(name, "title" | "id"),
        form,
    };
    let mut inputs = vec![
        input("title", "Title", InputForm::Text),
        input("id", "Id: the name of its directory", InputForm::Text),
        input("brief", "Brief: what is wanted, and why", InputForm::Lines),
    ];
    let priorities = Priority::ALL.map(|one| Value::from(one.as_str())).to_vec();
    inputs.extend([
        input(
            "after",
            "After: the tasks that have to be done before",
            InputForm::List,
        ),
        input("priority", "Priority", InputForm::OneOf(priorities)),
    ]);
    if roots.len() > 1 {
        let roots = roots.iter().map(|root| Value::from(*root)).collect();
        let form = InputForm::OneOf(roots);
        inputs.push(OrderInput {
            is_required: true,
            ..input("root", "Where", form)
        });
    }
    Some(OrderForm {
        name: route.name.to_owned(),
        effect: String::new(),
        argv: Vec::new(),
        path: route.path.to_owned(),
        known: Map::new(),
        inputs,
        is_offered: true,
    })
}

/// Adds an order, or what it asks for to the same order whose target was left open.
fn add(orders: &mut Vec<OrderForm>, order: OrderForm) {
    let Some(to) = order.inputs.iter().find(|input| input.name == TO) else {
        // Resuming a run continues with it; another one does not begin beside it.
        let is_known = |one: &OrderForm| {
            one.argv == order.argv || (one.name == "resume" && order.name == "run")
        };
        if !orders.iter().any(is_known) {
            orders.push(order);
        }
        return;
    };
    let is_open = |one: &&mut OrderForm| one.name == order.name && !one.known.contains_key(TO);
    match orders.iter_mut().find(is_open) {
        Some(same) => same.inputs.push(OrderInput {
            is_required: false,
            ..to.clone()
        }),
        None => orders.push(order),
    }
}

/// The argument that names a target.
const TO: &str = "to";

fn with_targets(mut order: OrderForm, targets: &[PhaseId]) -> OrderForm {
    let values: Vec<Value> = targets
        .iter()
        .map(|target| target.as_str().into())
        .collect();
    for input in order.inputs.iter_mut().filter(|input| input.name == TO) {
        (input.is_required, input.form) = (true, InputForm::OneOf(values.clone()));
    }
    order
}

/// The request that does what a command line does; `None` if no route does.
pub fn order_of(
    routes: &[Arc<Route>],
    argv: &[String],
    effect: &str,
    fields: &[FieldView],
) -> Option<OrderForm> {
    let (program, words) = argv.split_first()?;
    let mut buttons = routes
        .iter()
        .filter(|route| BUTTONS.contains(&route.name) && program == "orch");
    let order = buttons.find_map(|route| form(route, words, fields))?;
    Some(OrderForm {
        argv: argv.to_vec(),
        effect: effect.to_owned(),
        ..order
    })
}

/// The order of a route that these words write; `None` if it is another one's.
fn form(route: &Route, words: &[String], fields: &[FieldView]) -> Option<OrderForm> {
    let (command, mut rest) = words.split_at_checked(route.command.len())?;
    if command != route.command {
        return None;
    }
    let is_word =
        |argument: &&Argument| matches!(argument.form, ArgumentForm::Word | ArgumentForm::Pairs);
    let mut by_place = route
        .in_path
        .iter()
        .chain(route.arguments.iter().filter(is_word));
    let mut pairs = None;
    let mut path = route.path.to_owned();
    let mut known = Map::new();
    let mut inputs = Vec::new();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word.starts_with("--") {
            let written = |argument: &&Argument| match &argument.form {
                ArgumentForm::Text(option)
                | ArgumentForm::Texts(option)
                | ArgumentForm::Flag(option) => option == word,
                _ => false,
            };
            let argument = route.arguments.iter().find(written)?;
            if let ArgumentForm::Flag(_) = argument.form {
                known.insert(argument.name.clone(), true.into());
                continue;
            }
            let (value, after) = rest.split_first()?;
            rest = after;
            match value == WHY || value == PHASE {
                true => inputs.push(input(argument)),
                false if matches!(argument.form, ArgumentForm::Texts(_)) => {
                    drop(known.insert(argument.name.clone(), json!([value])));
                }
                false => drop(known.insert(argument.name.clone(), value.as_str().into())),
            }
            continue;
        }
        let argument = match pairs {
            Some(pairs) => pairs,
            None => by_place.next()?,
        };
        if argument.form == ArgumentForm::Pairs {
            pairs = Some(argument);
            let (key, value) = word.split_once('=')?;
            if value == VALUE {
                inputs.push(answer(
                    argument,
                    key,
                    fields.iter().find(|field| field.key == key),
                ));
            } else {
                let values = known
                    .entry(argument.name.as_str())
                    .or_insert_with(|| json!({}));
                values.as_object_mut()?.insert(key.to_owned(), value.into());
            }
        } else if route
            .in_path
            .iter()
            .any(|in_path| in_path.name == argument.name)
        {
            let value = utf8_percent_encode(word, NON_ALPHANUMERIC).to_string();
            path = path.replace(&format!("{{{}}}", argument.name), &value);
        } else {
            known.insert(argument.name.clone(), word.as_str().into());
        }
    }
    let is_given = |argument: &Argument| {
        let is_asked =
            |input: &OrderInput| input.name.split('/').next() == Some(argument.name.as_str());
        known.contains_key(&argument.name) || inputs.iter().any(is_asked)
    };
    // Another route needs what is missing, such as that of an override.
    let is_complete = route
        .arguments
        .iter()
        .all(|argument| !argument.is_required || is_given(argument));
    let is_whole = is_complete && !path.contains('{');
    is_whole.then(|| OrderForm {
        name: route.name.to_owned(),
        effect: String::new(),
        argv: Vec::new(),
        path,
        known,
        inputs,
        is_offered: true,
    })
}

/// What a person fills in for an argument.
fn input(argument: &Argument) -> OrderInput {
    OrderInput {
        name: argument.name.clone(),
        label: argument.about.clone(),
        is_required: argument.is_required,
        form: InputForm::Reason,
    }
}

/// What a person fills in for a field of a question.
fn answer(argument: &Argument, key: &str, field: Option<&FieldView>) -> OrderInput {
    let form = match field {
        Some(FieldView { list: true, .. }) => InputForm::List,
        Some(FieldView {
            values: Some(values),
            ..
        }) => InputForm::OneOf(values.clone()),
        Some(FieldView { r#type, .. }) if r#type == "string" => InputForm::Text,
        _ => InputForm::Value,
    };
    OrderInput {
        name: format!("{}/{key}", argument.name),
        label: field.map_or_else(|| key.to_owned(), FieldView::text),
        is_required: false,
        form,
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::ROWS;
    use super::*;

    #[test]
    fn every_button_is_an_order() {
        for name in BUTTONS {
            assert!(
                ROWS.iter().any(|row| row.name == name && row.writes),
                "{name}"
            );
        }
    }
}
