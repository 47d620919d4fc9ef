import { type Cidr, isCidr, parseCidr } from "../../../api/cidr.ts";
import { fieldAt } from "../../../api/parse/fields.ts";
import type { Clock } from "../../../common/clock.ts";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Connection } from "../../../common/kubernetes/connection.ts";
import { listPages } from "../../../common/kubernetes/list-pages.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource-query.ts";

/** Where a cluster says from which ranges its Services get their addresses (KEP-1880; v1 since Kubernetes 1.33). */
export const SERVICE_CIDRS = {
  group: "networking.k8s.io",
  versions: ["v1", "v1beta1"],
  resource: "servicecidrs",
} as const satisfies ResourceQuery;

/** Milliseconds until they are asked for again: they change once in a cluster's life, if ever. */
const EVERY = 15 * 60_000;
/** The same after an answer that was none. */
const AFTER_FAULT = 5 * 60_000;
/** Milliseconds that an answer is worth waiting for. */
const PATIENCE = 2000;

/** What `ServiceCidrs` are made of. */
export interface ServiceCidrsOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
}

/**
 * The Service ranges of the cluster, for preflight alone: listed now and then, not watched, so that they cost no
 * connection. A server that does not have the kind, a right that is missing, and a fault of any other sort mean that
 * nothing new is known; what was heard before stays.
 */
export class ServiceCidrs {
  readonly #api: ApiServer;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #heard: readonly Cidr[] = [];
  #due = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor({ api, clock }: ServiceCidrsOptions) {
    this.#api = api;
    this.#clock = clock;
  }

  /**
   * What was heard last, nothing if nothing was. If that is long ago, they are asked for; an answer that takes longer
   * than a moment is for the next call. `hurry`: is aborted by who can wait no longer.
   */
  async latest(hurry: AbortSignal): Promise<readonly Cidr[]> {
    if (this.#clock.now() >= this.#due && !this.#stop.signal.aborted) this.#asking ??= this.#ask();
    if (this.#asking !== undefined && !hurry.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = this.#clock.after(PATIENCE, resolve);
      hurry.addEventListener("abort", () => resolve(), { once: true });
      await Promise.race([this.#asking, promise]);
      cancel();
    }
    return this.#heard;
  }

  /** Ends the request that is under way, and makes no other. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#asking;
  }

  async #ask(): Promise<void> {
    // Whatever the fault: preflight says that no range is known, and the reflectors tell of a server that is not well.
    const heard = await this.#list().catch(() => undefined);
    this.#heard = heard ?? this.#heard;
    this.#due = this.#clock.now() + (heard === undefined ? AFTER_FAULT : EVERY);
    this.#asking = undefined;
  }

  async #list(): Promise<readonly Cidr[]> {
    const { signal } = this.#stop;
    const connection = new Connection({ api: this.#api, clock: this.#clock, signal });
    let unserved: unknown;
    for (const version of SERVICE_CIDRS.versions) {
      const ranges: Cidr[] = [];
      try {
        await listPages(connection, SERVICE_CIDRS, version, (object) => {
          ranges.push(...rangesOf(object));
        });
        return ranges;
      } catch (thrown) {
        if (!(thrown instanceof ApiFault) || thrown.reason !== "not-served") throw thrown;
        unserved = thrown;
      }
    }
    throw unserved;
  }
}

/** The ranges that an object names; what is none is left out. PURE. */
function rangesOf(object: unknown): Cidr[] {
  const list = fieldAt(object, "spec", "cidrs");
  return (Array.isArray(list) ? list : []).flatMap((text: unknown) => {
    const range = typeof text === "string" ? parseCidr(text) : undefined;
    return range !== undefined && isCidr(range) ? [range] : [];
  });
}
