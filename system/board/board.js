// The live board. Every page works without this script; with it, cards and pages follow the event stream, tasks are
// filtered while typing and reached by keyboard, and orders can be given, one decision after the other. The server decides what is shown and allowed.
"use strict";

const body = document.body;
const main = document.querySelector("main");
const live = document.getElementById("live");
const isBoard = body.classList.contains("board");
const isOverview = body.classList.contains("overview");
const ownTask = body.dataset.task;

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const told = document.getElementById("told");
const takeBack = document.getElementById("take-back");
// What everybody sees anyhow, for those who do not see it.
const say = (text) => { live.textContent = text; };
// What an order has done, or has not.
const tell = (text) => {
  told.querySelector("p").textContent = text;
  told.hidden = text === "";
  takeBack.hidden = true;
};
const SIGN_IN = "Signed out. Open the URL that orch serve prints when it starts.";
// A text in which what stands between two backticks is code, as on the page.
function showMarked(element, text) {
  const parts = text.split("`");
  const whole = parts.length % 2 === 1 ? parts.length : parts.length - 2;
  const nodes = parts.slice(0, whole).map((part, index) => {
    if (index % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
  element.replaceChildren(...nodes, ...(whole < parts.length ? [parts.slice(whole).join("`")] : []));
}
const isDialogOpen = () => document.querySelector("dialog[open]") !== null;

// The server takes no longer for an answer. One that never comes must not keep later ones away.
const PATIENCE = 200_000;

async function get(path) {
  const answer = await fetch(path, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// What is shown is renewed by one after the other, so that an older answer never replaces a newer one.
let renewal = Promise.resolve();
function inTurn(renew) {
  const turn = renewal.then(renew);
  renewal = turn.catch(() => {});
  return turn;
}

// --- Cards -----------------------------------------------------------------------------------------------------------

const cardOf = (task) => main.querySelector(`.card[data-task="${CSS.escape(task)}"]`);

// What a card says, apart from how long ago.
function essence(card) {
  const copy = card.cloneNode(true);
  copy.hidden = false;
  copy.classList.remove("changed");
  copy.querySelector("time")?.replaceChildren();
  return copy.outerHTML;
}

// The order of the server: the most urgent first, then the one that has not moved for longest, then by id.
function isBefore(one, other) {
  const keys = (card) => [card.dataset.urgency, card.dataset.since || "9", card.dataset.task];
  const [a, b] = [keys(one), keys(other)];
  const at = a.findIndex((key, index) => key !== b[index]);
  return at >= 0 && a[at] < b[at];
}

function columnOf(card) {
  const { workflow, phase } = card.dataset;
  const section = all(".workflow", main).find((one) => one.dataset.workflow === workflow);
  return section && all(".column", section).find((one) => one.dataset.phase === phase);
}

// Puts a card in its place. Returns false if the page has no place for it.
function place(card) {
  const column = columnOf(card);
  if (!column) return false;
  const { task, phase } = card.dataset;
  const old = cardOf(task);
  if (old && essence(old) === essence(card)) return true;
  const hasFocus = old !== null && old.contains(document.activeElement);
  const isMoved = old === null || old.closest(".column") !== column;
  const cards = all(".card", column).filter((other) => other !== old);
  const next = cards.find((other) => isBefore(card, other));
  const list = next ? next.parentElement : all(".cards", column).at(-1);
  old?.remove();
  list.insertBefore(card, next ?? null);
  if (hasFocus) card.querySelector("a").focus();
  if (isMoved) say(`${task} is now in ${phase}`);
  card.classList.add("changed");
  setTimeout(() => card.classList.remove("changed"), 2000);
  return true;
}

// Renews the cards of these tasks, or of all.
async function refreshCards(tasks) {
  const query = new URLSearchParams((tasks ?? []).map((task) => ["task", task]));
  const page = await get(tasks ? `/cards?${query}` : location.href);
  const cards = all(".card", page).map((card) => document.importNode(card, true));
  const found = new Set(cards.map((card) => card.dataset.task));
  for (const task of tasks ?? all(".card", main).map((card) => card.dataset.task)) {
    if (!found.has(task)) cardOf(task)?.remove();
  }
  cards.forEach(match);
  // A workflow or a phase that the page does not have yet.
  if (!cards.every(place)) return refreshPage();
  count();
}

// Counts what is shown, folds columns that show nothing, and puts those that need a person first.
function count() {
  for (const workflow of all(".workflow", main)) {
    const columns = all(".column", workflow);
    for (const column of columns) {
      const number = all(".card:not([hidden])", column).length;
      column.querySelector(".count").textContent = number;
      column.classList.toggle("empty", number === 0);
      column.classList.toggle("needs", column.querySelector('.card[data-owner="human"]') !== null);
    }
    const rank = (column) => (column.classList.contains("needs") ? 0 : 1000) + Number(column.dataset.at);
    const inOrder = columns.toSorted((one, other) => rank(one) - rank(other));
    if (inOrder.some((column, index) => column !== columns[index])) {
      const focused = document.activeElement;
      workflow.querySelector(".columns").append(...inOrder);
      if (focused !== document.activeElement) focused.focus();
    }
    const shown = all(".card:not([hidden])", workflow).length;
    workflow.querySelector(".tasks").textContent = shown === 1 ? "1 task" : `${shown} tasks`;
  }
  const found = all(".card", main).filter(hasText).map((card) => card.dataset.owner);
  for (const chip of all("[data-filter-owner]", main)) {
    const wanted = chip.dataset.filterOwner;
    const number = wanted === "" ? found.length : found.filter((one) => one === wanted).length;
    chip.querySelector(".count").textContent = number;
    chip.parentElement.hidden = number === 0 && wanted !== "" && wanted !== owner;
  }
  const waiting = found.filter((one) => one === "human").length;
  const decide = document.getElementById("decide");
  if (decide) {
    decide.hidden = waiting === 0;
    decide.querySelector(".count").textContent = waiting;
  }
  const none = document.getElementById("no-match");
  if (none) none.hidden = main.querySelector(".card:not([hidden])") !== null;
}

// --- Filter ----------------------------------------------------------------------------------------------------------

const search = document.getElementById("search");
let owner = new URLSearchParams(location.search).get("owner") ?? "";

// Whether a card says what is searched for, as the server decides it.
function hasText(card) {
  const wanted = search.value.trim().toLowerCase();
  if (wanted === "") return true;
  const { task, phase } = card.dataset;
  const said = ".card-name, .card-what > :last-child, .flag-invalid, .flag-stale";
  const texts = [task, phase, ...all(said, card).map((one) => one.textContent)];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

// The same as the filter of the server. The page of the task leads back to what is shown here.
function match(card) {
  card.hidden = !((owner === "" || card.dataset.owner === owner) && hasText(card));
  const link = card.querySelector("a");
  if (link) link.search = filterQuery();
}

function filterQuery() {
  const query = new URLSearchParams();
  if (search.value.trim() !== "") query.set("q", search.value.trim());
  if (owner !== "") query.set("owner", owner);
  return query.size ? `?${query}` : "";
}

function filter() {
  all(".card", main).forEach(match);
  const isFiltered = owner !== "" || search.value.trim() !== "";
  if (isFiltered) for (const more of all("details.more", main)) more.open = true;
  for (const chip of all("[data-filter-owner]", main)) {
    const isChosen = chip.dataset.filterOwner === owner;
    chip.setAttribute("aria-pressed", String(isChosen));
    chip.classList.toggle("chosen", isChosen);
  }
  history.replaceState(null, "", `/${filterQuery()}`);
  const decide = document.getElementById("decide");
  if (decide) decide.search = filterQuery();
  count();
  if (isFiltered) {
    const shown = all(".card:not([hidden])", main).length;
    say(shown === 1 ? "1 task matches" : `${shown} tasks match`);
  } else if (/ match(es)?$/.test(live.textContent)) {
    say("");
  }
}

if (isBoard) {
  search.addEventListener("input", filter);
  document.getElementById("filter").addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = event.submitter?.dataset.filterOwner;
    if (chosen !== undefined) owner = chosen === owner ? "" : chosen;
    filter();
  });
}

// --- Whole pages -----------------------------------------------------------------------------------------------------

let isStale = false;

// Texts that were typed into a form and not sent.
const typed = () => all("dialog input, dialog textarea", main).filter((input) => input.value !== input.defaultValue);
const inputName = (input) => `${input.form.dataset.order}/${input.name}`;

// Replaces what the page shows, and keeps what is open or typed, how far it is scrolled, and what has the focus. A dialog
// that is open is left alone, and the page is renewed when it closes.
async function refreshPage() {
  const page = isDialogOpen() ? null : await get(location.href);
  if (isDialogOpen()) {
    isStale = true;
    return;
  }
  const fresh = page?.querySelector("main") ?? null;
  if (fresh === null) return;
  // Where the task is among those that wait.
  const queues = [document.querySelector(".queue"), page.querySelector(".queue")];
  if (queues[0]?.outerHTML !== queues[1]?.outerHTML) {
    queues[0]?.remove();
    if (queues[1]) keys.before(document.importNode(queues[1], true));
  }
  const open = new Set(all("details[open]", main).map((details) => details.dataset.name));
  const texts = new Map(typed().map((input) => [inputName(input), input.value]));
  const scrollers = () => all(".columns, .stack", main);
  const scrolled = scrollers().map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = document.activeElement?.closest("[id]")?.id;
  const output = document.getElementById("output");
  // An element that leaves the page forgets how far it is scrolled.
  const at = output && (isAtEnd(output) ? Infinity : output.scrollTop);
  main.replaceChildren(...document.importNode(fresh, true).childNodes);
  for (const details of all("details", main)) if (open.has(details.dataset.name)) details.open = true;
  for (const input of all("dialog input, dialog textarea", main)) input.value = texts.get(inputName(input)) ?? input.value;
  scrollers().forEach((one, index) => { [one.scrollLeft, one.scrollTop] = scrolled[index] ?? [0, 0]; });
  const freshOutput = document.getElementById("output");
  const isSame = output !== null && freshOutput?.dataset.run === output.dataset.run;
  if (isSame) freshOutput.replaceWith(output);
  if (focused) document.getElementById(focused)?.focus();
  begin();
  if (isSame) output.scrollTop = Math.min(at, output.scrollHeight);
}

// --- Orders ----------------------------------------------------------------------------------------------------------

// The value of an input, or undefined if it was left out.
function valueOf(input) {
  const text = input.value.trim();
  if (text === "") return undefined;
  const asJson = (one) => { try { return JSON.parse(one); } catch { return one; } };
  switch (input.dataset.kind) {
    case "list": return text.startsWith("[") ? asJson(text) : text.split(",").map((item) => asJson(item.trim()));
    case "choice": case "value": return asJson(text);
    default: return text;
  }
}

async function send(form) {
  const problem = form.querySelector(".problem");
  const given = JSON.parse(form.dataset.known);
  for (const input of all("[data-kind]", form)) {
    const [name, key] = input.name.split("/");
    const value = valueOf(input);
    if (value === undefined) continue;
    if (key === undefined) given[name] = value;
    else (given[name] ??= {})[key] = value;
  }
  const buttons = all("button", form);
  buttons.forEach((button) => { button.disabled = true; });
  problem.textContent = "";
  try {
    const tag = main.querySelector("[data-tag]")?.dataset.tag;
    const answer = await fetch(form.dataset.path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(tag && { "if-match": tag }) },
      body: JSON.stringify(given),
    });
    const said = await answer.json();
    if (!answer.ok) {
      showMarked(problem, [said.detail, said.hint].filter(Boolean).join(" – "));
      if (answer.status === 412) isStale = true;
      return;
    }
    form.closest("dialog").close();
    form.reset();
    await ordered(form.dataset.order, given, said);
  } catch (error) {
    problem.textContent = `The server does not answer: ${error.message}`;
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

// After these orders the decision after this one opens.
const DECISIONS = ["approve", "reject", "answer"];
const TOLD = "orch-told";

// What an order has done is told, here or on the page that is opened next.
async function ordered(order, given, said) {
  const step = said.transitions?.at(-1);
  const task = ownTask ?? given.id;
  const what = step ? `${task}: ${step.from ?? "new"} → ${step.to}` : said.reason ?? `${task}: done`;
  const at = document.getElementById("place")?.dataset.at;
  if (DECISIONS.includes(order) && at) {
    sessionStorage.setItem(TOLD, JSON.stringify({ what, task }));
    const query = new URLSearchParams(location.search);
    query.set("at", at);
    location.href = `/decide?${query}`;
    return;
  }
  await inTurn(() => isBoard ? refreshCards([task]) : refreshPage());
  tell(order === "newTask" ? `${task} was created` : what);
  if (["approve", "reject", "override", "rollback", "reopen", "confirm"].includes(order)) offerTakingBack(task);
  if (order === "newTask") cardOf(task)?.querySelector("a").focus();
}

// Takes the last decision back with one press: it can be given again.
function offerTakingBack(task) {
  takeBack.hidden = false;
  takeBack.onclick = async () => {
    takeBack.hidden = true;
    const answer = await fetch(`/api/v1/tasks/${encodeURIComponent(task)}/undo`, {
      method: "POST", headers: { "content-type": "application/json" }, body: "{}",
    });
    const said = await answer.json();
    if (!answer.ok) return tell([said.detail, said.hint].filter(Boolean).join(" – "));
    sessionStorage.setItem(TOLD, JSON.stringify({ what: `${task}: the last order was taken back` }));
    location.href = `/tasks/${encodeURIComponent(task)}${location.search}`;
  };
}

function tellLast() {
  const last = JSON.parse(sessionStorage.getItem(TOLD) ?? "null");
  sessionStorage.removeItem(TOLD);
  if (last === null) return;
  tell(last.what);
  if (last.task) offerTakingBack(last.task);
}

// An id that a title suggests, until somebody writes another one.
function suggestId(dialog) {
  const [title, id] = ["title", "id"].map((name) => dialog.querySelector(`[name="${name}"]`));
  if (!title || !id) return;
  title.addEventListener("input", () => {
    if (id.dataset.own) return;
    const words = title.value.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().match(/[a-z0-9]+/g) ?? [];
    id.value = words.join("-").slice(0, 40).replace(/-[^-]*$/, (rest) => (words.join("-").length > 40 ? "" : rest));
  });
  id.addEventListener("input", () => { id.dataset.own = id.value === "" ? "" : "yes"; });
}

// Also the dialog of keys keeps a page from being renewed. The event does not bubble.
document.addEventListener("close", () => {
  if (!isStale) return;
  isStale = false;
  inTurn(refreshPage).catch(lost);
}, true);

// Shows what needs the script, in a page that has just been loaded or replaced.
function begin() {
  all(".orders, .other-orders", main).forEach((one) => { one.hidden = false; });
  for (const button of all("[data-dialog]", main)) {
    const dialog = document.getElementById(button.dataset.dialog);
    button.hidden = false;
    button.addEventListener("click", () => {
      dialog.showModal();
      // What has to be filled in, or else the button that gives the order.
      (dialog.querySelector("input, textarea, select") ?? dialog.querySelector(".primary")).focus();
    });
    if (button.id === "new") suggestId(dialog);
    dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
    dialog.addEventListener("keydown", (event) => {
      const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (isSent) dialog.querySelector("form").requestSubmit(dialog.querySelector(".primary"));
    });
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      send(event.target);
    });
  }
  all(".has-button", main).forEach((item) => { item.hidden = true; });
  begunOutput();
  if (isBoard) filter();
}

// --- The output of a run ---------------------------------------------------------------------------------------------

const MOST_OUTPUT = 200_000;
let outputStream = null;

const isAtEnd = (output) => output.scrollHeight - output.scrollTop - output.clientHeight < 20;

function begunOutput() {
  const output = document.getElementById("output");
  if (output === null) {
    outputStream?.close();
    outputStream = null;
    return;
  }
  output.closest("section").hidden = false;
  if (outputStream !== null && output.dataset.begun === output.dataset.run) return;
  outputStream?.close();
  output.textContent = "";
  output.dataset.begun = output.dataset.run;
  outputStream = new EventSource(output.dataset.output);
  outputStream.addEventListener("output", (event) => {
    const isFollowing = isAtEnd(output);
    const text = output.textContent + JSON.parse(event.data).text;
    output.textContent = text.length > MOST_OUTPUT ? `…${text.slice(-MOST_OUTPUT)}` : text;
    if (isFollowing) output.scrollTop = output.scrollHeight;
  });
  const over = () => outputStream?.close();
  outputStream.addEventListener("end", over);
  outputStream.addEventListener("error", () => { if (outputStream?.readyState === EventSource.CLOSED) over(); });
}

// --- Keys ------------------------------------------------------------------------------------------------------------

const help = document.getElementById("help");
const keys = document.getElementById("keys");
keys.hidden = false;
keys.addEventListener("click", () => help.showModal());

// The buttons and links of keys, the first that is there.
const KEYS = {
  a: ['.order[data-order="approve"]'], r: ['.order[data-order="reject"]'], u: ["#take-back", '.order[data-order="undo"]'],
  n: ["#new"], d: ["#decide", "#first-decision"], b: ["#back"], j: ["#next"], k: ["#previous"],
};

function press(key) {
  const one = KEYS[key].map((selector) => document.querySelector(selector)).find((found) => found && !found.hidden);
  const folded = one?.closest("details:not([open])");
  if (folded) folded.open = true;
  one?.click();
  return one !== undefined;
}

// The next card in a direction: within its column, or in the next column that has one, as near as possible.
function neighbour(card, key) {
  const shown = (column) => all(".card:not([hidden])", column).filter((one) => one.offsetParent !== null);
  const columns = all(".column", main).map(shown).filter((cards) => cards.length > 0);
  if (columns.length === 0) return undefined;
  const at = columns.findIndex((cards) => cards.includes(card));
  if (at < 0) return columns[0][0];
  const row = columns[at].indexOf(card);
  switch (key) {
    case "ArrowDown": return columns[at][row + 1];
    case "ArrowUp": return columns[at][row - 1];
    default: {
      const beside = columns[at + (key === "ArrowRight" ? 1 : -1)];
      return beside?.[Math.min(row, beside.length - 1)];
    }
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape" && event.target === search) {
      search.value = "";
      filter();
      search.blur();
    }
    return;
  }
  if (event.key === "/" && search) {
    search.focus();
  } else if (event.key === "?") {
    help.showModal();
  } else if (isBoard && (event.key.startsWith("Arrow") || event.key === "j" || event.key === "k")) {
    const arrow = { j: "ArrowDown", k: "ArrowUp" }[event.key] ?? event.key;
    const card = neighbour(document.activeElement?.closest(".card"), arrow);
    if (!card) return;
    card.querySelector("a").focus();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
  } else if (!Object.hasOwn(KEYS, event.key) || !press(event.key)) {
    return;
  }
  event.preventDefault();
});

