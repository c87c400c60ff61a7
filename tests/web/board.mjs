// Drives the live board in a headless Chromium: what a person sees and does, and who is refused.
//
// Needs ORCH (the program) and CHROMIUM. SHOTS names a directory for screenshots. Words choose the stories whose names
// contain one of them. A story that fails prints what its pages show and what the servers have said.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const root = mkdtempSync(join(tmpdir(), "orch-web-"));
const home = mkdtempSync(join(tmpdir(), "orch-web-home-"));
const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C.UTF-8" };
const run = (program, ...words) => execFileSync(program, words, { cwd: root, env, encoding: "utf8" });
const orch = (...words) => run(process.env.ORCH, ...words);
const write = (path, text) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const plan = (task, what = "It.") =>
  write(`tasks/${task}/planning/plan.json`, JSON.stringify({ title: "Login", status: "final", why: "It fails.", what }));

// --- The repository and its server ---

run("git", "init", "--quiet", "--initial-branch=main");
run("git", "config", "user.name", "Ann");
run("git", "config", "user.email", "ann@example.org");
orch("init", "--quiet");
run("git", "add", ".");
run("git", "commit", "--quiet", "-m", "Set up");
orch("new", "t-1", "--title", "Log in with a passkey", "--quiet");
orch("new", "team/t-2", "--title", "Rotate the keys <script>alert(1)</script>", "--quiet");
orch("new", "t-3", "--title", "An earlier decision", "--quiet");
write("tasks/t-3/planning/plan.json", "{\n  \"title\": 3\n}\n");

/** What a server says, from its start on. */
const servers = [];
function heard(server) {
  const said = { text: "" };
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => { said.text += data; });
  servers.push(said);
  return said;
}

async function serve(options = [], listen = "127.0.0.1:0") {
  // A person starts it: the token of a person has only the rights of whoever did, and a program has none.
  const typed = ["exec", process.env.ORCH, "serve", "--listen", listen, ...options].join(" ");
  const server = spawn("script", ["-qfec", typed, "/dev/null"], { cwd: root, env: { ...env, SHELL: "/bin/sh" } });
  const said = heard(server);
  const url = await new Promise((found, failed) => {
    server.stdout.on("data", () => {
      const url = said.text.match(/^http:\S+(?=\s)/m);
      if (url) found(url[0]);
    });
    server.once("exit", () => failed(new Error(`orch serve ended: ${said.text}`)));
  });
  return { server, url, address: new URL(url).origin };
}

const main = await serve();
const tokens = JSON.parse(readFileSync(join(root, ".git/orch/serve.json"), "utf8"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

/** A page that is signed in; what it complains about fails the test. */
async function open(options = {}, { token = tokens.person, address = main.address, patience = 60_000 } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") page.complaints.push(message.text());
  });
  await page.goto(`${address}/?token=${token}`);
  return page;
}

