//! Accepts connections, within limits, until it is stopped.

use super::body::{ImpatientStream, Unsent, UnsentBody};
use super::router::router;
use super::service::Service;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as HyperService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::watch::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How many connections are open at once; others wait.
const CONNECTIONS: u32 = 1024;
/// How long the head of a request may take to arrive, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(20);
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 32 * 1024;
/// How long the runs, and then the answers in progress, may take at the end.
const END: Duration = Duration::from_secs(20);
/// How long a connection may take at the end that has no answer in progress: the head of a request has arrived in part.
const LAST_HEAD: Duration = Duration::from_secs(1);

/// Serves until `stop` is true. Then the runs that clients started are ended, and answers in progress completed. Returns
/// an error if connections cannot be accepted.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    service: Arc<Service>,
    mut stop: Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let router = router(Arc::clone(&service));
    let places = Arc::new(Semaphore::new(CONNECTIONS as usize));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted,
            _ = stop.wait_for(|is_stopped| *is_stopped) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Such as too many open files: others may be closed meanwhile.
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let unsent = Unsent::default();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(
                TokioIo::new(ImpatientStream::new(stream, unsent.clone())),
                counted(router.clone(), unsent.clone()),
            )
            .with_upgrades();
        let mut ending = stop.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // Whatever ends a connection, there is nobody left to tell.
            let is_ending = tokio::select! {
                _ = connection.as_mut() => false,
                _ = ending.wait_for(|is_stopped| *is_stopped) => true,
            };
            if is_ending {
                connection.as_mut().graceful_shutdown();
                if timeout(LAST_HEAD, connection.as_mut()).await.is_err() && !unsent.is_nothing() {
                    let _ = connection.await;
                }
            }
            drop(place);
        });
    }
    drop(listener);
    // A fault in it ends nothing but this thread.
    let _ = spawn_blocking(move || service.end(END)).await;
    // A client that does not read its answer does not hold up the end.
    let _ = timeout(END, places.acquire_many(CONNECTIONS)).await;
    Ok(())
}

/// The routes for one connection: what is not sent of an answer counts until its end.
fn counted(
    router: Router,
    unsent: Unsent,
) -> impl HyperService<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Send {
    let routes = TowerToHyperService::new(router);
    service_fn(move |request| {
        let part = unsent.part();
        let answer = routes.call(request);
        async {
            answer
                .await
                .map(|answer| answer.map(|body| Body::new(UnsentBody::new(body, part))))
        }
    })
}
