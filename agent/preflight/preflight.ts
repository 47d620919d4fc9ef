import type { Family } from "../../api/address.ts";
import { addressFromHex } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { Clock } from "../../common/clock.ts";
import {
  CONNTRACK_FILES,
  type ConntrackFact,
  judgeConntrack,
  parseConntrack,
} from "./conntrack-table.ts";
import { extensionTrial, judgeExtensions, parseTrial } from "./extensions.ts";
import { FORWARDING, judgeForwarding } from "./forwarding.ts";
import { judgeLocks, MOUNTS } from "./lock-file.ts";
import {
  type Attempt,
  inNamespace,
  judgePods,
  LINK_QUERY,
  type LinkFact,
  leadsToGuard,
  nextNamespace,
  parseKnock,
  parseLinks,
  REMEMBERED,
} from "./pods.ts";
import { isPlain, judgeRoute, parseRoute, type RouteFact, routeQuery } from "./route.ts";
import { judgeServiceRange, parseServiceRanges, serviceRangeQuery } from "./service-range.ts";
import type { Outcome, Sight } from "./sight.ts";
import { judgeNft, judgeTools, parseTool } from "./tools.ts";
import type { Verdict } from "./verdict.ts";

/** Service ranges that an API server has told of, none if it has not; asked for at every look, without wait once aborted. */
export type ToldServiceCidrs = (hurry: AbortSignal) => Promise<readonly Cidr[]>;

/** Which iptables writes rules. */
type Flavour = "nft" | "legacy";

/** What a look at the node is made with. */
export interface PreflightOptions {
  /** One range for each family that is programmed. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** Those that the operator named. */
  readonly serviceCidrs: readonly Cidr[];
  readonly toldServiceCidrs: ToldServiceCidrs;
  /**
   * Of the iptables that writes rules; absent with IPVS. There, nft writes all or nothing, so what the kernel lacks shows at
   * the first sync; and a VIP is the node's own address, to which its programs need no route.
   */
  readonly flavour?: Flavour;
  /** Files that must be the host's. */
  readonly lockFiles: readonly string[];
  /** The program that sends one SYN to port 0 of an address, and prints what came back (`parseKnock`). */
  readonly knock: (address: string) => readonly string[];
  readonly sight: Sight;
  readonly clock: Clock;
  /** True once the guard of this family is in the kernel: before, silence means nothing. */
  readonly guarded: (family: Family) => boolean;
  /** Told after every look. */
  readonly told: (verdicts: readonly Verdict[], conntrack: ConntrackFact | undefined) => void;
}

/** Milliseconds from the end of one look to the beginning of the next. */
const EVERY = 60_000;
/**
 * Looks at what a node must have besides our rules for them to work: at the start, and every minute. It blocks
 * nothing, writes nothing to the node's network, and knows nothing of imports; what it finds is told, and mended by
 * people. The files beside this one say what to ask and what the answers mean.
 */
