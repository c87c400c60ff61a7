//! Orders as forms: a button, and a dialog that asks for what the order needs.
//!
//! The script sends what was filled in as the body of a request. Without the script there is no button, and the command
//! to type is shown instead.

use super::marked;
use maud::{Markup, html};
use orch_base::command;
use orch_core::decide::needs_person;
use serde_json::{Map, Value};

/// An order that may be given now.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderForm {
    /// The name of the order.
    pub name: String,
    /// What it does.
    pub effect: String,
    /// The same as a command line.
    pub argv: Vec<String>,
    /// The path that the order is sent to.
    pub path: String,
    /// The arguments that are known.
    pub known: Map<String, Value>,
    /// What a person fills in.
    pub inputs: Vec<OrderInput>,
    /// Whether the task asks for it; any other order is possible, but nothing calls for it.
    pub is_offered: bool,
}

/// Something that a person fills in.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderInput {
    /// The name of the argument, or of a member of the argument after a `/`.
    pub name: String,
    /// What it means.
    pub label: String,
    /// Whether the order needs it.
    pub is_required: bool,
    /// What may be filled in.
    pub form: InputForm,
}

/// What may be filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum InputForm {
    /// A reason, in words.
    Reason,
    /// A text of several lines.
    Lines,
    /// A text.
    Text,
    /// A value as JSON, such as a number; what is not JSON is a text.
    Value,
    /// Values separated by commas.
    List,
    /// One of these values.
    OneOf(Vec<Value>),
}

impl InputForm {
    /// How the script reads the input.
    fn kind(&self) -> &'static str {
        match self {
            Self::Reason | Self::Lines | Self::Text => "text",
            Self::Value => "value",
            Self::List => "list",
            Self::OneOf(_) => "choice",
        }
    }
}

impl OrderForm {
    /// Whether only a person may give it.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        needs_person(&self.name)
    }

    /// The button, and the dialog that it opens. `number` tells the orders of a page apart.
    pub(super) fn button(&self, number: usize) -> Markup {
        let dialog = format!("order-{number}");
        html! {
            button.order.{ "order-" (self.name) } id={ "give-" (number) } type="button" hidden data-dialog=(dialog)
                data-order=(self.name) aria-haspopup="dialog" {
                span.order-name { (self.label()) } " " bdi.effect { (marked(&self.effect)) }
            }
            (self.dialog(&dialog))
        }
    }

    /// What the order is called on a button.
    fn label(&self) -> &str {
        if self.name == "newTask" {
            "new task"
        } else {
            &self.name
        }
    }

    /// The dialog that asks for what the order needs.
    pub(super) fn dialog(&self, dialog: &str) -> Markup {
        let known = Value::Object(self.known.clone()).to_string();
        html! {
            dialog id=(dialog) aria-labelledby={ (dialog) "-name" } {
                form method="dialog" data-path=(self.path) data-known=(known) data-order=(self.name) {
                    h2 id={ (dialog) "-name" } {
                        (self.label())
                        @if !self.effect.is_empty() { ": " bdi { (marked(&self.effect)) } }
                    }
                    @for (index, input) in self.inputs.iter().enumerate() {
                        (input.field(&format!("{dialog}-{index}")))
                    }
                    @if !self.argv.is_empty() { p.dim { code { (command(&self.argv)) } } }
                    p.bad.problem role="alert" {}
                    p.buttons {
                        button type="button" data-close { "Cancel" }
                        button.primary type="submit" { (if self.name == "newTask" { "create" } else { self.label() }) }
                    }
                }
            }
        }
    }
}

impl OrderInput {
    fn field(&self, id: &str) -> Markup {
        let kind = self.form.kind();
        html! {
            p.field {
                label for=(id) { (marked(&self.label)) }
                @match &self.form {
                    InputForm::Reason => {
                        textarea id=(id) name=(self.name) data-kind=(kind) rows="3" required[self.is_required] {}
                    }
                    InputForm::Lines => {
                        textarea id=(id) name=(self.name) data-kind=(kind) rows="7" required[self.is_required] {}
                    }
                    InputForm::OneOf(values) => {
                        select id=(id) name=(self.name) data-kind=(kind) required[self.is_required] {
                            @if !self.is_required { option value="" { "" } }
                            @for value in values {
                                option value=(value.to_string()) { (value.as_str().map_or_else(|| value.to_string(), str::to_owned)) }
                            }
                        }
                    }
                    InputForm::Text | InputForm::Value | InputForm::List => {
                        input id=(id) name=(self.name) data-kind=(kind) type="text" autocomplete="off" required[self.is_required];
                    }
                }
            }
        }
    }
}
