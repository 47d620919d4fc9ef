import type { Scheduler } from "../../../api/scheduler.ts";
import { CodedError } from "../../../common/errors.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { NftProcess } from "../../system/nft-process.ts";
import type { Backend, DestinationCount, Drift, Obstacle } from "../backend.ts";
import { compare, kubeProxySuspect, suspected } from "./compare.ts";
import { diff, diffIdle } from "./diff.ts";
import { type GuardOptions, isBound } from "./guard.ts";
import { listGuard } from "./list.ts";
import { obstaclesOf } from "./obstacles.ts";
import {
  countServices,
  DEVICE,
  isBesideKubeProxy,
  isVip,
  lookForConnections,
  readBack,
  readCounts,
  readDestinations,
  serversOf,
  servicesOf,
  wrongSettings,
} from "./read.ts";
import { runSteps } from "./restore.ts";
import { IpvsRuleset } from "./ruleset.ts";
import {
  type Believed,
  type Changes,
  digitsOf,
  isOurs,
  nothing,
  type ServerKey,
  serverKey,
} from "./state.ts";
import type { IpvsTransaction } from "./transaction.ts";

/** Servers of which one look asks for the destinations: a conversation about each, 0.1 ms. */
const A_LOOK = 64;

/** What an IPVS backend needs to know. */
export interface IpvsOptions extends GuardOptions {
  /** The scheduler of imports that name none. */
  readonly scheduler: Scheduler;
  /** True if another backend's rules may lead connections on until `alone` is called. */
  readonly takesOver?: boolean;
  /** Descriptors that nft keeps open: the right to write outlives an agent that is killed. */
  readonly keep?: readonly number[];
  /** Called whenever nft had to be given up; the next transaction starts another. */
  readonly onRespawn?: () => void;
}

/**
 * The IPVS backend of one family.
 *
 * Ownership, for a process without memory: the device `csp-ipvs0` with its addresses; the tables `csp-ipvs` of nftables;
 * and the virtual servers that stand on addresses of that device, or in the ClusterSet CIDR, and carry our mark (`MARK`).
 */
export class IpvsBackend implements Backend<Believed, Changes, IpvsTransaction> {
  readonly name = "ipvs";
  readonly vipsOnNode = true;
  readonly #options: IpvsOptions;
  readonly #nft: NftProcess;
  #takesOver: boolean;
  /** How many servers' destinations were looked at since the first had its turn. */
  #looked = 0;

  constructor(options: IpvsOptions) {
    this.#options = options;
    this.#takesOver = options.takesOver ?? false;
    this.#nft = new NftProcess(options);
  }

  ruleset(): IpvsRuleset {
    return new IpvsRuleset(this.#options.scheduler);
  }

  diff(believed: Believed, changes: Changes): IpvsTransaction {
    return diff(believed, changes, this.#guardOf(believed));
  }

  has({ servers, sets }: Believed, { vips, protocol, port }: VirtualService): boolean {
    return digitsOf(vips).some((address) => {
      const key = serverKey({ address, protocol, port });
      return servers.has(key) && sets.served.has(key);
    });
  }

  count(believed: Believed): number {
    return countServices(believed);
  }

  async standing(stop?: AbortSignal): Promise<readonly VirtualService[]> {
    return servicesOf(await this.read(stop), this.#options.family);
  }

  nothing(): Believed {
    return nothing();
  }

  read(stop?: AbortSignal): Promise<Believed> {
    const { family, clusterSetCidr } = this.#options;
    return readBack(family, clusterSetCidr, stop);
  }

  compare(before: Believed, found: Believed): Drift[] {
    return this.#told(compare(before, found, this.#options.family), found);
  }

  /** Looks at all servers, at the destinations of some, at addresses, switches, and rules without their sets. */
  async check(believed: Believed, stop?: AbortSignal): Promise<readonly Drift[]> {
    const { family } = this.#options;
    const guard = await listGuard(family, "rules", stop);
    const vips = new Set((await new DummyDevice(DEVICE).addresses(family)).filter(isVip));
    const servers = await serversOf(new IpvsTable(), family);
    const looked = await readDestinations(this.#next(believed), family, stop);
    const found: Believed = {
      ...nothing(),
      vips,
      rules: guard?.rules ?? [],
      wrong: await wrongSettings(),
      kubeProxy: await isBesideKubeProxy(),
      servers: new Map(
        servers.map(({ scheduler, flags, timeout, ...rest }) => {
          const key = serverKey(rest);
          const destinations = looked.get(key) ?? new Map();
          return [key, { terms: { scheduler, flags, timeout }, destinations }];
        }),
      ),
    };
    return this.#told(compare(believed, found, family, new Set(looked.keys())), found);
  }

  obstacles(believed: Believed): Obstacle[] {
    return obstaclesOf(believed, this.#options.family);
  }

  async ended(believed: Believed, stop?: AbortSignal): Promise<IpvsTransaction> {
    const { family } = this.#options;
    await lookForConnections(family, believed, stop);
    return diffIdle(believed, this.#guardOf(believed));
  }

  alone(): void {
    this.#takesOver = false;
  }

  counts(
    services: readonly VirtualService[],
    stop?: AbortSignal,
  ): Promise<readonly DestinationCount[]> {
    return readCounts(this.#options.family, services, stop);
  }

  /** Who has deleted a server that was to be changed, if anything tells. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof CodedError) || error.code !== "CSP_SERVER_GONE") return error;
    if (!(await isBesideKubeProxy())) return error;
    const suspect = kubeProxySuspect(this.#options.clusterSetCidr);
    return new CodedError(error.code, `${error.message}. Probably ${suspect}`, { cause: error });
  }

  #told(drift: Drift[], { kubeProxy }: Believed): Drift[] {
    return kubeProxy ? drift.map((one) => suspected(one, this.#options.clusterSetCidr)) : drift;
  }

  /** What is bound stays so: another process has been alone before. */
  #guardOf({ rules }: Believed): GuardOptions {
    return this.#takesOver && !isBound(rules) ? { ...this.#options, unbound: true } : this.#options;
  }

  async apply(tx: IpvsTransaction, believed: Believed): Promise<void> {
    try {
      await runSteps(this.#options.family, tx.steps, this.#nft);
    } catch (error) {
      throw await this.#explained(error);
    }
    tx.settle(believed);
  }

  /** The servers whose destinations are looked at next: all have their turn. */
  #next(believed: Believed): ServerKey[] {
    const { servers } = believed;
    const keys = [...servers.keys()].filter((key) => isOurs(believed, key));
    if (this.#looked >= keys.length) this.#looked = 0;
    const some = keys.slice(this.#looked, this.#looked + A_LOOK);
    this.#looked += A_LOOK;
    return some;
  }

  close(): Promise<void> {
    return this.#nft.close();
  }
}
