import { type Command, InvalidArgumentError, Option } from "commander";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { durationOf, timeOf } from "../../api/parse/time-span.ts";
import { apiVersionOf } from "../../common/kubernetes/resource.ts";
import { drainText, LONGEST_DRAIN_MS, parseDrain } from "../../controller/model/drain.ts";
import { type ChangeFlags, carryOut, type Plan } from "../changes/carry-out.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { joinAdvice } from "../clusters/cluster-fault.ts";
import { type ClusterFlags, currentContext, withClusters } from "../clusters/contexts.ts";
import {
  type ClusterPlaces,
  type DrainPlace,
  drainPlaces,
  EFFECTS,
  PLACES,
  type Place,
} from "../clusters/drain-places.ts";
import { clusterId, withChangeFlags, withClusterFlags } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Change } from "../install/change.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { inEachCluster, UNKNOWN } from "./each-cluster.ts";

/** Flags that choose where a drain is stated. */
interface PlaceFlags extends ClusterFlags, ChangeFlags {
  readonly at?: Place;
}

interface DrainFlags extends PlaceFlags {
  /** Milliseconds. */
  readonly for: number;
  /** Milliseconds since 1970. */
  readonly from?: number;
  readonly reason?: string;
  readonly by?: string;
}

/** `drain CLUSTER` and `undrain CLUSTER`. */
export function addDrain(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withPlaceFlags(program.command("drain"))
    .summary("take a cluster out of rotation for a time")
    .description(
      "Take a cluster out of rotation for a time: established connections stay, new ones go to other clusters, and it remains the last resort.\n" +
        "The drain is stated on the cluster itself if one of the contexts is its own, else on the hub, else in each of the contexts that import from it. Without --context, all contexts of the kubeconfig are searched.",
    )
    .argument("<cluster>", "ID of the cluster", clusterId)
    .requiredOption(
      "--for <length>",
      "such as 90m, 2h or 3d; the drain then ends by itself",
      length,
    )
    .option("--from <time>", "begin, such as 2026-11-24T04:00:00Z; default: now", time)
    .option("--reason <text>", "shown in all clusters", text)
    .option("--by <name>", "shown in all clusters; default: your user name", text)
    .action(async (cluster: string, flags: DrainFlags) =>
      end(await drain(cluster, flags, terminal)),
    );
  withPlaceFlags(program.command("undrain"))
    .summary("return a drained cluster to rotation")
    .description(
      "Return a drained cluster to rotation: delete its drains in all contexts that state one. Without --context, all contexts of the kubeconfig are searched.",
    )
    .argument("<cluster>", "ID of the cluster", clusterId)
    .action(async (cluster: string, flags: PlaceFlags) =>
      end(await undrain(cluster, flags, terminal)),
    );
}

function withPlaceFlags(command: Command): Command {
  return withChangeFlags(withClusterFlags(command)).addOption(
    new Option(
      "--at <place>",
      "only on its own side, on the hub, or in importing clusters",
    ).choices(PLACES),
  );
}

async function drain(cluster: string, flags: DrainFlags, terminal: Terminal): Promise<ExitCode> {
  const from = flags.from ?? terminal.timeOfDay();
  const { reason, by = terminal.user } = flags;
  const until = from + flags.for;
  const value = drainText({ from, until, by, ...(reason !== undefined && { reason }) });
  const annotated = { metadata: { annotations: { [ANNOTATION_DRAIN]: value } } };
  if (parseDrain(annotated, new Complaints("")) === undefined) {
    // The fields are valid one by one, but together they may be too long; so may be the user's name.
    terminal.note(printable`The drain would be invalid: ${JSON.stringify(value)}\n`);
    terminal.note(printable`It may have 256 characters; set --by and --reason.\n`);
    return EXIT.usage;
  }
  // One statement of the cluster itself counts everywhere.
  const isEnough = (found: readonly ClusterPlaces[]) =>
    (flags.at ?? "own") === "own" && found.some(hasOwn);
  return withPlaces(cluster, flags, terminal, isEnough, ({ places, isComplete, isNamed }) => {
    const chosen = preferred(places, flags.at);
    if (chosen.length === 0) return undefined;
    const verb = flags.dryRun === undefined ? "is" : "would be";
    return {
      changes: chosen.map((place) => statement(place, value)),
      conclusion: `cluster ${cluster} ${verb} drained until ${new Date(until).toISOString()}`,
      // One statement of the cluster itself, or of the hub, counts everywhere.
      isComplete: isComplete || (!isNamed && chosen[0]?.place !== "peer"),
    };
  });
}

