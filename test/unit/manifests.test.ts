import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { SETTINGS } from "../../agent/backends/ipvs/settings.ts";
import { AGENT } from "../../agent/config/config.ts";
import { OF_HOST } from "../../agent/system/sysctl.ts";
import { type AnyProgram, flagList, variableOf } from "../../common/config/flag.ts";
import { CONTROLLER } from "../../controller/config/config.ts";
import packageJson from "../../package.json" with { type: "json" };

// What deploy/ and the Dockerfiles say of the programs is so. Whether it works, test/e2e shows.

const ROOT = join(import.meta.dirname, "../..");
// Without charts, which are made of these files (charts.test.ts).
const FILES = globSync("deploy/**/*", { cwd: ROOT }).filter(
  (file) => /(\.yaml|\/Kustomization)$/.test(file) && !file.startsWith("deploy/charts/"),
);

/** Any value in YAML. */
type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [key: string]: Value };

function documents(file: string): Value[] {
  return parseAllDocuments(readFileSync(join(ROOT, file), "utf8")).map((document): Value => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  });
}

/** All values below a key of this name, at any depth. */
function below(key: string, value: Value): Value[] {
  if (value === null || typeof value !== "object") return [];
  if (Array.isArray(value)) return value.flatMap((one: Value) => below(key, one));
  return Object.entries(value).flatMap(([name, one]) => (name === key ? [one] : below(key, one)));
}

function all(key: string, files: readonly string[] = FILES): Value[] {
  return files.flatMap(documents).flatMap((document) => below(key, document));
}

/** The settings of containers, by name. */
function settings(files: readonly string[] = FILES): { name: string; value?: string }[] {
  return all("env", files).flat() as { name: string; value?: string }[];
}

test("every setting of a container is a flag of the program, with a valid value", () => {
  const programs: readonly AnyProgram[] = [AGENT, CONTROLLER];
  const flags = new Map(
    programs.flatMap((program) =>
      flagList(program).map((flag) => [variableOf(program, flag), flag]),
    ),
  );
  const given = settings();
  assert.ok(given.length > 6);
  for (const { name, value } of given) {
    // What another one refers to is what the kubelet puts there.
    if (given.some((other) => other.value?.includes(`$(${name})`))) continue;
    const flag = flags.get(name);
    assert.ok(flag, name);
    const text = value?.replace("$(HOST_IP)", "192.0.2.1");
    if (text !== undefined) assert.ok("value" in flag.read(text), `${name}: ${text}`);
  }
});

test("cleanup waits for the agent's lock, and for no other", () => {
  const [agent, cleanup] = ["deploy/base/agent.yaml", "deploy/cleanup/cleanup.yaml"];
  const lock = lockOf(agent);
  assert.ok(lock);
  assert.equal(lockOf(cleanup), lock);
  // On the host it lies where it does in the container: a cleanup by hand finds it.
  for (const file of [agent, cleanup]) assert.equal(hostPathAt(dirname(lock), file), dirname(lock));
});

function lockOf(file: string): string | undefined {
  return settings([file]).find(({ name }) => name === "CLUSTERSET_AGENT_LOCK_FILE")?.value;
}

/** The path of the host that containers see at this one. */
function hostPathAt(path: string, file: string): string | undefined {
  const mounts = all("volumeMounts", [file]).flat() as { name: string; mountPath: string }[];
  const volumes = all("volumes", [file]).flat() as { name: string; hostPath: { path: string } }[];
  const mount = mounts.find(({ mountPath }) => mountPath === path);
  return volumes.find(({ name }) => name === mount?.name)?.hostPath.path;
}

test("with IPVS, the node's sysctls are mounted where the agent reads them", () => {
  assert.equal(hostPathAt(`${OF_HOST}/net`, "deploy/components/ipvs/agent.yaml"), "/proc/sys/net");
});

test("the guide's sysctls are all that the agent would set", () => {
  const guide = readFileSync(join(ROOT, "docs/guides/ipvs.md"), "utf8");
  const [, file = ""] = /sysctl\.d\/\S+ <<END\n([\s\S]*?)END/.exec(guide) ?? [];
  // What a kernel may be without is right by its default (settings.ts).
  const needed = SETTINGS.filter(({ optional }) => optional !== true);
  assert.equal(file, needed.map(({ name, value }) => `${name} = ${value}\n`).join(""));
  for (const { name } of SETTINGS) assert.ok(guide.includes(`| \`${name}\` |`), name);
});

test("the agent has NET_ADMIN only; components add one capability each, also together", () => {
  const [base] = documents("deploy/base/agent.yaml") as [
    { spec: { template: { spec: { containers: { name: string }[] } } } },
  ];
  const [container] = base.spec.template.spec.containers;
  assert.equal(container?.name, "agent");
  const capabilities = (file: string) => all("capabilities", [file])[0];
  assert.deepEqual(capabilities("deploy/base/agent.yaml"), { drop: ["ALL"], add: ["NET_ADMIN"] });
  // Where the agent of an earlier run used legacy tables is unknown.
  assert.deepEqual(capabilities("deploy/cleanup/cleanup.yaml"), {
    ...{ drop: ["ALL"], add: ["NET_ADMIN", "NET_RAW"] },
  });
  const path = "/spec/template/spec/containers/0/securityContext/capabilities/add/-";
  const added = FILES.filter((file) => file.endsWith("/capability.yaml")).map((file) => [
    basename(dirname(file)),
    documents(file),
  ]);
  assert.deepEqual(Object.fromEntries(added), {
    "net-raw": [[{ op: "add", path, value: "NET_RAW" }]],
    preflight: [[{ op: "add", path, value: "SYS_ADMIN" }]],
  });
  // A strategic merge would replace the list.
  const patches = FILES.filter((file) => /components\/.*\/agent\.yaml$/.test(file));
  assert.ok(patches.length > 3);
  assert.deepEqual(all("capabilities", patches), []);
});

