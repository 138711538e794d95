// The playground's page: what is typed, chosen, dropped or linked goes to the engine, and its answer is shown.
import { Engine } from "./engine.js";
import * as project from "./project.js";
import { pointed, render, renderPatch } from "./terminal.js";

const PAUSE = 500; // milliseconds without a key, after which what was typed is checked
const LONGEST = 60_000; // characters that an address may have everywhere
const at = (id) => document.getElementById(id);

const state = { files: {}, active: "", pointed: [], fixes: null, running: false, again: false };
let editor;
let engine;
let timer;

function tell(text, isError = false) {
  at("status").textContent = text;
  at("status").classList.toggle("playground-trouble", isError);
}

function asked() {
  return { files: state.files, profile: at("profile").value, target: at("target").value };
}

// --- the files ------------------------------------------------------------------------------------------------

function show(name) {
  state.active = name;
  editor.open(name, state.files[name]);
  at("name").value = name;
  at("remove").disabled = Object.keys(state.files).length < 2;
  at("tabs").replaceChildren(
    ...Object.keys(state.files)
      .sort()
      .map((each) => {
        const tab = document.createElement("button");
        tab.type = "button";
        tab.textContent = each;
        tab.setAttribute("aria-pressed", each === name);
        tab.addEventListener("click", () => {
          show(each);
          at("tabs").querySelector("[aria-pressed=true]").focus();
        });
        return tab;
      }),
  );
  at("tabs").querySelector("[aria-pressed=true]").scrollIntoView({ block: "nearest", inline: "nearest" });
  markLines();
}

function load(files, active) {
  state.files = { ...files };
  state.pointed = [];
  editor.forget();
  at("findings").replaceChildren();
  show(active in files ? active : Object.keys(files).sort()[0]);
  return run();
}

function isName(name) {
  return /^[^/\\\0]+(\/[^/\\\0]+)*$/.test(name) && !name.split("/").some((part) => part === "." || part === "..");
}

function rename() {
  const name = at("name").value.trim();
  const parts = Object.keys(state.files).filter((each) => each !== state.active);
  const clashes = parts.some((each) => each === name || each.startsWith(`${name}/`) || name.startsWith(`${each}/`));
  if (name === state.active) return;
  if (!isName(name) || clashes) {
    tell(`There cannot be a file ${JSON.stringify(name)} here.`, true);
    at("name").value = state.active;
    return;
  }
  state.files[name] = state.files[state.active];
  delete state.files[state.active];
  show(name);
  run();
}

function add() {
  let number = 1;
  const name = () => (number === 1 ? "new.py" : `new${number}.py`);
  while (name() in state.files) number += 1;
  state.files[name()] = "";
  show(name());
  at("name").focus();
  at("name").select();
}

function remove() {
  delete state.files[state.active];
  show(Object.keys(state.files).sort()[0]);
  run();
}

async function take(pairs) {
  const { files, left } = await project.read(await pairs).catch(() => ({ files: {} }));
  if (!Object.keys(files).length) {
    tell("There is no Python file in that.", true);
    return;
  }
  at("example").value = "";
  await load(files, "");
  if (left) tell(`${left} files are no text, or were too much, and were left out.`, true);
}

function go({ name, cell, line }) {
  if (name !== state.active) show(name);
  editor.go(lineIn(name, cell, line));
}

function lineIn(name, cell, line) {
  return cell === null ? line : project.lineOfCell(state.files[name], cell, line);
}

function markLines() {
  const here = state.pointed.filter((place) => place.name === state.active);
  editor.mark(here.map((place) => lineIn(place.name, place.cell, place.line)));
}

// --- checking -------------------------------------------------------------------------------------------------

async function run() {
  clearTimeout(timer);
  if (state.running) {
    state.again = true;
    return;
  }
  state.running = true;
  at("findings").setAttribute("aria-busy", "true");
  try {
    do {
      state.again = false;
      await checkOnce();
    } while (state.again);
  } catch (error) {
    tell(`The checker failed: ${error.message}`, true);
  }
  state.running = false;
  at("findings").removeAttribute("aria-busy");
}

async function checkOnce() {
  const request = asked();
  const begun = performance.now();
  await engine.ready;
  tell("Checking …");
  const answer = await engine.ask("check", { ...request, files: { ...request.files } });
  const names = Object.keys(request.files);
  render(at("findings"), answer.output + answer.notes, names, go);
  state.pointed = pointed(answer.output, names);
  markLines();
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const outcome = ["Nothing that fails a check.", "Something was found.", "The check itself failed."];
  tell(`${outcome[answer.status] ?? outcome[2]} Exit status ${answer.status}, after ${seconds} s.`, answer.status > 1);
  state.fixes = null;
  await keepInAddress();
  if (!at("fixes").hidden && !state.again) await mend();
}

async function keepInAddress() {
  const fragment = await project.packed({ ...asked(), active: state.active });
  const isShort = fragment.length < LONGEST;
  at("link").disabled = !isShort;
  at("link").title = isShort ? "" : "This is too much code for a link.";
  history.replaceState(null, "", isShort ? fragment : location.pathname + location.search);
}

