import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Entry } from "../../agent/system/conntrack/entry.ts";
import type { ConntrackTable, EntryFilter } from "../../agent/system/conntrack/table.ts";
import { address, cidr } from "../generators/facts.ts";

/** The ClusterSet CIDR of the tests here. */
export const RANGE = cidr("241.0.0.0/8");
export const VIP = "241.0.0.10";

/** The digits of an address. */
export const hex = (text: string): string => address(text).hex;

/** A UDP port 53 of `demo/serve` at `VIP`, whose traffic goes to port 5353 of `endpoints`. */
export function udpService(
  endpoints: readonly string[],
  changes: Partial<VirtualService> = {},
): VirtualService {
  return {
    importKey: "demo/serve",
    portName: "dns",
    protocol: "UDP",
    port: 53,
    family: "IPv4",
    vips: [VIP],
    reason: endpoints.length === 0 ? "no-endpoint" : "nearest-ready",
    endpoints: endpoints.map((address) => ({ address, port: 5353 })),
    ...changes,
  };
}

/** A TCP port 80 of the same, whose traffic goes to port 8080; `keeps`, with that port, if it requests resets. */
export function tcpService(
  endpoints: readonly string[],
  keeps?: readonly string[],
  changes: Partial<VirtualService> = {},
): VirtualService {
  return {
    ...udpService(endpoints),
    ...{ portName: "http", protocol: "TCP", port: 80 },
    endpoints: endpoints.map((address) => ({ address, port: 8080 })),
    ...(keeps && { keeps: keeps.map((address) => `${address}:8080`) }),
    ...changes,
  };
}

/** How an entry differs from a UDP client's of 10.1.0.99, port 4000, at `VIP`, port 53. */
export interface EntryChanges
  extends Partial<Pick<Entry, "protocol" | "replied" | "assured" | "secondsLeft" | "tcp" | "id">> {
  /** `address:port` that was called. */
  readonly to?: string;
  /** `address:port` of the endpoint; absent if the connection was not translated. */
  readonly at?: string;
  readonly clientPort?: number;
}

export function entry({
  to = `${VIP}:53`,
  at = to,
  clientPort = 4000,
  ...rest
}: EntryChanges): Entry {
  const client = hex("10.1.0.99");
  const [destination = "", destinationPort] = to.split(":");
  const [source = "", sourcePort] = at.split(":");
  return {
    ...{ family: "IPv4", protocol: "UDP", replied: true, ...rest },
    original: {
      ...{ source: client, destination: hex(destination) },
      ...{ sourcePort: clientPort, destinationPort: Number(destinationPort) },
    },
    reply: {
      ...{ source: hex(source), destination: client },
      ...{ sourcePort: Number(sourcePort), destinationPort: clientPort },
    },
  };
}

/** A table in memory. A call fails with the next of `faults`, if there is one, and waits while it is held. */
export class FakeTable implements ConntrackTable {
  readonly name: ConntrackTable["name"];
  entries: Entry[] = [];
  readonly faults: Error[] = [];
  /** The requests. */
  readonly lists: EntryFilter[] = [];
  #held: Promise<void> | undefined;
  #hangs = false;

  constructor(name: ConntrackTable["name"] = "netlink") {
    this.name = name;
  }

  async list(
    filter: EntryFilter,
    onEntry: (entry: Entry) => void,
    stop?: AbortSignal,
  ): Promise<void> {
    this.lists.push(filter);
    await this.#held;
    if (this.#hangs && stop !== undefined) {
      await new Promise((_resolve, reject) => stop.addEventListener("abort", reject));
    }
    const fault = this.faults.shift();
    if (fault !== undefined) throw fault;
    for (const one of this.entries) onEntry(one);
  }

  async delete(entries: readonly Entry[]): Promise<number> {
    const before = this.entries.length;
    this.entries = this.entries.filter((one) => !entries.includes(one));
    return before - this.entries.length;
  }

  /** Scans wait until they are aborted. */
  holdUntilStopped(): void {
    this.#hangs = true;
  }

  /** Lets walks wait until what it returns is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = undefined;
      resolve();
    };
  }
}
