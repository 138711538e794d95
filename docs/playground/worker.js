// Runs coldfork in Python, beside the page: a request comes in, an answer goes out.
import { loadPyodide } from "./built/pyodide/pyodide.mjs";

const say = (text) => postMessage({ state: text });

async function start() {
  const archive = fetch("./built/engine.zip");
  say("Starting Python …");
  const python = await loadPyodide({ indexURL: new URL("./built/pyodide/", import.meta.url).href });
  say("Unpacking coldfork …");
  const answer = await archive;
  if (!answer.ok) throw new Error(`engine.zip: ${answer.status}`);
  python.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: "/coldfork" });
  python.runPython("import sys; sys.path.append('/coldfork')");
  return python.pyimport("playground_engine");
}

const engine = start();
engine.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: String(error.message ?? error) }),
);

onmessage = async ({ data: { number, kind, request } }) => {
  try {
    const answer = (await engine)[kind](JSON.stringify(request));
    postMessage({ number, answer: JSON.parse(answer) });
  } catch (error) {
    postMessage({ number, error: String(error.message ?? error) });
  }
};
