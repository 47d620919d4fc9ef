import assert from "node:assert/strict";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";

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
  readonly #flags: readonly string[];

  constructor({ seconds, rate, inFlight, timeout }: CountedPace) {
    const limits = ["--for", `${seconds}`, "--rate", `${rate}`, "--in-flight", `${inFlight}`];
    this.#flags = [...limits, "--every", "500", "--timeout", `${timeout}`];
  }

  /** Another client begins to connect to an address. */
  add(from: Namespace, address: string): void {
    const host = address.includes(":") ? `[${address}]` : address;
    this.#clients.push(from.spawn(request(...this.#flags, `tcp://${host}:80`)));
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
    for (const { total, answered, errors } of sums) {
      assert.deepEqual({ answered, errors }, { answered: total, errors: {} });
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
