// The files of the playground: where they come from, and the link that holds them.
const WANTED = /\.(py|pyi|ipynb|toml|cfg)$/;
const LEFT_OUT = /(^|\/)(\.[^/]*|__pycache__|node_modules|site-packages)\//;
const MOST = 5_000_000; // bytes

// Files by path, from [path, file] pairs; what is no text or too much is left out, and counted.
export async function read(pairs) {
  const files = {};
  let left = 0;
  let size = 0;
  for (const [path, file] of pairs) {
    if (!WANTED.test(path) || LEFT_OUT.test(path)) continue;
    size += file.size;
    try {
      if (size > MOST) throw new Error("too much");
      files[path] = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      left += 1;
    }
  }
  return { files: below(files), left };
}

// The files as they lie in the one folder that holds them all, where there is one.
function below(files) {
  const tops = new Set(Object.keys(files).map((path) => path.split("/")[0]));
  const [top] = tops;
  const isFolder = tops.size === 1 && !(top in files);
  // A package that was dropped by itself keeps its name.
  if (!isFolder || `${top}/__init__.py` in files) return files;
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path.slice(top.length + 1), text]));
}

export function chosen(list) {
  return [...list].map((file) => [file.webkitRelativePath || file.name, file]);
}

// What was dropped, folders and all.
export async function dropped(transfer) {
  // The list is empty as soon as anything is waited for.
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const pairs = [];
  const visit = async (entry) => {
    const path = (entry.fullPath ?? entry.name).replace(/^\//, "");
    if (entry instanceof File) {
      pairs.push([path, entry]);
    } else if (entry.isFile) {
      pairs.push([path, await new Promise((resolve, reject) => entry.file(resolve, reject))]);
    } else if (!LEFT_OUT.test(`${path}/`)) {
      const reader = entry.createReader();
      const batch = () => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      // A browser hands out a folder by the hundred.
      for (let found = await batch(); found.length; found = await batch()) {
        for (const one of found) await visit(one);
      }
    }
  };
  for (const entry of entries) await visit(entry);
  return pairs;
}

async function through(stream, bytes) {
  const response = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await response.arrayBuffer());
}

export async function packed(state) {
  const bytes = await through(
    new CompressionStream("deflate-raw"),
    new TextEncoder().encode(JSON.stringify(state)),
  );
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#code=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

export async function unpacked(fragment) {
  const match = /^#code=([\w-]+)$/.exec(fragment);
  if (!match) return null;
  const text = atob(match[1].replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(
    new DecompressionStream("deflate-raw"),
    Uint8Array.from(text, (character) => character.charCodeAt(0)),
  );
  const state = JSON.parse(new TextDecoder().decode(bytes));
  const isWhole = Object.values(state.files).every((file) => typeof file === "string");
  return isWhole && Object.keys(state.files).length ? state : null;
}

// The line of a notebook's text that holds this line of this cell.
export function lineOfCell(text, cell, line) {
  try {
    const { cells } = JSON.parse(text);
    let from = 0;
    for (const [index, { source }] of cells.entries()) {
      const lines = Array.isArray(source) ? source : [source];
      for (const [number, one] of lines.entries()) {
        const at = text.indexOf(JSON.stringify(one), from);
        if (at < 0) return 1;
        if (index + 1 === cell && (number + 1 === line || !Array.isArray(source))) {
          return text.slice(0, at).split("\n").length;
        }
        from = at + 1;
      }
    }
  } catch {
    // No notebook: the reader is in the middle of writing one.
  }
  return 1;
}
