/**
 * The demo: one service in three clusters, a client that never stops connecting, and the agent on the
 * client's node. Clusters are scaled to nothing and back; everything shown is measured on real connections.
 * Exits with 0 if no connection failed, with 1 otherwise. With controllers, one cluster is killed, too.
 *
 *     node demo/main.ts [manifests | kubernetes | controller | same-name]
 */
import { now, placeOf } from "../test/connections/connections.ts";
import { ms } from "./duration.ts";
import type { Paint } from "./paint.ts";
import type { View } from "./picture.ts";
import { type Played, play } from "./play.ts";
import { canDraw, paintFor, Screen } from "./screen.ts";
import { RATE, SOURCES, type SourceName, Stage } from "./stage.ts";
import { isOutage, isSlow, STEPS_OF } from "./steps.ts";
import { costOf, failuresOf } from "./verdict.ts";
import { CLUSTERS, tierOf } from "./world.ts";

const paint = paintFor(process.stdout, process.env);
const drawing = canDraw(process.stdout, process.env);

if (process.getuid?.() !== 0) {
  console.error("the demo makes network namespaces: run it as root");
  process.exit(1);
}
const source = sourceOf(process.argv[2] ?? "manifests");
try {
  const faults = await perform(source);
  for (const fault of faults) console.log(paint("bad", `FAILED: ${fault}`));
  process.exitCode = faults.length === 0 ? 0 : 1;
} catch (error) {
  console.log(paint("bad", `FAILED: ${error instanceof Error ? error.message : String(error)}`));
  process.exitCode = 1;
}

function sourceOf(word: string): SourceName {
  const source = SOURCES.find((name) => name === word);
  if (source !== undefined) return source;
  console.error(`SOURCE=${word}: expected ${SOURCES.join(", ")}`);
  process.exit(1);
}

/** Plays all steps; gives what went wrong. */
async function perform(source: SourceName): Promise<string[]> {
  const steps = STEPS_OF[source];
  await using stage = await Stage.open(source, (line) => console.log(line));
  const kind = source === "same-name" ? "ClusterIP in c1" : "ClusterSetIP";
  const intro = `shop/web, ${kind} ${stage.vip}: clusters c1 and c2 in eu-west, c3 in us-east; \
a pod of c1 makes ${RATE} new connections a second`;
  if (!drawing) console.log(intro);
  const played: Played[] = [];
  const began = now();
  let rules: readonly string[] = await stage.rules();
  const view = (): View => ({
    vip: stage.vip,
    attempts: stage.attempts,
    now: now(),
    began,
    up: new Set(CLUSTERS.filter((cluster) => stage.isUp(cluster)).map(({ id }) => id)),
    steps,
    played,
    held: stage.held.map(({ name, count, fault }) => ({ name, count, fault })),
    rules,
  });
  const screen = drawing ? new Screen(process.stdout, paint, view) : undefined;
  screen?.start();
  try {
    for (const step of steps) {
      const one = await play(stage, step, (latest) => {
        rules = latest;
      });
      played.push(one);
      if (screen === undefined) report(one, paint);
      if (one.faults.length > 0) break;
    }
  } finally {
    screen?.stop();
  }
  const ended = stage.attempts.length;
  await stage.finish();
  const broken = await stage.release();
  const wanted = played.at(-1)?.step.wanted;
  const late = stage.attempts.slice(ended).filter((attempt) => placeOf(attempt) !== wanted);
  const faults = [
    ...new Set([...played.flatMap((one) => one.faults), ...broken]),
    ...late.map((attempt) => `a connection came to its end only then: ${placeOf(attempt)}`),
  ];
  if (faults.length > 0) return faults;
  for (const line of summary(stage, played)) console.log(paint("good", line));
  return [];
}

/** One step in lines, for a log. */
function report({ step, verdict, rules }: Played, paint: Paint): void {
  const { attempts, cut, firstNew, lastOld, slowest } = verdict;
  const tier = tierOf(step.wanted);
  const how =
    step.acts.length === 0
      ? ""
      : `: first after ${ms(firstNew)}, last elsewhere after ${ms(lastOld)}`;
  console.log(
    `\n${step.title} -> ${paint(tier ?? "bad", `${tier ?? ""} ${step.wanted}`.trim())}${how}`,
  );
  const ends = cut === 0 ? "" : `${cut} cut with the cluster that had accepted them, `;
  console.log(
    `  ${attempts} connections, ${ends}${failuresOf(verdict)} failed, slowest there ${ms(slowest)}`,
  );
  for (const rule of rules) console.log(paint("dim", `  ${rule}`));
}

/** What was shown, in lines that fit any terminal. */
function summary(stage: Stage, played: readonly Played[]): string[] {
  const switches = played.filter(({ step }) => step.acts.length > 0 && !isSlow(step));
  const slowest = Math.max(...switches.map(({ verdict }) => verdict.firstNew ?? 0));
  const outages = played.filter(({ step }) => isOutage(step));
  return [
    ...outages.map(({ step, verdict }) => `${step.title}: ${costOf(verdict)}`),
    `OK: ${stage.attempts.length} connections, none failed or hung; every switch within ${ms(slowest)}`,
    `    held connections that survived the way back: ${stage.held.length}`,
    ...played
      .filter(({ step }) => step.wanted === "refused")
      .map(({ verdict }) => {
        return `    with nothing left, connections were refused within ${ms(verdict.slowest)}`;
      }),
  ];
}
