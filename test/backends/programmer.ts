import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { BackendConfig } from "../../agent/backends/backend-kind.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { TestedBackend } from "./tested-backend.ts";

const PROCESS = fileURLToPath(new URL("programmer-process.ts", import.meta.url));

/** The desired services of one family. */
export interface Hold {
  readonly kind: "hold";
  readonly services: readonly (readonly [ObjectKey, readonly VirtualService[]])[];
  /** Of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly family: Family;
  readonly config: Partial<BackendConfig>;
  /** True to read the kernel first, as after drift or a start. */
  readonly afresh?: boolean;
}

/** What a programmer is requested to do. */
export type Request =
  | Hold
  | { readonly kind: "check"; readonly family: Family }
  | { readonly kind: "remove" };

/** The result of a `Hold`. */
export interface Held {
  /** The transaction as text; empty if there was nothing to do. */
  readonly done: string;
  /** The transaction of a process that starts now; not empty if the kernel lists anything else than was written. */
  readonly left: string;
  /** Kernel objects that it would write, without those that it would delete. */
  readonly writesLeft: number;
}

/** A backend that programs one network namespace of a lab. Its methods reject with the message and code of the backend's error. */
export class Programmer {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async start(lab: Lab, node: Namespace, { title }: TestedBackend): Promise<Programmer> {
    const path = `${lab.directory}/programmer-${node.id}-${title.replaceAll(/\W/g, "")}`;
    await node.spawn([process.execPath, PROCESS, path, title]).line(/ready/, 60_000);
    return new Programmer(path);
  }

  hold(request: Omit<Hold, "kind">): Promise<Held> {
    return this.#request({ kind: "hold", ...request });
  }

  /** Drift since the last `hold`, each as its reason and object, in order. */
  check(family: Family): Promise<string[]> {
    return this.#request({ kind: "check", family });
  }

  /** Removes all objects of ours, twice; returns the number of objects removed each time. */
  remove(): Promise<[number, number]> {
    return this.#request({ kind: "remove" });
  }

  async #request<Result>(request: Request): Promise<Result> {
    const connection = connect(this.#path);
    connection.end(JSON.stringify(request));
    const result = JSON.parse(await text(connection));
    if (typeof result === "object" && result !== null && "fault" in result)
      throw Object.assign(new Error(String(result.fault)), { code: result.code });
    return result as Result;
  }
}
