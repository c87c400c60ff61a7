//! The protocol: what a client may call, and what it is told when something changes.

use super::agent::{Agent, document};
use super::input::EndingInput;
use super::news::{ResourceChange, ResourceNews};
use super::resources;
use super::tools::AgentTool;
use crate::{Excluded, WorkQueue, WorkTerms};
use orch_base::locked;
use orch_view::{Advice, ErrorView, line};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Extensions,
    Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, RoleServer, ServiceExt, SubscriptionContext,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch::Sender;

/// The longest message that is read, in bytes. A longer one is passed over.
const MESSAGE: usize = 4 * 1024 * 1024;
/// How many resources are listed at a time.
const PAGE: usize = 200;
/// What a client tells its model about this server.
const ABOUT: &str = "orch moves tasks by their files. Loop: suggest, prompt, write the files it names, next. \
    Rules decide from the files; what needs a person is refused, so tell the person.";

/// Serves the client on stdin and stdout until stdin ends. Returns what went wrong with the first messages.
pub(super) async fn serve(server: OrchServer) -> Result<(), String> {
    let (stdin, stdout) = rmcp::transport::io::stdio();
    let stdin = EndingInput {
        inner: stdin,
        ended: server.ended.clone(),
    };
    let transport = AsyncRwTransport::new_server(stdin, stdout).with_max_line_length(MESSAGE);
    match server.serve(transport).await {
        // However the connection ends, there is no client left to tell.
        Ok(running) => drop(running.waiting().await),
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}

/// The server of one client, or of one request if requests stand alone.
#[derive(Clone)]
pub(crate) struct OrchServer {
    agent: Agent,
    tools: Arc<[AgentTool]>,
    news: ResourceNews,
    /// What waits and what is executed.
    queue: Arc<WorkQueue>,
    /// Whether the client stays connected.
    is_connected: bool,
    /// The name that a client has given besides the protocol.
    named: fn(&Extensions) -> Option<String>,
    /// The URIs that a client of an earlier protocol subscribed to.
    subscribed: Arc<Mutex<BTreeSet<String>>>,
    /// Whether stdin has ended.
    ended: Sender<bool>,
    /// Whether nothing begins any more. What a client has sent before the end of stdin does.
    stopped: Sender<bool>,
}

impl OrchServer {
    pub(super) fn new(agent: Agent, queue: Arc<WorkQueue>) -> Self {
        Self {
            news: ResourceNews::new(agent.clone()),
            tools: agent.tools().into(),
            agent,
            queue,
            is_connected: true,
            named: |_| None,
            subscribed: Arc::default(),
            ended: Sender::new(false),
            stopped: Sender::new(false),
        }
    }

    /// The same for a request that stands alone.
    #[cfg(feature = "api")]
    pub(super) fn of_request(&self, named: fn(&Extensions) -> Option<String>) -> Self {
        Self {
            is_connected: false,
            named,
            subscribed: Arc::default(),
            ..self.clone()
        }
    }

    /// Ends what listens to changes, and lets nothing begin.
    #[cfg(feature = "api")]
    pub(super) fn end(&self) {
        self.stopped.send_replace(true);
        self.ended.send_replace(true);
    }

    /// Does something that may take a while in another thread, when there is a place for it. Returns an error if it has
    /// not begun, or not ended in time. A panic there is one here.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let done = self
            .queue
            .execute(WorkTerms::default(), self.stopped.subscribe(), move |_| {
                Ok(work())
            });
        done.await.map_err(|error| {
            let data = json!({"code": error.code().as_str()});
            let data = Advice::from(error.hint()).within(data);
            ErrorData::internal_error(error.to_string(), Some(data))
        })
    }
}

