import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import {
  ANNOTATION_COMPONENTS,
  CONTROLLER_NAME,
  LABEL_MANAGED_BY,
  LABEL_PEER,
} from "../../api/keys.ts";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { type Answer, FakeApiServer, forbidden } from "../../test/doubles/fake-api-server.ts";
import { fakeProperties } from "../../test/doubles/fake-member.ts";
import { CommandLine } from "../../test/stages/command-line.ts";
import { COREFILE_BLOCKS } from "../install/manifests.ts";

/** Answers requests that have a body. */
function answering(reply: (body: unknown, url: string) => object): Answer {
  return (request, response) =>
    void json(request).then((body) => response.end(JSON.stringify(reply(body, request.url ?? ""))));
}

const service = (name: string) => ({ apiVersion: "v1", metadata: { namespace: "shop", name } });

test("export: a Service that may not be read does not keep the others from being exported", async () => {
  await using one = await FakeApiServer.start({
    objects: { services: [service("web"), service("cart")] },
    answerTo: ({ url = "" }) => (url.includes("/services/cart") ? forbidden : undefined),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, out, note } = await operator.run("export", "shop/cart", "shop/web");
  assert.equal(code, 1);
  assert.equal(out, "one: shop/serviceexport/web created\n");
  assert.match(note, /^error: one: \S+: shop\/service\/cart: .*HTTP 403.*\n$/);
});

test("export: the namespace of a name is the context's, and the Service owns its ServiceExport", async () => {
  const bodies: unknown[] = [];
  const answerTo = ({ method, url = "" }: IncomingMessage) =>
    method === "POST" && url.includes("/serviceexports")
      ? answering((body) => {
          bodies.push(body);
          const metadata = {
            ...(field(body, "metadata") as object),
            uid: "1",
            resourceVersion: "1",
          };
          return { ...(body as object), metadata };
        })
      : undefined;
  await using one = await FakeApiServer.start({
    objects: { services: [service("web")] },
    answerTo,
  });
  await using two = await FakeApiServer.start();
  using operator = new CommandLine({ one: one.inline, two: two.inline }, { one: "shop" });
  assert.equal((await operator.run("export", "web")).out, "one: shop/serviceexport/web created\n");
  const [owner] = field(field(bodies[0], "metadata"), "ownerReferences") as object[];
  assert.match(String(field(owner, "uid")), /^\S+-\S+$/);
  const expected = { apiVersion: "v1", kind: "Service", name: "web" };
  assert.deepEqual({ ...owner, uid: undefined }, { ...expected, uid: undefined });
  for (const argv of [
    ["export", "web"],
    ["export", "-l", "a=b"],
    ["explain", "web"],
  ]) {
    const { code, note } = await operator.run(...argv, "--all-contexts");
    assert.equal(code, 1, argv.join(" "));
    assert.match(note, /different namespaces \(one: shop, two: default\)/);
  }
});

test("export: a cluster that fails for all Services is named once", async () => {
  await using one = await FakeApiServer.start({
    answerTo: () => (_, response) => void response.writeHead(401).end(),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, note } = await operator.run("export", "shop/cart", "shop/web");
  assert.equal(code, 1);
  assert.equal(note.match(/^error: one: /gm)?.length, 1, note);
});

/** Member c1 that knows c2, exports three Services, imports from c2, and has our names. */
async function leaver({
  onRequest = () => {},
  answerTo = () => undefined,
  components = "",
}: LeaverOptions) {
  const apiVersion = "multicluster.x-k8s.io/v1beta1";
  const labels = { [LABEL_PEER]: "c2" };
  const peer = { apiVersion: "v1", metadata: { ...INSTALLED, name: "peer-c2", labels } };
  const annotations = { [ANNOTATION_COMPONENTS]: components };
  const agent = { ...INSTALLED, name: "clusterset-agent", annotations };
  const written = { [LABEL_MANAGED_BY]: CONTROLLER_NAME };
  const slice = { metadata: { namespace: "shop", name: "web-c2", labels: written } };
  const server: FakeApiServer = await FakeApiServer.start({
    objects: {
      clusterproperties: fakeProperties({ "cluster.clusterset.k8s.io": "c1" }),
      namespaces: [{ apiVersion: "v1", metadata: { name: "kube-system" } }],
      secrets: [peer],
      daemonsets: [{ apiVersion: "apps/v1", metadata: agent }],
      configmaps: [
        { apiVersion: "v1", metadata: CORE_DNS, data: { Corefile: COREFILE_BLOCKS.names } },
      ],
      endpointslices: [{ ...slice, apiVersion: "discovery.k8s.io/v1" }],
      serviceexports: ["web", "cart", "pay"].map((one) => ({ ...service(one), apiVersion })),
    },
    answerTo,
    beforeAnswer: () => Promise.resolve(onRequest(server)),
  });
  return server;
}

interface LeaverOptions {
  /** Of its agents. */
  readonly components?: string;
  readonly onRequest?: (server: FakeApiServer) => void;
  readonly answerTo?: (request: IncomingMessage) => Answer | undefined;
}

const INSTALLED = { namespace: "clusterset-proxy" };
const CORE_DNS = { namespace: "kube-system", name: "coredns" };
const LEAVE = ["leave", "one", "--context", "one", "--absent", "c2", "--yes"];

function deletions({ writes }: FakeApiServer): string[] {
  return writes.filter((write) => write.startsWith("DELETE"));
}

for (const argv of [["unexport", "shop/web", "shop/cart", "shop/pay"], LEAVE])
  test(`${argv[0]}: Ctrl-C ends it before the next change`, async () => {
    const stop = new AbortController();
    const onRequest = (server: FakeApiServer) => {
      if (deletions(server).length > 0) stop.abort("SIGINT");
    };
    await using one = await leaver({ onRequest });
    using operator = new CommandLine({ one: one.inline });
    const { code, out, note } = operator.start(argv, stop.signal);
    // main.ts reports 1 after SIGINT as 130.
    assert.equal(await code, 1);
    assert.equal(deletions(one).length, 1);
    assert.match(out(), /^one: shop\/serviceexport\/\w+ deleted\n$/m);
    // Of one large change, the rest is left.
    const rest = argv === LEAVE ? "not finished: run the same command again to continue\n" : "";
    assert.equal(note(), rest);
  });

/** Whether a user may do what an access review asks. */
type Rights = (asked: Readonly<Record<string, string>>) => boolean;

/** A user without all rights begins to leave. */
async function leaveAs(allows: Rights) {
  const review = answering((body) => {
    const asked = fieldAt(body, "spec", "resourceAttributes") as Record<string, string>;
    return { status: { allowed: allows(asked) } };
  });
  await using one = await leaver({
    answerTo: ({ url = "" }) => (url.endsWith("/selfsubjectaccessreviews") ? review : undefined),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, note } = await operator.run(...LEAVE);
  assert.equal(code, 1, note);
  return { note, writes: one.writes };
}

test("leave: what a user may not delete, or change in CoreDNS, is named before anything is changed", async () => {
  // A user who may write what is ours, and nothing else.
  const allows: Rights = ({ verb, namespace }) =>
    verb !== "delete" && namespace !== CORE_DNS.namespace;
  const { note, writes } = await leaveAs(allows);
  for (const missing of [
    "delete serviceexports.multicluster.x-k8s.io in namespace shop",
    "delete secrets in namespace clusterset-proxy",
    "delete endpointslices.discovery.k8s.io in namespace shop",
    "get configmaps coredns in namespace kube-system",
    "patch configmaps coredns in namespace kube-system",
    "patch deployments.apps coredns in namespace kube-system",
    // What cleans the nodes is created first.
    "delete daemonsets.apps in namespace clusterset-cleanup",
  ])
    assert.ok(note.includes(`error: one: you may not ${missing}.\n`), `${missing}: ${note}`);
  assert.doesNotMatch(note, /not (create|patch) (?!configmaps|deployments)|get (?!conf|depl)/);
  assert.deepEqual(
    writes.filter((write) => !write.includes("dryRun=All")),
    [],
  );
});

test("leave reports a startup taint, because no controller removes it afterwards", async () => {
  for (const components of ["nftables,startup-taint", "nftables"]) {
    await using one = await leaver({ components });
    using operator = new CommandLine({ one: one.inline });
    const { code, note } = await operator.run(...LEAVE, "--dry-run");
    assert.equal(code, 0, note);
    assert.equal(/First stop to give nodes the taint/.test(note), components !== "nftables", note);
  }
});

test("leave: rights by name (resourceNames) are enough, and an object that has none is named", async () => {
  const { note } = await leaveAs(
    ({ verb, resource, name = "cart" }) =>
      resource !== "serviceexports" || verb !== "delete" || name !== "cart",
  );
  assert.match(
    note,
    /^error: one: you may not delete serviceexports.multicluster.x-k8s.io cart in namespace shop\.\n$/,
  );
});

test("leave --dry-run=server: the API server checks the deletion of what controllers wrote", async () => {
  const checked: string[] = [];
  const check = answering((body, url) => {
    assert.deepEqual(field(body, "dryRun"), ["All"]);
    checked.push(url);
    return {};
  });
  await using one = await leaver({
    answerTo: ({ method }) => (method === "DELETE" ? check : undefined),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, out, note } = await operator.run(...LEAVE, "--dry-run=server");
  assert.equal(code, 0, note);
  assert.match(out, /deleted +shop\/endpointslice\/web-c2/);
  const path = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-c2";
  const isChecked = checked.some((url) => url.startsWith(path));
  assert.ok(isChecked, checked.join());
});
