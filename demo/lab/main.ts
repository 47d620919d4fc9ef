/**
 * The lab for people: clusters that stay until they are taken down.
 *
 *     make lab CLUSTERS=3 NODES=1 REGIONS="eu-west eu-west us-east" PROXY=iptables
 *     test/cluster/lab cut cluster-1 cluster-2
 *     make lab-down
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { basename, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { kubernetesCommand } from "../../test/apiserver/commands.ts";
import { labImages } from "../../test/cluster/images.ts";
import { seedOf } from "../../test/cluster/seed.ts";
import { plansOf } from "../../test/cluster/spec.ts";
import { deadRuns, removeRun, SCRATCH } from "../../test/lab/removal.ts";
import { KEEPER, type KeeperNews, type KeptClusters, keepers, SOCKET, specOf } from "./keeping.ts";
import { listOf, VERBS } from "./verbs.ts";

const PROGRAM = "test/cluster/lab";

/** The log of a keeper. */
const LOG = `${SCRATCH}/keeper.log`;

const [verb = "help", ...args] = process.argv.slice(2);
if (process.getuid?.() !== 0) {
  console.error("the lab makes namespaces: run it as root");
  process.exit(1);
}
try {
  if (verb === "up") await up();
  else if (verb === "down") await down();
  else if (verb === "enter") await enter(args);
  else if (Object.hasOwn(VERBS, verb)) await ask([verb, ...args]);
  else usage();
} catch (error) {
  console.error(`lab: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function usage(): void {
  console.log(`  make lab, make lab-down\n${listOf(PROGRAM)}`);
  if (verb !== "help") process.exitCode = 1;
}

async function up(): Promise<void> {
  const began = performance.now();
  const spec = specOf(process.env);
  const plans = plansOf(spec);
  if (keepers().length > 0) throw new Error("clusters are up already; make lab-down");
  // Here, where it is seen what takes so long, and not by the keeper.
  await seedOf(await labImages());
  const nodes = plans.flatMap((plan) => plan.nodes).length;
  const modes = new Set(plans.map(({ proxy }) => proxy));
  console.log(
    `${plans.length} clusters with ${nodes} nodes, kube-proxy with ${[...modes].join(", ")} …`,
  );
  mkdirSync(SCRATCH, { recursive: true });
  const log = openSync(LOG, "w");
  const keeper = spawn(process.execPath, [KEEPER], {
    // A Ctrl-C here reaches it by way of the channel, and later ones not at all.
    detached: true,
    stdio: ["ignore", log, log, "ipc"],
  });
  const news = await new Promise<KeeperNews>((resolve) => {
    keeper.once("message", (message) => resolve(message as KeeperNews));
    keeper.once("exit", () => resolve({ failed: `the keeper ended; see ${LOG}` }));
  });
  if (news.ready === undefined) throw new Error(news.failed);
  keeper.disconnect();
  keeper.unref();
  console.log(`ready in ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  introduce(news.ready);
}

function introduce({ kubeconfig, contexts }: KeptClusters): void {
  const directory = dirname(kubeconfig);
  // What kubectl learns of an API server it remembers by address and port, which another one may have tomorrow.
  console.log(`  export KUBECONFIG=${kubeconfig} KUBECACHEDIR=${directory}/kubectl-cache`);
  console.log(`  export PATH=${dirname(kubernetesCommand("kubectl"))}:$PATH\n`);
  for (const { id, region } of contexts) {
    console.log(`  kubectl --context ${id} get pods -A -o wide    # ${region}`);
  }
  console.log(
    `\n  logs: ${directory}/NODE/log/*.log, ${SCRATCH}/${basename(directory)}/CLUSTER/*.log`,
  );
  console.log(`\n${listOf(PROGRAM)}\n  make lab-down`);
}

/** Stops all clusters, and removes leftovers of crashed runs. */
async function down(): Promise<void> {
  for (const pid of keepers()) {
    process.kill(pid, "SIGTERM");
    for (let waits = 0; keepers().includes(pid) && waits < 300; waits++) await sleep(100);
    if (!keepers().includes(pid)) continue;
    console.log(`the keeper ${pid} does not end, and is killed`);
    process.kill(pid, "SIGKILL");
    while (keepers().includes(pid)) await sleep(10);
  }
  for (const run of deadRuns()) await removeRun(run);
}

/** Runs a program on a node, with this terminal. */
async function enter([node = "", ...command]: readonly string[]): Promise<void> {
  const [program = "", ...within] = await ask(["enter", node]);
  const argv = command.length > 0 ? command : ["bash"];
  const child = spawn(program, [...within, ...argv], { stdio: "inherit" });
  // The terminal's signals are for the program.
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => undefined);
  const [code] = await once(child, "exit");
  process.exitCode = typeof code === "number" ? code : 1;
}

/** Sends a request to the keeper; returns its response. */
async function ask(argv: readonly string[]): Promise<string[]> {
  if (keepers().length === 0) throw new Error("no clusters are up; make lab");
  const call = request({ socketPath: SOCKET, method: "POST" });
  call.end(JSON.stringify(argv));
  const [response]: IncomingMessage[] = await once(call, "response");
  if (response === undefined) throw new Error("the keeper said nothing");
  const said = await text(response);
  if (response.statusCode !== 200) throw new Error(said);
  const given: unknown = JSON.parse(said);
  return Array.isArray(given) ? given.map(String) : [];
}