impl ServerHandler for OrchServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        let own = Implementation::new("orch", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(ABOUT)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.tools.iter().map(AgentTool::wire).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let named = |tool: &&AgentTool| tool.name == request.name;
        let Some(tool) = self.tools.iter().find(named) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            let message = format!(
                "there is no tool `{}`; the tools are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let given: JsonObject = request.arguments.unwrap_or_default();
        let words = match tool.command(&given) {
            Ok(words) => words,
            Err(why) => return Ok(CallToolResult::error(vec![ContentBlock::text(why)]).into()),
        };
        let named = (self.named)(&context.extensions);
        let client = named.or_else(|| context.client_info().map(|client| client.name));
        let agent = self.agent.clone();
        let excludes = if tool.writes {
            Excluded::Orders
        } else {
            Excluded::Nothing
        };
        let terms = WorkTerms {
            is_order: tool.writes,
            excludes,
            within: None,
        };
        let named = given.get("task").and_then(Value::as_str).map(str::to_owned);
        let leads_on = tool.leads_on;
        let work = move |waited| {
            let printed = agent.execute(&words, client.as_deref(), waited);
            let next = if leads_on {
                agent.next_line(&printed, named)
            } else {
                None
            };
            Ok((printed, next))
        };
        let done = self
            .queue
            .execute(terms, self.stopped.subscribe(), work)
            .await;
        // As if the command had failed, so that the agent reads what to do.
        let (printed, next) = done.unwrap_or_else(|error| (line(&ErrorView::of(&error)), None));
        Ok(answer(tool, printed, next).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let agent = self.agent.clone();
        let all = self
            .in_background(move || {
                agent
                    .workspace()
                    .map(|workspace| resources::all(&workspace))
            })
            .await?;
        let all = all.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let start = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => {
                let known = cursor.parse().ok().filter(|start| *start <= all.len());
                known.ok_or_else(|| {
                    ErrorData::invalid_params(format!("unknown cursor `{cursor}`"), None)
                })?
            }
        };
        let mut page =
            ListResourcesResult::with_all_items(all[start..].iter().take(PAGE).cloned().collect());
        page.next_cursor = (start + PAGE < all.len()).then(|| (start + PAGE).to_string());
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let agent = self.agent.clone();
        let uri = request.uri.clone();
        let read = self
            .in_background(move || resources::read(&agent, &uri))
            .await?;
        let (text, media) = read.ok_or_else(|| not_found(&request.uri))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type(media);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let news = self.news.clone();
        let uri = request.uri.clone();
        if locked(&self.subscribed).contains(&request.uri) {
            return Ok(());
        }
        if !self.in_background(move || news.subscribe(&uri)).await? {
            self.news.unsubscribe(&request.uri);
            return Err(not_found(&request.uri));
        }
        locked(&self.subscribed).insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if locked(&self.subscribed).remove(&request.uri) {
            self.news.unsubscribe(&request.uri);
        }
        Ok(())
    }

    /// A client of an earlier protocol hears of changes from now on.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.is_connected {
            return;
        }
        let server = self.clone();
        tokio::spawn(async move {
            let news = server.news.clone();
            let hearing = news.clone();
            let Ok(mut heard) = server.in_background(move || hearing.hear()).await else {
                return;
            };
            loop {
                let sent = match heard.recv().await {
                    Ok(ResourceChange::List) => context.peer.notify_resource_list_changed().await,
                    Ok(ResourceChange::Text(uri)) if locked(&server.subscribed).contains(&uri) => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        context.peer.notify_resource_updated(changed).await
                    }
                    Ok(ResourceChange::Text(_)) | Err(RecvError::Lagged(_)) => Ok(()),
                    Err(RecvError::Closed) => return,
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context
            .accepted()
            .resource_subscriptions
            .clone()
            .unwrap_or_default();
        let hears_list = context.accepted().resources_list_changed == Some(true);
        let news = self.news.clone();
        let subscribed = uris.clone();
        let begun = self.in_background(move || {
            // A resource that does not exist yet may come.
            for uri in &subscribed {
                let _is_there = news.subscribe(uri);
            }
            news.hear()
        });
        let mut heard = begun.await?;
        let mut ended = self.ended.subscribe();
        let sending = async {
            loop {
                let sent = match heard.recv().await {
                    Ok(ResourceChange::List) if hears_list => {
                        context.sink().notify_resource_list_changed().await
                    }
                    Ok(ResourceChange::Text(uri)) if uris.contains(&uri) => {
                        context.sink().notify_resource_updated(uri).await
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => Ok(()),
                    Err(RecvError::Closed) => break,
                };
                if sent.is_err() {
                    break;
                }
            }
        };
        // A notification that is being sent when the input ends would never be reported as sent.
        tokio::select! {
            () = sending => {}
            () = context.cancelled() => {}
            _ = ended.wait_for(|has_ended| *has_ended) => {}
        }
        uris.iter().for_each(|uri| self.news.unsubscribe(uri));
        Ok(())
    }
}

/// The result of a tool: the document that the command printed, or the text in it that is meant for the agent; then what
/// comes next. The document is a text and no structured content: of a result with both, some programs show their model
/// the one, some the other, and some both.
fn answer(tool: &AgentTool, printed: String, next: Option<String>) -> CallToolResult {
    let printed = printed.trim_end().to_owned();
    let document = document(&printed).unwrap_or_default();
    if document["kind"] == json!("error") {
        return CallToolResult::error(vec![ContentBlock::text(printed)]);
    }
    let text = tool.text.and_then(|key| document[key].as_str());
    let text = text.map_or(printed, str::to_owned);
    // Some programs join the parts of an answer without a space.
    let next = next.map(|next| format!("\n{next}"));
    let blocks = [text].into_iter().chain(next).map(ContentBlock::text);
    CallToolResult::success(blocks.collect())
}

fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))
}
