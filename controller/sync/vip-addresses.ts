import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { CONTROLLER_NAME, LABEL_ADDRESS_MANAGED_BY, MCS_GROUP } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Manifest } from "../model/manifest.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import { inParallel } from "./converge.ts";

/** Dependencies of `VipAddresses`. */
export interface VipAddressesOptions {
  readonly own: Pick<LocalStores, "ipAddresses">;
  readonly applier: Applier;
  /** VIPs outside these ranges get no IPAddress: an import's author must not take addresses of others. */
  readonly ranges: readonly Cidr[];
  /** False before Kubernetes 1.33, which has no IPAddress: each node then keeps a VIP with the import it has. */
  readonly isServed: () => boolean;
}

/**
 * The IPAddress of each VIP (KEP-1880). The API server gives a name out once and allows no change, so it says which import was
 * first, out of reach of the imports' authors (docs/design/0017-vip-holders.md).
 */
export class VipAddresses {
  readonly #options: VipAddressesOptions;

  constructor(options: VipAddressesOptions) {
    this.#options = options;
  }

  /** VIPs with an IPAddress for an import. */
  of(key: ObjectKey): string[] {
    return this.#options.own.ipAddresses.factsOf(key).map(({ address }) => address);
  }

  /** Creates the missing IPAddresses of VIPs that no other import disputes, and restores their label. Throws `write-conflict` if another import or program was first. */
  async hold(key: ObjectKey, vips: readonly string[]): Promise<void> {
    const { applier, isServed, own } = this.#options;
    if (!isServed()) return;
    const due = vips.filter((vip) => {
      const isForeign =
        own.ipAddresses.seen(vip) !== undefined && own.ipAddresses.fact(vip)?.holder !== key;
      return this.#isInRange(vip) && !isForeign;
    });
    await inParallel(due, async (vip) => {
      await applier.apply(manifestOf(vip, key), own.ipAddresses.seen(vip));
    });
  }

  /** Deletes the IPAddresses of an import, except those of `kept`. */
  async release(key: ObjectKey, kept: readonly string[]): Promise<void> {
    const { applier, own } = this.#options;
    const released = this.of(key).filter((vip) => !kept.includes(vip));
    await inParallel(released, async (vip) => {
      const seen = own.ipAddresses.seen(vip);
      if (seen !== undefined) await applier.remove(seen);
    });
  }

  #isInRange(vip: string): boolean {
    const address = parseAddress(vip);
    return isAddress(address) && this.#options.ranges.some((range) => contains(range, address));
  }
}

function manifestOf(vip: string, key: ObjectKey): Manifest {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    metadata: { name: vip, labels: { [LABEL_ADDRESS_MANAGED_BY]: CONTROLLER_NAME } },
    spec: { parentRef: { group: MCS_GROUP, resource: "serviceimports", ...namesOf(key) } },
  };
}
