// What somebody does in VS Code with coldfork's extension, and what they see; printed line by line.
//
//     node drive.js FOLDER_OF_THE_EXTENSION FILE COMMAND
//
// The extension is the packaged one; the host around it is host.js, the server the real one.

const Module = require("node:module");
const fs = require("node:fs");
const path = require("node:path");

const vscode = require("./host.js");
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const PATIENCE = 300_000;
const { host, Uri, Range, Position } = vscode;
const [folder, file, command] = process.argv.slice(2);
const say = (...words) => console.log(...words);

/** Wait until something holds that an answer brings about. */
function until(holds) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`nothing came of ${holds}\n${host.output.join("")}`)), PATIENCE);
    const look = () => {
      if (!holds()) return;
      clearTimeout(late);
      listening.dispose();
      resolve();
    };
    const listening = host.news.event(look);
    look();
  });
}

const short = (uri) => path.basename(uri.fsPath);
const lines = (marked) =>
  marked.map((one) => `line ${one.range.start.line + 1}: ${one.message.split("\n")[0]} [${one.code}]`).join("\n");

async function main() {
  const extension = require(path.join(folder, "package.json"));
  const context = { subscriptions: [], extensionPath: folder, asAbsolutePath: (one) => path.join(folder, one) };
  vscode.workspace.workspaceFolders.push({ uri: Uri.file(process.cwd()), name: "project", index: 0 });
  const { activate, deactivate } = require(path.join(folder, extension.main));

  // Not installed: said with the remedy.
  host.settings.coldfork = { command: path.join(process.cwd(), "nowhere", "coldfork") };
  const complaint = new Promise((resolve) => {
    host.answers.showErrorMessage = async (message) => resolve(message);
  });
  await activate(context);
  say(`not installed: ${(await complaint).replaceAll(`${process.cwd()}/`, "")}`);
  host.answers.showErrorMessage = async (message) => say(`error: ${message}`);

  // The interpreter of the Python extension has it.
  host.settings.coldfork = {};
  const environments = { getActiveEnvironmentPath: () => ({ path: path.join(path.dirname(command), "python") }) };
  host.extensions["ms-python.python"] = { isActive: true, exports: { environments } };
  await vscode.commands.executeCommand("coldfork.restart");

  const text = fs.readFileSync(file, "utf8");
  const document = new host.Document(Uri.file(path.resolve(file)), "python", text);
  const marked = () => host.marked.get(document.uri.toString()) ?? [];
  const open = vscode.workspace.textDocuments;
  open.push(document);
  host.events.onDidOpenTextDocument.fire(document);
  await until(() => marked().length);
  say(`opened: marked\n${lines(marked())}`);
  // Files that nobody has opened are marked as well; the steps of a chain are there to be clicked at.
  for (const [uri, found] of vscode.languages.getDiagnostics()) {
    for (const step of found.flatMap((one) => one.relatedInformation ?? [])) {
      say(`${short(uri)} by way of ${short(step.location.uri)}:${step.location.range.start.line + 1} ${step.message}`);
    }
  }

  const token = new vscode.CancellationTokenSource().token;
  const [lens] = await host.providers.CodeLensProvider.provideCodeLenses(document, token);
  say(`above line ${lens.range.start.line + 1}: ${lens.command.title}`);
  host.commands["vscode.executeReferenceProvider"] = (uri, at) =>
    host.providers.ReferenceProvider.provideReferences(document, at, { includeDeclaration: false }, token);
  host.commands["editor.action.showReferences"] = (uri, at, places) => {
    for (const one of places) say(`  shown: ${short(one.uri)}:${one.range.start.line + 1}`);
  };
  await vscode.commands.executeCommand(lens.command.command, ...lens.command.arguments);

  const actions = async () => {
    const context = { diagnostics: marked(), only: undefined, triggerKind: 1 };
    return host.providers.CodeActionsProvider.provideCodeActions(document, marked()[0].range, context, token);
  };
  const offered = await actions();
  for (const one of offered) say(`offered: ${one.title}`);
  const mending = offered.find((one) => one.title.startsWith("Mend"));
  const resolved = await host.providers.CodeActionsProvider.resolveCodeAction(mending, token);
  await vscode.workspace.applyEdit(resolved.edit);
  say(document.getText().trimEnd());
  await until(() => !marked().length);
  say("mended: nothing is marked");

  document.edit({ range: new Range(new Position(0, 0), new Position(1000, 0)), newText: text });
  await until(() => marked().length);
  say(`undone: marked\n${lines(marked())}`);
  host.answers.showInputBox = async ({ prompt }) => {
    say(`asked: ${prompt}`);
    return "only the launcher imports this";
  };
  const ignoring = (await actions()).find((one) => one.title.startsWith("Ignore"));
  await vscode.commands.executeCommand(ignoring.command.command, ...ignoring.command.arguments);
  say(document.getText().split("\n")[3]);
  await until(() => !marked().length);
  say("ignored: nothing is marked");

  const book = new host.Notebook(Uri.file(path.resolve("book.ipynb")), [
    "import torch\n",
    "%time pass\nx = torch.cuda.get_device_name()\n",
  ]);
  const cell = book.cells[1].document;
  const inCell = () => host.marked.get(cell.uri.toString()) ?? [];
  vscode.workspace.notebookDocuments.push(book);
  host.events.onDidOpenNotebookDocument.fire(book);
  await until(() => inCell().length);
  say(`a notebook, in its second cell: ${lines(inCell())}`);
  book.version += 1;
  cell.edit({ range: new Range(new Position(1, 0), new Position(1, 100)), newText: "x = None" });
  await until(() => !inCell().length);
  say("the cell edited: nothing is marked");

  const page = Uri.from({ scheme: "coldfork-rule", path: "/device-init-at-import.md" });
  const shown = await host.providers["text:coldfork-rule"].provideTextDocumentContent(page);
  say(`the rule's page: ${shown.split("\n")[0]}`);
  await deactivate();
  context.subscriptions.forEach((one) => one.dispose());
  say("stopped: the server has ended");
}

main().catch((error) => {
  console.log(`failed: ${error.stack}`);
  process.exit(1);
});
