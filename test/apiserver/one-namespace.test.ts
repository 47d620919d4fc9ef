import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../../common/clock.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { Reflector, type ResourceQuery } from "../../common/kubernetes/reflector.ts";
import { logLines } from "../doubles/log-lines.ts";
import { ControlPlane } from "./control-plane.ts";

const RBAC = "rbac.authorization.k8s.io";
const CONFIG_MAPS: ResourceQuery = { group: "", versions: ["v1"], resource: "configmaps" };

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({ users: ["peer"] });
  const { admin } = plane;
  for (const name of ["registry", "other"]) {
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const metadata = { namespace: name, name: `of-${name}` };
    await admin.create({ apiVersion: "v1", kind: "ConfigMap", metadata });
  }
  const metadata = { namespace: "registry", name: "peer" };
  const kinds = { apiGroups: [""], resources: ["configmaps"] };
  const rules = [{ ...kinds, verbs: ["list", "watch"] }];
  await admin.create({ apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
  const roleRef = { apiGroup: RBAC, kind: "Role", name: "peer" };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "peer" }];
  await admin.create({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef,
    subjects,
  });
});
after(() => plane.remove());

/** Reports of a reflector with the peer's rights, until `last`; calls `act` once it watches. */
async function tells(query: ResourceQuery, last: string, act = async () => {}): Promise<string[]> {
  const kubeconfig = plane.kubeconfig({ user: "peer" });
  const credentials = await Credentials.load({ kubeconfig, ...logLines(), clock: systemClock });
  const api = new HttpApiServer(credentials, "test", systemClock);
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const tell = (line: string): void => {
    told.push(line);
    if (line === "watching") void act();
    if (line === last) resolve();
  };
  const events = {
    changed: (key: string) => tell(`+${key}`),
    removed: (key: string) => tell(`-${key}`),
    listed: () => {},
    state: ({ reason }: { readonly reason: string }) => tell(reason),
  };
  const random = Math.random;
  const { log } = logLines();
  const reflector = new Reflector({ api, query, events, clock: systemClock, random, log });
  reflector.start();
  await promise;
  await reflector.stop();
  await api.close();
  return told;
}

test("an agent with rights in one namespace programs that namespace only", async () => {
  const query = { ...CONFIG_MAPS, namespace: "registry" };
  const told = await tells(query, "+registry/late", async () => {
    for (const namespace of ["other", "registry"]) {
      const metadata = { namespace, name: "late" };
      await plane.admin.create({ apiVersion: "v1", kind: "ConfigMap", metadata });
    }
  });
  assert.deepEqual(told, ["listing", "+registry/of-registry", "watching", "+registry/late"]);
});

test("an agent with rights in one namespace is denied all others", async () => {
  assert.deepEqual(await tells(CONFIG_MAPS, "forbidden"), ["listing", "forbidden"]);
  const other = { ...CONFIG_MAPS, namespace: "other" };
  assert.deepEqual(await tells(other, "forbidden"), ["listing", "forbidden"]);
});
