import type { VirtualService } from "../../plan/virtual-service.ts";
import type { HeldPort } from "../backend.ts";
import { OWN, serviceChain } from "./chain-name.ts";

/** A rule of a dispatch chain: the VIP, protocol and port, and the service's chain; without one, connections are rejected. */
const ENTRY = /^-A \S+ -d ([^ /]+)\/\d+ -p (\w+) .*--dport (\d+) .*-(?:g (CSP-SVC-\S+)|j RETURN)$/;
/** A rule of a service's chain. */
const ENDPOINT = /^-A (CSP-SVC-\S+) .*-j DNAT --to-destination (\S+)$/;

/** Collects what the nat table has for some services, line by line of iptables-save. */
export class HeldRules {
  readonly #chains: ReadonlySet<string>;
  readonly #places: ReadonlySet<string>;
  readonly #entries = new Map<string, HeldPort & { readonly chain: string | undefined }>();
  readonly #destinations = new Map<string, Set<string>>();

  constructor(services: readonly VirtualService[]) {
    this.#chains = new Set(services.map(serviceChain));
    const places = services.flatMap(({ vips, protocol, port }) =>
      vips.map((vip) => placeOf({ vip, protocol, port })),
    );
    this.#places = new Set(places);
  }

  /** Takes one line. */
  line(text: string): void {
    if (!text.startsWith(`-A ${OWN}`)) return;
    const [, chain = "", destination] = ENDPOINT.exec(text) ?? [];
    if (destination !== undefined) {
      const found = this.#destinations.get(chain) ?? new Set();
      if (this.#chains.has(chain)) this.#destinations.set(chain, found.add(destination));
      return;
    }
    const [, vip, word = "", port, leadsTo] = ENTRY.exec(text) ?? [];
    const protocol = (["TCP", "UDP", "SCTP"] as const).find((one) => one.toLowerCase() === word);
    if (vip === undefined || protocol === undefined) return;
    const one = { vip, protocol, port: Number(port) };
    if (this.#places.has(placeOf(one)))
      this.#entries.set(placeOf(one), { ...one, destinations: [], chain: leadsTo });
  }

  /** What was found. A chain that another rule of ours leads to counts as well as the service's own. */
  ports(): HeldPort[] {
    return [...this.#entries.values()].map(({ chain = "", ...port }) => ({
      ...port,
      destinations: [...(this.#destinations.get(chain) ?? [])].sort(),
    }));
  }
}

function placeOf({ vip, protocol, port }: Omit<HeldPort, "destinations">): string {
  return `${vip} ${protocol} ${port}`;
}