test("only Prometheus, in its namespace, reaches the pages of a controller", () => {
  const [policy] = documents("deploy/base/network-policy.yaml") as { spec: object }[];
  const [controller] = documents("deploy/base/controller.yaml") as [
    { spec: { template: { metadata: { labels: Record<string, string> } } } },
  ];
  const name = "app.kubernetes.io/name";
  const label = controller.spec.template.metadata.labels[name];
  assert.ok(label);
  const monitoring = { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } };
  assert.deepEqual(policy?.spec, {
    podSelector: { matchLabels: { [name]: label } },
    policyTypes: ["Ingress"],
    ingress: [
      { from: [{ namespaceSelector: monitoring }], ports: [{ protocol: "TCP", port: "http" }] },
    ],
  });
});

test("images have the version of the release, and OCI's labels", () => {
  const tags = all("images").flat() as { name: string; newTag: string }[];
  assert.ok(tags.length >= 3);
  for (const { name, newTag } of tags) assert.equal(newTag, packageJson.version, name);
  const files = ["Dockerfile.agent", ...globSync("images/*/Dockerfile", { cwd: ROOT })];
  assert.ok(files.length >= 4);
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), "utf8");
    assert.ok(text.includes(`\nARG VERSION=${packageJson.version}\n`), file);
    // Of the last stage: those of others are not the image's.
    const [last = ""] = text.split(/^FROM /m).slice(-1);
    const found = last.matchAll(/org\.opencontainers\.image\.([a-z]+)="([^"]+)"/g);
    const labels = Object.fromEntries([...found].map(([, name = "", value]) => [name, value]));
    const name = file === "Dockerfile.agent" ? "agent" : basename(dirname(file));
    assert.ok((labels.description ?? "").length > 20, file);
    const { title, licenses, version, revision } = labels;
    assert.deepEqual([title, licenses], [`clusterset-${name}`, packageJson.license], file);
    assert.match(`${version} ${revision}`, /^\$\{VERSION\} \$\{REVISION\}$/, file);
  }
});

test("each namespace with critical pods has a quota that admits them, as GKE requires", () => {
  const objects = FILES.flatMap(documents) as ({ [key: string]: Value } & {
    readonly kind?: string;
    readonly metadata?: { readonly namespace?: string };
  })[];
  const of = ({ metadata }: (typeof objects)[number], names: readonly Value[]) =>
    names.flatMap((name) => (typeof name === "string" ? [`${metadata?.namespace} ${name}`] : []));
  const used = objects.flatMap((object) => of(object, below("priorityClassName", object)));
  const admitted = objects
    .filter(({ kind }) => kind === "ResourceQuota")
    .flatMap((quota) => of(quota, below("values", quota).flat()));
  const classes = [...new Set(used)].toSorted();
  assert.deepEqual(classes, [
    "clusterset-proxy system-cluster-critical",
    "clusterset-proxy system-node-critical",
  ]);
  assert.deepEqual(admitted.toSorted(), classes);
});

test("no overlay contains CRDs, which would replace newer ones or delete those of others", () => {
  const kustomizations = FILES.filter((file) => /kustomization(\.yaml)?$/i.test(file));
  const resources = all("resources", kustomizations).flat() as string[];
  assert.ok(resources.length > 10);
  assert.ok(resources.every((path) => !path.endsWith("/crds")));
});

test("guides describe every optional component", () => {
  const told = ["install", "uninstall", "platforms"]
    .map((guide) => `docs/guides/${guide}.md`)
    .map((file) => readFileSync(join(ROOT, file), "utf8"))
    .join();
  const components = globSync("deploy/components/*", { cwd: ROOT });
  assert.ok(components.length > 5);
  for (const component of components) assert.ok(told.includes(component), component);
});

test("every file of deploy/ is applied by a kustomization, or documented as made for one cluster", () => {
  const applied = FILES.filter((file) => /kustomization(\.yaml)?$/i.test(file)).flatMap((file) => {
    const patches = all("patches", [file]).flat() as { path: string }[];
    const named = [
      ...(all("resources", [file]).flat() as string[]),
      ...patches.map(({ path }) => path),
    ];
    return named.map((name) => {
      const path = join(dirname(file), name);
      assert.ok(existsSync(join(ROOT, path)), `${file}: ${name}`);
      return path;
    });
  });
  for (const file of FILES) {
    if (/kustomization(\.yaml)?$/i.test(file)) continue;
    if (readFileSync(join(ROOT, file), "utf8").includes("CLUSTER_ID")) continue;
    // A hub is no cluster, and is made by hand.
    if (file === "deploy/rbac/hub/hub.yaml") continue;
    // For Prometheus and Grafana (docs/guides/monitoring.md).
    if (file.startsWith("deploy/monitoring/")) continue;
    assert.ok(applied.includes(file), `${file} is applied by nobody`);
  }
  assert.ok(statSync(join(ROOT, "deploy/coredns/names")).mode & 0o100);
});
