import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { systemClock } from "../../common/clock.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { Reflector } from "../../common/kubernetes/reflector.ts";
import { createLogger } from "../../common/log.ts";
import { keepHeapSmall } from "../../common/process.ts";
import { importedSlices } from "../../controller/import/imported-slices.ts";
import { UNLIMITED } from "../../controller/model/peer-scope.ts";
import { ControllerMetrics } from "../../controller/observe/metrics.ts";
import { Observer } from "../../controller/observe/observer.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { exportedService } from "../../controller/sync/exported-service.ts";
import { Members } from "../../controller/sync/members.ts";
import { ReconcileQueue } from "../../controller/sync/reconcile-queue.ts";

// The part of the controller that reads peers, as a program of its own: `node hostile-peer-reader.ts URL…`, one URL for each
// of the peers c2, c3, … It prints what it imports of names in `watched`, and answers each line of input with its memory.

const RULES = {
  own: "c1",
  policiesFrom: [],
  exportedKeys: [],
  deciders: new Map<string, string>(),
  clusterRegions: new Map<string, string>(),
  maxRulesPerImport: 100_000,
};

keepHeapSmall();
const log = createLogger(
  { level: "error", format: "json" },
  { write: (line) => process.stderr.write(line) },
);
const events = new Observer(log, new ControllerMetrics());
const clock = systemClock;
const random = Math.random;
const queue = new ReconcileQueue({ clock, events, random } as never);
const members: Members = new Members({
  today: () => new Date(0),
  windows: { drainWindow: 0, returnWindow: 0 },
  clock,
  clusterSetCidrs: [],
  maxRules: 1_000_000,
  dirty: queue.dirty,
  synced: (cluster) => queue.importAll(cluster),
  turned: (cluster) => queue.importFrom(cluster),
  connection: () => undefined,
  accepted: () => undefined,
  events,
});
members.identify({ id: "c1" }, "uid-c1");
queue.begin({
  due: () => undefined,
  exported: () => [],
  exports: () => [],
  imported: () => members.services(),
  importedFrom: () => [],
  failover: { names: () => [], concerns: () => false, end: () => undefined },
  properties: { names: () => [] },
  reconcile: async (kind: string, key: `${string}/${string}`) => {
    if (kind !== "import") return;
    const { merged, contributions } = exportedService(members, key, RULES);
    const slices = merged && importedSlices(merged, contributions);
    if (key !== "calm/web") return;
    const addresses = slices?.slices.flatMap(({ endpoints }) => JSON.stringify(endpoints) ?? "");
    process.stdout.write(`${key} ${addresses?.join() ?? "none"}\n`);
  },
} as never);
members.complete();
for (const [i, server] of process.argv.slice(2).entries()) {
  const id = `c${i + 2}`;
  const namespace = registryNamespace(id);
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
    "current-context": "c",
  });
  const api = await connect({
    log,
    userAgent: "test",
    kubeconfig: { text, from: id, allowed: ["http", "insecure-skip-tls-verify"] },
  });
  const member = members.add({ id, namespace, isOurs: false });
  await member.connect(
    (query, to, known) => new Reflector({ api, query, events: to, clock, random, log, known }),
    UNLIMITED,
  );
}
for await (const line of createInterface(process.stdin)) {
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  process.stdout.write(`peak ${line} ${peak}\n`);
}
