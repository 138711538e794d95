// Start the CPython of a `pyodide` package under Node: node start.mjs PACKAGE [--mount FOLDER]... PROGRAM [ARGUMENT]...
// The folders of this machine appear inside at the same paths. The exit status is the program's.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [home, ...rest] = process.argv.slice(2);
const mounts = [];
while (rest[0] === "--mount") {
  mounts.push(path.resolve(rest[1]));
  rest.splice(0, 2);
}
const { loadPyodide } = await import(pathToFileURL(path.join(home, "pyodide.mjs")).href);
const write = (descriptor) => ({
  write: (bytes) => {
    fs.writeSync(descriptor, bytes);
    return bytes.length;
  },
});
const python = await loadPyodide({ env: { HOME: "/home" } });
python.setStdout(write(1));
python.setStderr(write(2));
for (const folder of mounts) {
  python.FS.mkdirTree(folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, folder);
}
python.FS.chdir(mounts[0]);
python.globals.set("_arguments", python.toPy(rest));
process.exitCode = python.runPython(`
import runpy, sys
sys.argv[:] = list(_arguments)
sys.executable = "python"
del _arguments
status = 0
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    status = end.code if isinstance(end.code, int) else int(end.code is not None)
except BaseException:
    import traceback
    traceback.print_exc()
    status = 1
sys.stdout.flush()
sys.stderr.flush()
int(status)
`);
