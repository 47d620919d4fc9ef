import { CodedError } from "../../../common/errors.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { NftProcess } from "../../system/nft-process.ts";
import type { OpenOptions } from "../backend-kind.ts";
import type { Dataplane, Found, ReadScope } from "../dataplane.ts";
import type { Held } from "../objects.ts";
import { runSteps } from "./apply.ts";
import type { IpvsCommands } from "./commands.ts";
import { kubeProxySuspect } from "./drift.ts";
import { type Content, IpvsLayout, type LayoutOptions } from "./layout.ts";
import { BESIDE, GUARD, guardDigest, heldOf, setsIn, UNBOUND } from "./listing.ts";
import type { GuardSets } from "./nft-tables.ts";
import { isBesideKubeProxy, listGuard, readServers, vipDevice, wrongSettings } from "./read.ts";

/** Options of the IPVS of one family. */
export interface IpvsOptions extends LayoutOptions, Partial<OpenOptions> {
  /** Counts commits to this namespace's nftables; shared by both families. */
  readonly commits?: NftCommits;
}

/** The guard, as a part of what was found. */
interface Guard {
  readonly digest: string;
  readonly sets: GuardSets;
}

/**
 * IPVS, for one family.
 *
 * Ownership, without memory of an earlier run: the device `csp-ipvs0` with its addresses; the nftables tables `csp-ipvs`;
 * and the virtual servers with our flag (`MARK`) on addresses of that device or in a ClusterSet CIDR.
 */
export class Ipvs implements Dataplane<Content, IpvsCommands> {
  readonly layout: IpvsLayout;
  readonly #options: IpvsOptions;
  readonly #nft: NftProcess;
  readonly #commits: NftCommits;
  /** What other programs had committed to nftables when the guard was last found as it was held. */
  #checkedAt: string | undefined;

  constructor(options: IpvsOptions) {
    this.layout = new IpvsLayout(options);
    this.#options = options;
    this.#nft = new NftProcess(options);
    this.#commits = options.commits ?? new NftCommits();
  }

  /**
   * Reads the guard's tables only if another program has committed anything to nftables since they were last as they should be; and, for what is `gone`, no
   * destinations: there is a request for each server (0.1 ms), and who flushes takes the servers.
   */
  async read(scope: ReadScope, held: Held, stop?: AbortSignal): Promise<Found> {
    const { family, clusterSetCidrs } = this.#options;
    const { digest: guard, sets } = await this.#readGuard(held, stop);
    const onDevice = new Set(await vipDevice.addresses(family));
    const addresses = { onDevice, sets };
    const servers = await readServers(this.#options, addresses, scope !== "gone", stop);
    const [wrong, isBeside] = [await wrongSettings(), await isBesideKubeProxy()];
    stop?.throwIfAborted();
    const listing = { servers, onDevice, sets, guard, wrong };
    const suspect = isBeside ? kubeProxySuspect(clusterSetCidrs) : undefined;
    return {
      held: heldOf(this.#options, listing, scope === "gone" ? held : undefined),
      suspect: () => suspect,
    };
  }

  async write({ steps }: IpvsCommands): Promise<ReadonlySet<string>> {
    const run = (text: string) =>
      this.#commits.run(async () => {
        await this.#nft.run(text);
        return 1;
      });
    try {
      await runSteps(this.#options.family, steps, { run });
    } catch (error) {
      throw await this.#explained(error);
    }
    return new Set();
  }

  /** The kernel does not tell of changes of virtual servers. */
  async changes(): Promise<undefined> {
    return undefined;
  }

  close(): Promise<void> {
    return this.#nft.close();
  }

  async #readGuard(held: Held, stop?: AbortSignal): Promise<Guard> {
    const isBeside = this.#options.othersInPlace?.() ?? false;
    const others = await this.#commits.ofOthers();
    const known = held.get(GUARD)?.digest;
    if (known !== undefined && others !== undefined && others === this.#checkedAt) {
      const kind = known.replace(BESIDE, "");
      return { digest: kind === UNBOUND && isBeside ? known : kind, sets: setsIn(held) };
    }
    const { rules, sets } = await listGuard(this.#options.family, "elements", stop);
    const digest = guardDigest(this.#options, rules, isBeside);
    const isSame = digest === known && isSameSets(sets, setsIn(held));
    this.#checkedAt = isSame ? others : undefined;
    return { digest, sets };
  }

  /** Adds the program that probably deleted a server, if that can be determined. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof CodedError) || error.code !== "CSP_SERVER_GONE") return error;
    if (!(await isBesideKubeProxy())) return error;
    const suspect = kubeProxySuspect(this.#options.clusterSetCidrs);
    return new CodedError(error.code, `${error.message}. Probably ${suspect}`, { cause: error });
  }
}

function isSameSets(a: GuardSets, b: GuardSets): boolean {
  const isSame = a.served.entries().every(([key, text]) => b.served.get(key) === text);
  return (
    isSame &&
    a.served.size === b.served.size &&
    a.explicit.symmetricDifference(b.explicit).size === 0
  );
}
