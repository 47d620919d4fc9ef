/**
 * Runs in a client pod: `connects.ts COUNT PORT ADDRESS...` makes connections one after the other, to each
 * address in turn, and prints two lists of milliseconds as JSON: how long connect() took in this process, and
 * how long the kernel says that the SYN and its answer took.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** What is printed. */
export interface Connects {
  readonly connects: readonly number[];
  /** By address. */
  readonly handshakes: Readonly<Record<string, readonly number[]>>;
}

/** Until the code is compiled. */
const WARM_UP = 50;

const [count, port, ...hosts] = process.argv.slice(2);

const early = await open(WARM_UP);
for (const { socket } of early) socket.resetAndDestroy();
const made = await open(Number(count));
console.log(
  JSON.stringify({
    connects: made.map(({ ms }) => ms),
    handshakes: handshakesOf(
      execFileSync("ss", ["-Htin", `dport = :${port}`], { encoding: "utf8" }),
    ),
  } satisfies Connects),
);
// A reset, so that neither side has to remember the connection.
for (const { socket } of made) socket.resetAndDestroy();

async function open(count: number): Promise<{ socket: Socket; ms: number }[]> {
  const made: { socket: Socket; ms: number }[] = [];
  for (let i = 0; i < count; i++) {
    const began = process.hrtime.bigint();
    const socket = connect({ host: hosts[i % hosts.length] ?? "", port: Number(port) });
    await once(socket, "connect");
    made.push({ socket, ms: Number(process.hrtime.bigint() - began) / 1e6 });
  }
  return made;
}

/**
 * Nothing was sent yet, so the smoothed round trip time is that of the SYN alone. ss prints addresses in one line, and the rest in the
 * next.
 */
function handshakesOf(text: string): Record<string, number[]> {
  const found = Object.fromEntries(hosts.map((host): [string, number[]] => [host, []]));
  const pattern = / ([\d.]+):\d+\s*\n.* rtt:([\d.]+)\//g;
  for (const [, host = "", ms] of text.matchAll(pattern)) found[host]?.push(Number(ms));
  return found;
}