function undrain(cluster: string, flags: PlaceFlags, terminal: Terminal): Promise<ExitCode> {
  // Any cluster may state a drain of it.
  const isEnough = (found: readonly ClusterPlaces[]) => flags.at === "own" && found.some(hasOwn);
  return withPlaces(cluster, flags, terminal, isEnough, ({ places, isComplete }) => {
    if (places.length === 0) return undefined;
    const stated = places.filter(
      ({ place, drain: present }) => present !== undefined && place === (flags.at ?? place),
    );
    const contexts = [...new Set(places.map(({ on }) => on.context))].join(", ");
    return {
      changes: stated.map((place) => statement(place, null)),
      nothing: printable`no drain of cluster ${cluster} is stated in ${contexts}`,
      isComplete,
    };
  });
}

/** The annotation of one place; null deletes it. PURE. */
function statement({ on, resource, name, seen, place }: DrainPlace, value: string | null): Change {
  const { kind, versions } = resource;
  const object = { apiVersion: apiVersionOf(resource, versions[0] ?? ""), kind, metadata: name };
  return {
    ...{ on: on.context, stage: 0, act: "annotate", object, seen },
    annotations: { [ANNOTATION_DRAIN]: value },
    means: `${value === null ? "undrained" : "drained"}, effective ${EFFECTS[place]}`,
  };
}

/** True if a cluster states drains of itself. */
function hasOwn({ places }: ClusterPlaces): boolean {
  return places.some(({ place }) => place === "own");
}

/** Places that can state a drain of a cluster. */
interface FoundPlaces {
  readonly places: readonly DrainPlace[];
  /** True: every cluster could be read, or enough. */
  readonly isComplete: boolean;
  /** True: by flags. */
  readonly isNamed: boolean;
}

/**
 * Carries out what a command plans for all places that can state a drain of `cluster`: of the contexts of the flags, else of all contexts
 * of the kubeconfig that belong to its clusterset. Of these, no more are waited for once those of the current context's clusterset are
 * `isEnough`. An ID is unique in a clusterset only: of several, the current context's counts. `makePlan` returns undefined if no place is meant.
 */
function withPlaces(
  cluster: string,
  flags: PlaceFlags,
  whole: Terminal,
  isEnough: (found: readonly ClusterPlaces[]) => boolean,
  makePlan: (found: FoundPlaces) => Plan | undefined,
): Promise<ExitCode> {
  const isNamed = flags.context !== undefined || flags.allContexts === true;
  const planOn = async (all: readonly Cluster[], terminal: Terminal): Promise<Plan | ExitCode> => {
    const read = (on: Cluster) => drainPlaces(on, cluster);
    const current = isNamed ? undefined : currentContext(flags, terminal);
    const options = {
      label: UNKNOWN,
      isEnough: (found: readonly ClusterPlaces[]) => isEnough(inClustersetOf(current, found)),
    };
    const { results, failed } = await inEachCluster(all, terminal, read, isNamed ? {} : options);
    const own = inClustersetOf(current, results);
    const chosen = isNamed ? results : isEnough(own) ? own : ofOneClusterset(results, current);
    if (typeof chosen === "string") {
      terminal.note(printable`error: ${chosen}\n`);
      return EXIT.failed;
    }
    // Two contexts may be users of the same cluster.
    const places = new Map(chosen.flatMap((one) => one.places.map((it) => [it.seen.uid, it])));
    const found = { places: [...places.values()], isComplete: failed.length === 0, isNamed };
    const plan = makePlan(found);
    if (plan !== undefined) return plan;
    const strangers = isNamed ? results.filter(isStranger) : [];
    for (const { on } of strangers)
      terminal.note(printable`error: ${on.context}: not a member. ${joinAdvice(on.context)}\n`);
    return notFound(cluster, flags, terminal);
  };
  return withClusters(isNamed ? flags : { ...flags, allContexts: true }, whole, (all) =>
    carryOut(all, flags, whole, (terminal) => planOn(all, terminal)),
  );
}

