import type { ObjectKey } from "../../../api/names.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { Ruleset, SetOptions } from "../backend.ts";
import { Claims } from "../nft/claims.ts";
import { digitsOf } from "../nft/digits.ts";
import { renderServers } from "./render.ts";
import { type Changes, type DesiredServer, type ServerKey, serverKey } from "./state.ts";

/** The part of the ruleset that belongs to one import. */
interface ImportServers {
  readonly servers: readonly ServerKey[];
  readonly vips: readonly string[];
  readonly hairpins: readonly string[];
}

const NOTHING: ImportServers = { servers: [], vips: [], hairpins: [] };

/**
 * The desired virtual servers of one family. It keeps an index of the servers, VIPs and local endpoints of each import. The same
 * services give the same changes, whatever was set before.
 */
export class IpvsRuleset implements Ruleset<Changes> {
  readonly #scheduler: Scheduler;
  readonly #imports = new Map<ObjectKey, ImportServers>();
  readonly #owners = new Map<ServerKey, ObjectKey>();
  readonly #vips = new Claims();
  readonly #hairpins = new Claims();
  #servers = new Map<ServerKey, DesiredServer | "kept" | undefined>();
  #taken = false;

  /** `scheduler`: of imports that name none. */
  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  set(key: ObjectKey, services: readonly VirtualService[], { kept = [] }: SetOptions = {}): void {
    const before = this.#imports.get(key) ?? NOTHING;
    const desired = new Map(services.flatMap((one) => renderServers(one, this.#scheduler)));
    const keptServers = kept.flatMap(keysOf);
    const all = [...services, ...kept];
    const after: ImportServers = {
      servers: [...desired.keys(), ...keptServers],
      vips: [...new Set(all.flatMap(({ vips }) => digitsOf(vips)))],
      hairpins: [...new Set(all.flatMap(hairpinsOf))],
    };
    if (all.length === 0) this.#imports.delete(key);
    else this.#imports.set(key, after);
    const left = new Set(after.servers);
    for (const server of before.servers) {
      // Another import may have taken over the server.
      if (left.has(server) || this.#owners.get(server) !== key) continue;
      this.#owners.delete(server);
      this.#servers.set(server, undefined);
    }
    for (const server of after.servers) this.#owners.set(server, key);
    for (const [server, one] of desired) this.#servers.set(server, one);
    for (const server of keptServers) this.#servers.set(server, "kept");
    this.#vips.change(before.vips, after.vips);
    this.#hairpins.change(before.hairpins, after.hairpins);
  }

  *take(): Generator<void, Changes> {
    yield;
    const complete = !this.#taken;
    this.#taken = true;
    const servers = this.#servers;
    this.#servers = new Map();
    return {
      complete,
      servers,
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