/** Nothing that axe-core finds. The script is evaluated by the driver, which the policy of the page does not concern. */
async function isAccessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  assert.deepEqual(found, [], `axe-core: ${where}`);
}

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`), fullPage: true });
}

/** The answer to a request that no browser makes for a page. */
function ask(method, path, headers) {
  const { hostname, port } = new URL(main.address);
  return new Promise((done, failed) => {
    const asked = request({ hostname, port, method, path, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => done(answer.statusCode));
    });
    asked.on("error", failed);
    asked.end(method === "POST" ? "{}" : undefined);
  });
}

/** Holds the first answer that the page gets for itself and that contains `text`; once `came`, until `release()`. */
async function hold(page, text) {
  let isHeld = false;
  let come;
  let release;
  const came = new Promise((done) => { come = done; });
  const released = new Promise((done) => { release = done; });
  await page.route((url) => url.pathname.startsWith("/tasks/"), async (route) => {
    const response = await route.fetch();
    if (!isHeld && (await response.text()).includes(text)) {
      isHeld = true;
      come();
      await released;
    }
    await route.fulfill({ response });
  });
  return {
    came,
    async release() {
      release();
      // The page takes it.
      await page.waitForTimeout(500);
    },
  };
}

/** Opens the dialog of an order, which may be among those that are folded. */
/** Presses a key of the page. The keys are bound by its script, so the page must have run it. */
async function press(page, key) {
  await page.waitForSelector('body[data-live="yes"]');
  await page.keyboard.press(key);
}

async function order(page, name) {
  await page.waitForSelector('body[data-live="yes"]');
  const button = page.locator(`.order[data-order="${name}"]`).last();
  if (!await button.isVisible()) await page.locator(".other-orders summary").click();
  await button.click();
}

const column = (page, phase) => page.locator(`[data-phase="${phase}"]`).locator(".card .id");
const tests = {
  async "cards move while an artifact is written, without a shift of the layout"() {
    const page = await open();
    await column(page, "planning").filter({ hasText: /^t-1$/ }).waitFor();
    await page.waitForSelector('body[data-live="yes"]');
    await page.evaluate(() => {
      globalThis.shifts = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.shifts += entry.value;
      }).observe({ type: "layout-shift" });
    });
    plan("t-1");
    await column(page, "plan_review").filter({ hasText: /^t-1$/ }).waitFor();
    assert.equal(await column(page, "planning").filter({ hasText: /^t-1$/ }).count(), 0);
    assert.equal(await page.locator('.column[data-phase="plan_review"] .count').textContent(), "1");
    assert.match(await page.locator("#live").textContent(), /t-1 is now in plan_review/);
    const shifts = await page.evaluate(() => globalThis.shifts);
    assert.ok(shifts < 0.1, `the layout shifts by ${shifts}`);
    return page;
  },

  async "the page of a task follows, and an override asks for its reason"() {
    const page = await open();
    await page.goto(`${main.address}/tasks/team%2Ft-2`);
    assert.equal(await page.locator("h1").textContent(), "team/t-2 Rotate the keys <script>alert(1)</script>");
    await page.waitForSelector('body[data-live="yes"]');
    write("tasks/team/t-2/planning/plan.json", "{");
    await page.getByText("planning/plan.json:1:2").first().waitFor();
    await order(page, "override");
    const dialog = page.locator("dialog[open]");
    await isAccessible(page, "the dialog");
    await shot(page, "dialog");
    await dialog.getByRole("button", { name: "override" }).click();
    assert.ok(await dialog.isVisible(), "without a reason nothing is ordered");
    await dialog.locator("textarea").fill("reviewed on paper");
    await dialog.getByRole("button", { name: "override" }).click();
    await page.locator(".phase-name", { hasText: "plan_review" }).waitFor();
    assert.match(orch("log", "team/t-2"), /override[^]*reviewed on paper\n +by Ann \(human\)/);
    return page;
  },

  async "news that comes while a dialog opens is shown when it closes, and what was typed stays"() {
    orch("new", "n-1", "--title", "News", "--quiet");
    const page = await open();
    await page.goto(`${main.address}/tasks/n-1`);
    await page.waitForSelector('body[data-live="yes"]');
    write("tasks/n-1/planning/plan.json", "{}");
    await page.getByText("planning/plan.json:1:1").first().waitFor();
    // The page is renewed when it begins to listen, and for the change.
    await page.waitForTimeout(1500);
    const answer = await hold(page, "planning/plan.json:1:2");
    write("tasks/n-1/planning/plan.json", "{");
    await answer.came;
    await order(page, "override");
    const dialog = page.locator("dialog[open]");
    await dialog.locator("textarea").fill("read on paper");
    await answer.release();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("planning/plan.json:1:2").first().waitFor();
    await order(page, "override");
    assert.equal(await dialog.locator("textarea").inputValue(), "read on paper");
    await dialog.getByRole("button", { name: "override" }).click();
    await page.locator(".phase-name", { hasText: "plan_review" }).waitFor();
    await order(page, "override");
    assert.equal(await dialog.locator("textarea").inputValue(), "", "what was sent is not offered again");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    // The dialog of keys keeps the page as it is, too.
    await press(page, "?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    write("tasks/n-1/planning/plan.json", "{}");
    await page.waitForTimeout(2000);
    await page.keyboard.press("Escape");
    await page.getByText("planning/plan.json:1:1").first().waitFor();
    return page;
  },

  async "an answer that comes late does not replace a newer one"() {
    orch("new", "n-2", "--title", "Late", "--quiet");
    const page = await open();
    await page.goto(`${main.address}/tasks/n-2`);
    await page.waitForSelector('body[data-live="yes"]');
    const answer = await hold(page, "planning/plan.json:1:2");
    write("tasks/n-2/planning/plan.json", "{");
    await answer.came;
    write("tasks/n-2/planning/plan.json", "{}");
    // A page that does not wait for the first answer shows the second one now.
    await page.waitForTimeout(2000);
    await answer.release();
    await page.getByText("planning/plan.json:1:1").first().waitFor();
    assert.equal(await page.getByText("planning/plan.json:1:2").count(), 0);
    return page;
  },

  async "the output of a run is followed, and stays where it was scrolled to"() {
    const lines = 'for i in $(seq 200); do echo "line $i"; done; until [ -e more ]; do sleep 0.1; done; seq 300 400; sleep 100';
    const executor = spawn(process.env.ORCH, ["run", "t-3", "--", "sh", "-c", lines], { cwd: root, env });
    const page = await open();
    await page.goto(`${main.address}/tasks/t-3`);
    await page.waitForFunction(() => document.querySelector("#output")?.textContent.includes("line 200"));
    const output = page.locator("#output");
    const left = () => output.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
    /** Changes the page around the output. */
    const change = async (text) => {
      write("tasks/t-3/planning/plan.json", text);
      await page.getByText(`planning/plan.json:1:${text === "{" ? 2 : 1}`).first().waitFor();
    };
    assert.ok(await left() < 20, "it follows");
    await change("{");
    assert.ok(await left() < 20, "it follows on a page that was renewed");
    await output.evaluate((one) => { one.scrollTop = 100; });
    await change("{}");
    assert.equal(await output.evaluate((one) => one.scrollTop), 100);
    await output.evaluate((one) => { one.scrollTop = one.scrollHeight; });
    await change("{");
    write("more", "");
    await page.waitForFunction(() => document.querySelector("#output").textContent.includes("400"));
    assert.ok(await left() < 20, "it goes on following");
    orch("stop", "t-3");
    await new Promise((ended) => executor.exitCode === null ? executor.once("exit", ended) : ended());
    write("tasks/t-3/planning/plan.json", "{\n  \"title\": 3\n}\n");
    return page;
  },

  async "a browser stays signed in when the server is started again, unless the tokens were replaced"() {
    const port = Number(new URL(main.address).port) + 1;
    const first = await serve([], `127.0.0.1:${port}`);
    const page = await open({}, { address: first.address });
    await page.waitForSelector('body[data-live="yes"]');
    const end = async ({ server }) => {
      server.kill("SIGINT");
      await new Promise((ended) => server.once("exit", ended));
      await page.waitForSelector('body[data-live="no"]');
    };
    await end(first);
    const second = await serve([], `127.0.0.1:${port}`);
    await page.waitForSelector('body[data-live="yes"]');
    await end(second);
    const file = join(root, ".git/orch/serve-sessions.json");
    const kept = readFileSync(file);
    rmSync(file);
    const third = await serve([], `127.0.0.1:${port}`);
    await page.locator("#live", { hasText: "Open the URL that orch serve prints" }).waitFor();
    await shot(page, "signed-out");
    await page.context().newPage().then((other) => other.goto(third.url));
    await page.waitForSelector('body[data-live="yes"]');
    assert.equal(await page.locator("#live").textContent(), "");
    third.server.kill("SIGINT");
    writeFileSync(file, kept);
    await page.context().close();
  },

  async "decisions follow each other by keyboard, and the last one is taken back"() {
    for (const id of ["d-1", "d-2", "d-3", "p-1"]) {
      orch("new", id, "--title", `Task ${id}`, "--quiet");
      plan(id);
    }
    const page = await open();
    for (const id of ["d-1", "d-2", "d-3"]) {
      await column(page, "plan_review").filter({ hasText: id }).waitFor();
      await page.goto(`${main.address}/tasks/${id}`);
      await order(page, "override");
      const dialog = page.locator("dialog[open]");
      await dialog.locator("textarea").fill("to decide");
      await dialog.locator("select").selectOption('"accept"');
      await page.keyboard.press("Control+Enter");
      await page.locator(".phase-name", { hasText: "accept" }).waitFor();
      await page.goto(main.address);
    }
    // The columns that need a person are the first, and in view on a laptop and on a phone. Nobody has configured an executor,
    // so a person also decides about the plans.
    for (const viewport of [{ width: 1366, height: 768 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(viewport);
      const phases = await page.locator(".column").evaluateAll((all) => all.slice(0, 2).map((one) => one.dataset.phase));
      assert.deepEqual(phases, ["plan_review", "accept"]);
      const box = await column(page, "plan_review").first().boundingBox();
      assert.ok(box.x + box.width <= viewport.width && box.y + box.height <= viewport.height, JSON.stringify(box));
    }
    assert.match(await column(page, "plan_review").first().locator("xpath=ancestor::li").textContent(), /approve or reject/);
    await page.goto(`${main.address}/?q=d-`);
    await press(page, "d");
    await page.locator("#place", { hasText: "decision 1 of 3" }).waitFor();
    const first = page.url();
    await press(page, "j");
    await page.locator("#place", { hasText: "decision 2 of 3" }).waitFor();
    await press(page, "k");
    await page.waitForURL(first);
    await press(page, "a");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Enter");
    await page.locator("#told", { hasText: "accept → done" }).waitFor();
    await page.locator("#place", { hasText: "decision 1 of 2" }).waitFor();
    await isAccessible(page, "what was decided");
    await shot(page, "decided");
    await press(page, "u");
    await page.waitForURL(first);
    await page.locator("#told", { hasText: "taken back" }).waitFor();
    await page.locator("#place", { hasText: "of 3" }).waitFor();
    await press(page, "r");
    await page.locator("dialog[open] textarea").first().fill("not yet");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL((url) => url.href !== first);
    assert.match(orch("log", decodeURIComponent(new URL(first).pathname.split("/").pop())), /not yet[^]*undo[^]*accepted/);
    // A verdict that an agent may give too is taken back as well.
    await page.goto(`${main.address}/tasks/p-1`);
    await press(page, "a");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Enter");
    await page.locator("#told", { hasText: "plan_review → codegen" }).waitFor();
    await press(page, "u");
    await page.locator("#told", { hasText: "taken back" }).waitFor();
    await page.locator(".phase-name", { hasText: "plan_review" }).waitFor();
    return page;
  },

  async "a task is created with its brief"() {
    const page = await open();
    await press(page, "n");
    const dialog = page.locator("dialog[open]");
    await dialog.getByLabel("Title").fill("Größe der Bilder: begrenzen");
    assert.equal(await dialog.getByLabel("Id").inputValue(), "gro-e-der-bilder-begrenzen");
    await dialog.getByLabel("Id").fill("image-size");
    await dialog.getByLabel("Brief").fill("-- Images are too large.\n\nLimit them.");
    await isAccessible(page, "the dialog of a new task");
    await dialog.getByRole("button", { name: "create" }).click();
    await column(page, "planning").filter({ hasText: "image-size" }).waitFor();
    assert.equal(readFileSync(join(root, "tasks/image-size/brief.md"), "utf8").trim(), "-- Images are too large.\n\nLimit them.");
    return page;
  },

  async "an order that rests on what has changed is refused"() {
    const page = await open();
    await page.goto(`${main.address}/tasks/t-3`);
    await order(page, "override");
    const dialog = page.locator("dialog[open]");
    await dialog.locator("textarea").fill("it is old");
    write("tasks/t-3/planning/plan.json", "{}");
    await dialog.getByRole("button", { name: "override" }).click();
    await dialog.getByText("has changed since it was read").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    page.complaints = page.complaints.filter((complaint) => !complaint.includes("412"));
    return page;
  },

  async "tasks are filtered, and reached by keyboard and by link"() {
    const page = await open();
    const shown = () => page.locator(".card:not([hidden]) .id").allTextContents();
    await press(page, "/");
    await page.keyboard.type("PASSkey");
    assert.deepEqual(await shown(), ["t-1"]);
    assert.equal(new URL(page.url()).search, "?q=PASSkey");
    await page.reload();
    assert.deepEqual(await shown(), ["t-1"]);
    assert.match(await page.locator(".tasks").textContent(), /^1 task$/);
    assert.match(await page.getByRole("button", { name: /^all/ }).textContent(), /^all 1$/);
    assert.equal(await page.locator(".column:not(.empty)").count(), 1, "columns that show nothing fold");
    await press(page, "/");
    await page.keyboard.press("Escape");
    const everything = (await shown()).length;
    await page.getByRole("button", { name: /^agent/ }).click();
    assert.equal(new URL(page.url()).search, "?owner=agent");
    assert.equal(await page.getByRole("button", { name: /^agent/ }).textContent(), `agent ${(await shown()).length}`);
    assert.equal(await page.getByRole("button", { name: /^all/ }).textContent(), `all ${everything}`);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const focused = await page.evaluate(() => document.activeElement.textContent);
    await press(page, "?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\//);
    assert.equal(await page.locator("h1 .id").textContent(), focused);
    await press(page, "b");
    await page.waitForURL(`${main.address}/?owner=agent`);
    return page;
  },

  async "pages work without a script"() {
    const page = await open({ javaScriptEnabled: false });
    await page.goto(`${main.address}/?q=passkey`);
    assert.deepEqual(await page.locator(".card:visible .id").allTextContents(), ["t-1"]);
    await page.goto(`${main.address}/tasks/t-1`);
    await page.locator("code.command", { hasText: "orch next t-1 --override WHY" }).waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    return page;
  },

  async "an agent, and a server that only reads, have no buttons"() {
    const only = await serve(["--read-only"]);
    for (const setting of [{ token: tokens.agent }, { address: only.address }]) {
      const page = await open({}, setting);
      await page.goto(`${setting.address ?? main.address}/tasks/t-1`);
      await page.locator("h1", { hasText: "t-1" }).waitFor();
      assert.equal(await page.locator(".order").count(), 0);
      await page.context().close();
    }
    only.server.kill("SIGINT");
  },

  async "a server that no person started says that it takes no orders"() {
    const server = spawn(process.env.ORCH, ["serve", "--listen", "127.0.0.1:0"], { cwd: root, env });
    const said = heard(server);
    const address = await new Promise((found) => server.stdout.on("data", () => {
      const url = said.text.match(/^http:\S+(?=\s)/m);
      if (url) found(new URL(url[0]).origin);
    }));
    const page = await open({}, { address });
    for (const path of ["/", "/tasks/t-1"]) {
      await page.goto(address + path);
      await page.locator(".notice", { hasText: "started by a program. Stop it, and start it at a terminal: orch serve" }).waitFor();
      await isAccessible(page, "a server that takes no orders");
    }
    assert.equal(await page.getByRole("button", { name: "override" }).count(), 0);
    await page.context().close();
    server.kill("SIGINT");
  },

  async "a foreign origin, a wrong host and a missing token are refused"() {
    const bearer = { authorization: `Bearer ${tokens.person}`, "content-type": "application/json" };
    const order = "/api/v1/tasks/t-1/override";
    assert.equal(await ask("GET", "/", {}), 401);
    assert.equal(await ask("GET", "/assets/board.js", {}), 401);
    assert.equal(await ask("GET", "/", { ...bearer, host: "evil.example" }), 403);
    assert.equal(await ask("POST", order, { ...bearer, origin: "http://evil.example" }), 403);
    // A page of another site, in a browser that is signed in.
    const other = createServer((_, answer) => answer.end("<title>other</title>"));
    await new Promise((ready) => other.listen(0, "127.0.0.1", ready));
    const page = await open();
    await page.goto(`http://127.0.0.1:${other.address().port}/`);
    const sent = await page.evaluate(async (to) => {
      try {
        await fetch(to, { method: "POST", mode: "no-cors", credentials: "include", body: '{"reason": "mine"}' });
        return (await fetch(to, { credentials: "include" })).status;
      } catch (error) {
        return String(error);
      }
    }, main.address + order);
    assert.match(String(sent), /TypeError/);
    assert.doesNotMatch(orch("log", "t-1"), /mine/);
    other.close();
    await page.context().close();
  },

  async "axe-core finds nothing, in both colour schemes and at the width of a phone"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const [name, viewport] of [["wide", { width: 1400, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
        const page = await open({ colorScheme, viewport });
        for (const [path, what] of [["/", "board"], ["/tasks/team%2Ft-2", "task"], ["/overview", "overview"]]) {
          await page.goto(main.address + path);
          await page.waitForSelector('body[data-live="yes"]');
          await isAccessible(page, `${what}, ${colorScheme}, ${name}`);
          const width = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(width <= viewport.width, `${what} is ${width} wide at ${viewport.width}`);
          await shot(page, `${what}-${colorScheme}-${name}`);
        }
        assert.deepEqual(page.complaints, []);
        await page.context().close();
      }
    }
  },

  async "a thousand tasks stay usable"() {
    for (let number = 0; number < 1000; number += 1) plan(`many/t-${String(number).padStart(4, "0")}`, `Part ${number}.`);
    // A build for tests takes a while to look at them.
    const page = await open({}, { patience: 180_000 });
    await page.waitForFunction(() => document.querySelectorAll(".card").length > 1000);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 1500, `the page is ${height} px high`);
    await page.locator("#search").fill("t-0999");
    assert.deepEqual(await page.locator(".card:not([hidden]) .id").allTextContents(), ["many/t-0999"]);
    await page.locator("#search").fill("");
    await shot(page, "thousand");
    return page;
  },
};

