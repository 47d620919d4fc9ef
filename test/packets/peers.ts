import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Result } from "../../images/request/attempt.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Target } from "./packet-case.ts";
import { askOverSctp, serveSctp } from "./sctp.ts";

/** Connections that a peer is to make, one after the other. */
export interface Ask {
  /** As `request` of images/ takes it: tcp://241.0.0.10:80 */
  readonly target: string;
  readonly count: number;
  readonly timeoutMs: number;
}

/** A port that is answered on. */
export type Port = Pick<Target, "protocol" | "port">;

/** Long, because a virtual machine or a busy one is slow, and nothing waits for it that goes well. */
const TIMEOUT_MS = 10_000;
const START_MS = 300_000;

const PROGRAM = `${import.meta.dirname}/peer.ts`;

/** A place of a lab that answers on ports, saying its name, and connects to others. */
export class Peer {
  readonly place: Namespace;
  readonly #socket: string;

  private constructor(place: Namespace, socket: string) {
    this.place = place;
    this.#socket = socket;
  }

  /** Starts one; it answers when this returns. */
  static async start(lab: Lab, place: Namespace, ports: readonly Port[]): Promise<Peer> {
    const socket = `${lab.directory}/peer-${place.id}`;
    const others = ports.filter(({ protocol }) => protocol !== "sctp");
    const flags = others.map(({ protocol, port }) => `${protocol}:${port}`);
    const program = [process.execPath, PROGRAM, socket, place.path, ...flags];
    const served = ports.map(({ protocol, port }) =>
      protocol === "sctp" ? serveSctp(place, port) : undefined,
    );
    await Promise.all([place.spawn(program).line(/serving/, START_MS), ...served]);
    return new Peer(place, socket);
  }

  /** Connects `count` times, each on a new connection; returns the results. */
  async connect({ protocol, address, port }: Target, count: number): Promise<Result[]> {
    if (protocol === "sctp") return askOverSctp(this.place, address, port, count);
    const host = address.includes(":") ? `[${address}]` : address;
    const ask: Ask = { target: `${protocol}://${host}:${port}`, count, timeoutMs: TIMEOUT_MS };
    const connection = connect(this.#socket);
    connection.end(JSON.stringify(ask));
    return JSON.parse(await text(connection)) as Result[];
  }
}
