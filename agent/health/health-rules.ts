import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { type Chain, commentsOf, hooksOf, replaceTable, WORDS } from "../backends/nft/chains.ts";
import type { SetLayout } from "../system/nftables/element.ts";

/** The name of the table, in each family. Backends have tables of their own, because this one is for all of them. */
export const HEALTH_TABLE = "clusterset-health";

const ENDPOINT = ["address", "port"] as const;
const WITH_CLIENT = ["address", "port", "address"] as const;

/** The sets, with address and TCP port of endpoints, and some with the address of a client. */
export const HEALTH_SETS = {
  /** Endpoints that owe an answer to a first SYN. The kernel counts these, and deletes the endpoint when it answers anybody. */
  waiting: { name: "waiting", key: ENDPOINT },
  /** Endpoints that owe an answer to a repeated SYN, in the same way. */
  repeated: { name: "repeated", key: ENDPOINT },
  /** Endpoints, each with a client whose SYNs it has not answered. */
  callers: { name: "callers", key: WITH_CLIENT },
  /** Endpoints, each with a client whose connection it has accepted. */
  accepted: { name: "accepted", key: WITH_CLIENT },
  /** Endpoints that the agent has found silent. The kernel deletes them when they accept a connection. */
  silent: { name: "silent", key: ENDPOINT },
} as const satisfies Record<string, SetLayout>;

/**
 * Milliseconds until an unanswered SYN is forgotten: the endpoint gets too few of them to say anything. Longer than a client of TCP waits
 * between two SYNs of its first five.
 */
export const WAITING_MS = 30_000;
/** Milliseconds for which a client is known to have been answered. */
export const ACCEPTED_MS = 120_000;
/** Most elements of a set. Endpoints beyond it are not watched. */
const MOST = 65_536;
/**
 * SYNs that are recorded in a second: first ones, and repeated ones of endpoints and clients that are not recorded yet. Each that is answered leaves a dead
 * element in the same bucket, for up to a second: with all SYNs recorded, 300 connections a second to one endpoint took 20 us more each (6.18). First
 * ones matter for clients that give up before they repeat one.
 */
const RECORDED = { first: 10, repeated: 100 } as const;
/**
 * Endpoints with a client that are added to `accepted` in a second; those that it has already are updated in place, which leaves no dead element. So it
 * has 12,000 elements at most.
 */
const ACCEPTED = 100;

/** What the rules depend on. */
export interface HealthRulesOptions {
  readonly family: Family;
  /** Ranges of all VIPs. */
  readonly ranges: readonly Cidr[];
}

/**
 * The chains, which decide about no packet.
 *
 * - sent: after translation, by DNAT or IPVS, the destination of a SYN is the endpoint. The connection of a repeated SYN is confirmed already. `add` counts a
 *   SYN and leaves the timeout of an element as it is, so that its age is that of the first unanswered SYN; `update` restarts it. Once an endpoint is recorded,
 *   further repeated SYNs to it only count: clients of an endpoint that does not exist must not use up what is recorded in a second.
 * - answered: before translation, the source of an answer is the endpoint, whoever has called it, such as the agent's own probe. A reset
 *   of a connection to a VIP is an answer, too (a firewall may reset those of the node itself), but only a connection ends a verdict. An answer must belong to a tracked connection, and arrive by the link by which this node would send to
 *   the endpoint: a pod can send any packet in the name of an endpoint, and the SYN before it, but only by its own link.
 */
export function healthChains({ family, ranges }: HealthRulesOptions): Chain[] {
  const { ip } = WORDS[family];
  const own = ranges.filter((range) => range.family === family);
  const limit = (most: number) => `limit rate ${most}/second burst ${most} packets`;
  const to = `${ip} daddr . tcp dport`;
  const toOf = `${to} . ct original ${ip} saddr`;
  const from = `${ip} saddr . tcp sport`;
  const fromOf = `${from} . ct original ${ip} saddr`;
  const isRepeated = "ct status confirmed";
  const isAnswer = "ct direction reply fib saddr . iif oif exists";
  return [
    {
      name: "sent",
      hook: "filter hook postrouting priority 200",
      rules: own.map(
        ({ text }) =>
          `tcp flags & (fin|syn|rst|ack) == syn ct original ${ip} daddr ${text} goto record`,
      ),
    },
    {
      name: "record",
      rules: [
        `${isRepeated} ${to} @repeated add @repeated { ${to} }`,
        `${isRepeated} ${to} != @repeated ${limit(RECORDED.repeated)} add @repeated { ${to} }`,
        `${isRepeated} ${toOf} @callers update @callers { ${toOf} }`,
        `${isRepeated} ${toOf} != @callers ${limit(RECORDED.repeated)} update @callers { ${toOf} }`,
        `ct status ! confirmed ${limit(RECORDED.first)} add @waiting { ${to} } update @callers { ${toOf} }`,
      ],
    },
    {
      name: "answered",
      hook: "filter hook prerouting priority -190",
      rules: [
        `tcp flags & (syn|ack) == (syn|ack) ${isAnswer} goto accept-of`,
        `tcp flags & rst == rst ${isAnswer} goto refusal-of`,
      ],
    },
    {
      name: "accept-of",
      rules: [
        ...["waiting", "repeated", "silent"].map((set) => `delete @${set} { ${from} }`),
        `delete @callers { ${fromOf} }`,
        ...own.flatMap(({ text }) => [
          `ct original ${ip} daddr ${text} ${fromOf} @accepted update @accepted { ${fromOf} } return`,
          `ct original ${ip} daddr ${text} ${limit(ACCEPTED)} update @accepted { ${fromOf} }`,
        ]),
      ],
    },
    {
      name: "refusal-of",
      rules: own.flatMap(({ text }) => {
        const toVip = `ct original ${ip} daddr ${text}`;
        return [
          ...["waiting", "repeated"].map((set) => `${toVip} delete @${set} { ${from} }`),
          `${toVip} delete @callers { ${fromOf} }`,
        ];
      }),
    },
  ];
}

/** The comments of all rules, in order: other rules have others. And the base chains. PURE. */
export function healthMarks(options: HealthRulesOptions) {
  const chains = healthChains(options);
  return { comments: commentsOf(chains), hooks: hooksOf(chains) };
}

/** Input of nft that replaces the table by one with empty sets. PURE. */
export function healthText(options: HealthRulesOptions): string {
  const { ip, type } = WORDS[options.family];
  const rest = `flags dynamic,timeout; size ${MOST}`;
  const endpoint = `${type} . inet_service; ${rest}`;
  const withClient = `${type} . inet_service . ${type}; ${rest}`;
  const unanswered = `${endpoint}; timeout ${WAITING_MS / 1000}s; counter`;
  const sets = {
    ...{ waiting: unanswered, repeated: unanswered, silent: endpoint },
    callers: `${withClient}; timeout ${WAITING_MS / 1000}s`,
    accepted: `${withClient}; timeout ${ACCEPTED_MS / 1000}s`,
  };
  const lines = replaceTable(
    `${ip} ${HEALTH_TABLE}`,
    sets,
    healthChains(options),
    healthMarks(options).comments,
  );
  return `${lines.join("\n")}\n`;
}
