import { FAMILIES, type Family } from "../../../api/address.ts";
import { ofFamily } from "../../../api/cidr.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { codeOf } from "../../../common/errors.ts";
import type { Logger } from "../../../common/log.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { runProgram } from "../../system/run-program.ts";
import { type HeldPort, type KernelReader, type Limits, UNLIMITED } from "../backend.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import type { RejectedExtension, Requirements } from "../requirements.ts";
import { RestoreProcess } from "./apply.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import { IptablesCommands } from "./commands.ts";
import {
  detectFlavour,
  FLAVOURS,
  type Flavour,
  flavourEvidence,
  inUse,
  programOf,
  saveLines,
  toolsOf,
} from "./flavour.ts";
import { Iptables } from "./kernel.ts";
import { TABLES, tableOf } from "./object-id.ts";
import { readBack } from "./read.ts";
import { rejectedIn, trialCommand } from "./used-extensions.ts";

/** The iptables backend. Every node supports it: a missing tool fails the first sync. */
export const iptables: BackendKind = {
  prepare: async (config, log, stop) => {
    const flavour = await chooseFlavour(config, log, stop);
    return flavour === undefined ? undefined : ready(config, flavour);
  },

  // Both flavours read the same text.
  assume: (config) => ready(config, "nft"),

  leftovers: ({ keep, inUse, stop }) => {
    // While the guard exists, it rejects connections that only the other backend forwards.
    const first = inUse === "none" ? "dnat" : "guard";
    return FLAVOURS.flatMap((flavour) =>
      FAMILIES.map((family) => ({
        variant: { flavour },
        family,
        remove: async () => {
          try {
            return await removeOwn(flavour, family, { first, keep, stop });
          } catch (error) {
            // Tools that are not installed have written nothing.
            if (codeOf(error) === "CSP_EXEC_MISSING") return 0;
            throw error;
          }
        },
      })),
    );
  },
};

function ready(config: BackendConfig, flavour: Flavour): ReadyBackend {
  const { masquerade: mode, podCidrs } = config;
  const trials = new ExtensionTrials(flavour);
  const commits = flavour === "nft" ? { commits: new NftCommits() } : {};
  return {
    variant: { flavour },
    requirements: requirementsOf(flavour, trials),
    open: (family, clusterSetCidrs, options) => ({
      dataplane: new Iptables({
        ...{ family, clusterSetCidrs, masquerade: { mode, podCidrs } },
        explicitVipCidrs: ofFamily(config.explicitVipCidrs, family),
        ...{ flavour, ...options, ...commits },
      }),
      reader: heldReader(flavour, family),
    }),
    limits: (family, stop) => trials.limits(family, stop),
    watch: () => () => undefined,
  };
}

/** The flavour from the flag, or else the one that other programs of the node use; undefined once `stop` is aborted. */
async function chooseFlavour(
  { iptablesFlavour }: BackendConfig,
  log: Logger,
  stop: AbortSignal,
): Promise<Flavour | undefined> {
  if (iptablesFlavour !== "auto") return iptablesFlavour;
  const evidence = await flavourEvidence(stop);
  if (stop.aborted) return undefined;
  const flavour = detectFlavour(evidence);
  log.info("Chose the iptables flavour", { flavour, evidence });
  return flavour;
}

/** Reads rules with iptables-save, all of the nat table: both flavours read it as a whole, or need the names of all chains. */
function heldReader(flavour: Flavour, family: Family): KernelReader {
  const { save } = toolsOf(flavour, family);
  return {
    held: async (services, stop) => {
      if (services.length === 0) return [];
      const rules = new HeldRules(services);
      await saveLines([...save, "-t", "nat"], (line) => rules.line(line), { stop });
      return rules.ports();
    },
  };
}

/** The lock file of the legacy tools; iptables itself reads the variable. */
const XTABLES_LOCK = process.env.XTABLES_LOCKFILE ?? "/run/xtables.lock";

/**
 * The oldest versions that work. nft: 1.8.0 to 1.8.3 lose or misread rules (kubernetes#82361, k3s#3117). legacy: 1.6.2 added
 * MASQUERADE --random-fully and iptables-restore -w.
 */
const OLDEST = { nft: [1, 8, 4], legacy: [1, 6, 2] } as const;