/** What every page shows, and what the servers have said, so that a failure is understood from a log alone. */
async function tellAll() {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const shown = await page.evaluate(() => {
      const text = (selector) => {
        const found = document.querySelector(selector);
        return found?.checkVisibility() ? found.innerText.trim().replace(/\s*\n\s*/g, "\n") : "";
      };
      return {
        dialog: text("dialog[open]"), live: `${document.body.dataset.live}: ${text("#live")}`, told: text("#told"),
        notice: text(".notice"), main: text("main").slice(0, 3000),
      };
    }).catch((error) => ({ nothing: error.message }));
    console.log(`--- ${page.url().replace(/token=.*/, "token=…")}`);
    for (const [where, text] of Object.entries(shown)) console.log(`[${where}] ${text}`);
    for (const complaint of page.complaints ?? []) console.log(`[console] ${complaint}`);
  }
  for (const { text } of servers) console.log(`--- a server\n${text.replace(/token=\S+/g, "token=…").slice(-3000)}`);
}

let failed = 0;
const chosen = process.argv.slice(2);
for (const [name, test] of Object.entries(tests)) {
  if (chosen.length > 0 && !chosen.some((word) => name.includes(word))) continue;
  try {
    const page = await test();
    if (page) {
      assert.deepEqual(page.complaints, [], "errors in the console");
      await page.context().close();
    }
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
    const page = browser.contexts().at(-1)?.pages().at(-1);
    if (page) await shot(page, `failed-${failed}`).catch(() => {});
    await tellAll();
    for (const context of browser.contexts()) await context.close();
  }
}
await browser.close();
await new Promise((ended) => {
  main.server.once("exit", ended);
  main.server.kill("SIGINT");
});
rmSync(root, { recursive: true, maxRetries: 5 });
rmSync(home, { recursive: true });
console.log(failed ? `${failed} failed` : "all passed");
process.exitCode = failed ? 1 : 0;
