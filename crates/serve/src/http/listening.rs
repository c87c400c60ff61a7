//! A server from its start to its end.

use super::events::Events;
use super::gate::RequestGate;
use super::live::{LiveWatch, RunNews};
use super::rights::refused_orders;
use super::server;
use super::service::{OtherApi, Service};
use super::sessions::Sessions;
use super::tokens::{self, Tokens};
use crate::CommandRunner;
use orch_base::{Code, Error, Hint};
use orch_engine::drive::WatchMode;
use orch_engine::random;
use orch_engine::run::kill_all;
use orch_engine::survey::Workspace;
use std::io::ErrorKind;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};

/// How long the order in progress and the watch may take to end, each after the one before.
const END: Duration = Duration::from_secs(20);

/// How a server is started.
pub struct ServerOptions {
    /// The address to listen on; with port 0 the system chooses one.
    pub listen: SocketAddr,
    /// Further names by which clients call the server.
    pub hosts: Vec<String>,
    /// Whether a browser is going to be opened, which needs a word that signs it in once.
    pub opens_browser: bool,
    /// Whether all orders are refused, and nothing is applied.
    pub read_only: bool,
    /// Whether the watch applies what the rules decide.
    pub applies: bool,
    /// The APIs that are served beside that of `orch`.
    pub others: Vec<OtherApi>,
}

/// A server that listens and watches, but does not answer yet.
pub struct HttpServer {
    service: Arc<Service>,
    listener: TcpListener,
    listens: SocketAddr,
    watch: LiveWatch,
    stop: Sender<bool>,
    stopped: Receiver<bool>,
    token_file: PathBuf,
    ticket: Option<String>,
    refusal: Option<(String, Hint)>,
}

impl HttpServer {
    /// Begins to listen and to watch. Returns an error if there is no git repository, or the address or the tokens cannot be
    /// used.
    pub fn begin(
        workspace: Workspace,
        runner: Arc<dyn CommandRunner>,
        options: ServerOptions,
    ) -> Result<Self, Error> {
        let Some(store) = workspace.reader().store() else {
            let error = Error::new(Code::NoRepository, "orch serve needs a git repository");
            return Err(error.with_hint(Hint::run(&["git", "init"])));
        };
        let shared = store.layout().common_directory();
        let tokens = Tokens::of(shared)?;
        let sessions = Sessions::of(shared, &tokens)?;
        let token_file = shared.join("orch").join(tokens::FILE);
        let listener = TcpListener::bind(options.listen)
            .map_err(|error| cannot_listen(options.listen, &error))?;
        listener.set_nonblocking(true).map_err(cannot_serve)?;
        let listens = listener.local_addr().map_err(cannot_serve)?;
        let refusal = refused_orders(&workspace, runner.caller()).filter(|_| !options.read_only);
        let (stop, stopped) = channel(false);
        let events = Events::new(random(8).map_err(cannot_serve)?);
        let mode = if options.read_only || !options.applies {
            WatchMode::Look
        } else {
            WatchMode::Apply
        };
        let watch = LiveWatch::start(workspace, runner.caller(), mode, &events)?;
        let opened = Arc::clone(&runner);
        let news = RunNews::begin(move || opened.workspace(), runner.caller(), &events);
        let ticket = if options.opens_browser {
            Some(random(16).map_err(cannot_serve)?)
        } else {
            None
        };
        let gate = RequestGate {
            tokens,
            sessions,
            clock: runner.caller().clock,
            ticket: Mutex::new(ticket.clone()),
            listens,
            hosts: options.hosts,
            read_only: options.read_only,
        };
        let service = Service::new(runner, gate, events, news, options.others, stopped.clone());
        Ok(Self {
            service: Arc::new(service),
            listener,
            listens,
            watch,
            stop,
            stopped,
            token_file,
            ticket,
            refusal,
        })
    }

    /// The URL that signs a browser in as the person who started the server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_with(&self.service.gate.tokens.person)
    }

    /// The same for the browser that is going to be opened, which may use it once.
    #[must_use]
    pub fn url_once(&self) -> Option<String> {
        let ticket = self.ticket.as_deref()?;
        Some(self.url_with(ticket))
    }

    fn url_with(&self, token: &str) -> String {
        format!("http://{}/?token={token}", reached_at(self.listens))
    }

    /// The file with the tokens.
    #[must_use]
    pub fn token_file(&self) -> &Path {
        &self.token_file
    }

    /// Why the server takes no orders that need a person although it takes others, and what helps; `None` if it takes
    /// them.
    #[must_use]
    pub fn refusal(&self) -> Option<&(String, Hint)> {
        self.refusal.as_ref()
    }

    /// What ends the server, from any thread.
    pub fn stop(&self) -> impl FnOnce() + Send + use<> {
        let stop = self.stop.clone();
        move || {
            stop.send_replace(true);
        }
    }

    /// Answers requests until it is stopped. Returns an error if connections cannot be accepted.
    pub fn serve(self) -> Result<(), Error> {
        let queue = Arc::clone(&self.service.queue);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot_serve)?;
        let served = runtime.block_on(server::serve(self.listener, self.service, self.stopped));
        // An order that has begun is completed. If it takes too long, the next command completes its commit or takes it
        // back, as after any process that was killed.
        queue.finish(END);
        self.watch.end(END);
        // No program outlives the server: until the process exits, none starts.
        let _none_starts = ManuallyDrop::new(kill_all());
        runtime.shutdown_background();
        served.map_err(cannot_serve)
    }
}

fn cannot_serve(error: std::io::Error) -> Error {
    Error::new(Code::Io, format!("cannot serve: {error}"))
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

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => Hint::from("another server is listening there; for a free port: ")
            .command(&["orch", "serve", "--listen", "127.0.0.1:0"]),
        ErrorKind::PermissionDenied => "choose a port above 1023".into(),
        ErrorKind::AddrNotAvailable => {
            "choose an address of this machine, such as 127.0.0.1:4747".into()
        }
        _ => "choose another address with --listen".into(),
    };
    Error::new(
        Code::CannotListen,
        format!("cannot listen on {address}: {error}"),
    )
    .with_hint(hint)
}
