// The worker as the page sees it: a request, and a promise of its answer.
export class Engine {
  #worker;
  #waiting = new Map();
  #number = 0;

  constructor(tell) {
    this.ready = new Promise((resolve, reject) => {
      this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
      this.#worker.onerror = () => reject(new Error("the engine could not be loaded"));
      this.#worker.onmessage = ({ data }) => {
        if (data.state) tell(data.state);
        else if (data.ready) resolve();
        else if (data.failed) reject(new Error(data.failed));
        else this.#answer(data);
      };
    });
  }

  #answer({ number, answer, error }) {
    const { resolve, reject } = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (error) reject(new Error(error));
    else resolve(answer);
  }

  ask(kind, request) {
    const number = ++this.#number;
    this.#worker.postMessage({ number, kind, request });
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }
}
