import { addressFromHex, type Family } from "../../api/address.ts";
import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/sleep.ts";
import type { Requirements } from "../backends/requirements.ts";
import type { Argv, ProgramResult } from "../system/program-result.ts";
import { BRIDGE_FILTER, BRIDGE_QUERY, checkBridges, parseBridges } from "./bridges.ts";
import {
  CONNTRACK_FILES,
  type ConntrackFact,
  checkConntrack,
  parseConntrack,
} from "./conntrack-table.ts";
import { type Finding, worst } from "./finding.ts";
import { checkForwarding, FORWARDING } from "./forwarding.ts";
import {
  checkInvalid,
  dropsInvalid,
  invalidQuery,
  LEGACY_TABLES,
  LIBERAL_FILE,
} from "./invalid-segments.ts";
import { checkLocks, MOUNTS } from "./lock-file.ts";
import { checkExtensions } from "./missing-extensions.ts";
import {
  checkPods,
  inNamespace,
  LINK_QUERY,
  type LinkFact,
  MOST_PROBES,
  nextNamespace,
  type Probe,
  parseLinks,
  parseProbe,
  reachesGuard,
} from "./pods.ts";
import { checkRoute, isPlain, parseRoute, type RouteFact, routeQuery } from "./route.ts";
import { checkServiceRange, parseServiceRanges, serviceRangeQuery } from "./service-range.ts";
import { checkTools, parseTool } from "./tools.ts";

/** What preflight needs. */
export interface PreflightOptions {
  /** One or two ranges per family. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** `--service-cidrs`. */
  readonly serviceCidrs: readonly Cidr[];
  /** The last known ranges of the cluster's ServiceCIDRs. */
  readonly listedServiceCidrs: () => readonly Cidr[];
  /** What the backend in use requires. */
  readonly requirements: Requirements;
  /** The file that the agents of one node lock; it must be the host's. */
  readonly lockFile: string;
  /** A program that sends one SYN to port 0 of an address and prints the answer (`parseProbe`). */
  readonly probe: (address: string) => readonly string[];
  /** Runs a program, which only reads, to its end, or until `stop` is aborted. Never rejects. */
  readonly run: (argv: Argv, stop: AbortSignal) => Promise<ProgramResult>;
  /** The text of a file; undefined if it cannot be read. */
  readonly read: (path: string) => Promise<string | undefined>;
  readonly clock: Clock;
  /** True once the guard of this family is programmed: before, probes show nothing. */
  readonly guarded: (family: Family) => boolean;
  /** Called after every run. */
  readonly report: (findings: readonly Finding[], conntrack: ConntrackFact | undefined) => void;
}

/** Milliseconds from the end of one run to the start of the next. */
const INTERVAL = 60_000;

/**
 * Checks what else a node must have for our rules to work: at the start, and every minute. It blocks nothing, changes
 * nothing on the node's network, and does not depend on imports. The files beside this one query and interpret.
 */
