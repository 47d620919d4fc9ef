import assert from "node:assert/strict";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";

/** Attempts in a row at one place that make a switch done. */
const SETTLED = 20;

/** How a pod connects. */
export interface Pace {
  /** New connections a second; a hundred if absent. */
  readonly rate?: number;
  /** After which no new one begins. */
  readonly seconds: number;
  /** Milliseconds after which an unanswered connection ends. */
  readonly timeout: number;
}

/** A pod that connects to a VIP all the time: each connection counts, and some stay. */
export class Connections {
  /** All so far, in the order in which they ended. */
  readonly attempts: Attempt[] = [];
  readonly #pod: Namespace;
  readonly #vip: string;
  readonly #stream: Process;

  /** Starts connections to an address; one of IPv6 is in brackets. */
  constructor(pod: Namespace, vip: string, { rate = 100, seconds, timeout }: Pace) {
    this.#pod = pod;
    this.#vip = vip;
    const limits = ["--rate", `${rate}`, "--for", `${seconds}`, "--timeout", `${timeout}`];
    this.#stream = pod.spawn(request(...limits, `tcp://${vip}:80`));
    this.#stream.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.attempts.push(attempt);
    });
  }

  /** Opens a connection that stays. */
  hold(): Promise<Held> {
    return hold(this.#pod, this.#vip);
  }

  /**
   * Waits until the latest ones, begun since `from` of them had ended, all came to one place: a cluster, a server, or `refused`.
   * `told`: the reason to print if they never do. Returns the errors of those since `from`.
   */
  async settled(
    wanted: string,
    from: number,
    told: () => string,
    patience = 10_000,
  ): Promise<string[]> {
    await eventually(() => {
      const latest = this.attempts.slice(-SETTLED);
      const enough = this.attempts.length >= from + SETTLED;
      if (enough && latest.every((one) => placeOf(one) === wanted || one.answer === wanted)) return;
      assert.fail(`not ${wanted}: ${latest.map(placeOf).join()}\n${told()}`);
    }, patience);
    return this.attempts.slice(from).flatMap(({ error }) => error ?? []);
  }

  /** Begins no new connection; those under way come to their ends, so that one that hangs is in `attempts`, too. */
  async finish(): Promise<void> {
    await this.#stream.stop();
  }
}

/** Opens a connection from a pod that stays. */
export async function hold(pod: Namespace, vip: string): Promise<Held> {
  const client = pod.spawn(request("--hold", `http://${vip}:80`));
  return new Held(client, await client.line(/"line":1\}/));
}

/** One new connection of the client, as `request` reports it. Times in ms of CLOCK_MONOTONIC. */
export interface Attempt {
  readonly begun: number;
  readonly ended: number;
  /** `cluster/pod` that answered; undefined if none did. */
  readonly answer: string | undefined;
  /** What became of it instead; undefined if it was answered. */
  readonly error: string | undefined;
}

/** Parses one line of `request`; undefined if it is not an attempt (the sum at the end). */
export function parseAttempt(line: string): Attempt | undefined {
  const said = JSON.parse(line) as { at?: number; ms?: number; name?: string; error?: string };
  if (said.at === undefined || said.ms === undefined) return undefined;
  const { at, ms, name, error } = said;
  return { begun: at, ended: at + ms, answer: name, error };
}

/** The cluster of a server's name, or the word for what went wrong. */
export function placeOf(attempt: Attempt): string {
  return attempt.answer?.split("/")[0] ?? attempt.error ?? "failed";
}

/** Now, on the clock of attempts. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** A server writes to it every 100 ms; a silence of this many ms means that it hangs. */
const LONGEST_SILENCE = 2_000;

/** One connection that stays open, and what came over it. */
export class Held {
  /** The server that took it. */
  readonly name: string;
  readonly opened: number;
  readonly #client: Process;
  #verdict: { readonly fault: string | undefined } | undefined;

  /** `client`: a `request --hold` that has printed its first line. */
  constructor(client: Process, first: string) {
    this.#client = client;
    const { at, name } = JSON.parse(first) as { at: number; name: string };
    this.name = name;
    this.opened = at;
  }

  /** Lines received so far. */
  get count(): number {
    return this.#client.lines.length;
  }

  /** Undefined as long as every line has come in order, from the same server, and in time. */
  get fault(): string | undefined {
    return this.#verdict === undefined ? this.#judge() : this.#verdict.fault;
  }

