import type { ObjectKey } from "../../../api/names.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { Ruleset, WantedExtra } from "../backend.ts";
import { renderServers } from "./render.ts";
import { type Changes, digitsOf, type ServerKey, serverKey, type WantedServer } from "./state.ts";

/** What one import has in the ruleset. */
interface Holding {
  readonly servers: readonly ServerKey[];
  readonly vips: readonly string[];
  readonly hairpins: readonly string[];
}

const NOTHING: Holding = { servers: [], vips: [], hairpins: [] };

/** Addresses that several imports may want, and those of which it has changed whether any does. */
class Claims {
  readonly #counts = new Map<string, number>();
  #changed = new Map<string, boolean>();

  change(before: readonly string[], after: readonly string[]): void {
    for (const address of before) this.#count(address, -1);
    for (const address of after) this.#count(address, 1);
  }

  /** All that are wanted if it is `complete`, else what has changed since the last call. */
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

/**
 * The wanted virtual servers of one family. What it keeps is an index: which import has which servers, VIPs and local
 * endpoints. The same services give the same changes, whatever came before.
 */
export class IpvsRuleset implements Ruleset<Changes> {
  readonly #scheduler: Scheduler;
  readonly #holdings = new Map<ObjectKey, Holding>();
  readonly #holders = new Map<ServerKey, ObjectKey>();
  readonly #kept = new Map<ObjectKey, readonly ServerKey[]>();
  readonly #vips = new Claims();
  readonly #hairpins = new Claims();
  #servers = new Map<ServerKey, WantedServer | undefined>();
  #taken = false;

  /** `scheduler`: of imports that name none. */
  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  set(key: ObjectKey, services: readonly VirtualService[], extra: WantedExtra = {}): void {
    const { kept = [] } = extra;
    const before = this.#holdings.get(key) ?? NOTHING;
    const wanted = new Map(services.flatMap((one) => renderServers(one, this.#scheduler)));
    const standing = kept.flatMap(keysOf);
    const all = [...services, ...kept];
    const after: Holding = {
      servers: [...wanted.keys(), ...standing],
      vips: [...new Set(all.flatMap(({ vips }) => digitsOf(vips)))],
      hairpins: [...new Set(all.flatMap(hairpinsOf))],
    };
    if (all.length === 0) this.#holdings.delete(key);
    else this.#holdings.set(key, after);
    if (standing.length === 0) this.#kept.delete(key);
    else this.#kept.set(key, standing);
    const left = new Set(after.servers);
    for (const server of before.servers) {
      // A VIP that passes from one import to another may have been taken over already.
      if (left.has(server) || this.#holders.get(server) !== key) continue;
      this.#holders.delete(server);
      this.#servers.set(server, undefined);
    }
    for (const server of after.servers) this.#holders.set(server, key);
    for (const [server, one] of wanted) this.#servers.set(server, one);
    for (const server of standing) this.#servers.delete(server);
    this.#vips.change(before.vips, after.vips);
    this.#hairpins.change(before.hairpins, after.hairpins);
  }

  take(): Changes {
    const complete = !this.#taken;
    this.#taken = true;
    const servers = this.#servers;
    this.#servers = new Map();
    return {
      complete,
      servers,
      kept: new Set([...this.#kept.values()].flat()),
      vips: this.#vips.take(complete),
      hairpins: this.#hairpins.take(complete),
    };
  }
}

function keysOf({ vips, protocol, port }: VirtualService): ServerKey[] {
  return digitsOf(vips).map((address) => serverKey({ address, protocol, port }));
}

function hairpinsOf({ endpoints }: VirtualService): string[] {
  return digitsOf(endpoints.filter(({ maybeHere }) => maybeHere).map(({ address }) => address));
}
