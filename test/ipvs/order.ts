import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { IpvsOptions } from "../../agent/backends/ipvs/ipvs.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";

const PROGRAMMER = fileURLToPath(new URL("programmer.ts", import.meta.url));

/** What the kernel of a namespace is to hold: the services of one family, or nothing of ours at all. */
export type Order =
  | ({
      readonly kind: "hold";
      readonly services: readonly (readonly [ObjectKey, readonly VirtualService[]])[];
    } & Omit<IpvsOptions, "family">)
  | { readonly kind: "remove" };

/** What became of it. */
export interface Answer {
  /** The transaction as text; empty if there was nothing to do. */
  readonly done: string;
  /** What a process that starts now would do: nothing, or what is written differs from what is read. */
  readonly left: string;
}

/** The IPVS backend in a namespace of a lab. */
export class Programmer {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async start(lab: Lab, node: Namespace): Promise<Programmer> {
    const path = `${lab.directory}/programmer-${node.id}`;
    await node.spawn(["node", PROGRAMMER, path]).line(/ready/, 60_000);
    return new Programmer(path);
  }

  /** Has an order obeyed. Rejects with what went wrong. */
  async obey(order: Order): Promise<Answer> {
    const connection = connect(this.#path);
    connection.end(JSON.stringify(order));
    const said: unknown = JSON.parse(await text(connection));
    if (typeof said === "object" && said !== null && "fault" in said)
      throw new Error(String(said.fault));
    return said as Answer;
  }
}
