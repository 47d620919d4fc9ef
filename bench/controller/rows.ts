import { count, figuresOf, percent, time } from "../figures.ts";
import { atMost, atMostMs, type Row, type Target } from "../table.ts";
import { callsText, restlessOf, rounded, sumOf } from "./calls.ts";
import type { CrossedChanges } from "./changes.ts";
import type { Measured } from "./measure.ts";

const MOST = { p50: 50, p99: 250, writes: 3, idleMB: 80, loadedMB: 160, seconds: 15, heldMs: 100 };

/** What controllers did in three clusters. */
export function controllerRows(measured: Measured): Row[] {
  const { exports, one, all, bareChanges, kubeSlices } = measured;
  return [
    ...changeRows(one, "1 export", bareChanges, kubeSlices),
    ...changeRows(all, `${count(exports)} exports`, bareChanges, kubeSlices),
    ...importRows(measured),
    ...memoryRows(measured),
    ...restRows(measured),
  ];
}

function changeRows(
  { changes, writes, connections }: CrossedChanges,
  exports: string,
  bare: readonly number[],
  kube: readonly number[],
): Row[] {
  const imported = figuresOf(changes.map((one) => one.imported));
  const own = figuresOf(changes.map((one) => one.own));
  const native = figuresOf(changes.map((one) => one.native));
  const beside = figuresOf(bare);
  const ofKube = figuresOf(kube);
  const first = figuresOf(changes.map((one) => one.first));
  const p50 = (of: (one: CrossedChanges["changes"][number]) => number) =>
    figuresOf(changes.map((one) => Math.max(0, of(one)))).p50;
  const all = writes.values().reduce((sum, calls) => sum + sumOf(calls), 0) / changes.length;
  const failed = [...connections.failed].map(([why, n]) => `${n} ${why}`).join(", ");
  return [
    {
      what: `slice acknowledged in c1 -> imported slice received in c2, ${exports}: p50 / p99`,
      ours: time(imported.p50, imported.p99),
      beside: `${time(beside.p50, beside.p99)} bare watch and apply`,
      ratio: imported.p50 / beside.p50,
      target: both(
        atMostMs("p50", MOST.p50, imported.p50),
        atMostMs("p99", MOST.p99, imported.p99),
      ),
    },
    {
      what: "  of which to c1's registry / to c2: p50",
      ours: time(
        p50((change) => change.published),
        p50((change) => change.imported - change.published),
      ),
      beside: `${time(ofKube.p50, ofKube.p99)} from a pod to its slice in one cluster, by Kubernetes`,
    },
    {
      what: "  -> imported slice received in c1 itself: p50 / p99",
      ours: time(own.p50, own.p99),
      beside: `${time(native.p50, native.p99)} the Service's own slice, without any program between`,
    },
    {
      what: "  -> first response of the new endpoints in c2: p50 / p99",
      ours: time(first.p50, first.p99),
      target: atMostMs("p99", MOST.p99, first.p99),
    },
    ...[...writes]
      .filter(([, calls]) => calls.size > 0)
      .map(
        ([cluster, calls]): Row => ({
          what: `  writes per change to ${cluster}'s API server`,
          ours: callsText(calls, changes.length),
        }),
      ),
    {
      what: "  writes per change in total",
      ours: rounded(all),
      target: atMost("", MOST.writes, "writes", all),
    },
    {
      what: "  connections meanwhile",
      ours: `${count(connections.made)}, ${failed || "none failed"}`,
      target: { text: "none fails", met: failed === "" },
    },
  ];
}

function importRows({ exports, inStep, fresh, bareImport }: Measured): Row[] {
  const all = `${count(exports)} exports each`;
  return [
    {
      what: `two clusters start -> in sync, ${all}`,
      ours: time(inStep),
      ...(exports >= 1_000 && { target: atMost("", 2 * MOST.seconds, "s", inStep / 1_000) }),
    },
    {
      what: `third cluster starts -> has imported both others, ${all}`,
      ours: time(fresh),
      beside: `${time(bareImport)} bare apply of the same`,
      ratio: fresh / bareImport,
      target: atMost("", MOST.seconds, "s", fresh / 1_000),
    },
  ];
}

function memoryRows({ exports, idle, loaded, restarted, ready, rewritten }: Measured): Row[] {
  const all = `3 clusters x ${count(exports)} exports x 10 endpoints`;
  const megabytes = (...values: number[]) => `${values.map((mb) => mb.toFixed(0)).join(" / ")} MB`;
  return [
    {
      what: "resident memory / heap in use, nothing exported",
      ours: megabytes(idle.resident, idle.heap),
      target: atMost("", MOST.idleMB, "MB", idle.resident),
    },
    {
      what: `resident memory / heap in use, ${all}`,
      ours: megabytes(loaded.resident, loaded.heap),
      target: atMost("", MOST.loadedMB, "MB", loaded.resident),
    },
    {
      what: "  maximum during export and import",
      ours: megabytes(loaded.peak),
    },
    {
      what: "  longest block of the event loop",
      ours: time(loaded.held),
      target: atMostMs("", MOST.heldMs, loaded.held),
    },
    {
      what: "restart with existing objects -> ready",
      ours: `${time(ready)}, ${callsText(rewritten)} written`,
      target: { text: "writes nothing", met: rewritten.size === 0 },
    },
    {
      what: "  resident memory / heap in use / maximum",
      ours: megabytes(restarted.resident, restarted.heap, restarted.peak),
      target: atMost("", MOST.loadedMB, "MB", restarted.resident),
    },
  ];
}

function restRows({ rest: { seconds, calls, share } }: Measured): Row[] {
  return [
    {
      what: `idle for ${seconds} s: requests of all controllers to c2's API server`,
      ours: callsText(calls),
      target: { text: "watches, Leases", met: restlessOf(calls).size === 0 },
    },
    {
      what: "  processor time of one controller",
      ours: percent(share),
      target: atMost("", 1, "%", share * 100),
    },
  ];
}

function both(one: Target, other: Target): Target {
  return { text: `${one.text}, ${other.text}`, met: one.met && other.met };
}
