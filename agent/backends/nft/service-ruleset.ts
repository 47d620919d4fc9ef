import type { ObjectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { Ruleset, SetOptions } from "../backend.ts";
import { digitsOf, keysOf, type ServiceKey } from "./service-key.ts";

/** What the kernel should hold. */
export interface ServiceChanges<Desired> {
  /** True if it has everything that is desired; else what may differ from before. */
  readonly complete: boolean;
  /** `kept` for a service that stays as it is, whether it exists or not; undefined for one that is no longer desired. */
  readonly services: ReadonlyMap<ServiceKey, Desired | "kept" | undefined>;
  /** By address: whether it is that of a VIP. */
  readonly vips: ReadonlyMap<string, boolean>;
}

/** The part of the ruleset that belongs to one import. */
interface ImportPart {
  readonly services: readonly ServiceKey[];
  readonly vips: readonly string[];
}

const NOTHING: ImportPart = { services: [], vips: [] };

/**
 * The desired services of one family, as a backend renders them when their import changes. It keeps an index of the services and VIPs of each
 * import. The same services give the same changes, whatever was set before.
 */
export class ServiceRuleset<Desired> implements Ruleset<ServiceChanges<Desired>> {
  readonly #render: (service: VirtualService) => Iterable<readonly [ServiceKey, Desired]>;
  readonly #imports = new Map<ObjectKey, ImportPart>();
  readonly #owners = new Map<ServiceKey, ObjectKey>();
  readonly #vips = new Claims();
  #services = new Map<ServiceKey, Desired | "kept" | undefined>();
  #taken = false;

  /** `render`: what the kernel should hold for a service, by key. */
  constructor(render: (service: VirtualService) => Iterable<readonly [ServiceKey, Desired]>) {
    this.#render = render;
  }

  set(key: ObjectKey, services: readonly VirtualService[], { kept = [] }: SetOptions = {}): void {
    const before = this.#imports.get(key) ?? NOTHING;
    const desired = new Map(services.flatMap((one) => [...this.#render(one)]));
    const keptKeys = kept.flatMap(keysOf);
    const all = [...services, ...kept];
    const after: ImportPart = {
      services: [...desired.keys(), ...keptKeys],
      vips: [...new Set(all.flatMap(({ vips }) => digitsOf(vips)))],
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
  }

  *take(): Generator<void, ServiceChanges<Desired>> {
    yield;
    const complete = !this.#taken;
    this.#taken = true;
    const services = this.#services;
    this.#services = new Map();
    return { complete, services, vips: this.#vips.take(complete) };
  }
}

/** Counts the imports that need an address, and records changes between none and some. */
class Claims {
  readonly #counts = new Map<string, number>();
  #changed = new Map<string, boolean>();

  change(before: readonly string[], after: readonly string[]): void {
    for (const address of before) this.#count(address, -1);
    for (const address of after) this.#count(address, 1);
  }

  /** All needed addresses if `complete`, else the changes since the last call. */
  take(complete: boolean): Map<string, boolean> {
    const changed = this.#changed;
    this.#changed = new Map();
    return complete ? new Map([...this.#counts.keys()].map((one) => [one, true])) : changed;
  }

  #count(address: string, by: 1 | -1): void {
    const count = (this.#counts.get(address) ?? 0) + by;
    if (count === 0) this.#counts.delete(address);
    else this.#counts.set(address, count);
    this.#changed.set(address, count > 0);
  }
}
