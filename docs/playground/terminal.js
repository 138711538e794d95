// What a terminal would show, as elements: colours, places that can be clicked, differences.
const ESCAPE = /\x1b\[([\d;]*)m/;
const CLASSES = { 1: "bold", 2: "dim", 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan" };

// Every place of a text that stands in one of these files: [start, end, place].
function places(text, names) {
  const known = [...names].sort((one, other) => other.length - one.length);
  if (!known.length) return [];
  const files = known.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const pattern = new RegExp(`(?<![\\w/.-])(${files})(?::cell (\\d+))?:(\\d+)`, "g");
  // A line of a notebook is a line of one of its cells; without the cell it leads nowhere.
  const found = [...text.matchAll(pattern)].filter((match) => match[2] || !match[1].endsWith(".ipynb"));
  return found.map((match) => [
    match.index,
    match.index + match[0].length,
    { name: match[1], cell: match[2] ? Number(match[2]) : null, line: Number(match[3]) },
  ]);
}

// The places that findings point at, in the text of a terminal.
export function pointed(output, names) {
  const plain = output.replace(new RegExp(ESCAPE, "g"), "");
  const heads = plain.split("\n").filter((line) => line.startsWith("  --> "));
  return heads.flatMap((line) => places(line, names).slice(0, 1).map(([, , place]) => place));
}

export function render(screen, output, names, go) {
  const pieces = output.split(ESCAPE); // text and codes by turns
  screen.replaceChildren();
  let classes = [];
  pieces.forEach((piece, index) => {
    if (index % 2) {
      const codes = piece.split(";").map(Number);
      classes = codes.includes(0) ? [] : [...classes, ...codes.map((code) => CLASSES[code]).filter(Boolean)];
      return;
    }
    let from = 0;
    for (const [start, end, place] of places(piece, names)) {
      screen.append(shown(piece.slice(from, start), classes), clickable(piece.slice(start, end), classes, place, go));
      from = end;
    }
    screen.append(shown(piece.slice(from), classes));
  });
}

function shown(text, classes) {
  if (!classes.length) return document.createTextNode(text);
  const span = document.createElement("span");
  span.className = classes.map((name) => `playground-${name}`).join(" ");
  span.textContent = text;
  return span;
}

function clickable(text, classes, place, go) {
  const link = document.createElement("a");
  link.className = ["place", ...classes].map((name) => `playground-${name}`).join(" ");
  link.href = "#editor";
  link.textContent = text;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go(place);
  });
  return link;
}

export function renderPatch(screen, patch) {
  const kinds = [
    [/^(---|\+\+\+) /, "bold"],
    [/^@@/, "cyan"],
    [/^\+/, "added"],
    [/^-/, "removed"],
  ];
  screen.replaceChildren(
    ...patch.split(/(?<=\n)/).map((line) => {
      const kind = kinds.find(([pattern]) => pattern.test(line));
      return shown(line, kind ? [kind[1]] : []);
    }),
  );
}