// --- Events ----------------------------------------------------------------------------------------------------------

const changed = new Set();
let timer = null;
let isReset = false;

function lost(error) {
  if (body.dataset.live !== "out") tell(`Not up to date: ${error.message}`);
}

// Several events about a task come together, as do those that come while the page is renewed.
function later() {
  // All branches are read for an overview.
  timer ??= setTimeout(() => inTurn(renew).catch(lost).finally(() => {
    timer = null;
    if (isReset || changed.size > 0) later();
  }), isOverview ? 1000 : 60);
}

async function renew() {
  const [tasks, isWhole] = [[...changed], isReset || changed.size > 40];
  changed.clear();
  isReset = false;
  if (!isBoard) {
    if (isOverview || isWhole || tasks.includes(ownTask)) await refreshPage();
  } else if (isWhole) {
    await refreshCards();
  } else if (tasks.length > 0) {
    await refreshCards(tasks);
  }
}

// A server that was started again knows no browser.
async function isSignedOut() {
  try {
    return (await fetch("/assets/board.css", { cache: "no-store" })).status === 401;
  } catch {
    return false;
  }
}

function listen() {
  const events = new EventSource("/api/v1/events");
  const about = (event) => {
    const said = JSON.parse(event.data);
    const task = said.task ?? said.suggestion?.task ?? said.transition?.task ?? said.run?.task;
    if (task) changed.add(task);
    later();
  };
  ["transition", "suggestion", "held", "gone", "run"].forEach((name) => events.addEventListener(name, about));
  const everything = () => {
    isReset = true;
    later();
  };
  // What happened between the answer of the page and now is not in the stream.
  ["ready", "reset", "started"].forEach((name) => events.addEventListener(name, everything));
  events.addEventListener("open", () => {
    if (body.dataset.live !== "yes") say("");
    body.dataset.live = "yes";
  });
  events.addEventListener("error", async () => {
    // The browser tries again by itself, unless the server refuses.
    const isRefused = events.readyState === EventSource.CLOSED;
    const isOut = isRefused && await isSignedOut();
    if (isOut && body.dataset.live !== "out") say(SIGN_IN);
    if (!isOut && body.dataset.live !== "no") say("No connection to the server.");
    body.dataset.live = isOut ? "out" : "no";
    if (isRefused) setTimeout(listen, 5000);
  });
}

// --- Ages ------------------------------------------------------------------------------------------------------------

function age() {
  for (const time of all("time[data-age]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const [unit, length] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, one]) => seconds >= one) ?? [];
    time.textContent = unit ? `${Math.floor(seconds / length)} ${unit} ago` : "just now";
  }
}

begin();
tellLast();
listen();
setInterval(age, 60_000);