export class Preflight {
  readonly #options: PreflightOptions;
  readonly #attempts = new Map<Family, Attempt[]>();
  /** Verdicts on what does not change while the agent runs, once they are good. */
  readonly #settled = new Map<string, Verdict>();
  #verdicts: readonly Verdict[] = [];
  readonly #stop = new AbortController();
  /** True if somebody asked for another look while one was under way. */
  #asked = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: PreflightOptions) {
    this.#options = options;
  }

  /** What the last look found; empty before the first has ended. */
  get verdicts(): readonly Verdict[] {
    return this.#verdicts;
  }

  /** Begins with a first look. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Has the node looked at now, not only after the rest of the minute. */
  again(): void {
    this.#asked = true;
    this.#wake();
  }

  /** Ends the look under way, which tells nothing any more, and begins no other. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#asked = false;
      await this.#look();
      if (!this.#asked) await this.#pause();
    }
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#stop.signal.aborted) return Promise.resolve();
    const cancel = this.#options.clock.after(EVERY, resolve);
    this.#wake = () => {
      cancel();
      resolve();
    };
    return promise;
  }

  async #look(): Promise<void> {
    const { clusterSetCidrs, guarded, sight, told } = this.#options;
    const { flavour } = this.#options;
    const verdicts = [await this.#locks()];
    verdicts.unshift(await this.#once("tools", () => this.#tools(flavour)));
    const routes = new Map<Family, RouteFact | undefined>();
    for (const cidr of clusterSetCidrs) routes.set(cidr.family, await this.#route(cidr));
    const links = await this.#links(routes);
    for (const cidr of clusterSetCidrs) {
      const { family } = cidr;
      const route = routes.get(family);
      const forwarding = judgeForwarding(family, await sight.read(FORWARDING[family].file));
      const tried = leadsToGuard(route, forwarding) && guarded(family);
      if (flavour !== undefined) {
        const look = () => this.#extensions(flavour, family);
        verdicts.push(await this.#once(`extensions-${family}`, look));
      }
      if (flavour !== undefined) verdicts.push(judgeRoute(cidr, route));
      verdicts.push(
        forwarding,
        await this.#serviceRange(cidr),
        await this.#pods(cidr, links, tried),
      );
    }
    const conntrack = await this.#conntrack();
    verdicts.push(judgeConntrack(conntrack));
    // What was cut short looks like a fault of the node.
    if (this.#stop.signal.aborted) return;
    this.#verdicts = verdicts;
    told(verdicts, conntrack);
  }

  /** Looks again only as long as the verdict is not good. */
  async #once(name: string, look: () => Promise<Verdict>): Promise<Verdict> {
    const verdict = this.#settled.get(name) ?? (await look());
    if (verdict.state === "well") this.#settled.set(name, verdict);
    return verdict;
  }

  async #tools(flavour: Flavour | undefined): Promise<Verdict> {
    if (flavour === undefined) return judgeNft(parseTool("nft", await this.#ask(["nft", "-v"])));
    const tools = this.#options.clusterSetCidrs.map(async ({ family }) => {
      const program = programOf(flavour, family);
      return parseTool(program, await this.#ask([program, "--version"]));
    });
    return judgeTools(flavour, await Promise.all(tools));
  }

  async #locks(): Promise<Verdict> {
    const { lockFiles, sight } = this.#options;
    return judgeLocks(lockFiles, await sight.read(MOUNTS));
  }

  async #extensions(flavour: Flavour, family: Family): Promise<Verdict> {
    const trial = extensionTrial(programOf(flavour, family), family);
    return judgeExtensions(family, parseTrial(await this.#ask(trial)));
  }

  async #route(cidr: Cidr): Promise<RouteFact | undefined> {
    return parseRoute(await this.#ask(routeQuery(probeAddress(cidr), cidr.family)));
  }

  async #serviceRange(cidr: Cidr): Promise<Verdict> {
    const kubeProxy = parseServiceRanges(await this.#ask(serviceRangeQuery(cidr.family)));
    const { serviceCidrs: flag, toldServiceCidrs } = this.#options;
    const objects = await toldServiceCidrs(this.#stop.signal);
    return judgeServiceRange(cidr, { flag, kubeProxy, objects });
  }

  async #links(routes: ReadonlyMap<Family, RouteFact | undefined>): Promise<LinkFact | undefined> {
    const devices = [...routes.values()].flatMap((route) =>
      route?.kind === "route" && route.device !== undefined ? [route.device] : [],
    );
    return parseLinks(await this.#ask(LINK_QUERY), new Set(devices));
  }

  /** `telling`: whether an answer, or none, would tell anything now. */
  async #pods(cidr: Cidr, links: LinkFact | undefined, telling: boolean): Promise<Verdict> {
    const attempts = this.#attempts.get(cidr.family) ?? [];
    this.#attempts.set(cidr.family, attempts);
    const namespace = links && nextNamespace(links, attempts);
    if (namespace !== undefined && telling) {
      attempts.push({ namespace, result: await this.#try(cidr, namespace) });
      if (attempts.length > REMEMBERED) attempts.shift();
    }
    return judgePods(cidr, links, attempts);
  }

  /** Only a pod with a route of this family can send anything. */
  async #try(cidr: Cidr, namespace: string): Promise<Attempt["result"]> {
    const address = probeAddress(cidr);
    const query = routeQuery(address, cidr.family);
    const route = parseRoute(await this.#ask(inNamespace(namespace, query)));
    if (!isPlain(route)) return "unclear";
    return parseKnock(await this.#ask(inNamespace(namespace, this.#options.knock(address))));
  }

  async #conntrack(): Promise<ConntrackFact | undefined> {
    const { sight } = this.#options;
    return parseConntrack(
      await sight.read(CONNTRACK_FILES.count),
      await sight.read(CONNTRACK_FILES.limit),
    );
  }

  #ask(argv: readonly [string, ...string[]]): Promise<Outcome> {
    return this.#options.sight.run(argv, this.#stop.signal);
  }
}

function programOf(flavour: Flavour, family: Family): string {
  return `${family === "IPv4" ? "iptables" : "ip6tables"}-${flavour}`;
}

/** An address of the range that stands for all of them: the last but one, the last being a broadcast elsewhere. */
function probeAddress({ family, hex, bits }: Cidr): string {
  const width = BigInt(hex.length * 4);
  const size = 1n << (width - BigInt(bits));
  const last = BigInt(`0x${hex}`) + (size > 2n ? size - 2n : 0n);
  return addressFromHex(last.toString(16).padStart(family === "IPv4" ? 8 : 32, "0")).text;
}
