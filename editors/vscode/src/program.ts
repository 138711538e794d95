// Which coldfork is started: the one that is set, that of the chosen interpreter, or the one on PATH.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";

const PATIENCE = 30_000;
const REMEDY =
  "Install coldfork with its extra `lsp` into the environment of the project (pip install 'coldfork[lsp]', or from a " +
  "clone pip install '.[lsp]'), or set coldfork.command to where it is installed.";

/** There is no coldfork that could be started; the message says what to do. */
export class Missing extends Error {}

/** A coldfork that runs, by the words that start it. */
export class Program {
  constructor(readonly words: string[]) {}

  /** What it prints, asked with these arguments; it has to end with 0. */
  ask(...args: string[]): Promise<string> {
    const [file, ...first] = this.words;
    return new Promise((resolve, reject) => {
      execFile(file ?? "", [...first, ...args], { timeout: PATIENCE }, (error, printed) =>
        error ? reject(error) : resolve(printed),
      );
    });
  }
}

export async function found(command: string, folder?: vscode.WorkspaceFolder): Promise<Program> {
  if (command) {
    const asked = isPython(command) ? [command, "-m", "coldfork"] : [command];
    const program = await working(asked);
    if (!program) {
      throw new Missing(`coldfork: coldfork.command is ${command}, which does not run \`lsp\`. ${REMEDY}`);
    }
    return program;
  }
  const interpreter = await chosenInterpreter(folder);
  const own = interpreter ? await working([interpreter, "-m", "coldfork"]) : undefined;
  const program = own ?? (await working(["coldfork"]));
  if (!program) {
    const looked = interpreter ? `neither in ${interpreter} nor on PATH` : "not on PATH";
    throw new Missing(`coldfork was found ${looked}. ${REMEDY}`);
  }
  return program;
}

async function working(words: string[]): Promise<Program | undefined> {
  const program = new Program(words);
  try {
    await program.ask("lsp", "--help");
    return program;
  } catch {
    return undefined;
  }
}

function isPython(command: string): boolean {
  return /^(python|pypy)[\d.]*w?(\.exe)?$/i.test(path.basename(command));
}

/** The interpreter that the Python extension uses, where that is installed. */
async function chosenInterpreter(folder?: vscode.WorkspaceFolder): Promise<string | undefined> {
  const python = vscode.extensions.getExtension("ms-python.python");
  if (!python) {
    return undefined;
  }
  const api = python.isActive ? python.exports : await python.activate();
  const environments = api?.environments;
  const active = environments?.getActiveEnvironmentPath?.(folder?.uri);
  const resolved = active && (await environments.resolveEnvironment?.(active));
  return resolved?.executable?.uri?.fsPath ?? active?.path;
}
