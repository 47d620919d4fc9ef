import { inTurns } from "../../api/in-turns.ts";
import type { Clock } from "../../common/clock.ts";
import {
  type Answered,
  isLate,
  type Overdue,
  type ProbeRecord,
  type ProbeResult,
  type Reach,
  type TcpEndpoint,
} from "./evidence.ts";
import { FairMap } from "./fair-map.ts";
import type { HealthEvents } from "./health-events.ts";
import { endpointName } from "./verdict.ts";
import type { Group } from "./watched-endpoints.ts";

/** Connects to an endpoint. Never rejects. */
export type Probe = (endpoint: TcpEndpoint) => Promise<ProbeResult>;

/** Endpoints, groups and clusters that are remembered. */
const MOST_REMEMBERED = 4_096;
/** Blind clusters that are reported: where no ranges are declared, a tenant can invent clusters. */
const MOST_BLIND = 64;
/** Probes without an answer that are remembered besides the latest one. */
const MOST_SILENT = 3;
/** Milliseconds in which a client's answer shows that a silent probe was dropped on purpose. Some imports are called every few minutes. */
const DOUBT_MS = 600_000;
/** Calibrations in a row that answers to clients contradict, and that show an endpoint which admits no nodes. With 30 % loss in each direction, one is silent in eight times. */
const CONTRADICTIONS = { usual: 2, late: 8 };

/** Milliseconds between two calibrations of a group. */
const CALIBRATION_MS = 60_000;
/** Milliseconds for which a calibration counts: a blind group is reported for so long after its last one. */
const CALIBRATED_MS = 3_600_000;

/** What a calibration has found. */
interface Calibration {
  readonly cluster: string;
  readonly works: boolean;
  /** When it ended; -Infinity if the next one is due. */
  readonly at: number;
  /** True if an endpoint has answered a client since a probe of it was silent: a short outage, or a policy that has just arrived. */
  readonly isDoubted: boolean;
}

/** Calibrations of a cluster, by what they found. */
type Counts = Record<"working" | "blind", number>;

/** A probe that was silent, or a calibration that was refused: the endpoint is dead, or does not admit nodes. */
interface Doubt {
  readonly groups: readonly Group[];
  readonly begun: number;
  /** True if the endpoint had just answered clients. */
  readonly isCalibration: boolean;
  /** True if clients that the group has answered waited for the endpoint, too. */
  readonly isLate?: boolean;
}

