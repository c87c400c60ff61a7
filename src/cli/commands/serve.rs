//! `orch serve`: an HTTP API, for programs and browsers.

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use super::report;
use crate::cli::runner::CommandLineRunner;
use orch_base::Code;
use orch_engine::run::open_url;
use orch_serve::http::{HttpServer, ServerOptions, host_name};
use std::net::SocketAddr;
use std::sync::Arc;

/// Serve tasks and orders by HTTP, for programs and the browser.
///
/// Prints a URL that signs a browser in. Programs send the header `Authorization: Bearer TOKEN`; the tokens are in
/// `orch/serve.json` in the git directory, which only its owner can read. The token `person` acts as the person who
/// started the server, and the token `agent` as an agent, with the rights that both have on the command line: a server
/// that no person started at a terminal says that it takes no orders that need one. The API is described at
/// `/api/v1/openapi.json`.
///
/// Meanwhile it watches the tasks as `orch watch` does, and sends what happens to `/api/v1/events`. Ctrl-C ends it
/// after the orders in progress. Runs that clients started are interrupted; `orch run` continues them.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The address to listen on; with port 0 the system chooses one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4747")]
    listen: SocketAddr,
    /// Listen even if other machines can reach the address. Nothing is encrypted.
    #[arg(long)]
    public: bool,
    /// Another host name that clients use for the server, such as that of a proxy; repeatable.
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    host: Vec<String>,
    /// Open the board in the browser.
    #[arg(long)]
    open: bool,
    /// Refuse all orders, and apply nothing.
    #[arg(long)]
    read_only: bool,
    /// Do not apply what the rules decide as files change; only say what changes.
    #[arg(long)]
    no_watch: bool,
}

pub fn run(args: &ServeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::MANY)?;
    if !args.listen.ip().is_loopback() && !args.public {
        let message = format!("other machines can reach {}", args.listen);
        return Err(
            Failure::new(Code::NotLoopback, message).hint("listen on 127.0.0.1, or add --public")
        );
    }
    let workspace = context.workspace(ui)?;
    context.keep_log(&workspace);
    let options = ServerOptions {
        listen: args.listen,
        hosts: args.host.clone(),
        opens_browser: args.open,
        read_only: args.read_only,
        applies: !args.no_watch,
        others: vec![orch_loops::api()],
    };
    let runner = Arc::new(CommandLineRunner::of(context));
    let server = HttpServer::begin(workspace, runner, options)?;
    context.interrupts.instead(server.stop());
    report::text(context, ui, &format!("{}\n", server.url()))?;
    ui.status(&format!(
        "the token of agents is in {}",
        server.token_file().display()
    ));
    if let Some((why, hint)) = server.refusal() {
        ui.status(why);
        ui.hint(hint);
    }
    if let Some(url) = server.url_once()
        && let Err(error) = open_url(&url)
    {
        ui.problem(&format!("cannot open a browser: {error}"));
        ui.hint(&"open the URL above".into());
    }
    server.serve()?;
    Ok(ExitCode::Fine)
}
