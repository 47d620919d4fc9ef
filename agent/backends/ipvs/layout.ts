import { addressFromHex, type Family } from "../../../api/address.ts";
import { containsAny } from "../../../api/cidr.ts";
import type { Scheduler } from "../../../api/keys.ts";
import type { Protocol } from "../../../api/protocol.ts";
import { digitsOf, type VirtualService } from "../../plan/virtual-service.ts";
import type { Conflict, Drift, Programmed } from "../backend.ts";
import type { Found, Layout, Rendering } from "../dataplane.ts";
import { type Change, type Deletion, type Held, type Part, PLAIN, type Put } from "../objects.ts";
import { IpvsCommands } from "./commands.ts";
import { compare } from "./drift.ts";
import type { GuardOptions } from "./guard.ts";
import { BESIDE, BOUND, GUARD, RIGHT, SETTINGS_ID, setsIn, UNBOUND } from "./listing.ts";
import { mergeVip, withoutIdle } from "./merge.ts";
import { guardTable } from "./nft-tables.ts";
import { type DesiredVip, renderVips } from "./render.ts";
import { SETTINGS } from "./settings.ts";
import {
  BLOCKED,
  type DestinationKey,
  destinationText,
  isImportKey,
  type Port,
  type PortKey,
  parseVip,
  portKey,
  serverName,
  vipText,
} from "./vip.ts";

/** What the objects of IPVS depend on. */
export interface LayoutOptions extends GuardOptions {
  /** The scheduler of imports that name none. */
  readonly scheduler: Scheduler;
}

/** What is desired of a VIP; undefined for the guard and the sysctls, whose ID says all. */
export type Content = DesiredVip | undefined;

/** The number of destinations in a message: enough to identify their owner. */
const NAMED = 3;

/** How ipvsadm names a protocol. */
const OPTIONS: Readonly<Record<Protocol, string>> = {
  TCP: "-t",
  UDP: "-u",
  SCTP: "--sctp-service",
};

/** The objects of IPVS, for one family: the guard, the sysctls, and for each VIP its address, its virtual servers, and the guard's elements. */
export class IpvsLayout implements Layout<Content, IpvsCommands> {
  readonly base: readonly Part<Content>[] = [
    { id: GUARD, digest: BOUND, content: undefined },
    { id: SETTINGS_ID, digest: RIGHT, content: undefined },
  ];
  readonly isSpare = PLAIN.isSpare;
  readonly most = PLAIN.most;
  readonly #options: LayoutOptions;

  constructor(options: LayoutOptions) {
    this.#options = options;
  }

  rendering(): Rendering<Content> {
    const { scheduler } = this.#options;
    return {
      parts: (services, { kept = [] }) => {
        const importKey = [...services, ...kept][0]?.importKey;
        const vips = renderVips(services, kept, scheduler);
        return [...vips].map(([id, content]) => ({ id, digest: "", importKey, content }));
      },
    };
  }

  idsOf({ vips }: VirtualService): string[] {
    return digitsOf(vips);
  }

  /** A program that flushes everything takes servers. */
  isShared(): boolean {
    return true;
  }

