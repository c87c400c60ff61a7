//! `orch serve`: an HTTP API, for programs and browsers.
//!
//! A route is a command of `orch` with `--json`: [`routes`] says which, and how its arguments are written. It is
//! executed in this process for the caller that the token of the request means, so answers, checks, rights and codes
//! are those of the command line. [`gate`] decides which requests are answered. HTTP is that of the crates `axum` and
//! `hyper`. Their runtime exists only while this command runs.

mod arguments;
mod body;
mod events;
mod gate;
mod generations;
mod issues;
mod live;
mod loop_changes;
mod loop_generate;
mod loop_list;
mod loop_socket;
mod loops;
mod openapi;
mod orders;
mod output;
mod pages;
mod paging;
mod problem;
mod request;
mod router;
mod routes;
mod server;
mod service;
mod started;
mod tokens;

pub use openapi::openapi;

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use super::report;
use crate::cli::random::random;
use crate::cli::remote::CommandRunner;
use events::Events;
use gate::RequestGate;
use live::{LiveWatch, RunNews};
use orch_base::{Code, Hint};
use orch_engine::drive::WatchMode;
use orch_engine::run::{kill_all, open_url};
use service::Service;
use std::io::ErrorKind;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokens::Tokens;
use tokio::sync::watch;

/// A route, as a face of its command.
#[cfg(all(feature = "mcp", feature = "repl"))]
pub(super) struct RouteFace {
    /// The command, as it is typed.
    pub command: String,
    /// Whether the board has a button for it where it is offered.
    pub is_button: bool,
    method: &'static str,
    path: &'static str,
}

#[cfg(all(feature = "mcp", feature = "repl"))]
impl RouteFace {
    /// The method and the path, as Markdown.
    pub(super) fn text(&self) -> String {
        format!("`{} {}`", self.method, self.path)
    }
}

/// The routes, each with its command.
#[cfg(all(feature = "mcp", feature = "repl"))]
pub(super) fn faces() -> impl Iterator<Item = RouteFace> {
    routes::ROUTES.iter().map(move |route| RouteFace {
        // What follows the command are options.
        command: route
            .command
            .iter()
            .take_while(|word| !word.starts_with("--"))
            .copied()
            .collect::<Vec<_>>()
            .join(" "),
        is_button: orders::BUTTONS.contains(&route.name),
        method: if route.writes { "POST" } else { "GET" },
        path: route.path,
    })
}

/// The paths that no command answers.
#[cfg(any(test, all(feature = "mcp", feature = "repl")))]
pub(super) fn paths_without_command() -> [&'static str; 4] {
    [
        gate::HEALTH,
        openapi::PATH,
        openapi::EVENTS,
        openapi::OUTPUT,
    ]
}

/// How long the order in progress and the watch may take to end, each after the one before.
const END: Duration = Duration::from_secs(20);

/// Serve tasks and orders by HTTP, for programs and the browser.
///
/// Prints a URL that signs a browser in. Programs send the header `Authorization: Bearer TOKEN`; the tokens are in
/// `orch/serve.json` in the git directory, which only its owner can read. The token `person` acts as the person who
/// started the server, and the token `agent` as an agent, with the rights that both have on the command line. The API
/// is described at `/api/v1/openapi.json`.
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
    #[arg(long, value_name = "NAME", value_parser = gate::host_name)]
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
    let Some(store) = workspace.reader().store() else {
        return Err(
            Failure::new(Code::NoRepository, "orch serve needs a git repository")
                .hint(Hint::run(&["git", "init"])),
        );
    };
    context.keep_log(&workspace);
    let tokens = Tokens::of(store.layout().common_directory())?;
    let kept = store
        .layout()
        .common_directory()
        .join("orch")
        .join(tokens::FILE);
    let cannot = |error: std::io::Error| Failure::new(Code::Io, format!("cannot serve: {error}"));
    let listener =
        TcpListener::bind(args.listen).map_err(|error| cannot_listen(args.listen, &error))?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let listens = listener.local_addr().map_err(cannot)?;
    let (stop, stopped) = watch::channel(false);
    let word = random(8).map_err(cannot)?;
    let events = Events::new(word);
    let mode = if args.read_only || args.no_watch {
        WatchMode::Look
    } else {
        WatchMode::Apply
    };
    let watch = LiveWatch::start(workspace, context, mode, &events)?;
    let runner = CommandRunner::of(context);
    let opened = runner.clone();
    let news = RunNews::begin(move || opened.workspace(), &context.caller, &events);
    context.interrupts.instead(move || {
        stop.send_replace(true);
    });
    report::text(
        context,
        ui,
        &format!("http://{}/?token={}\n", reached_at(listens), tokens.person),
    )?;
    ui.status(&format!("the token of agents is in {}", kept.display()));
    let sessions = Tokens::random().map_err(cannot)?;
    let ticket = args.open.then(|| random(16)).transpose().map_err(cannot)?;
    if let Some(ticket) = &ticket
        && let Err(error) = open_url(&format!("http://{}/?token={ticket}", reached_at(listens)))
    {
        ui.problem(&format!("cannot open a browser: {error}"));
        ui.hint(&"open the URL above".into());
    }
    let ticket = Mutex::new(ticket);
    let gate = RequestGate {
        tokens,
        sessions,
        ticket,
        listens,
        hosts: args.host.clone(),
        read_only: args.read_only,
    };
    let service = Arc::new(Service::new(runner, gate, (events, news), stopped.clone()));
    let queue = Arc::clone(&service.queue);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let served = runtime.block_on(server::serve(listener, service, stopped));
    // An order that has begun is completed. If it takes too long, the next command completes its commit or takes it
    // back, as after any process that was killed.
    queue.finish(END);
    watch.end(END);
    // No program outlives the server: until the process exits, none starts.
    let _none_starts = ManuallyDrop::new(kill_all());
    runtime.shutdown_background();
    served.map_err(cannot)?;
    Ok(ExitCode::Fine)
}

/// The address by which a browser on this machine reaches the server: none reaches all addresses at once.
fn reached_at(listens: SocketAddr) -> SocketAddr {
    let loopback: IpAddr = match listens {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    if listens.ip().is_unspecified() {
        SocketAddr::new(loopback, listens.port())
    } else {
        listens
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => Hint::from("another server is listening there; for a free port: ")
            .command(&["orch", "serve", "--listen", "127.0.0.1:0"]),
        ErrorKind::PermissionDenied => "choose a port above 1023".into(),
        ErrorKind::AddrNotAvailable => {
            "choose an address of this machine, such as 127.0.0.1:4747".into()
        }
        _ => "choose another address with --listen".into(),
    };
    Failure::new(
        Code::CannotListen,
        format!("cannot listen on {address}: {error}"),
    )
    .hint(hint)
}
