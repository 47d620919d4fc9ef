import assert from "node:assert/strict";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { PROBE_IMAGE } from "../cluster/images.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import type { Clusterset } from "./clusterset.ts";

/** What became of one call, and when it began: ms of CLOCK_MONOTONIC, the same for all callers. */
export interface Call {
  readonly at: number;
  readonly ms: number;
  /** The pod that answered. */
  readonly name?: string;
  /** A word of images/request, such as "refused". */
  readonly error?: string;
  /** Of a connection that is held: which line of it came. */
  readonly line?: number;
}

export interface CallerOptions {
  readonly cluster: string;
  readonly namespace: string;
  /** The pod's. */
  readonly name: string;
  /** What is called: http://web.shop.svc.clusterset.local */
  readonly target: string;
  /** Calls a second, each on a connection of its own and with a look at DNS of its own. */
  readonly rate?: number;
  /** The node that it runs on; none: where the scheduler puts it. */
  readonly node?: string;
  /** The limit of a call, ms: longer than any successful call on a busy machine. */
  readonly timeoutMs?: number;
  /** Instead of calls, one connection that is held: each line that comes over it counts as a call. */
  readonly hold?: boolean;
}

/** Calls a second by default. */
const RATE = 20;

/** How long a call may be pending without being counted as such: less than the time between two, unless there are many. */
const SHORT_MS = 40;

/** Longer than any test. */
const AT_MOST_S = 600;

/** How long the last calls may take to come to their ends. */
const PATIENCE_MS = 15_000;

/** A pod that calls continuously. Its log is read on its node, without an API server. */
export class Caller {
  readonly #options: CallerOptions;
  readonly #node: ClusterNode;
  readonly #uid: string;
  readonly #lines: object[] = [];
  /** Bytes of the log that were read. */
  #read = 0;

  private constructor(options: CallerOptions, node: ClusterNode, uid: string) {
    this.#options = options;
    this.#node = node;
    this.#uid = uid;
  }

  /** Starts one; returns when its pod runs. The namespace has to be there. */
  static async start(set: Pick<Clusterset, "clusters">, options: CallerOptions): Promise<Caller> {
    const { cluster, namespace, name, target, rate = RATE, node } = options;
    const { timeoutMs = 2_000, hold = false } = options;
    const way = hold ? ["--hold"] : ["--for", `${AT_MOST_S}`, "--rate", `${rate}`];
    const container = {
      name: "request",
      image: PROBE_IMAGE,
      command: ["node", "/app/request/request.ts"],
      args: [...way, "--timeout", `${timeoutMs}`, `${target}#${name}`],
    };
    const place = node === undefined ? {} : { nodeName: node };
    const spec = { restartPolicy: "Never", ...place, containers: [container] };
    const stdin = JSON.stringify({ ...manifest("Pod", `${namespace}/${name}`), spec });
    const kubectl = (...args: readonly string[]) =>
      set.clusters.kubectl(cluster, ["-n", namespace, ...args], { stdin });
    await kubectl("apply", "-f", "-");
    await kubectl("wait", "--for=condition=Ready", "--timeout=60s", `pod/${name}`);
    const pod = JSON.parse(await kubectl("get", "pod", name, "-o", "json"));
    const { nodes } = set.clusters.cluster(cluster);
    const found = nodes.find((one) => one.name === pod.spec.nodeName);
    if (found === undefined) throw new Error(`${cluster} has no node ${pod.spec.nodeName}`);
    return new Caller(options, found, pod.metadata.uid);
  }

  /** All calls that have ended up to now, in the order in which they ended. */
  async calls(): Promise<Call[]> {
    return (await this.#said()).filter((line) => "at" in line) as Call[];
  }

  /** The same, of those that began at this time of CLOCK_MONOTONIC or later. */
  async callsSince(at: number): Promise<Call[]> {
    return (await this.calls()).filter((call) => call.at >= at);
  }

  /** The number of pending calls when the latest finished call began, computed from the rate; not those that have just begun. */
  async hanging(): Promise<number> {
    if (this.#options.hold) return 0;
    const begun = (await this.calls()).map(({ at }) => at);
    const span = Math.max(...begun) - Math.min(...begun);
    const { rate = RATE } = this.#options;
    // The first one began a moment after the clock by which the others begin.
    const pending = Math.floor((span * rate) / 1_000) - begun.length;
    return Math.max(0, pending - Math.floor((SHORT_MS * rate) / 1_000));
  }

  /** Ends it, and gives all calls when those that were under way have ended, too. */
  async stop(): Promise<readonly Call[]> {
    const { name } = this.#options;
    await this.#node.host.exec(["pkill", "-TERM", "-f", `request.ts .*#${name}$`]);
    // Nothing sums up a connection.
    if (this.#options.hold) return this.calls();
    return eventually(async () => {
      const isOver = (await this.#said()).some((line) => "total" in line);
      assert.ok(isOver, `${name} does not end`);
      return this.calls();
    }, PATIENCE_MS);
  }

  async #said(): Promise<readonly object[]> {
    const { namespace, name } = this.#options;
    const log = `/var/log/pods/${namespace}_${name}_${this.#uid}/request/0.log`;
    const from = this.#read;
    const text = await this.#node.host.exec(["tail", "-c", `+${from + 1}`, log]);
    // Another reader has read the same lines meanwhile.
    if (this.#read !== from) return this.#lines;
    // The last line may be being written.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    this.#read += Buffer.byteLength(whole);
    // containerd's format: time, stream, F for a whole line, and the text.
    for (const [, said = ""] of whole.matchAll(/ stdout F (\{.*\})$/gm)) {
      this.#lines.push(JSON.parse(said));
    }
    return this.#lines;
  }
}

/** Asserts that none of these calls failed. */
export function assertNoneFailed(calls: readonly Call[], what = ""): void {
  const failed = calls.filter(({ error }) => error !== undefined);
  assert.deepEqual(failed, [], what);
}

/** Asserts that each line of a connection that is held came, from such a pod, and more of them than before. */
export function assertHeld(lines: readonly Call[], by: RegExp, before = 0): void {
  assert.ok(lines.length > before);
  for (const [i, { line, name, error }] of lines.entries()) {
    assert.deepEqual({ line, error }, { line: i + 1, error: undefined });
    assert.match(name ?? "", by);
  }
}
