import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import { CodedError } from "../../../common/errors.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { NftProcess } from "../../system/nft-process.ts";
import type { Backend, Check, CheckScope, Conflict, Drift, Programmed } from "../backend.ts";
import type { OpenOptions } from "../backend-kind.ts";
import { digitsOf, keysOf, type ServiceKey } from "../nft/service-key.ts";
import { ServiceRuleset } from "../nft/service-ruleset.ts";
import { runSteps } from "./apply.ts";
import { diff, diffGarbage } from "./diff.ts";
import { compare, kubeProxySuspect } from "./drift.ts";
import { type GuardOptions, isBound } from "./guard.ts";
import { listGuard } from "./list.ts";
import { isBesideKubeProxy, readBack, readDestinations } from "./read.ts";
import { renderServers } from "./render.ts";
import {
  type Changes,
  type DesiredServer,
  type DestinationKey,
  destinationText,
  draining,
  isImportKey,
  isOurs,
  type KernelState,
  nothing,
  serverName,
  vipOf,
} from "./state.ts";
import type { IpvsTransaction } from "./transaction.ts";

/** The number of servers whose destinations one check reads: one request each, 0.1 ms. Two checks read 1,000 servers. */
const PER_CHECK = 512;
/** The number of servers with draining destinations whose connection counts one check reads. */
const DRAINING_PER_CHECK = 512;

/** Options of an IPVS backend. */
export interface IpvsOptions extends GuardOptions, Partial<OpenOptions> {
  /** The scheduler of imports that name none. */
  readonly scheduler: Scheduler;
  /** Counts commits to this namespace's nftables; shared by both families. */
  readonly commits?: NftCommits;
}

/**
 * The IPVS backend of one family.
 *
 * Ownership, without memory of an earlier run: the device `csp-ipvs0` with its addresses; the nftables tables `csp-ipvs`;
 * and the virtual servers with our flag (`MARK`) on addresses of that device or in a ClusterSet CIDR.
 */
export class IpvsBackend implements Backend<KernelState, Changes, IpvsTransaction> {
  readonly #options: IpvsOptions;
  readonly #nft: NftProcess;
  readonly #commits: NftCommits;
  /** What other programs had committed to nftables when the last check found no drift. */
  #checkedAt: string | undefined;
  readonly #checked = new RoundRobin(PER_CHECK);
  readonly #drained = new RoundRobin(DRAINING_PER_CHECK);

  constructor(options: IpvsOptions) {
    this.#options = options;
    this.#nft = new NftProcess(options);
    this.#commits = options.commits ?? new NftCommits();
  }

