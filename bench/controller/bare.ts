import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient, ApiObject } from "../../test/apiserver/api-client.ts";
import { IMPORT, SLICE } from "../../test/apiserver/controller-stage.ts";
import { LIVE, NAMESPACE } from "../shape.ts";
import { sinceIn } from "./changes.ts";
import { SliceWatch } from "./slice-watch.ts";
import type { MeshStage } from "./stage.ts";

/** What a copy is labelled with. */
const COPY = "bench";
const BARE = "bare";
/** As many writes at a time as the controller has workers. */
const WRITERS = 16;
const REST = 60;

/**
 * Has slices copied from c1 to c2 by a bare watch and apply (bare-copy.ts), and changes the one of the service that changes.
 * Gives milliseconds from its acknowledgement until a watch was told of the copy.
 */
export async function bareChanges(stage: MeshStage, times: number): Promise<number[]> {
  const [from, to] = [stage.cluster("c1").plane, stage.cluster("c2").plane];
  const [source, target] = [from, to].map((plane) => plane.kubeconfig({ user: "admin" }));
  const program = join(import.meta.dirname, "bare-copy.ts");
  const argv = [process.execPath, program, source ?? "", target ?? ""];
  const node = stage.lab.node("c2", "control-plane");
  const copier = node.spawn([...argv, `kubernetes.io/service-name=${LIVE}`, COPY]);
  await using copies = new SliceWatch(stage.client("c2"), NAMESPACE, COPY);
  const [first = ""] = stage.addresses;
  await copies.seen(first);
  const took: number[] = [];
  for (let round = 0; round < times; round++) {
    await sleep(REST + Math.random() * 10);
    copies.forget();
    took.push(await sinceIn(copies, await stage.move()));
  }
  await copier.stop();
  await to.admin.delete({ ...SLICE, metadata: { namespace: NAMESPACE, name: `${LIVE}-c1-copy` } });
  return took;
}

/**
 * Applies what one cluster has imported to another, in a namespace of its own, as many objects at a time as the controller;
 * gives the milliseconds that took. Nothing of it stays.
 */
export async function bareImport(from: ApiClient, to: ApiClient): Promise<number> {
  const place = { metadata: { namespace: NAMESPACE } };
  const imports = await from.list({ ...IMPORT, ...place });
  const labelSelector = "multicluster.kubernetes.io/service-name";
  const slices = await from.list({ ...SLICE, ...place }, { labelSelector });
  const objects = [
    ...imports.map((object) => ({ ...bared(object), ...IMPORT })),
    ...slices.map((object) => ({ ...bared(object), ...SLICE })),
  ];
  await to.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: BARE } });
  const began = performance.now();
  const rest = objects.values();
  const writer = async () => {
    for (const object of rest) await to.apply(object);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const took = performance.now() - began;
  await from.close();
  for (const kind of [IMPORT, SLICE]) {
    const path = await to.pathOf({ ...kind, metadata: { namespace: BARE } }, "all");
    await to.request("DELETE", path, { timeout: 120_000 });
  }
  return took;
}

/** An import as a client would write it, without status and server fields, and without our label. */
function bared(object: ApiObject): object {
  const metadata = { namespace: BARE, name: object.metadata.name, labels: { [COPY]: "" } };
  return { ...object, metadata, status: undefined };
}