export class Preflight {
  readonly #options: PreflightOptions;
  /** Probes by range. */
  readonly #probes = new Map<string, Probe[]>();
  /** Checks that passed and whose result cannot change while the agent runs. */
  readonly #passed = new Map<string, Finding>();
  #findings: readonly Finding[] = [];
  readonly #stop = new AbortController();
  /** Ends the pause between two runs. */
  #wake = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: PreflightOptions) {
    this.#options = options;
  }

  /** Findings of the last run; empty before the first has ended. */
  get findings(): readonly Finding[] {
    return this.#findings;
  }

  /** Starts the first run. */
  start(): void {
    this.#running ??= this.#loop();
  }

  /** Runs again at once, or right after the run under way. */
  again(): void {
    this.#wake.abort();
  }

  /** Cancels the run under way, which reports nothing, and starts no other. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      await this.#runOnce();
      if (this.#stop.signal.aborted) return;
      await sleep(this.#options.clock, INTERVAL, this.#wake.signal);
    }
  }

  async #runOnce(): Promise<void> {
    const { clusterSetCidrs, requirements, guarded, lockFile, read, report } = this.#options;
    const { lockFiles, needsRoute, rejectedExtensions } = requirements;
    const findings = [
      await this.#untilPassed("tools", () => this.#tools()),
      checkLocks([lockFile, ...lockFiles], await read(MOUNTS)),
    ];
    const routes = new Map<Cidr, RouteFact | undefined>();
    for (const cidr of clusterSetCidrs) routes.set(cidr, await this.#route(cidr));
    const links = await this.#links([...routes.values()]);
    for (const family of familiesIn(clusterSetCidrs)) {
      const ranges = ofFamily(clusterSetCidrs, family);
      if (rejectedExtensions !== undefined) {
        const { signal } = this.#stop;
        const check = async () => checkExtensions(family, await rejectedExtensions(family, signal));
        findings.push(await this.#untilPassed(`extensions-${family}`, check));
      }
      if (needsRoute) {
        findings.push(worst(ranges.map((cidr) => checkRoute(cidr, routes.get(cidr)))));
      }
      const forwarding = checkForwarding(family, await read(FORWARDING[family].file));
      const services: Finding[] = [];
      const pods: Finding[] = [];
      for (const cidr of ranges) {
        services.push(await this.#serviceRange(cidr));
        const canProbe = reachesGuard(routes.get(cidr), forwarding) && guarded(family);
        pods.push(await this.#pods(cidr, links, canProbe));
      }
      findings.push(forwarding, worst(services), worst(pods));
      findings.push(await this.#bridges(family, links), await this.#invalid(family));
    }
    const conntrack = parseConntrack(
      await read(CONNTRACK_FILES.count),
      await read(CONNTRACK_FILES.limit),
    );
    findings.push(checkConntrack(conntrack));
    // A check that was cancelled looks like a fault of the node.
    if (this.#stop.signal.aborted) return;
    this.#findings = findings;
    report(findings, conntrack);
  }

  async #untilPassed(name: string, check: () => Promise<Finding>): Promise<Finding> {
    const finding = this.#passed.get(name) ?? (await check());
    if (finding.state === "ok") this.#passed.set(name, finding);
    return finding;
  }

  async #tools(): Promise<Finding> {
    const { clusterSetCidrs, requirements } = this.#options;
    const tools = requirements.tools(familiesIn(clusterSetCidrs));
    const facts = tools.map(async (tool) => parseTool(tool, await this.#query(tool.query)));
    return checkTools(await Promise.all(facts));
  }

  async #route(cidr: Cidr): Promise<RouteFact | undefined> {
    return parseRoute(await this.#query(routeQuery(probeAddress(cidr), cidr.family)));
  }

  async #serviceRange(cidr: Cidr): Promise<Finding> {
    const kubeProxy = parseServiceRanges(await this.#query(serviceRangeQuery(cidr.family)));
    const { serviceCidrs: flag, listedServiceCidrs } = this.#options;
    return checkServiceRange(cidr, { flag, kubeProxy, objects: listedServiceCidrs() });
  }

  async #links(routes: readonly (RouteFact | undefined)[]): Promise<LinkFact | undefined> {
    const uplinks = routes.flatMap((route) =>
      route?.kind === "route" && route.device !== undefined ? [route.device] : [],
    );
    return parseLinks(await this.#query(LINK_QUERY), new Set(uplinks));
  }

  async #bridges(family: Family, links: LinkFact | undefined): Promise<Finding> {
    const bridges = parseBridges(await this.#query(BRIDGE_QUERY));
    const text = await this.#options.read(BRIDGE_FILTER[family].file);
    return checkBridges(family, text, bridges, links?.masters);
  }

  async #invalid(family: Family): Promise<Finding> {
    const { read } = this.#options;
    const inLegacy = (await read(LEGACY_TABLES[family]))?.split("\n").includes("filter") ?? false;
    const flavours = inLegacy ? (["legacy", "nft"] as const) : (["nft"] as const);
    const found: (boolean | undefined)[] = [];
    for (const flavour of flavours)
      found.push(dropsInvalid(await this.#query(invalidQuery(family, flavour))));
    const drops = found.includes(true) || (found.includes(undefined) ? undefined : false);
    return checkInvalid(family, await read(LIBERAL_FILE), drops);
  }

  async #pods(cidr: Cidr, links: LinkFact | undefined, canProbe: boolean): Promise<Finding> {
    const probes = this.#probes.get(cidr.text) ?? [];
    this.#probes.set(cidr.text, probes);
    const namespace = links && nextNamespace(links, probes);
    if (namespace !== undefined && canProbe) {
      probes.push({ namespace, result: await this.#probe(cidr, namespace) });
      if (probes.length > MOST_PROBES) probes.shift();
    }
    return checkPods(cidr, links, probes);
  }

  /** A pod without a route of this family is not probed. */
  async #probe(cidr: Cidr, namespace: string): Promise<Probe["result"]> {
    const address = probeAddress(cidr);
    const query = routeQuery(address, cidr.family);
    const route = parseRoute(await this.#query(inNamespace(namespace, query)));
    if (!isPlain(route)) return "inconclusive";
    return parseProbe(await this.#query(inNamespace(namespace, this.#options.probe(address))));
  }

  #query(argv: Argv): Promise<ProgramResult> {
    return this.#options.run(argv, this.#stop.signal);
  }
}

/** The last address of the range but one, because the last may be a broadcast address. */
function probeAddress({ family, hex, bits }: Cidr): string {
  const width = BigInt(hex.length * 4);
  const size = 1n << (width - BigInt(bits));
  const last = BigInt(`0x${hex}`) + (size > 2n ? size - 2n : 0n);
  return addressFromHex(last.toString(16).padStart(family === "IPv4" ? 8 : 32, "0")).text;
}
