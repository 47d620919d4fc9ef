import { addressFromHex, type Family } from "../../api/address.ts";
import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import { backoff, spreadRetryAfter } from "../../common/backoff.ts";
import { type Clock, sleep } from "../../common/clock.ts";
import type { RejectedExtension, Requirements, Tool, Version } from "../backends/requirements.ts";
import type { Argv, ProgramResult } from "../system/program-result.ts";
import { BRIDGE_FILTER, BRIDGE_QUERY, checkBridges, parseBridges } from "./bridges.ts";
import {
  CONNTRACK_FILES,
  type ConntrackFact,
  checkConntrack,
  parseConntrack,
} from "./conntrack-table.ts";
import { type Finding, failing, ok, unknown, worst } from "./finding.ts";
import {
  checkInvalid,
  dropsInvalid,
  invalidQuery,
  LEGACY_TABLES,
  LIBERAL_FILE,
} from "./invalid-segments.ts";
import { checkLocks, MOUNTS } from "./lock-file.ts";
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
import {
  checkReach,
  dueClusters,
  type Endpoint,
  MISSED,
  MOST_TRIED,
  type Neighbours,
  REACHED_MS,
  type Reached,
  reachedOf,
} from "./reach.ts";
import { checkRoute, isPlain, parseRoute, type RouteFact, routeQuery } from "./route.ts";
import { checkServiceRange, parseServiceRanges, serviceRangeQuery } from "./service-range.ts";