/** Probes endpoints, and remembers the results: of endpoints, and whether probes reach their groups. */
export class ProbeLog {
  readonly #probe: Probe;
  readonly #clock: Clock;
  readonly #events: HealthEvents;
  readonly #records = new FairMap<ProbeRecord>(MOST_REMEMBERED);
  /** By name of the group. */
  readonly #calibrations = new FairMap<Calibration>(MOST_REMEMBERED, (one, by) =>
    this.#count(one, by),
  );
  /** By cluster. Counted as they change: thousands of groups are evaluated with each check. */
  readonly #counts = new Map<string, Counts>();
  readonly #doubts = new FairMap<Doubt>(MOST_REMEMBERED);
  /** Clusters of endpoints under way, by name. */
  readonly #pending = new Map<string, string>();
  /** The latest probe of each cluster. */
  readonly #latest = new FairMap<ProbeRecord>(MOST_REMEMBERED);

  constructor(probe: Probe, clock: Clock, events: HealthEvents) {
    this.#probe = probe;
    this.#clock = clock;
    this.#events = events;
  }

  /** By name of the endpoint. */
  get records(): Pick<FairMap<ProbeRecord>, "get"> {
    return this.#records;
  }

  /** When the last probe of an endpoint ended, whatever its result; 0 if there was none. */
  probedAt(endpoint: TcpEndpoint): number {
    return this.#records.get(endpointName(endpoint))?.ended ?? 0;
  }

  isPending(endpoint: TcpEndpoint): boolean {
    return this.#pending.has(endpointName(endpoint));
  }

  /** True if the last probe of an endpoint began before this answer of it: another one may show something new. */
  isOlder(one: Answered): boolean {
    const begun = this.#records.get(endpointName(one))?.begun ?? Number.NEGATIVE_INFINITY;
    return !this.isPending(one) && begun < this.#clock.now() - one.age;
  }

  /** The number of probes of a cluster under way. */
  pendingOf(cluster: string): number {
    return this.#pending
      .values()
      .filter((one) => one === cluster)
      .reduce((count) => count + 1, 0);
  }

  /** Probes an endpoint of a cluster, which these groups list. Never rejects. */
  async probe(
    endpoint: TcpEndpoint,
    cluster: string,
    groups: readonly Group[],
  ): Promise<ProbeResult> {
    const name = endpointName(endpoint);
    const begun = this.#clock.now();
    this.#pending.set(name, cluster);
    const result = await this.#probe(endpoint);
    this.#pending.delete(name);
    this.#events.probed(result);
    const ended = this.#clock.now();
    const before = this.#records.get(name);
    const silent =
      result === "silent" ? [...(before?.silent.slice(-MOST_SILENT) ?? []), begun] : [];
    const accepted = result === "accepted" ? ended : (before?.accepted ?? Number.NEGATIVE_INFINITY);
    const isClosed = result !== "accepted" && before?.isClosed === true;
    const contradicted = result === "accepted" ? 0 : (before?.contradicted ?? 0);
    const record = { result, begun, ended, accepted, isClosed, contradicted, silent };
    this.#records.set(name, record, namespacesOf(groups));
    this.#latest.set(cluster, record, namespacesOf(groups));
    if (result === "accepted") {
      this.#doubts.delete(name);
      for (const one of groups) this.#calibrate(one, endpoint, true, ended);
    } else if (result === "silent") this.#doubt(endpoint, { groups, begun, isCalibration: false });
    return result;
  }

  /** Probes an endpoint that has just answered a client, to see whether probes reach its groups. Never rejects. */
  async calibrate(endpoint: TcpEndpoint, cluster: string, groups: readonly Group[]): Promise<void> {
    const begun = this.#clock.now();
    const result = await this.probe(endpoint, cluster, groups);
    // It has just accepted a client: something on the way refuses nodes in its name, or its server restarts.
    if (result === "silent" || result === "refused")
      this.#doubt(endpoint, { groups, begun, isCalibration: true });
  }

  #doubt(endpoint: TcpEndpoint, doubt: Doubt): void {
    this.#doubts.set(endpointName(endpoint), doubt, namespacesOf(doubt.groups));
  }

  /**
   * The endpoint of a silent probe has answered a client since. After several calibrations in a row, this shows that the endpoint admits no nodes. After one, or after
   * another probe, which may have met a short outage, the group is to be calibrated anew. Returns true if one is.
   */
  observe(
    answered: readonly Answered[],
    overdue: readonly Overdue[],
    isLossy: (group: Group) => boolean,
  ): boolean {
    const now = this.#clock.now();
    const clientsOf = Map.groupBy(answered, endpointName);
    for (const one of overdue.filter(isLate)) {
      const doubt = this.#doubts.get(endpointName(one));
      if (doubt === undefined || doubt.isLate) continue;
      // A pod that a policy rejects waits for ever, and says nothing about the path.
      const callers = new Set(one.clients);
      const isKnown = (name: string) =>
        clientsOf.get(name)?.some(({ client }) => callers.has(client));
      if (doubt.groups.some(({ members }) => members.keys().some(isKnown)))
        this.#doubt(one, { ...doubt, isLate: true });
    }
    let isDue = false;
    for (const one of answered) {
      const doubt = this.#doubts.get(endpointName(one));
      if (doubt === undefined || one.age >= now - doubt.begun) continue;
      this.#doubts.delete(endpointName(one));
      const mayBeLost = doubt.isLate === true || doubt.groups.some(isLossy);
      if (doubt.isCalibration && this.#isClosing(one, doubt.groups, mayBeLost)) {
        isDue = this.#close(one, doubt.groups, doubt.begun) || isDue;
        continue;
      }
      for (const group of doubt.groups) {
        const known = this.#calibrations.get(group.name);
        // A probe of a suspect may have replaced the doubt of a calibration.
        if (known === undefined) isDue = true;
        else if (known.works && known.at < doubt.begun) {
          this.#recalibrate(group, { ...known, at: -Infinity, isDoubted: true });
          isDue = true;
        }
      }
    }
    this.#doubts.deleteIf(({ begun }) => now - begun > DOUBT_MS);
    return isDue;
  }

  /** Counts a calibration that an answer to a client contradicts; true if these are enough. `mayBeLost`: its packets. */
  #isClosing(endpoint: TcpEndpoint, groups: readonly Group[], mayBeLost: boolean): boolean {
    const name = endpointName(endpoint);
    const record = this.#records.get(name);
    if (record === undefined || record.isClosed) return true;
    const contradicted = record.contradicted + 1;
    this.#records.set(name, { ...record, contradicted }, namespacesOf(groups));
    return contradicted >= (mayBeLost ? CONTRADICTIONS.late : CONTRADICTIONS.usual);
  }

  /**
   * An endpoint that clients reach admits no nodes. Others of its groups may, as where only some nodes have a firewall: these are calibrated next, and a group is blind once
   * none is left that has accepted a probe. Returns true if one is to be calibrated at once.
   */
  #close(endpoint: TcpEndpoint, groups: readonly Group[], at: number): boolean {
    const name = endpointName(endpoint);
    const record = this.#records.get(name);
    const isNew = record?.isClosed === false;
    if (record) this.#records.set(name, { ...record, isClosed: true }, namespacesOf(groups));
    let isDue = false;
    for (const group of groups) {
      const known = this.#calibrations.get(group.name);
      if (known?.works !== true || !this.#hasOpen(group, at)) {
        this.#calibrate(group, endpoint, false, at);
        continue;
      }
      const next = isNew ? { ...known, at: -Infinity, isDoubted: true } : { ...known, at };
      this.#recalibrate(group, next);
      isDue ||= isNew;
    }
    return isDue;
  }

  /** True if an endpoint of the group has accepted a probe. */
  #hasOpen({ members }: Group, now: number): boolean {
    return members.entries().some(([name, { isHere }]) => {
      const record = this.#records.get(name);
      return !isHere && record?.isClosed === false && record.accepted > now - CALIBRATED_MS;
    });
  }

  /** True if it may admit no nodes: too few calibrations have shown it. */
  isDoubted(endpoint: TcpEndpoint): boolean {
    const record = this.#records.get(endpointName(endpoint));
    return record !== undefined && !record.isClosed && record.contradicted > 0;
  }

  isClosed(endpoint: TcpEndpoint): boolean {
    return this.#records.get(endpointName(endpoint))?.isClosed === true;
  }

  /** Whether probes reach a group: by its own calibration, else by those of the other groups of its cluster, but not of the own cluster. */
  reachOf(group: Group): Reach {
    const own = this.#calibrations.get(group.name);
    if (own !== undefined) return own.works ? (own.isDoubted ? "assumed" : "works") : "blind";
    if (group.isOwn) return "unknown";
    const { working, blind } = this.#countOf(group.cluster);
    if (blind > 0) return "blind";
    return working > 0 ? "assumed" : "unknown";
  }

  /** True if clients reach a group of which probes get no answer: its own calibration has shown it. */
  isBlind(group: Group): boolean {
    return this.#calibrations.get(group.name)?.works === false;
  }

  /** False if probes may not reach a group that clients reach: it was not calibrated yet, or that was silent. `answered`: names of endpoints that have answered clients. */
  mayReach(group: Group, answered: ReadonlySet<string>): boolean {
    const reach = this.reachOf(group);
    if (reach === "works" || reach === "blind") return reach === "works";
    const isDoubted = group.members.keys().some((one) => this.#doubts.get(one)?.isCalibration);
    return !isDoubted && answered.isDisjointFrom(group.members);
  }

  #countOf(cluster: string): Readonly<Counts> {
    return this.#counts.get(cluster) ?? { working: 0, blind: 0 };
  }

  #count({ cluster, works }: Calibration, by: 1 | -1): void {
    const { working, blind } = this.#countOf(cluster);
    const counts = works ? { working: working + by, blind } : { working, blind: blind + by };
    if (counts.working + counts.blind === 0) this.#counts.delete(cluster);
    else this.#counts.set(cluster, counts);
  }

  /** The best reach of a cluster's groups. */
  reachOfCluster(cluster: string): Reach {
    const { working, blind } = this.#countOf(cluster);
    if (working > 0) return "works";
    return blind > 0 ? "blind" : "unknown";
  }

  /** When a group was calibrated; -Infinity if it was not, or if its endpoints are others by now. */
  calibratedAt(group: Group): number {
    if (!group.members.keys().some((one) => this.#records.get(one) !== undefined))
      return Number.NEGATIVE_INFINITY;
    return this.#calibrations.get(group.name)?.at ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Those of `groups` that are to be calibrated, in order: those that were not for longest, first. Namespaces take turns: one with thousands of groups does
   * not delay others.
   */
  due(groups: readonly Group[]): Group[] {
    const before = this.#clock.now() - CALIBRATION_MS;
    const due = groups
      .map((group) => ({ group, at: this.calibratedAt(group) }))
      .filter(({ at }) => at <= before)
      .toSorted((a, b) => a.at - b.at)
      .map(({ group }) => group);
    return inTurns(Map.groupBy(due, ({ namespace }) => namespace).values());
  }

  /** Clusters with groups that probes do not reach, though clients do: `MOST_BLIND`, and of each namespace some. */
  get blind(): ReadonlySet<string> {
    const since = this.#clock.now() - CALIBRATED_MS;
    const byNamespace = this.#calibrations.lists.map((all) =>
      all.filter(({ works, at }) => !works && at > since),
    );
    const clusters = inTurns(byNamespace).map(({ cluster }) => cluster);
    return new Set(new Set(clusters).values().take(MOST_BLIND));
  }

  /** The latest probe of a cluster. */
  latestOf(cluster: string): ProbeRecord | undefined {
    return this.#latest.get(cluster);
  }

  #calibrate(group: Group, endpoint: TcpEndpoint, works: boolean, at: number): void {
    const member = group.members.get(endpointName(endpoint));
    // Policies exempt a pod's own node: that says nothing about other nodes.
    if (member === undefined || member.isHere) return;
    const { cluster } = group;
    this.#recalibrate(group, { cluster, works, at, isDoubted: false });
  }

  #recalibrate({ name, namespace }: Group, calibration: Calibration): void {
    this.#calibrations.set(name, calibration, [namespace]);
  }
}

/** The namespaces of these groups. */
function namespacesOf(groups: readonly Group[]): string[] {
  return groups.map(({ namespace }) => namespace);
}
