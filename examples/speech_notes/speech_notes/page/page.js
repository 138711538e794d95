// Everything that comes from elsewhere is put into the page as text, never as markup.
"use strict";

const find = (id) => document.getElementById(id);
const EXAMPLE = `so welcome everybody let's look at the release the speech service went down twice last week and both \
times the worker had been forked from a server that held the gpu we found the import that woke the device on tuesday \
and john moved the work into a process of its own since then the service has not gone down again

what about the summary for the customers i think we should say that no recording was lost and that every transcript \
was made again on the same day can you write that down anna okay then we meet on friday and look at the numbers`;
const ENDS = ["done", "failed", "killed", "cancelled"];
let limit = null;
let stream = null;
let watched = "";
let sending = false;

const bytes = (text) => new TextEncoder().encode(text).length;
const number = (value) => value.toLocaleString("en");

function say(element, text) {
  element.textContent = text;
  element.hidden = !text;
}

function measure() {
  const size = bytes(find("text").value);
  find("size").textContent = limit === null ? "" : `${number(size)} of ${number(limit)} bytes`;
  return size;
}

async function send() {
  if (sending) return;
  const text = find("text").value;
  if (!text.trim()) return refuse("There is nothing to send yet: paste a transcript.");
  if (limit !== null && measure() > limit) return refuse(`This is too long: ${number(limit)} bytes are the most.`);
  say(find("refused"), "");
  busy(true);
  try {
    const answer = await fetch("/transcripts", {
      method: "POST", headers: { "content-type": "text/plain; charset=utf-8" }, body: text,
    });
    const told = await answer.json();
    if (answer.ok) go(told.id);
    else refuse(`Not accepted: ${typeof told.detail === "string" ? told.detail : answer.status}.`);
  } catch {
    refuse("The server does not answer.");
  } finally {
    busy(false);
  }
}

function busy(is) {
  sending = is;
  find("send").setAttribute("aria-disabled", String(is));
}

function refuse(why) {
  say(find("refused"), why);
  find("text").focus();
}

// The address says which job is shown, so that the browser's back and forward buttons go from one to another.
function go(id) {
  location.hash = id;
  follow();
}

function follow() {
  const id = location.hash.slice(1);
  if (id === watched) return;
  if (stream) stream.close();
  stream = null;
  watched = id;
  say(find("refused"), "");
  find("job").hidden = true;
  find("note").hidden = true;
  if (id) watch(id);
}

function watch(id) {
  stream = new EventSource(`/jobs/${encodeURIComponent(id)}/events`);
  stream.addEventListener("job", (event) => { if (id === watched) show(JSON.parse(event.data)); });
  stream.onerror = () => { if (id === watched) lost(id); };
}

async function lost(id) {
  // The browser tries again by itself, unless the server has said that there is nothing to hear.
  if (stream.readyState !== EventSource.CLOSED) {
    find("words").textContent = "The server does not answer; trying again.";
    return;
  }
  const answer = await fetch(`/jobs/${encodeURIComponent(id)}`).catch(() => null);
  const job = answer && answer.ok ? await answer.json().catch(() => null) : null;
  if (id !== watched) return;
  if (job) show(job);
  else {
    find("job").hidden = true;
    refuse(answer && answer.status === 404 ? "There is no such job any more." : "The server does not answer.");
  }
}

async function cancel() {
  const id = watched;
  const button = find("cancel");
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  const answer = await fetch(`/jobs/${encodeURIComponent(id)}/cancel`, { method: "POST" }).catch(() => null);
  button.setAttribute("aria-disabled", "false");
  if (id !== watched) return;
  // One that has ended meanwhile is shown as it ended; its stream has told, or will.
  if (answer && answer.ok) show(await answer.json());
  else if (!answer || answer.status !== 409) refuse("It could not be cancelled: the server does not answer.");
}

