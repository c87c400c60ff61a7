//! `orch schema`: a schema, or an example that it accepts.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::base::nearest;
use crate::scan;

/// Prints a schema by its name, or with `--example` a document that it accepts.
///
/// An artifact's name works too, where its schema has another.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The schema, for example `plan-review`.
    name: String,
    /// Print an example that the schema accepts.
    #[arg(long)]
    example: bool,
}

pub fn run(args: &SchemaArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let system = workspace.system();
    let dashed = args.name.replace('_', "-");
    let found = [&args.name, &dashed].into_iter().find_map(|name| system.schema(name));
    let Some(text) = found else {
        let failure =
            Failure::new(ExitCode::Usage, "unknown-schema", format!("there is no schema `{}`", args.name));
        let names: Vec<&str> = system.names("schemas", ".schema.json").collect();
        return Err(match nearest(&args.name, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("there are: {}", names.join(", "))),
        });
    };
    if !args.example {
        ui.answer(&format!("{}\n", text.trim_end()))?;
        return Ok(ExitCode::Fine);
    }
    let Some(example) = scan::example(text) else {
        let message = format!("schema `{}` gives no example that it accepts", args.name);
        return Err(Failure::new(ExitCode::No, "no-example", message).hint("add one to its `examples`"));
    };
    ui.answer(&format!("{example:#}\n"))?;
    Ok(ExitCode::Fine)
}
