/**
 * The demo: one service in three clusters, a client that never stops connecting, and the agent on the
 * client's node. Clusters are scaled to nothing and back; everything shown is measured on real connections.
 * Exits with 0 if no connection failed, with 1 otherwise.
 *
 *     node test/demo/main.ts [manifests | kubernetes]
 */
import { now, placeOf } from "./attempt.ts";
import type { Paint } from "./paint.ts";
import { ms, type View } from "./picture.ts";
import { type Played, play, STEPS } from "./play.ts";
import { canDraw, paintFor, Screen } from "./screen.ts";
import { RATE, SOURCES, type SourceName, Stage } from "./stage.ts";
import { CLUSTERS, tierOf, VIP } from "./world.ts";

const paint = paintFor(process.stdout, process.env);
const drawing = canDraw(process.stdout, process.env);

const intro = `shop/web, ClusterSetIP ${VIP}: clusters c1 and c2 in eu-west, c3 in us-east; \
a pod of c1 makes ${RATE} new connections a second`;

if (process.getuid?.() !== 0) {
  console.error("the demo makes network namespaces: run it as root");
  process.exit(1);
}
const source = sourceOf(process.argv[2] ?? "manifests");
if (!drawing) console.log(intro);
if (source === "kubernetes") {
  console.log("starting a real etcd and kube-apiserver, which the agent lists and watches");
}
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
  console.error(`SOURCE=${word}: expected ${SOURCES.join(" or ")}`);
  process.exit(1);
}

/** Plays all steps; gives what went wrong. */
async function perform(source: SourceName): Promise<string[]> {
  await using stage = await Stage.open(source);
  const played: Played[] = [];
  const began = now();
  let rules: readonly string[] = await stage.rules();
  const view = (): View => ({
    attempts: stage.attempts,
    now: now(),
    began,
    up: new Set(CLUSTERS.filter((cluster) => stage.isUp(cluster)).map(({ id }) => id)),
    steps: STEPS,
    played,
    held: stage.held.map(({ name, count, fault }) => ({ name, count, fault })),
    rules,
  });
  const screen = drawing ? new Screen(process.stdout, paint, view) : undefined;
  screen?.start();
  try {
    for (const step of STEPS) {
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
  const wanted = played.at(-1)?.step.wanted;
  const late = stage.attempts.slice(ended).filter((attempt) => placeOf(attempt) !== wanted);
  const faults = [
    ...played.flatMap((one) => one.faults),
    ...late.map((attempt) => `a connection came to its end only then: ${placeOf(attempt)}`),
  ];
  if (faults.length > 0) return faults;
  for (const line of summary(stage, played)) console.log(paint("good", line));
  return [];
}

/** One step in lines, for a log. */
function report({ step, verdict, rules }: Played, paint: Paint): void {
  const { attempts, failures, firstNew, lastOld, slowest } = verdict;
  const tier = tierOf(step.wanted);
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  const how =
    step.scale.length === 0
      ? ""
      : `: first after ${ms(firstNew)}, last elsewhere after ${ms(lastOld)}`;
  console.log(
    `\n${step.title} -> ${paint(tier ?? "bad", `${tier ?? ""} ${step.wanted}`.trim())}${how}`,
  );
  console.log(`  ${attempts} connections, ${failed} failed, slowest there ${ms(slowest)}`);
  for (const rule of rules) console.log(paint("dim", `  ${rule}`));
}

/** What was shown, in lines that fit any terminal. */
function summary(stage: Stage, played: readonly Played[]): string[] {
  const switches = played.filter(({ step }) => step.scale.length > 0);
  const slowest = Math.max(...switches.map(({ verdict }) => verdict.firstNew ?? 0));
  const refused = played.at(-1)?.verdict.slowest;
  return [
    `OK: ${stage.attempts.length} connections, none failed or hung; every switch within ${ms(slowest)}`,
    `    ${stage.held.length} held connections survived the way back`,
    `    with nothing left, connections were refused within ${ms(refused)}`,
  ];
}
