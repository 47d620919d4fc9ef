import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { type Chain, commentsOf, replaceTable } from "../backends/nft/chains.ts";
import { WORDS } from "../backends/nft/words.ts";
import type { SetLayout } from "../system/nftables/element.ts";

/** The name of the table, in each family. Backends have tables of their own, because this one is for all of them. */
export const HEALTH_TABLE = "clusterset-health";

const ENDPOINT = ["address", "port"] as const;

/** The sets, with address and TCP port of endpoints. */
export const HEALTH_SETS = {
  /** Endpoints that owe an answer to one of the SYNs that are recorded: the kernel counts these, and deletes the endpoint when it answers. */
  waiting: { name: "waiting", key: ENDPOINT },
  /** The same for SYNs that are sent again, because there was no answer for a second. */
  repeated: { name: "repeated", key: ENDPOINT },
  /** Endpoints that the agent has found silent; the kernel deletes them when they accept a connection. */
  silent: { name: "silent", key: ENDPOINT },
  /** A sample of the endpoints that have just accepted a connection of a client. */
  answering: { name: "answering", key: ENDPOINT },
} as const satisfies Record<string, SetLayout>;

/**
 * Milliseconds until an unanswered SYN is forgotten: the endpoint gets too few of them to say anything. Longer than a client of TCP waits
 * between two SYNs of its first five.
 */
export const WAITING_MS = 30_000;
/** Milliseconds for which an endpoint is known to have accepted a connection. Longer than an examination. */
export const ANSWERING_MS = 2_000;
/** Most endpoints in a set: what is beyond is not watched. */
const MOST = 65_536;
/**
 * SYNs that are recorded in a second, first ones and repeated ones. Each that is answered leaves a dead element in the same bucket, for up to a second: with
 * all SYNs recorded, 300 connections a second to one endpoint took 20 us more each (6.18). First ones matter for clients that give up before they repeat one.
 */
const RECORDED = { waiting: 10, repeated: 100 } as const;
/** Accepted connections that are recorded in a second. An update in place leaves no dead element. */
const ANSWERS = 100;

/** What the rules depend on. */
export interface HealthRulesOptions {
  readonly family: Family;
  /** Ranges of all VIPs. */
  readonly ranges: readonly Cidr[];
}

/**
 * The chains, which decide about no packet.
 *
 * - sent: after translation, by DNAT or IPVS, the destination of a SYN is the endpoint. The connection of a SYN that is sent again is confirmed already. `add` counts a SYN and leaves the
 *   timeout of an element as it is, so that its age is that of the first unanswered SYN; `update` would restart it. Of SYNs that are sent again, one of each endpoint is enough: clients
 *   of an endpoint that does not exist must not use up what is recorded in a second.
 * - answered: before translation, the source of an answer is the endpoint, whoever has called it, such as the agent's own probe. A reset
 *   is an answer, too, but only a connection ends a verdict. A packet that answers nothing, such as one that a pod sends in the name of an endpoint, is none.
 */
export function healthChains({ family, ranges }: HealthRulesOptions): Chain[] {
  const { ip } = WORDS[family];
  const own = ranges.filter((range) => range.family === family);
  const forget = (set: string) => `delete @${set} { ${ip} saddr . tcp sport }`;
  const record = (set: keyof typeof RECORDED) => {
    const most = RECORDED[set];
    return `limit rate ${most}/second burst ${most} packets add @${set} { ${ip} daddr . tcp dport }`;
  };
  return [
    {
      name: "sent",
      hook: "filter hook postrouting priority 200",
      rules: own.flatMap(({ text }) => {
        const isSyn = `tcp flags & (fin|syn|rst|ack) == syn ct original ${ip} daddr ${text}`;
        return [
          `${isSyn} ct status confirmed ${ip} daddr . tcp dport != @repeated ${record("repeated")}`,
          `${isSyn} ${record("waiting")}`,
        ];
      }),
    },
    {
      name: "answered",
      hook: "filter hook prerouting priority -190",
      rules: [
        "tcp flags & (syn|ack) == (syn|ack) ct direction reply goto accepted",
        "tcp flags & rst == rst ct direction reply goto refused",
      ],
    },
    {
      name: "accepted",
      rules: [
        ...["waiting", "repeated", "silent"].map(forget),
        ...own.map(
          ({ text }) =>
            `ct original ${ip} daddr ${text} limit rate ${ANSWERS}/second burst ${ANSWERS} packets update @answering { ${ip} saddr . tcp sport }`,
        ),
      ],
    },
    { name: "refused", rules: ["waiting", "repeated"].map(forget) },
  ];
}

/** The comments of all rules, in order: other rules have others. PURE. */
export function healthComments(options: HealthRulesOptions): string[] {
  return commentsOf(healthChains(options));
}

/** Input of nft that replaces the table by one with empty sets. PURE. */
export function healthText(options: HealthRulesOptions): string {
  const { ip, type } = WORDS[options.family];
  const endpoint = `${type} . inet_service; flags dynamic,timeout; size ${MOST}`;
  const unanswered = `${endpoint}; timeout ${WAITING_MS / 1000}s; counter`;
  const answering = `${endpoint}; timeout ${ANSWERING_MS / 1000}s`;
  const sets = { waiting: unanswered, repeated: unanswered, silent: endpoint, answering };
  const lines = replaceTable(
    `${ip} ${HEALTH_TABLE}`,
    sets,
    healthChains(options),
    healthComments(options),
  );
  return `${lines.join("\n")}\n`;
}
