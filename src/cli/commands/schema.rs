//! `orch schema`: a schema, or an example that it accepts.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::{Code, nearest};
use orch_read::example;

/// Print a schema, or an example that it accepts.
///
/// Exits with 2 if there is no such schema, and with 1 if `--example` finds no example in it.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The name of a schema, such as `plan-review`, or of an artifact that uses one.
    #[arg(value_name = "NAME")]
    schema_name: String,
    /// Print a document that the schema accepts instead of the schema.
    #[arg(long)]
    example: bool,
}

pub fn run(args: &SchemaArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let system = workspace.settings().system();
    let dashed = args.schema_name.replace('_', "-");
    let found = [&args.schema_name, &dashed]
        .into_iter()
        .find_map(|name| system.schema(name));
    let Some(text) = found else {
        let failure = Failure::new(
            Code::UnknownSchema,
            format!("there is no schema `{}`", args.schema_name),
        );
        let names: Vec<&str> = system.names("schemas", ".schema.json").collect();
        return Err(match nearest(&args.schema_name, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("the schemas are {}", names.join(", "))),
        });
    };
    if !args.example {
        context.page(ui, &format!("{}\n", text.trim_end()))?;
        return Ok(ExitCode::Fine);
    }
    let Some(example) = example(text) else {
        let message = format!(
            "cannot derive an example from schema `{}`",
            args.schema_name
        );
        return Err(
            Failure::new(Code::NoExample, message).hint("add one to the schema's `examples`")
        );
    };
    context.page(ui, &format!("{example:#}\n"))?;
    Ok(ExitCode::Fine)
}
