import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundle } from "../scripts/build/bundle.ts";
import { Lab } from "../test/lab/lab.ts";
import { count, time } from "./figures.ts";
import { ObjectServer } from "./object-server.ts";
import type { Size } from "./services.ts";
import type { Row } from "./table.ts";

const MOST_MB = 160;
const MOST_STALL_MS = 20;

/** What `source-process.ts` prints. */
interface Measured {
  readonly seconds: number;
  readonly idleMB: number;
  readonly settledMB: number;
  readonly peakMB: number;
  readonly stallMs: number;
  readonly stall99Ms: number;
  /** The longest between two turns of the event loop that were a millisecond apart, in processor time. */
  readonly busiestMs: number;
}

/**
 * The Kubernetes source and the model, bundled and in a process of their own, read everything from a server that
 * says it at once.
 */
export async function source(size: Size): Promise<Row[]> {
  await using server = await ObjectServer.start(size);
  // Nothing is in it: its directory goes with it, however this ends.
  await using lab = await Lab.create({ clusters: [] });
  const program = join(lab.directory, "source.mjs");
  await bundle(join(import.meta.dirname, "source-process.ts"), program);
  const kubeconfig = join(lab.directory, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigFor(server.url));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [program, kubeconfig], { timeout: 120_000 });
  return rowsOf(size, server.bytes, JSON.parse(stdout));
}

function rowsOf(size: Size, bytes: number, measured: Measured): Row[] {
  const { seconds, idleMB, settledMB, peakMB, stallMs, stall99Ms, busiestMs } = measured;
  const megabytes = (mb: number) => `${mb.toFixed(0)} MB`;
  return [
    {
      what: `${count(size.services)} slices x ${size.endpoints} listed, ${megabytes(bytes / 1e6)} of JSON`,
      ours: time(seconds * 1000),
    },
    {
      what: "  maximum resident memory",
      ours: `${megabytes(settledMB)}, ${megabytes(peakMB)}`,
      beside: `${megabytes(idleMB)} before`,
      target: { text: `<= ${MOST_MB} MB`, met: peakMB <= MOST_MB },
    },
    {
      what: "  event loop blocked, p99.9 / max",
      ours: time(stall99Ms, stallMs),
      beside: `${time(busiestMs)} of its own processor time`,
      target: { text: `<= ${MOST_STALL_MS} ms`, met: stallMs <= MOST_STALL_MS },
    },
  ];
}

/** The client rejects a server without TLS unless verification is off. */
function kubeconfigFor(server: string): string {
  const name = "bench";
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server, "insecure-skip-tls-verify": true } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: {} }],
  });
}
