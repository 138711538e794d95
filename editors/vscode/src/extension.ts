// Starts `coldfork lsp` for VS Code, and adds what only an editor can do: ask for a reason, show places, open pages.

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, RevealOutputChannelOn, State } from "vscode-languageclient/node";

import { Ignoring, offered } from "./actions";
import { Missing, Program, found } from "./program";
import { openRule, RulePages } from "./rules";

const SHOW_REFERENCES = "coldfork.showReferences";
const LANGUAGES = [
  { scheme: "file", language: "python" },
  { scheme: "vscode-notebook-cell", language: "python" },
];

let client: LanguageClient | undefined;
let program: Program | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("coldfork");
  const pages = new RulePages(() => program);
  context.subscriptions.push(
    output,
    vscode.workspace.registerTextDocumentContentProvider(RulePages.scheme, pages),
    vscode.commands.registerCommand("coldfork.restart", () => restart(output)),
    vscode.commands.registerCommand("coldfork.showOutput", () => output.show()),
    vscode.commands.registerCommand("coldfork.openRule", (rule?: string) => openRule(rule)),
    vscode.commands.registerCommand(Ignoring.command, (ignoring: Ignoring) => ignoring.apply()),
    vscode.commands.registerCommand(SHOW_REFERENCES, showReferences),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["command", "arguments"].some((name) => event.affectsConfiguration(`coldfork.${name}`))) {
        void restart(output);
      }
    }),
  );
  await start(output);
}

export async function deactivate(): Promise<void> {
  const ending = client;
  client = undefined;
  await ending?.stop();
}

async function restart(output: vscode.OutputChannel): Promise<void> {
  try {
    await deactivate();
  } catch (error) {
    output.appendLine(`the server did not end by itself: ${error}`);
  }
  await start(output);
}

async function start(output: vscode.OutputChannel): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const settings = vscode.workspace.getConfiguration("coldfork", folder);
  try {
    program = await found(settings.get<string>("command", ""), folder);
  } catch (error) {
    if (!(error instanceof Missing)) {
      throw error;
    }
    output.appendLine(error.message);
    void complain(error.message, output);
    return;
  }
  const command = [...program.words, "lsp", ...settings.get<string[]>("arguments", [])];
  output.appendLine(`starting ${command.join(" ")}`);
  const server = { command: command[0] ?? "", args: command.slice(1), options: { cwd: folder?.uri.fsPath } };
  client = new LanguageClient("coldfork", "coldfork", server, optionsOf(output));
  client.registerFeature({
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ...capabilities.experimental, commands: [SHOW_REFERENCES] };
    },
    initialize: () => {},
    getState: () => ({ kind: "static" }),
    clear: () => {},
  });
  const starting = client;
  starting.onDidChangeState((event) => {
    if (event.newState === State.Stopped && client === starting) {
      output.appendLine("the server has ended");
    }
  });
  try {
    await starting.start();
  } catch (error) {
    void complain(`coldfork: the server did not start: ${error}`, output);
  }
}

function optionsOf(output: vscode.OutputChannel): LanguageClientOptions {
  return {
    documentSelector: LANGUAGES,
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    middleware: {
      provideCodeActions: async (document, range, context, token, next) =>
        offered((await next(document, range, context, token)) ?? []),
    },
  } as LanguageClientOptions;
}

async function complain(message: string, output: vscode.OutputChannel): Promise<void> {
  const chosen = await vscode.window.showErrorMessage(message, "Open Settings", "Show Output");
  if (chosen === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "coldfork.command");
  } else if (chosen === "Show Output") {
    output.show();
  }
}

// What a lens and an action hand over is what the protocol has: a URI, and a position as plain data.
async function showReferences(uri: string, at: { line: number; character: number }): Promise<void> {
  const document = vscode.Uri.parse(uri);
  const position = new vscode.Position(at.line, at.character);
  const places = await vscode.commands.executeCommand("vscode.executeReferenceProvider", document, position);
  await vscode.commands.executeCommand("editor.action.showReferences", document, position, places);
}
