import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { isLabelName, objectKey } from "../../../api/names.ts";
import { isProtocol } from "../../../api/protocol.ts";
import type { PlannedEndpoint, VirtualService } from "../../plan/virtual-service.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import type { Believed } from "./tables.ts";

/** What the chain of a service is called, in nat. */
const SERVICE = `${OWN}SVC-`;
/** A dispatch rule, as `leadOn` writes it. */
const ENTRY = new RegExp(
  `^-A \\S+ -d (?<vip>\\S+)/\\d+ -p (?<word>\\w+) -m \\w+ --dport (?<port>\\d+) ` +
    `-m comment --comment "(?<namespace>[^/"]+)/(?<name>[^:"]+):(?<portName>[^"]+)" -g (?<chain>${SERVICE}\\w+)$`,
);
/** A rule of a service's chain, as `renderService` writes it. */
const DNAT = new RegExp(`^-A (?<chain>${SERVICE}\\w+) .* -j DNAT --to-destination (?<to>\\S+)$`);
/** Where DNAT leads. */
const TO = /^\[?(?<address>[^\]]+?)\]?:(?<port>\d+)$/;
/** A hairpin's rule, as `renderHairpin` writes it. */
const HAIRPIN = /^-A \S+ -s (?<address>\S+)\/\d+ -d \S+ -m comment --comment hairpin /;

/** How many services the kernel is believed to have rules of. */
export function countServices({ chains }: Believed): number {
  let count = 0;
  for (const key of chains.keys()) if (key.startsWith(`nat ${SERVICE}`)) count++;
  return count;
}

/**
 * Finds out from the rules which services they are for, so that they can be kept without anybody who wants them. Takes
 * the lines of `iptables-save -t nat`. What is not spelled as we spell it (another version's, a VIP or name that does
 * not fit its chain) is passed over.
 */
export class StandingServices {
  readonly #family: Family;
  /** Addresses that may run here. */
  readonly #hairpins = new Set<string>();
  readonly #services = new Map<string, VirtualService>();
  readonly #endpoints = new Map<string, PlannedEndpoint[]>();

  /** `masquerade`: the rules of CSP-MASQUERADE. */
  constructor(family: Family, masquerade: readonly string[]) {
    this.#family = family;
    for (const line of masquerade) {
      const address = HAIRPIN.exec(line)?.groups?.address;
      if (address !== undefined) this.#hairpins.add(address);
    }
  }

  line(text: string): void {
    if (!text.startsWith(`-A ${OWN}`)) return;
    if (text.startsWith(`-A ${SERVICE}`)) this.#endpoint(text);
    else this.#entry(text);
  }

  services(): VirtualService[] {
    return [...this.#services].map(([chain, service]) => ({
      ...service,
      endpoints: this.#endpoints.get(chain) ?? [],
    }));
  }

  #entry(text: string): void {
    const { vip = "", word = "", port = "", chain = "", ...names } = ENTRY.exec(text)?.groups ?? {};
    const { namespace = "", name = "", portName = "" } = names;
    const protocol = word.toUpperCase();
    const address = parseAddress(vip);
    if (!isProtocol(protocol) || !isLabelName(namespace) || !isLabelName(name)) return;
    if (!isAddress(address) || address.family !== this.#family) return;
    const known = this.#services.get(chain);
    const service: VirtualService = {
      importKey: objectKey(namespace, name),
      portName: portName === port ? "" : portName,
      protocol,
      port: Number(port),
      family: this.#family,
      vips: [...(known?.vips ?? []), address.text],
      reason: "nearest-ready",
      endpoints: [],
    };
    if (serviceChain(service) === chain) this.#services.set(chain, service);
  }

  #endpoint(text: string): void {
    const { chain = "", to = "" } = DNAT.exec(text)?.groups ?? {};
    const { address = "", port = "" } = TO.exec(to)?.groups ?? {};
    if (!this.#hairpins.has(address)) return;
    const endpoints = this.#endpoints.get(chain) ?? [];
    this.#endpoints.set(chain, [...endpoints, { address, port: Number(port), maybeHere: true }]);
  }
}
