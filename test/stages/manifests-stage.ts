import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { OnEvent } from "../../agent/sources/manifests/directory-watch.ts";
import { ManifestsSource, RESYNC_MS } from "../../agent/sources/manifests/manifests-source.ts";
import type { FileEvent } from "../../agent/sources/manifests/settling.ts";
import type { LogFields } from "../../common/log.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { SourceRecorder } from "../doubles/source-recorder.ts";

/**
 * A directory of manifests and a source that reads it, with time in the test's hand. The operations raise
 * the events that inotify raises, unless `deaf` says that they get lost.
 */
export class ManifestsStage implements Disposable {
  readonly root = fs.mkdtempSync(join(tmpdir(), "manifests-"));
  readonly directory: string;
  readonly clock = new FakeClock();
  readonly told = new SourceRecorder();
  /** `warn syntax-error web.yaml:3:1`, `info syntax-error web.yaml`. */
  readonly log: string[] = [];
  deaf = false;
  #onEvent: OnEvent | undefined;
  readonly source: ManifestsSource;

  /** `directory`: one that is there already; without it, a new and empty one. */
  constructor(directory?: string) {
    this.directory = directory ?? join(this.root, "manifests");
    if (directory === undefined) fs.mkdirSync(this.directory);
    this.source = new ManifestsSource({
      directory: this.directory,
      clock: this.clock,
      log: {
        warn: (_message, fields) => this.#note("warn", fields),
        info: (_message, fields) => this.#note("info", fields),
      },
      watch: (_path, onEvent) => {
        this.#onEvent = onEvent;
        return () => {
          this.#onEvent = undefined;
        };
      },
    });
  }

  /** A directory with these files, by name, which the source has reported. */
  static async of(files: Readonly<Record<string, string>>): Promise<ManifestsStage> {
    const stage = new ManifestsStage();
    for (const [name, content] of Object.entries(files)) stage.place(name, content);
    await stage.start();
    stage.told.news();
    return stage;
  }

  /** Starts the source and lets it look for the first time. */
  async start(): Promise<void> {
    this.source.start(this.told);
    await this.look();
  }

  /** Lets the source do what the events so far call for. */
  async look(): Promise<void> {
    await turn();
  }

  /** Lets `ms` go by. */
  async wait(ms: number): Promise<void> {
    await turn();
    this.clock.advance(ms);
    await turn();
  }

  /** Lets every rest end, and everything be looked at though no event named it. */
  async settle(): Promise<void> {
    await this.wait(RESYNC_MS);
    await this.wait(RESYNC_MS);
  }

  /** Puts a file there in one step, as `mv` from the same file system does. */
  place(name: string, content: string | Uint8Array): void {
    const temporary = join(this.root, "temporary");
    fs.writeFileSync(temporary, content);
    fs.renameSync(temporary, this.path(name));
    this.raise("renamed", name);
  }

  /** Writes into the file that is there, or into a new one, as `>` of a shell does. */
  rewrite(name: string, content: string | Uint8Array): void {
    fs.writeFileSync(this.path(name), content);
    this.raise("renamed", name);
    this.raise("modified", name);
  }

  rename(from: string, to: string): void {
    fs.renameSync(this.path(from), this.path(to));
    this.raise("renamed", from);
    this.raise("renamed", to);
  }

  remove(name: string): void {
    fs.rmSync(this.path(name), { recursive: true, force: true });
    this.raise("renamed", name);
  }

  /** Makes `name` a symbolic link to `target`, in one step. */
  link(name: string, target: string): void {
    const temporary = join(this.root, "temporary");
    fs.symlinkSync(target, temporary);
    fs.renameSync(temporary, this.path(name));
    this.raise("renamed", name);
  }

  raise(event: FileEvent, name: string | null): void {
    if (!this.deaf) this.#onEvent?.(event, name);
  }

  exists(name: string): boolean {
    return fs.existsSync(this.path(name));
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** What was logged since the last call. */
  logged(): string[] {
    return this.log.splice(0);
  }

  [Symbol.dispose](): void {
    void this.source.stop();
    fs.rmSync(this.root, { recursive: true, force: true });
  }

  #note(level: string, fields: LogFields = {}): void {
    const words = [level, fields.reason, [fields.file, fields.line, fields.column].join(":")];
    this.log.push(words.join(" ").replace(this.root, "").replace(/:+$/, ""));
  }
}

/** An import `demo/NAME` with this VIP. */
export function importText(name: string, vip = "241.0.0.1"): string {
  return `apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: ${name}, namespace: demo }
spec: { type: ClusterSetIP, ips: ["${vip}"], ports: [{ port: 80 }] }
`;
}

/** A slice `demo/NAME` of the import `demo/serve`, with this endpoint. */
export function sliceText(name: string, address = "10.0.0.1"): string {
  return `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: ${name}
  namespace: demo
  labels: { multicluster.kubernetes.io/service-name: serve }
addressType: IPv4
ports: [{ name: "", port: 8080 }]
endpoints: [{ addresses: ["${address}"] }]
`;
}

/** Runs as the user nobody, because root can read everything. */
export async function unprivileged(run: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(65534);
  try {
    await run();
  } finally {
    process.seteuid?.(0);
  }
}