/** True if a cluster is no member of a clusterset, and not the hub of the cluster that is meant. */
function isStranger({ clusterSet, places }: ClusterPlaces): boolean {
  return clusterSet === undefined && places.length === 0;
}

/** The members of the clusterset of a context; none if it is not known. */
function inClustersetOf(
  context: string | undefined,
  found: readonly ClusterPlaces[],
): readonly ClusterPlaces[] {
  const set = found.find(({ on }) => on.context === context)?.clusterSet;
  return set === undefined ? [] : found.filter(({ clusterSet }) => clusterSet === set);
}

/** The clusters of one clusterset, and its hub; a message if it is not clear which is meant. */
function ofOneClusterset(
  found: readonly ClusterPlaces[],
  current: string | undefined,
): readonly ClusterPlaces[] | string {
  const concerned = found.filter(({ places }) => places.length > 0);
  const sets = new Set(concerned.flatMap(({ clusterSet }) => clusterSet ?? []));
  const own = found.find(({ on }) => on.context === current)?.clusterSet;
  const chosen = own !== undefined && sets.has(own) ? own : [...sets][0];
  const uids = new Set(
    concerned.flatMap(({ places }) =>
      places.flatMap(({ place, seen }) => (place === "hub" ? seen.uid : [])),
    ),
  );
  if ((sets.size > 1 && chosen !== own) || uids.size > 1) {
    const contexts = concerned.map(
      ({ on, clusterSet }) => `${on.context} (${clusterSet ?? "hub"})`,
    );
    return `clusters of several clustersets have this ID: ${contexts.join(", ")}. Name contexts with --context.`;
  }
  return concerned.filter(({ clusterSet }) => clusterSet === undefined || clusterSet === chosen);
}

/** The places of the first kind that exists: one is enough, and the first has the widest effect. */
function preferred(places: readonly DrainPlace[], at: Place | undefined): DrainPlace[] {
  const kind = at ?? PLACES.find((one) => places.some(({ place }) => place === one));
  return places.filter(({ place }) => place === kind);
}

function notFound(cluster: string, { at }: PlaceFlags, { note }: Terminal): ExitCode {
  const where = at === undefined ? "" : ` (--at ${at})`;
  note(
    printable`No context is cluster ${cluster}, its hub, or a cluster that imports from it${where}; name more with --context.\n`,
  );
  return EXIT.failed;
}

function length(value: string): number {
  const milliseconds = durationOf(value);
  if (milliseconds === undefined || milliseconds > LONGEST_DRAIN_MS) {
    throw new InvalidArgumentError("Expected a number and s, m, h or d, at most 30d.");
  }
  return milliseconds;
}

function time(value: string): number {
  const found = timeOf(value);
  if (found === undefined) throw new InvalidArgumentError("Expected 2026-11-24T04:00:00Z.");
  return found;
}

/** Text of a field of the annotation: its end is a semicolon. */
function text(value: string): string {
  if (!/^[^\p{C}\p{Zl}\p{Zp};]{1,100}$/u.test(value) || value.trim() !== value) {
    throw new InvalidArgumentError("Expected 1 to 100 printable characters without semicolons.");
  }
  return value;
}
