import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { ExitCode } from "../../cli/exit-code.ts";
import { run } from "../../cli/run.ts";
import { kubeconfigOf } from "../apiserver/user.ts";

/** What a command printed, and how it ended. */
export interface Ran {
  readonly code: ExitCode;
  readonly out: string;
  readonly note: string;
}

/** A user with a kubeconfig, who runs `kubectl clusterset` in this process. */
export class CommandLine implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "clusterset-cli-"));
  readonly kubeconfig = join(this.#directory, "config");

  /** `kubeconfigs`: texts with one context each and no paths, by the name that it has for this user. `namespaces`: of contexts. */
  constructor(
    kubeconfigs: Readonly<Record<string, string>>,
    namespaces: Readonly<Record<string, string>> = {},
  ) {
    const contexts = Object.entries(kubeconfigs).map(([name, text]) => {
      const { clusters, users } = parse(text) as Kubeconfig;
      const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
      return { name, cluster, user, namespace: namespaces[name] };
    });
    writeFileSync(this.kubeconfig, kubeconfigOf(...contexts), { mode: 0o600 });
  }

  /** What the user types after a question; undefined: there is no terminal. */
  answer: string | undefined;

  /** Characters of a line of standard output; undefined: it is no terminal. */
  columns: number | undefined;

  /** More variables of the environment. */
  env: Readonly<Record<string, string>> = {};

  /** The user's clock, in milliseconds since 1970. */
  timeOfDay = (): number => Date.now();

  /** Runs a command line without the program's name. */
  async run(...argv: readonly string[]): Promise<Ran> {
    const { code, out, note } = this.start(argv, new AbortController().signal);
    return { code: await code, out: out(), note: note() };
  }

  /** Starts a command that runs until Ctrl-C: what it has printed so far, and how it ends. */
  start(argv: readonly string[], signal: AbortSignal) {
    const out: string[] = [];
    const note: string[] = [];
    const code = run(argv, {
      out: (text) => void out.push(text),
      note: (text) => void note.push(text),
      ask: (question) => {
        note.push(question);
        return Promise.resolve(this.answer);
      },
      paint: (_style, text) => text,
      ...(this.columns !== undefined && { columns: this.columns }),
      env: { KUBECONFIG: this.kubeconfig, ...this.env },
      home: this.#directory,
      user: "ann",
      timeOfDay: this.timeOfDay,
      signal,
    });
    return { code, out: () => out.join(""), note: () => note.join("") };
  }

  /** Writes a file of the user; returns its path. */
  file(name: string, text: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, text);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: object }[];
  readonly users: readonly { readonly user: object }[];
}