async function copyLink() {
  await keepInAddress();
  try {
    await navigator.clipboard.writeText(location.href);
    tell("The link is in the clipboard. It holds the code itself.");
  } catch {
    tell("The address of this page is the link; the browser does not let it be copied from here.");
  }
}

// --- mending --------------------------------------------------------------------------------------------------

async function mend() {
  if (state.fixes === null) {
    renderPatch(at("patch"), "Looking for fixes …");
    const files = { ...state.files };
    state.fixes = { before: files, ...(await engine.ask("mend", { ...asked(), files })) };
    const { safe, unsafe } = state.fixes;
    at("unsafe").disabled = safe.patch === unsafe.patch;
    at("unsafe").checked = !safe.patch && Boolean(unsafe.patch);
  }
  showPatch();
}

function showPatch() {
  const fix = at("unsafe").checked ? state.fixes.unsafe : state.fixes.safe;
  at("apply").disabled = !fix.patch;
  renderPatch(at("patch"), fix.patch || "There is no fix for this that coldfork can write.");
}

function apply() {
  const fix = at("unsafe").checked ? state.fixes.unsafe : state.fixes.safe;
  const isOld = Object.entries(state.fixes.before).some(([name, text]) => state.files[name] !== text);
  if (isOld) {
    run();
    return;
  }
  for (const [name, text] of Object.entries(fix.files)) state.files[name] = text;
  const [first] = Object.keys(fix.files);
  if (state.active in fix.files) editor.replace(state.files[state.active]);
  else show(first);
  run();
}

function choose(isFixes) {
  at("findings").hidden = isFixes;
  at("fixes").hidden = !isFixes;
  at("show-findings").setAttribute("aria-pressed", !isFixes);
  at("show-fixes").setAttribute("aria-pressed", isFixes);
  if (isFixes && !state.running) mend().catch((error) => tell(`The checker failed: ${error.message}`, true));
}

// --- the beginning --------------------------------------------------------------------------------------------

function listen() {
  const on = (id, event, act) => at(id).addEventListener(event, act);
  on("run", "click", run);
  on("profile", "change", run);
  on("target", "change", run);
  on("link", "click", copyLink);
  on("add", "click", add);
  on("remove", "click", remove);
  on("name", "change", rename);
  on("open-files", "click", () => at("files-chosen").click());
  on("open-folder", "click", () => at("folder-chosen").click());
  on("files-chosen", "change", (event) => take(project.chosen(event.target.files)));
  on("folder-chosen", "change", (event) => take(project.chosen(event.target.files)));
  on("show-findings", "click", () => choose(false));
  on("show-fixes", "click", () => choose(true));
  on("unsafe", "change", showPatch);
  on("apply", "click", apply);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
    event.preventDefault();
    if (document.activeElement === at("name")) rename();
    run();
  });
  const place = at("ground");
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("playground-over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("playground-over"));
  place.addEventListener(
    "drop",
    (event) => {
      place.classList.remove("playground-over");
      if (!event.dataTransfer.files.length) return; // text, which the editor takes
      event.preventDefault();
      event.stopPropagation();
      take(project.dropped(event.dataTransfer));
    },
    true,
  );
}

async function begin() {
  if (location.protocol === "file:") {
    return tell("A browser starts no worker from a file: serve the site, for example by ./dev docs serve.", true);
  }
  if (typeof WebAssembly !== "object" || typeof CompressionStream !== "function") {
    return tell("This browser has no WebAssembly, or is too old: the checker cannot run in it.", true);
  }
  tell("Fetching Python …");
  const fetched = await fetch(new URL("built/examples.json", import.meta.url));
  if (!fetched.ok) {
    return tell("This copy of the site was built without the playground: ./dev docs needs Node and npm for it.", true);
  }
  engine = new Engine(tell);
  engine.ready.catch((error) => tell(`The checker could not be started: ${error.message}`, true));
  const [examples, { Editor }] = await Promise.all([fetched.json(), import("./built/editor.js")]);
  editor = new Editor(at("editor"), {
    run,
    changed: (name, text) => {
      state.files[name] = text;
      clearTimeout(timer);
      timer = setTimeout(run, PAUSE);
    },
  });
  const own = new Option("your own", "");
  at("example").replaceChildren(own, ...examples.map(({ title, folder }) => new Option(title, folder)));
  const choice = () => examples.find(({ folder }) => folder === at("example").value);
  at("example").addEventListener("change", () => {
    const example = choice();
    load(example?.files ?? { "new.py": "import torch\n" }, example?.opens ?? "new.py");
  });
  listen();
  const linked = await project.unpacked(location.hash).catch(() => null);
  if (linked) {
    at("profile").value = linked.profile;
    at("target").value = linked.target;
    return load(linked.files, linked.active);
  }
  at("example").value = examples[0].folder;
  return load(choice().files, choice().opens);
}

begin().catch((error) => tell(`The playground could not be started: ${error.message}`, true));
