// CodeMirror, set up for the playground; esbuild makes one file of it and of what it imports.
import { indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

// The site's own colours, which follow its light and its dark scheme.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--md-code-hl-keyword-color)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--md-code-hl-string-color)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--md-code-hl-number-color)" },
  { tag: [tags.comment], color: "var(--md-code-hl-comment-color)" },
  { tag: [tags.function(tags.definition(tags.variableName))], color: "var(--md-code-hl-function-color)" },
  { tag: [tags.definition(tags.className), tags.meta], color: "var(--md-code-hl-special-color)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--md-code-fg-color)", backgroundColor: "var(--md-code-bg-color)" },
  ".cm-content": { caretColor: "var(--md-code-fg-color)" },
  ".cm-cursor": { borderLeftColor: "var(--md-code-fg-color)" },
  ".cm-gutters": {
    color: "var(--md-default-fg-color--light)",
    backgroundColor: "var(--md-code-bg-color)",
    border: "none",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--playground-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--playground-selection)",
  },
  ".cm-found": { backgroundColor: "var(--playground-found)" },
  ".cm-panels": { color: "var(--md-default-fg-color)", backgroundColor: "var(--md-default-bg-color)" },
});

const mark = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update(decorations, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(mark)) continue;
      const { doc } = transaction.state;
      const lines = [...new Set(effect.value)].filter((line) => line <= doc.lines).sort((a, b) => a - b);
      return Decoration.set(lines.map((line) => found.range(doc.line(line).from)));
    }
    return decorations.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});
const found = Decoration.line({ class: "cm-found" });

export class Editor {
  #states = new Map();
  #name = null;

  constructor(parent, { changed, run }) {
    const ours = Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }]));
    this.extensions = [
      ours,
      basicSetup,
      keymap.of([indentWithTab]),
      indentUnit.of("    "),
      syntaxHighlighting(colours),
      look,
      marked,
      EditorView.contentAttributes.of({ "aria-label": "Code" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed(this.#name, update.state.doc.toString());
      }),
    ];
    this.view = new EditorView({ parent });
  }

  // Show a file; where it has been before, with what can be undone and where the cursor was.
  open(name, text) {
    if (this.#name !== null) this.#states.set(this.#name, this.view.state);
    const known = this.#states.get(name);
    this.#name = name;
    this.view.setState(known?.doc.toString() === text ? known : this.#made(name, text));
  }

  replace(text) {
    const { state } = this.view;
    if (state.doc.toString() === text) return;
    this.view.dispatch({ changes: { from: 0, to: state.doc.length, insert: text } });
  }

  forget() {
    this.#states.clear();
    this.#name = null;
  }

  // Mark the lines that findings point at.
  mark(lines) {
    this.view.dispatch({ effects: mark.of(lines) });
  }

  go(line) {
    const { doc } = this.view.state;
    const place = doc.line(Math.max(1, Math.min(line, doc.lines)));
    this.view.dispatch({
      selection: { anchor: place.from, head: place.to },
      effects: EditorView.scrollIntoView(place.from, { y: "center" }),
    });
    this.view.focus();
  }

  #made(name, text) {
    const language = /\.pyi?$/.test(name) ? [python()] : [];
    return EditorState.create({ doc: text, extensions: [...this.extensions, ...language] });
  }
}
