/**
 * A Kubernetes source and a model in a process of their own: reads everything that the kubeconfig in the first
 * argument leads to, and prints what that took as one line of JSON.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Model } from "../agent/model/model.ts";
import { KubernetesSource } from "../agent/sources/kubernetes/kubernetes-source.ts";
import { systemClock as clock } from "../common/clock.ts";
import { connect } from "../common/kubernetes/connect.ts";
import { Reflector } from "../common/kubernetes/reflector.ts";
import { standardErrorLog } from "../common/log-writer.ts";
import { keepHeapSmall } from "../common/process.ts";

const RESOLUTION = 1;
keepHeapSmall();
const log = standardErrorLog({ level: "warn", format: "pretty" });
const api = await connect({ kubeconfig: process.argv[2] ?? "", log });
const source = new KubernetesSource({
  follow: (query, events) => new Reflector({ api, query, events, clock, random: Math.random, log }),
  nodeName: "n1",
});
const model = new Model();
let slices = 0;
const listed = Promise.withResolvers<void>();
// What the modules themselves cost to compile is over before anything is measured.
await sleep(200);
const idle = process.memoryUsage.rss();
const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
delay.enable();
// The same by the processor's clock: what others do on the machine is not in it.
let busiest = 0;
let before = processorMs();
const ticks = setInterval(() => {
  const now = processorMs();
  busiest = Math.max(busiest, now - before);
  before = now;
}, RESOLUTION);
const began = clock.now();
source.start({
  importChanged: (fact, at) => model.setImport(fact, at),
  importRemoved: (key, at) => model.removeImport(key, at),
  sliceChanged: (fact, at) => {
    slices++;
    model.setSlice(fact, at);
  },
  sliceRemoved: (key, at) => model.removeSlice(key, at),
  vipHeld: (vip, holder, at) => model.setHolder(vip, holder, at),
  nodeObserved: () => undefined,
  silenceChanged: () => undefined,
  problems: (object, problems) => console.error(object, problems),
  listed: listed.resolve,
});
await listed.promise;
const seconds = (clock.now() - began) / 1000;
delay.disable();
clearInterval(ticks);
// The memory after a quiet period: V8 is not forced to return memory.
await sleep(1000);
console.log(
  JSON.stringify({
    slices,
    seconds,
    idleMB: idle / 1e6,
    settledMB: process.memoryUsage.rss() / 1e6,
    peakMB: (process.resourceUsage().maxRSS * 1024) / 1e6,
    stallMs: delay.max / 1e6 - RESOLUTION,
    stall99Ms: delay.percentile(99.9) / 1e6 - RESOLUTION,
    busiestMs: busiest,
  }),
);
await source.stop();
await api.close();

/** Processor time of the event loop's thread so far, in milliseconds. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
