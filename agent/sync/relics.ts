import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { unitOf } from "./unit.ts";

/** What is to be written of one import, and what stays as the kernel has it. */
export interface Spared {
  readonly live: readonly VirtualService[];
  readonly kept: readonly VirtualService[];
}

/** What the kernel has of one import. */
interface Relic {
  /** By `Unit.id`. */
  readonly services: Map<string, VirtualService>;
  /** True once the import was told of: if it is not wanted after that, somebody has said so. */
  named: boolean;
}

/** Services that the kernel has from an earlier run and that nothing tells of. Each goes as soon as anything does. */
export class Relics {
  readonly #byImport = new Map<ObjectKey, Relic>();
  /** By VIP: the import that has it in the kernel. */
  readonly #holders = new Map<string, ObjectKey>();

  /** How many services there are. */
  get size(): number {
    return [...this.#byImport.values()].reduce((sum, { services }) => sum + services.size, 0);
  }

  get empty(): boolean {
    return this.#byImport.size === 0;
  }

  get imports(): ReadonlySet<ObjectKey> {
    return new Set(this.#byImport.keys());
  }

  add(service: VirtualService): void {
    const { key, id } = unitOf(service);
    const relic = this.#byImport.get(key) ?? { services: new Map(), named: false };
    relic.services.set(id, service);
    this.#byImport.set(key, relic);
    for (const vip of service.vips) this.#holders.set(vip, key);
  }

  clear(): void {
    this.#byImport.clear();
    this.#holders.clear();
  }

  /**
   * What of one import stays, when it wants `services`; undefined if it has no relics, or none any more. `told`: whether
   * any slice tells of its endpoints.
   */
  spare(key: ObjectKey, services: readonly VirtualService[], told: boolean): Spared | undefined {
    this.#claim(
      key,
      services.flatMap(({ vips }) => vips),
    );
    const relic = this.#byImport.get(key);
    if (relic === undefined) return undefined;
    const named = services.length > 0;
    if (named ? told : relic.named) {
      this.#byImport.delete(key);
      return undefined;
    }
    relic.named = named;
    const vips = new Map(services.map((service) => [unitOf(service).id, service.vips]));
    return {
      live: services.filter((service) => !relic.services.has(unitOf(service).id)),
      kept: [...relic.services].map(([id, service]) => ({
        ...service,
        vips: vips.get(id) ?? service.vips,
      })),
    };
  }

  /** A VIP belongs to whoever wants it now. */
  #claim(owner: ObjectKey, vips: Iterable<string>): void {
    for (const vip of vips) {
      const holder = this.#holders.get(vip);
      if (holder === undefined || holder === owner) continue;
      this.#holders.delete(vip);
      this.#giveUp(holder, vip);
    }
  }

  #giveUp(key: ObjectKey, vip: string): void {
    const services = this.#byImport.get(key)?.services ?? new Map<string, VirtualService>();
    for (const [id, service] of services) {
      const vips = service.vips.filter((each) => each !== vip);
      if (vips.length > 0) services.set(id, { ...service, vips });
      else services.delete(id);
    }
    if (services.size === 0) this.#byImport.delete(key);
  }
}