  ruleset(): IpvsRuleset {
    return new IpvsRuleset(this.#options.scheduler);
  }

  empty(): KernelState {
    return nothing();
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  conflicts(state: KernelState): Conflict[] {
    return conflictsOf(state, this.#options.family);
  }

  diff(state: KernelState, changes: Changes): Generator<void, IpvsTransaction> {
    return diff(state, changes, this.#options);
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found, this.#options);
  }

  async read(stop?: AbortSignal): Promise<KernelState> {
    const { family, clusterSetCidrs } = this.#options;
    const guard = await listGuard(family, "elements", stop);
    const state = await readBack(family, clusterSetCidrs, guard, "all", stop);
    // Rules that are bound already stay so: an earlier process has found no other backend.
    return { ...state, shared: this.#othersInPlace() && !isBound(state.rules) };
  }

  /**
   * Checks all servers, the destinations of some, addresses and sysctls; and the guard's tables, if another program has committed
   * anything to nftables since they were last as they should be. Without destinations it is fast, and who flushes takes their servers.
   */
  async check(
    state: KernelState,
    scope: CheckScope = "all",
    stop?: AbortSignal,
  ): Promise<Check<IpvsTransaction>> {
    const { family, clusterSetCidrs } = this.#options;
    const ours = [...state.servers.keys()].filter((key) => isOurs(state, key));
    const depth = new Set(scope === "all" ? this.#checked.next(ours) : []);
    const others = await this.#commits.ofOthers();
    const unchanged = others !== undefined && others === this.#checkedAt;
    const guard = unchanged ? state : await listGuard(family, "elements", stop);
    const found = await readBack(family, clusterSetCidrs, guard, depth, stop);
    const drift = compare(state, found, this.#options, depth);
    this.#checkedAt = drift.length === 0 ? others : undefined;
    const garbage = scope === "all" ? await this.#garbage(state, stop) : undefined;
    return { drift, garbage, reading: "routine" };
  }

  /** What removes drained destinations, and the exception for another backend's rules once these are gone. */
  async #garbage(state: KernelState, stop?: AbortSignal): Promise<IpvsTransaction | undefined> {
    const drains = this.#drained.next(draining(state));
    const bind = state.shared && !this.#othersInPlace();
    if (drains.length === 0 && !bind) return undefined;
    const found = await readDestinations(drains, this.#options.family, stop);
    const tx = diffGarbage(state, drains, found, bind, this.#options);
    return tx.empty ? undefined : tx;
  }

  async apply(tx: IpvsTransaction, state: KernelState): Promise<void> {
    const run = (text: string) =>
      this.#commits.run(async () => {
        await this.#nft.run(text);
        return 1;
      });
    try {
      await runSteps(this.#options.family, tx.steps, { run });
    } catch (error) {
      throw await this.#explained(error);
    }
    tx.settle(state);
  }

  close(): Promise<void> {
    return this.#nft.close();
  }

  #othersInPlace(): boolean {
    return this.#options.othersInPlace?.() ?? false;
  }

  /** Adds the program that probably deleted a server, if that can be determined. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof CodedError) || error.code !== "CSP_SERVER_GONE") return error;
    if (!(await isBesideKubeProxy())) return error;
    const suspect = kubeProxySuspect(this.#options.clusterSetCidrs);
    return new CodedError(error.code, `${error.message}. Probably ${suspect}`, { cause: error });
  }
}

/** The desired virtual servers of one family. */
export class IpvsRuleset extends ServiceRuleset<DesiredServer> {
  /** `scheduler`: of imports that name none. */
  constructor(scheduler: Scheduler) {
    super((service) => renderServers(service, scheduler));
  }
}

/** Selects a few of many at a time, in turn. */
class RoundRobin {
  readonly #size: number;
  #taken = 0;

  /** `size`: the number that is selected at a time. */
  constructor(size: number) {
    this.#size = size;
  }

  /** The next ones of `all`, starting over at the end. */
  next<One>(all: readonly One[]): One[] {
    if (this.#taken >= all.length) this.#taken = 0;
    const some = all.slice(this.#taken, this.#taken + this.#size);
    this.#taken += this.#size;
    return some;
  }
}

/** The services that have a virtual server to which the guard admits new connections. PURE. */
function programmed({ servers, sets: { served } }: KernelState): Programmed {
  let holders: ReadonlyMap<string, string> | undefined;
  const isAdmitted = (key: ServiceKey) => servers.has(key) && served.has(key);
  return {
    get size() {
      // One service has a server for each of its VIPs.
      const services = [...served].flatMap(([key, text]) =>
        servers.has(key) && isImportKey(text) ? [`${text} ${key.slice(key.indexOf(" ") + 1)}`] : [],
      );
      return new Set(services).size;
    },
    holder: (vip) => {
      const [address] = digitsOf([vip]);
      holders ??= new Map([...served].map(([key, text]) => [vipOf(key), text]));
      const text = holders.get(address ?? "");
      return text !== undefined && isImportKey(text) ? text : undefined;
    },
    destinations: served.keys(),
    has: (service) => keysOf(service).some(isAdmitted),
  };
}

/** How ipvsadm names a protocol. */
const OPTIONS: Readonly<Record<Protocol, string>> = {
  TCP: "-t",
  UDP: "-u",
  SCTP: "--sctp-service",
};
/** The number of destinations in a message: enough to identify their owner. */
const NAMED = 3;

/** Other programs' virtual servers in the place of desired ones. PURE. */
export function conflictsOf({ blocked, servers }: KernelState, family: Family): Conflict[] {
  return [...blocked].map(([key, { importKey, servicePort }]) => {
    const { protocol, address: hex, port } = serverName(key, family);
    const { text } = addressFromHex(hex);
    const place = family === "IPv4" ? `${text}:${port}` : `[${text}]:${port}`;
    const existing = servers.get(key);
    const scheduler = existing?.terms.scheduler ?? "unknown";
    const destinations = existing?.far ? [] : [namesOf([...(existing?.destinations.keys() ?? [])])];
    const there = [`scheduler ${scheduler}`, ...destinations].join(", ");
    const remove = `ipvsadm -D ${OPTIONS[protocol]} ${place}`;
    const message = `${servicePort}: another program's virtual server exists at ${protocol} ${place} (${there}). If it is not needed: ${remove}`;
    return { importKey, servicePort, protocol, reason: "server-foreign", message };
  });
}

function namesOf(destinations: readonly DestinationKey[]): string {
  if (destinations.length === 0) return "no destination";
  const some = destinations.slice(0, NAMED).map(destinationText).join(", ");
  const more = destinations.length - NAMED;
  return more > 0 ? `to ${some} and ${more} more` : `to ${some}`;
}