/** What preflight needs. */
export interface PreflightOptions {
  /** One or two ranges per family. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** `--service-cidrs`. */
  readonly serviceCidrs: readonly Cidr[];
  /** What contradicts a flag in the node's addresses and pod ranges now, so that their last known state is in use; empty: nothing. */
  readonly nodeFault: () => string;
  /** The last known ranges of the cluster's ServiceCIDRs. */
  readonly listedServiceCidrs: () => readonly Cidr[];
  /** What the backend in use requires. */
  readonly requirements: Requirements;
  /** The file that the agents of one node lock; it must be the host's. */
  readonly lockFile: string;
  /** A program that sends one SYN to port 0 of an address and prints the answer (`parseProbe`). */
  readonly probe: (address: string) => readonly string[];
  /** Endpoints of a family in other clusters; undefined before objects were listed. */
  readonly neighbours: (family: Family) => Neighbours | undefined;
  /** The probe of failure detection: connects to an endpoint, and returns how that ended. Never rejects. */
  readonly connect: (endpoint: Endpoint) => Promise<string>;
  /** Runs a program, which only reads, to its end, or until `stop` is aborted. Never rejects. */
  readonly run: (argv: Argv, stop: AbortSignal) => Promise<ProgramResult>;
  /** The text of a file; undefined if it cannot be read. */
  readonly read: (path: string) => Promise<string | undefined>;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
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
  /** By family and cluster. */
  readonly #reached = new Map<Family, ReadonlyMap<string, Reached>>();
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
    const { clusterSetCidrs, requirements, guarded, lockFile, read, report, nodeFault } =
      this.#options;
    const { lockFiles, needsRoute, rejectedExtensions } = requirements;
    const findings = [
      await this.#untilPassed("tools", () => this.#tools()),
      checkLocks([lockFile, ...lockFiles], await read(MOUNTS)),
      checkNode(nodeFault()),
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
      findings.push(await this.#reach(family));
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

  async #reach(family: Family): Promise<Finding> {
    const { clock, connect, neighbours, random } = this.#options;
    const others = neighbours(family);
    if (others === undefined) return checkReach(family, undefined);
    const clusters = others.neighbours;
    const known = this.#reached.get(family) ?? new Map<string, Reached>();
    const tries = dueClusters(clusters, known, clock.now()).map(async (cluster) => {
      const endpoints = others.sample(cluster, MOST_TRIED.ofCluster, new Set());
      const ends = await Promise.all(endpoints.map(connect));
      const found = reachedOf(cluster, ends, known.get(cluster));
      const wait =
        found.accepted > 0
          ? spreadRetryAfter(REACHED_MS, random())
          : backoff(found.misses, MISSED, random());
      // Where nothing could be tried, that costs nobody anything.
      return { ...found, at: clock.now(), due: clock.now() + (found.tried > 0 ? wait : 0) };
    });
    const found = new Map((await Promise.all(tries)).map((one) => [one.cluster, one]));
    const reached = clusters.flatMap((cluster) => found.get(cluster) ?? known.get(cluster) ?? []);
    this.#reached.set(family, new Map(reached.map((one) => [one.cluster, one])));
    return checkReach(family, reached);
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

/** Whether the node's addresses and pod ranges agree with the flags. */
function checkNode(fault: string): Finding {
  const key = { check: "node" } as const;
  return fault === "" ? ok(key) : failing(key, "node-contradicts-flag", fault);
}

/** Whether the node supports the extensions that our rules use; `rejected` is undefined if they could not be tested. */
export function checkExtensions(
  family: Family,
  rejected: readonly RejectedExtension[] | undefined,
): Finding {
  const key = { check: "extensions", family } as const;
  if (rejected === undefined) {
    const advice = "Cannot test extensions in a new network namespace (unshare, CAP_SYS_ADMIN).";
    return unknown(key, advice);
  }
  const [first] = rejected;
  if (first === undefined) return ok(key);
  const each = rejected.map(
    ({ name, lost, message }) => `${name} (needed for ${lost}; ${message})`,
  );
  const advice = `The kernel or iptables rejects ${each.join(", ")}. Load the module (modprobe xt_${first.name}), or install the kernel's extra modules.`;
  return failing(key, "extension-missing", advice);
}

/** The sysctl for each family, as a file and by its name. */
const FORWARDING: Readonly<Record<Family, { readonly file: string; readonly sysctl: string }>> = {
  IPv4: { file: "/proc/sys/net/ipv4/ip_forward", sysctl: "net.ipv4.ip_forward" },
  IPv6: { file: "/proc/sys/net/ipv6/conf/all/forwarding", sysctl: "net.ipv6.conf.all.forwarding" },
};

/**
 * Whether the node forwards packets of pods. `text`: the content of the sysctl's file. A strict rp_filter is no finding: the
 * kernel compares the endpoint's address with its routes, not the ClusterSetIP.
 */
export function checkForwarding(family: Family, text: string | undefined): Finding {
  const key = { check: "forwarding", family } as const;
  const { file, sysctl } = FORWARDING[family];
  if (text === undefined)
    return unknown(key, `Cannot read ${file}: is ${family} disabled in this kernel?`);
  if (text.trim() !== "0") return ok(key);
  const advice = `The node does not forward ${family}, so its pods reach no other host. Run sysctl -w ${sysctl}=1, and set it in /etc/sysctl.d.`;
  return failing(key, "forwarding-off", advice);
}

/** A tool as it is installed. */
interface ToolFact {
  readonly tool: Tool;
  readonly missing: boolean;
  /** Absent if it is missing, or prints none. */
  readonly version?: Version;
}

/** Parses what the tool's version query printed. */
export function parseTool(tool: Tool, { missing, stdout }: ProgramResult): ToolFact {
  const [, major, minor, patch] = /\bv(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) return { tool, missing };
  return { tool, missing, version: [Number(major), Number(minor), Number(patch)] };
}

/** Whether the tools are installed, and new enough. */
export function checkTools(facts: readonly ToolFact[]): Finding {
  const key = { check: "tools" } as const;
  const gone = facts.filter(({ missing }) => missing).map(({ tool }) => tool);
  const [first] = gone;
  if (first !== undefined) {
    const names = gone.map(({ program }) => program).join(", ");
    const advice = `${names}: not installed, so no rule can be programmed. ${first.install}.`;
    return failing(key, "tool-missing", advice);
  }
  for (const { tool, version } of facts) {
    const { program, oldest } = tool;
    if (version === undefined) return unknown(key, `${program} prints no version.`);
    if (oldest === undefined || !isOlder(version, oldest)) continue;
    const advice = `${program} is ${version.join(".")}, older than ${oldest.join(".")}, and known to lose or reject such rules. Install a newer version.`;
    return failing(key, "tool-old", advice);
  }
  return ok(key);
}

function isOlder(version: Version, than: Version): boolean {
  const i = version.findIndex((number, at) => number !== than[at]);
  return i >= 0 && (version[i] ?? 0) < (than[i] ?? 0);
}