function words(job) {
  if (job.state === "queued") return job.attempt ? "The server was started again; it waits once more." : "It waits for its turn.";
  if (job.state === "running") {
    const at = job.progress;
    if (!at) return "Starting the engine in a process of its own.";
    if (at.stage !== "punctuating") return "Summarising.";
    return `Punctuating passage ${Math.min(at.done, at.total - 2)} of ${at.total - 2}.`;
  }
  return { done: "The note is ready.", cancelled: "It was cancelled.", failed: "It could not be done.", killed: `Its process was ended by ${job.signal}.` }[job.state];
}

function show(job) {
  if (ENDS.includes(job.state) && stream) stream.close();
  find("job").hidden = false;
  const badge = find("state");
  badge.textContent = job.state;
  badge.className = `badge ${job.state}`;
  find("words").textContent = words(job);
  const bar = find("bar");
  bar.hidden = ENDS.includes(job.state);
  bar.max = job.progress ? job.progress.total : 1;
  bar.value = job.progress ? job.progress.done : 0;
  // Whoever stands on the button when it goes away goes on where the next text is put in.
  const stood = document.activeElement === find("cancel");
  find("wanted").hidden = ENDS.includes(job.state);
  if (stood && find("wanted").hidden) find("text").focus();
  say(find("trouble"), job.error || "");
  say(find("process"), job.process ? about(job.process) : "");
  if (job.note) write(job.note);
}

const time = (seconds) => seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;

function about(process) {
  if (process.launch === "fork") return "It ran in a process forked from the server.";
  const awake = process.awake?.length ? `, ${process.awake.join(" and ")} awake in it` : "";
  if (process.launch === "pool") return `It ran in a warm worker of its own, process ${process.pid}: ${time(process.seconds)}${awake}.`;
  const method = `${process.start_method}${process.enforced ? "" : " (not confirmed)"}`;
  return `It ran in a process of its own: ${time(process.seconds)}, start method ${method}${awake}.`;
}

function write(note) {
  const fill = (list, name, texts) => find(list).replaceChildren(...texts.map((text) => {
    const element = document.createElement(name);
    element.textContent = text;
    return element;
  }));
  fill("summary", "li", note.summary);
  fill("paragraphs", "p", note.paragraphs);
  fill("remarks", "li", note.remarks);
  find("copied").textContent = "";
  find("note").hidden = false;
}

async function copy() {
  const texts = (selector) => [...document.querySelectorAll(selector)].map((element) => element.textContent);
  const text = `${texts("#summary li").map((line) => `- ${line}`).join("\n")}\n\n${texts("#paragraphs p").join("\n\n")}\n`;
  try {
    await navigator.clipboard.writeText(text);
    find("copied").textContent = "Copied.";
  } catch {
    find("copied").textContent = "The browser does not allow it.";
  }
}

async function introduce() {
  const answer = await fetch("/about").catch(() => null);
  if (!answer || !answer.ok) return;
  const server = await answer.json();
  limit = server.most_bytes;
  measure();
  find("about").textContent = `Engine ${server.engine}${server.model ? ` with ${server.model}` : ""}. ${server.about}`;
  const awake = server.awake.length ? `The server holds a device awake (${server.awake.join(", ")}). ` : "";
  const how = {
    fork: "Each transcript is done in a process forked from it, to show what comes of that.",
    isolated: "Each transcript is done in an isolated process of its own.",
    pool: "Each transcript is done in a warm worker of its own, which had touched no device and no other transcript before.",
  }[server.launch];
  find("server").textContent = awake + how;
}

find("form").addEventListener("submit", (event) => { event.preventDefault(); send(); });
find("text").addEventListener("input", measure);
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
});
find("example").addEventListener("click", () => { find("text").value = EXAMPLE; measure(); find("text").focus(); });
find("copy").addEventListener("click", copy);
find("cancel").addEventListener("click", cancel);
window.addEventListener("hashchange", follow);
introduce();
follow();
