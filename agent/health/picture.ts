import type { Answered, Overdue, ProbeRecord, Reach, TcpEndpoint } from "./evidence.ts";
import type { Group } from "./watched-endpoints.ts";

/** Everything that verdicts on endpoints depend on. */
export interface Picture {
  /** Milliseconds of the clock. */
  readonly now: number;
  readonly overdue: readonly Overdue[];
  readonly answered: readonly Answered[];
  /** The groups that list overdue endpoints. */
  readonly groups: readonly Group[];
  /** By name of the endpoint. */
  readonly probes: Pick<ReadonlyMap<string, ProbeRecord>, "get">;
  readonly reachOf: (group: Group) => Reach;
  /** True if answers of the group to clients were seen, however long ago, while probes got none. */
  readonly isSeen: (group: Group) => boolean;
  /** True if connections of the group's namespace to its cluster were answered late in the last minute. */
  readonly isLossy: (group: Group) => boolean;
  /** True if one was in the last ten minutes. */
  readonly mayBeLate: (group: Group) => boolean;
  /** True if no answer to this client is under way any more. */
  readonly hasWaited: (one: Overdue, client: string, group: Group) => boolean;
  /** When the group last did not answer this client, but others; -Infinity if it never did so. Without a client: any. */
  readonly rejectedAt: (group: Group, client?: string) => number;
  /** True if the last verdict of this name ended without an answer, or if the group of this name has one: its endpoints may be others by now. */
  readonly hasExpired: (name: string) => boolean;
  /** When an endpoint that clients try again was shown silent; undefined if it was not, or has answered since. */
  readonly shownAt: (one: TcpEndpoint) => number | undefined;
}

/** What is known of a group. */
export interface Context extends Picture {
  readonly group: Group;
  readonly reach: Reach;
  /** Clients that the group has answered, and has not rejected since. */
  readonly known: ReadonlySet<string>;
  /** Milliseconds since the group has answered a client. */
  readonly answeredAge: number;
}

/** What the evidence says about one group. PURE. */
export function contextOf(picture: Picture, group: Group, answered: readonly Answered[]): Context {
  const { now, rejectedAt } = picture;
  const isKnown = ({ age, client }: Answered) => now - age > rejectedAt(group, client);
  return {
    ...{ ...picture, group, reach: picture.reachOf(group) },
    known: new Set(answered.filter(isKnown).map(({ client }) => client)),
    answeredAge: answered.reduce((least, { age }) => Math.min(least, age), Infinity),
  };
}
