// The page of a rule, as `coldfork rule` prints it: it needs no network, and fits the coldfork that is installed.

import * as vscode from "vscode";

import { Program } from "./program";

export class RulePages implements vscode.TextDocumentContentProvider {
  static readonly scheme = "coldfork-rule";

  constructor(private readonly program: () => Program | undefined) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const rule = uri.path.replace(/^\/|\.md$/g, "");
    try {
      return (await this.program()?.ask("rule", rule)) ?? "The server has not been started.";
    } catch (error) {
      return `coldfork has no page for ${rule}.\n\n${error}`;
    }
  }
}

/** Open the page of a rule: the one given, that of the line the cursor is on, or one of those in the workspace. */
export async function openRule(rule: string | undefined): Promise<void> {
  const chosen = rule ?? atCursor() ?? (await picked());
  if (chosen) {
    const uri = vscode.Uri.from({ scheme: RulePages.scheme, path: `/${chosen}.md` });
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  }
}

function atCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  const line = editor?.selection.active.line;
  const marked = editor ? vscode.languages.getDiagnostics(editor.document.uri) : [];
  return rulesOf(marked.filter((one) => one.range.start.line === line))[0];
}

async function picked(): Promise<string | undefined> {
  const all = rulesOf(vscode.languages.getDiagnostics().flatMap(([, marked]) => marked));
  if (!all.length) {
    return vscode.window.showInputBox({ title: "Open the page of a rule", placeHolder: "device-init-at-import" });
  }
  return vscode.window.showQuickPick(all, { title: "Open the page of a rule" });
}

function rulesOf(diagnostics: readonly vscode.Diagnostic[]): string[] {
  const codes = diagnostics.filter((one) => one.source === "coldfork").map((one) => String(one.code));
  return [...new Set(codes)].sort();
}