  after(id: string, before: string | undefined, part: Part<Content> | undefined) {
    if (id === GUARD) return before?.endsWith(BESIDE) ? `${UNBOUND}${BESIDE}` : BOUND;
    if (id === SETTINGS_ID) return RIGHT;
    return vipText(mergeVip(parseVip(before), part?.content, this.#isInside(id)));
  }

  /** What has ended: destinations that drained, and the exception for another backend's rules. */
  garbage(held: Held, found: Held): Change<Content> {
    const puts = new Map<string, Put<Content>>();
    const deletes = new Map<string, Deletion>();
    const [guard] = this.base;
    for (const [id, { digest }] of found) {
      if (id === GUARD && digest === UNBOUND && guard !== undefined)
        puts.set(id, { before: digest, after: BOUND, part: guard });
      const { digest: before } = held.get(id) ?? {};
      if (id === GUARD || id === SETTINGS_ID || before === undefined || before === digest) continue;
      const [vip, now] = [parseVip(before), parseVip(digest)];
      const after = vipText(withoutIdle(vip, now, this.#isInside(id)));
      if (after !== before) deletes.set(id, { before, after });
    }
    return { puts, deletes };
  }

  commands({ puts, deletes }: Change<Content>, held: Held): IpvsCommands {
    const { family } = this.#options;
    const guard = puts.get(GUARD);
    const wrong = puts.get(SETTINGS_ID)?.before?.split(",") ?? [];
    const vips = [...puts, ...deletes].filter(([id]) => id !== GUARD && id !== SETTINGS_ID);
    return new IpvsCommands({
      family,
      vips: vips.map(([vip, { before, after }]) => {
        return { vip, before: parseVip(before), after: parseVip(after) };
      }),
      guard: guard && {
        options: { ...this.#options, unbound: guard.after !== BOUND },
        sets: setsIn(held),
      },
      settings: SETTINGS.filter(({ name }) => wrong.includes(name)),
    });
  }

  drift(ids: readonly string[], before: Held, { held, suspect }: Found): Drift[] {
    return compare(ids, before, held, guardTable(this.#options.family), suspect?.(""));
  }

  /** The services that have a virtual server to which the guard admits new connections. */
  programmed(held: Held): Programmed {
    let holders: ReadonlyMap<string, string> | undefined;
    return {
      get size() {
        // One service has a server for each of its VIPs.
        const services = servedIn(held).filter(
          ([, , { server, served = "" }]) => server && isImportKey(served),
        );
        return new Set(services.map(([, key, { served }]) => `${served} ${key}`)).size;
      },
      has: (service) =>
        digitsOf(service.vips).some((vip) => {
          const port = parseVip(held.get(vip)?.digest).ports.get(portKey(service));
          return port?.server !== undefined && port.served !== undefined;
        }),
      holder: (vip) => {
        holders ??= new Map(servedIn(held).map(([hex, , { served = "" }]) => [hex, served]));
        const text = holders.get(digitsOf([vip])[0] ?? "");
        return text !== undefined && isImportKey(text) ? text : undefined;
      },
      get destinations() {
        return servedIn(held).map(([vip, key]) => `${vip} ${key}`);
      },
    };
  }

  /** Other programs' virtual servers in the place of desired ones. */
  conflicts(held: Held): Conflict[] {
    const { family } = this.#options;
    return [...held].flatMap(([hex, { digest }]) =>
      digest.startsWith(BLOCKED)
        ? [...parseVip(digest).ports].flatMap(([key, port]) => conflictOf(family, hex, key, port))
        : [],
    );
  }

  #isInside(hex: string): boolean {
    const { family, clusterSetCidrs } = this.#options;
    return containsAny(clusterSetCidrs, { family, text: "", hex });
  }
}

/** Ports for which the guard admits connections. */
function servedIn(held: Held) {
  return held
    .entries()
    .filter(([id]) => id !== GUARD && id !== SETTINGS_ID)
    .flatMap(([hex, { digest }]) =>
      [...parseVip(digest).ports].flatMap(([key, port]) =>
        port.served === undefined ? [] : [[hex, key, port] as const],
      ),
    );
}

function conflictOf(
  family: Family,
  hex: string,
  key: PortKey,
  { server, blocked }: Port,
): Conflict[] {
  if (blocked === undefined || server === undefined) return [];
  const importKey = blocked.slice(0, blocked.indexOf(":"));
  if (!isImportKey(importKey)) return [];
  const { protocol, port } = serverName(family, hex, key);
  const { text } = addressFromHex(hex);
  const place = family === "IPv4" ? `${text}:${port}` : `[${text}]:${port}`;
  const destinations = [...server.destinations.keys()];
  const there = [
    `scheduler ${server.terms.scheduler}`,
    ...(destinations.length > 0 ? [namesOf(destinations)] : []),
  ].join(", ");
  const remove = `ipvsadm -D ${OPTIONS[protocol]} ${place}`;
  const message = `${blocked}: another program's virtual server exists at ${protocol} ${place} (${there}). If it is not needed: ${remove}`;
  return [{ importKey, servicePort: blocked, protocol, reason: "server-foreign", message }];
}

function namesOf(destinations: readonly DestinationKey[]): string {
  const some = destinations.slice(0, NAMED).map(destinationText).join(", ");
  const more = destinations.length - NAMED;
  return more > 0 ? `to ${some} and ${more} more` : `to ${some}`;
}