/** What the rules of one flavour require of a node. */
export function requirementsOf(
  flavour: Flavour,
  trials = new ExtensionTrials(flavour),
): Requirements {
  return {
    tools: (families) =>
      families.map((family) => {
        const program = programOf(flavour, family);
        const install = "Install iptables, or choose another --iptables-flavour";
        return { program, query: [program, "--version"], oldest: OLDEST[flavour], install };
      }),
    lockFiles: flavour === "legacy" ? [XTABLES_LOCK] : [],
    needsRoute: true,
    rejectedExtensions: (family, stop) => trials.rejected(family, stop),
  };
}

/** How to remove rules. */
interface RemoveOptions {
  /** The DNAT if nothing else forwards the connections; the guard if another backend does, once the DNAT is removed. */
  readonly first: "dnat" | "guard";
  /** Descriptors that child processes keep open. */
  readonly keep?: readonly number[];
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes all chains and jumps of ours in one flavour and family, and returns their number: 0 the second time. Needs no memory
 * of an earlier run. Rejects as reading back and `RestoreProcess.run` do.
 */
async function removeOwn(
  flavour: Flavour,
  family: Family,
  { first, keep = [], stop }: RemoveOptions,
): Promise<number> {
  if (!(await inUse(flavour, family))) return 0;
  const tools = toolsOf(flavour, family);
  const { held } = await readBack(tools, stop);
  const removal = (isMeant: (id: string) => boolean) =>
    new IptablesCommands({
      puts: new Map(),
      deletes: new Map(
        [...held].flatMap(([id, { digest: before }]) =>
          isMeant(id) ? [[id, { before, after: undefined }] as const] : [],
        ),
      ),
    });
  // One transaction would delete the DNAT first; the guard is in the first table.
  const steps =
    first === "dnat"
      ? [removal(() => true)]
      : TABLES.map((table) => removal((id) => tableOf(id)[0] === table));
  const work = steps.filter(({ empty }) => !empty);
  if (work.length === 0) return 0;
  const restore = new RestoreProcess(tools.restore, undefined, keep);
  for (const step of work) await restore.run(step.toString());
  await restore.close();
  return work.reduce((sum, { deletes }) => sum + deletes, 0);
}

/** Tries the extensions that our rules use, for limits and preflight alike. A trial in which none is rejected is not repeated. */
export class ExtensionTrials {
  readonly #flavour: Flavour;
  readonly #run: typeof runProgram;
  /** Trials under way, and those in which none was rejected. */
  readonly #trials = new Map<Family, Promise<readonly RejectedExtension[] | undefined>>();

  constructor(flavour: Flavour, run = runProgram) {
    this.#flavour = flavour;
    this.#run = run;
  }

  /** The extensions that are rejected; undefined if they could not be tried. Never rejects. */
  rejected(family: Family, stop?: AbortSignal): Promise<readonly RejectedExtension[] | undefined> {
    const trial = this.#trials.get(family) ?? this.#try(family, stop);
    this.#trials.set(family, trial);
    return trial;
  }

  /** What a family cannot do on this node. What could not be tried is assumed to be supported. Never rejects. */
  async limits(family: Family, stop?: AbortSignal): Promise<Limits> {
    const rejected = await this.rejected(family, stop);
    if (rejected === undefined || stop?.aborted) return UNLIMITED;
    const missing = new Set(rejected.map(({ name }) => name));
    return {
      affinity: !missing.has("recent"),
      protocols: new Set(PROTOCOLS.filter((protocol) => !missing.has(protocol.toLowerCase()))),
    };
  }

  async #try(
    family: Family,
    stop: AbortSignal | undefined,
  ): Promise<readonly RejectedExtension[] | undefined> {
    const command = trialCommand(programOf(this.#flavour, family), family);
    const { status, stdout } = await this.#run(command, stop);
    const rejected = status === 0 ? rejectedIn(stdout) : undefined;
    if (rejected?.length !== 0) this.#trials.delete(family);
    return rejected;
  }
}

/** A rule of a dispatch chain: the VIP, protocol and port, and the service's chain; without one, connections are rejected. */
const ENTRY = /^-A \S+ -d ([^ /]+)\/\d+ -p (\w+) .*--dport (\d+) .*-(?:g (CSP-SVC-\S+)|j RETURN)$/;
/** A rule of a service's chain. */
const ENDPOINT = /^-A (CSP-SVC-\S+) .*-j DNAT --to-destination (\S+)$/;

/** Collects what the nat table has for some services, line by line of iptables-save. */
class HeldRules {
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