  /** Judges it for good, and closes it. May be repeated. */
  async close(): Promise<void> {
    this.#verdict ??= { fault: this.#judge() };
    await this.#client.stop();
  }

  #judge(): string | undefined {
    let [last, expected] = [this.opened, 1];
    for (const text of this.#client.lines) {
      const said = JSON.parse(text) as { at: number; name?: string; line?: number; error?: string };
      if (said.error !== undefined) return said.error;
      if (said.name !== this.name || said.line !== expected) return `out of order: ${text}`;
      if (said.at - last > LONGEST_SILENCE) return `${Math.round(said.at - last)} ms of silence`;
      [last, expected] = [said.at, expected + 1];
    }
    return now() - last > LONGEST_SILENCE ? "silent" : undefined;
  }
}

/** How each client connects. */
export interface CountedPace {
  readonly seconds: number;
  /** New connections a second, and connections under way at a time, at most. */
  readonly rate: number;
  readonly inFlight: number;
  /** Milliseconds after which an unanswered connection counts as hung. */
  readonly timeout: number;
}

/** Of all clients, once they have ended. */
export interface Count {
  readonly total: number;
  /** Milliseconds of the slowest connection. */
  readonly slowest: number;
}

/** The last line of a client. */
interface Sums {
  readonly total: number;
  readonly answered: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly maxMs: number;
}

/** Clients that connect all the time, and print sums every half second: for more connections than lines can be read. */
export class CountedConnections {
  readonly #clients: Process[] = [];
  /** Who connects to what, of each client. */
  readonly #paths: string[] = [];
  readonly #flags: readonly string[];

  constructor({ seconds, rate, inFlight, timeout }: CountedPace) {
    const limits = ["--for", `${seconds}`, "--rate", `${rate}`, "--in-flight", `${inFlight}`];
    this.#flags = [...limits, "--every", "500", "--timeout", `${timeout}`];
  }

  /** Another client begins to connect to an address. */
  add(from: Namespace, address: string): void {
    const host = address.includes(":") ? `[${address}]` : address;
    this.#clients.push(from.spawn(request(...this.#flags, `tcp://${host}:80`)));
    this.#paths.push(`${from.path} to ${address}`);
  }

  /** Number of answers so far, by server. */
  get answers(): Readonly<Record<string, number>> {
    return answersOf(this.#clients);
  }

  /** Number of answers so far. */
  get answered(): number {
    return Object.values(this.answers).reduce((sum, count) => sum + count, 0);
  }

  /** Resolves when all clients have ended by themselves. */
  async ended(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.exited));
  }

  /** Ends all clients, and asserts that each has connected at least so often, and that no connection failed. */
  async assertNoneFailed(least: number): Promise<Count> {
    for (const client of this.#clients) client.signal("SIGTERM");
    await this.ended();
    const sums = this.#clients.map((client): Sums => JSON.parse(client.lines.at(-1) ?? "{}"));
    for (const [i, { total, answered, errors }] of sums.entries()) {
      const path = this.#paths[i];
      assert.deepEqual({ path, answered, errors }, { path, answered: total, errors: {} });
      assert.ok(total >= least, `only ${total} connections`);
    }
    const total = sums.reduce((all, sum) => all + sum.total, 0);
    return { total, slowest: Math.round(Math.max(...sums.map(({ maxMs }) => maxMs))) };
  }
}

/** Number of answers that clients with `--every` have printed, by server. */
export function answersOf(clients: readonly Process[]): Readonly<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const line of clients.flatMap(({ lines }) => lines)) {
    for (const [name, count] of Object.entries(JSON.parse(line).answers ?? {})) {
      all[name] = (all[name] ?? 0) + Number(count);
    }
  }
  return all;
}

/**
 * Which server answers at an address, or the error: "timeout", or what curl says. Each call of images/request starts Node, which a test
 * cannot do hundreds of times.
 */
export async function call(
  from: Namespace,
  address: string,
  port: number,
  seconds: number,
): Promise<string> {
  const host = address.includes(":") ? `[${address}]` : address;
  const argv = ["curl", "-sS", "-m", `${seconds}`, `http://${host}:${port}/`];
  const { code, stdout, stderr } = await from.run(argv);
  if (code === 0) return (JSON.parse(stdout) as { name: string }).name;
  return code === 28 ? "timeout" : stderr;
}
