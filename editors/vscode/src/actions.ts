// "Ignore on this line, with a reason": the server's edit has a placeholder, for which the reason is asked.

import * as vscode from "vscode";

type Offered = (vscode.Command | vscode.CodeAction)[];

export class Ignoring {
  static readonly command = "coldfork.ignoreWithReason";

  constructor(
    private readonly edit: vscode.WorkspaceEdit,
    private readonly placeholder: string,
  ) {}

  async apply(): Promise<void> {
    const reason = await vscode.window.showInputBox({
      title: "Ignore on this line",
      prompt: "Why is it all right here?",
      placeHolder: "only the launcher imports this",
      validateInput: (text) => (text.trim() ? undefined : "A reason is what the next reader needs."),
    });
    if (!reason?.trim()) {
      return;
    }
    const written = new vscode.WorkspaceEdit();
    for (const [uri, edits] of this.edit.entries()) {
      const replaced = edits.map(
        (one) => new vscode.TextEdit(one.range, one.newText.replace(this.placeholder, () => reason.trim())),
      );
      written.set(uri, replaced);
    }
    await vscode.workspace.applyEdit(written);
  }
}

/** The actions as the server offers them, but for those whose text somebody has to write. */
export function offered(actions: Offered): Offered {
  for (const action of actions) {
    const placeholder = (action as { data?: { placeholder?: string } }).data?.placeholder;
    if (placeholder && "edit" in action && action.edit) {
      const ignoring = new Ignoring(action.edit, placeholder);
      action.command = { title: action.title, command: Ignoring.command, arguments: [ignoring] };
      action.edit = undefined;
    }
  }
  return actions;
}
