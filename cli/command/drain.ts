import { type Command, InvalidArgumentError, Option } from "commander";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { durationOf, timeOf } from "../../api/parse/time-span.ts";
import { drainText, LONGEST_DRAIN_MS, parseDrain } from "../../controller/model/drain.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, currentContext, withClusters } from "../clusters/contexts.ts";
import {
  type ClusterPlaces,
  type DrainPlace,
  drainPlaces,
  EFFECTS,
  PLACES,
  type Place,
} from "../clusters/drain-places.ts";
import {
  clusterId,
  type DryRun,
  dryRunOption,
  withClusterFlags,
  withOutputFlag,
} from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Output } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import { sentence } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { Changes } from "./changes.ts";
import { inEachCluster } from "./each-cluster.ts";
import { UNKNOWN } from "./find-members.ts";

/** Flags that choose where a drain is stated. */
interface PlaceFlags extends ClusterFlags {
  readonly at?: Place;
  readonly dryRun?: DryRun;
  readonly output: Output;
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
  return withOutputFlag(withClusterFlags(command))
    .addOption(
      new Option(
        "--at <place>",
        "only on its own side, on the hub, or in importing clusters",
      ).choices(PLACES),
    )
    .addOption(dryRunOption());
}

async function drain(cluster: string, flags: DrainFlags, whole: Terminal): Promise<ExitCode> {
  const changes = new Changes(whole, flags.output);
  const { terminal } = changes;
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
  return withPlaces(cluster, flags, changes, isEnough, async (found, isComplete, isNamed) => {
    const places = preferred(found, flags.at);
    if (places.length === 0) return notFound(cluster, flags, terminal);
    const failed = await annotateAll(places, value, flags, changes);
    if (failed === new Set(places.map(({ on }) => on)).size) return EXIT.failed;
    const end = new Date(until).toISOString();
    const [done, dry] = flags.dryRun === undefined ? ["is", ""] : ["would be", " (dry run)"];
    const what = `cluster ${cluster} ${done} drained until ${end}${dry}`;
    terminal.out(printable`${sentence(what, terminal)}\n`);
    // One statement of the cluster itself, or of the hub, counts everywhere.
    const isEverywhere = !isNamed && places[0]?.place !== "peer";
    return failed === 0 && (isComplete || isEverywhere) ? EXIT.well : EXIT.failed;
  });
}

async function undrain(cluster: string, flags: PlaceFlags, whole: Terminal): Promise<ExitCode> {
  const changes = new Changes(whole, flags.output);
  const { terminal } = changes;
  // Any cluster may state a drain of it.
  const isEnough = (found: readonly ClusterPlaces[]) => flags.at === "own" && found.some(hasOwn);
  return withPlaces(cluster, flags, changes, isEnough, async (places, isComplete) => {
    if (places.length === 0) return notFound(cluster, flags, terminal);
    const stated = places.filter(
      ({ place, drain: present }) => present !== undefined && place === (flags.at ?? place),
    );
    const failed = await annotateAll(stated, null, flags, changes);
    const contexts = [...new Set(places.map(({ on }) => on.context))].join(", ");
    if (stated.length === 0)
      terminal.out(printable`no drain of cluster ${cluster} is stated in ${contexts}\n`);
    return failed === 0 && isComplete ? EXIT.well : EXIT.failed;
  });
}

/** True if a cluster states drains of itself. */
function hasOwn({ places }: ClusterPlaces): boolean {
  return places.some(({ place }) => place === "own");
}

/**
 * Runs a command on all places that can state a drain of `cluster`: of the contexts of the flags, else of all contexts of the kubeconfig
 * that belong to its clusterset. Of these, no more are waited for once those of the current context's clusterset are `isEnough`.
 * `isComplete`: every cluster could be read, or enough. `isNamed`: by flags. An ID is unique in a clusterset only: of several, the current
 * context's counts.
 */
function withPlaces(
  cluster: string,
  flags: PlaceFlags,
  changes: Changes,
  isEnough: (found: readonly ClusterPlaces[]) => boolean,
  run: (places: readonly DrainPlace[], isComplete: boolean, isNamed: boolean) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { terminal } = changes;
  const isNamed = flags.context !== undefined || flags.allContexts === true;
  return withClusters(isNamed ? flags : { ...flags, allContexts: true }, terminal, async (all) => {
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
    return changes.during(() => run([...places.values()], failed.length === 0, isNamed));
  });
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

/** Annotates all places; returns in how many clusters that failed, which was said. */
async function annotateAll(
  places: readonly DrainPlace[],
  value: string | null,
  flags: PlaceFlags,
  changes: Changes,
): Promise<number> {
  const clusters = [...new Set(places.map(({ on }) => on))];
  const { failed } = await inEachCluster(clusters, changes.terminal, async (on) => {
    for (const place of places.filter((one) => one.on === on))
      await annotate(place, value, flags, changes);
  });
  return failed.length;
}

async function annotate(
  { on, resource, name, seen, place }: DrainPlace,
  value: string | null,
  { dryRun }: PlaceFlags,
  changes: Changes,
): Promise<void> {
  const patch = { metadata: { annotations: { [ANNOTATION_DRAIN]: value } } };
  if (dryRun === undefined) await on.objects.patch(resource, name, patch, seen);
  const object = `${resource.kind.toLowerCase()}/${name.name}`;
  const done = value === null ? "undrained" : "drained";
  const note = dryRun === undefined ? "" : " (dry run)";
  changes.done(on, object, `${done}, effective ${EFFECTS[place]}${note}`);
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
