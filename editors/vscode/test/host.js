// As much of VS Code as the client touches: documents, diagnostics, providers and commands, without a window.

const { URI, Utils } = require("vscode-uri");

class Disposable {
  constructor(dispose = () => {}) {
    this.dispose = dispose;
  }
}

class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, itself) => {
      const bound = itself ? listener.bind(itself) : listener;
      this.listeners.add(bound);
      return new Disposable(() => this.listeners.delete(bound));
    };
  }
  fire(what) {
    for (const listener of [...this.listeners]) listener(what);
  }
  dispose() {
    this.listeners.clear();
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
  isBefore(other) {
    return this.line < other.line || (this.line === other.line && this.character < other.character);
  }
}

class Range {
  constructor(...given) {
    [this.start, this.end] =
      given.length === 4 ? [new Position(given[0], given[1]), new Position(given[2], given[3])] : given;
  }
}

class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}

class TextEdit {
  constructor(range, newText) {
    Object.assign(this, { range, newText });
  }
}

class WorkspaceEdit {
  constructor() {
    this.files = new Map();
  }
  set(uri, edits) {
    this.files.set(uri.toString(), edits.map((one) => (Array.isArray(one) ? one[0] : one)));
  }
  replace(uri, range, newText) {
    this.set(uri, [...(this.files.get(uri.toString()) ?? []), new TextEdit(range, newText)]);
  }
  entries() {
    return [...this.files].map(([uri, edits]) => [URI.parse(uri), edits]);
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}
CodeActionKind.Empty = new CodeActionKind("");
for (const kind of ["QuickFix", "Refactor", "Source"]) {
  CodeActionKind[kind] = new CodeActionKind(kind[0].toLowerCase() + kind.slice(1));
}

/** A class of which the client only makes objects: its arguments, by these names. */
const plain = (...names) =>
  class {
    constructor(...given) {
      names.forEach((name, index) => (this[name] = given[index]));
    }
  };

/** An enumeration: its names, counted from `first`. */
const counted = (first, ...names) => Object.fromEntries(names.map((name, index) => [name, first + index]));

class Document {
  constructor(uri, languageId, text) {
    Object.assign(this, { uri, languageId, text, version: 1, isClosed: false, fileName: uri.fsPath, eol: 1 });
  }
  getText() {
    return this.text;
  }
  offsetAt(position) {
    const lines = this.text.split("\n");
    return lines.slice(0, position.line).join("\n").length + (position.line ? 1 : 0) + position.character;
  }
  /** Put a text in the place of a span, as typing does. */
  edit({ range, newText }) {
    const [start, end] = [this.offsetAt(range.start), this.offsetAt(range.end)];
    this.text = this.text.slice(0, start) + newText + this.text.slice(end);
    this.version += 1;
    const change = { range, rangeOffset: start, rangeLength: end - start, text: newText };
    host.events.onDidChangeTextDocument.fire({ document: this, contentChanges: [change] });
  }
}

class Notebook {
  constructor(uri, texts) {
    Object.assign(this, { uri, notebookType: "jupyter-notebook", version: 1, metadata: {}, isClosed: false });
    this.cells = texts.map((text, index) => {
      // As VS Code spells them: what is behind the # has to be escaped.
      const own = uri.with({ scheme: "vscode-notebook-cell", fragment: `W${index}sZmlsZQ==` });
      const document = new Document(own, "python", text);
      return { index, kind: 2, document, notebook: this, metadata: {}, executionSummary: undefined };
    });
  }
  getCells() {
    return this.cells;
  }
}

/** What the test looks at and turns: nothing of it is VS Code's. */
const host = {
  Document,
  Notebook,
  settings: {},
  answers: { showInputBox: async () => undefined, showErrorMessage: async () => undefined },
  providers: {},
  commands: {},
  marked: new Map(),
  extensions: {},
  output: [],
  events: new Proxy({}, { get: (known, name) => (known[name] ??= new EventEmitter()) }),
  news: new EventEmitter(),
};

const events = (known) =>
  new Proxy(known, { get: (held, name) => held[name] ?? (/^on/.test(name) ? host.events[name].event : undefined) });

const collection = () => ({
  set(uri, diagnostics) {
    host.marked.set(uri.toString(), diagnostics ?? []);
    host.news.fire();
  },
  delete: (uri) => host.marked.delete(uri.toString()),
  clear: () => host.marked.clear(),
  dispose: () => host.marked.clear(),
  forEach: (call) => host.marked.forEach((diagnostics, uri) => call(URI.parse(uri), diagnostics)),
});

const matches = (filter, document) =>
  (!filter.language || filter.language === document.languageId) &&
  (!filter.scheme || filter.scheme === document.uri.scheme) &&
  !filter.notebook;

const languages = {
  createDiagnosticCollection: collection,
  getDiagnostics: (uri) =>
    uri ? (host.marked.get(uri.toString()) ?? []) : [...host.marked].map(([one, found]) => [URI.parse(one), found]),
  match: (selector, document) => ([selector].flat().some((filter) => matches(filter, document)) ? 10 : 0),
};

const register = (name, provider) => {
  host.providers[name] = provider;
  return new Disposable(() => delete host.providers[name]);
};

const workspace = {
  textDocuments: [],
  notebookDocuments: [],
  workspaceFolders: [],
  getConfiguration: (section) => {
    const held = section ? (host.settings[section] ?? {}) : host.settings;
    return { ...held, get: (name, usual) => held[name] ?? usual, inspect: () => undefined, has: (name) => name in held };
  },
  getWorkspaceFolder: () => workspace.workspaceFolders[0],
  createFileSystemWatcher: () => events({ dispose() {} }),
  registerTextDocumentContentProvider: (scheme, provider) => register(`text:${scheme}`, provider),
  applyEdit: async (edit) => {
    for (const [uri, edits] of edit.entries()) {
      const document = workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
      const last = [...edits].sort((one, other) => (one.range.start.isBefore(other.range.start) ? 1 : -1));
      last.forEach((one) => document.edit(one));
    }
    return true;
  },
  fs: {},
};

const window = {
  visibleTextEditors: [],
  tabGroups: events({ all: [] }),
  createOutputChannel: () => ({
    append: (text) => host.output.push(text),
    appendLine: (text) => host.output.push(`${text}\n`),
    show() {},
    dispose() {},
  }),
  withProgress: async (_, work) => work({ report() {} }, new CancellationTokenSource().token),
  showErrorMessage: (...said) => host.answers.showErrorMessage(...said),
  showInputBox: (options) => host.answers.showInputBox(options),
};
for (const kind of ["showInformationMessage", "showWarningMessage"]) window[kind] = window.showErrorMessage;

class CancellationTokenSource {
  constructor() {
    const ended = new EventEmitter();
    this.token = { isCancellationRequested: false, onCancellationRequested: ended.event };
    this.cancel = () => ended.fire();
    this.dispose = () => {};
  }
}

const commands = {
  registerCommand: (name, call) => {
    host.commands[name] = call;
    return new Disposable(() => delete host.commands[name]);
  },
  executeCommand: async (name, ...given) => {
    if (!host.commands[name]) throw new Error(`there is no command ${name}`);
    return host.commands[name](...given);
  },
};

module.exports = {
  host,
  version: "1.82.0",
  Uri: Object.assign(URI, { joinPath: Utils.joinPath }),
  ...{ CancellationTokenSource, CodeActionKind, Disposable, EventEmitter, Location, Position, Range, TextEdit },
  ...{ WorkspaceEdit, CancellationError: class extends Error {} },
  CodeAction: plain("title", "kind"),
  CodeLens: plain("range", "command"),
  Diagnostic: plain("range", "message", "severity"),
  DiagnosticRelatedInformation: plain("location", "message"),
  Hover: plain("contents", "range"),
  MarkdownString: plain("value"),
  RelativePattern: plain("base", "pattern"),
  CallHierarchyItem: plain("kind", "name", "detail", "uri", "range", "selectionRange"),
  TypeHierarchyItem: plain("kind", "name", "detail", "uri", "range", "selectionRange"),
  CompletionItem: plain("label", "kind"),
  DocumentLink: plain("range", "target"),
  InlayHint: plain("position", "label", "kind"),
  SymbolInformation: plain("name", "kind", "containerName", "location"),
  CodeActionTriggerKind: counted(1, "Invoke", "Automatic"),
  CompletionItemKind: counted(0, "Text"),
  DiagnosticSeverity: counted(0, "Error", "Warning", "Information", "Hint"),
  DiagnosticTag: counted(1, "Unnecessary", "Deprecated"),
  NotebookCellKind: counted(1, "Markup", "Code"),
  ProgressLocation: counted(1, "SourceControl", "Window", "Notification"),
  SymbolKind: counted(0, "File"),
  SymbolTag: counted(1, "Deprecated"),
  TextDocumentChangeReason: counted(1, "Undo", "Redo"),
  TextDocumentSaveReason: counted(1, "Manual", "AfterDelay", "FocusOut"),
  env: { appName: "host", language: "en" },
  commands,
  extensions: events({ getExtension: (name) => host.extensions[name] }),
  languages: new Proxy(languages, {
    get: (held, name) =>
      held[name] ?? (/^register/.test(name) ? (_, provider) => register(name.slice(8), provider) : undefined),
  }),
  window: events(window),
  workspace: events(workspace),
};
