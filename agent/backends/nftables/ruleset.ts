import type { ObjectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { Ruleset, SetOptions } from "../backend.ts";
import { Claims } from "../nft/claims.ts";
import { digitsOf } from "../nft/digits.ts";
import { keysOf, renderService } from "./render.ts";
import type { Changes, DesiredService, ServiceKey } from "./state.ts";

/** The part of the ruleset that belongs to one import. */
interface ImportElements {
  readonly services: readonly ServiceKey[];
  readonly vips: readonly string[];
  readonly hairpins: readonly string[];
}

const NOTHING: ImportElements = { services: [], vips: [], hairpins: [] };

/**
 * The desired elements of one family. It keeps an index of the services, VIPs and local endpoints of each import; elements are rendered when an
 * import changes. The same services give the same changes, whatever was set before.
 */
export class NftablesRuleset implements Ruleset<Changes> {
  readonly #imports = new Map<ObjectKey, ImportElements>();
  readonly #owners = new Map<ServiceKey, ObjectKey>();
  readonly #vips = new Claims();
  readonly #hairpins = new Claims();
  #services = new Map<ServiceKey, DesiredService | "kept" | undefined>();
  #taken = false;

  set(key: ObjectKey, services: readonly VirtualService[], { kept = [] }: SetOptions = {}): void {
    const before = this.#imports.get(key) ?? NOTHING;
    const desired = new Map(services.flatMap(renderService));
    const keptKeys = kept.flatMap(keysOf);
    const all = [...services, ...kept];
    const after: ImportElements = {
      services: [...desired.keys(), ...keptKeys],
      vips: [...new Set(all.flatMap(({ vips }) => digitsOf(vips)))],
      hairpins: [...new Set(all.flatMap(hairpinsOf))],
    };
    if (all.length === 0) this.#imports.delete(key);
    else this.#imports.set(key, after);
    const left = new Set(after.services);
    for (const service of before.services) {
      // Another import may have taken over the VIP.
      if (left.has(service) || this.#owners.get(service) !== key) continue;
      this.#owners.delete(service);
      this.#services.set(service, undefined);
    }
    for (const service of after.services) this.#owners.set(service, key);
    for (const [service, one] of desired) this.#services.set(service, one);
    for (const service of keptKeys) this.#services.set(service, "kept");
    this.#vips.change(before.vips, after.vips);
    this.#hairpins.change(before.hairpins, after.hairpins);
  }

  *take(): Generator<void, Changes> {
    yield;
    const complete = !this.#taken;
    this.#taken = true;
    const services = this.#services;
    this.#services = new Map();
    const [vips, hairpins] = [this.#vips.take(complete), this.#hairpins.take(complete)];
    return { complete, services, vips, hairpins };
  }
}

function hairpinsOf({ endpoints }: VirtualService): string[] {
  return digitsOf(endpoints.filter(({ maybeHere }) => maybeHere).map(({ address }) => address));
}
