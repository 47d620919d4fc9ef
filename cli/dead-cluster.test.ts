import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { ANNOTATION_DRAIN, LABEL_PEER } from "../api/keys.ts";
import { FakeApiServer, forbidden, kubeconfigOf } from "../test/doubles/fake-api-server.ts";
import { fakeMember } from "../test/doubles/fake-member.ts";
import { CommandLine } from "../test/stages/command-line.ts";

// A cluster that answers, and others that do not, each in its way.

const CRDS = ["multicluster.x-k8s.io", "about.k8s.io"];

/** A URL where nothing listens. */
async function closedUrl(): Promise<string> {
  const server = await FakeApiServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  return url;
}

/** A user whose credentials a program prints. */
function plugin(command: string, ...args: readonly string[]) {
  return { exec: { apiVersion: "client.authentication.k8s.io/v1", command, args } };
}

let one: FakeApiServer;
let login: FakeApiServer;
let bare: FakeApiServer;
let silent: FakeApiServer;
let gone: string;
let user: CommandLine;
before(async () => {
  one = await fakeMember("cluster-1");
  bare = await FakeApiServer.start({
    without: CRDS,
    objects: {
      namespaces: [{ apiVersion: "v1", metadata: { name: "kube-system" } }],
      services: [{ apiVersion: "v1", metadata: { namespace: "shop", name: "web" } }],
    },
  });
  silent = await FakeApiServer.start({ silent: true });
  login = await FakeApiServer.start({
    answerTo: () => (_, response) => void response.end("<html>log in</html>"),
  });
  gone = await closedUrl();
  user = new CommandLine({
    one: one.inline,
    gone: kubeconfigOf(gone),
    bare: bare.inline,
    silent: silent.inline,
    keyless: kubeconfigOf(one.url).replace(
      '{"token":"secret"}',
      '{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/nonexistent/plugin"}}',
    ),
    stuck: kubeconfigOf(one.url, plugin("sleep", "60")),
    login: login.inline,
  });
});
after(async () => {
  user?.[Symbol.dispose]();
  await Promise.all([one, bare, silent, login].map((server) => server?.[Symbol.asyncDispose]()));
});

/** A file that is not there yet. */
function bundleOf(operator: CommandLine): string {
  const file = operator.file("bundle.tar.gz", "");
  rmSync(file);
  return file;
}

const ALL = ["--all-contexts", "--request-timeout", "3s"];

for (const [command, shown] of [
  [["check"], /^one +kubernetes +ok +v1\.33$/m],
  [["explain", "shop/web"], /^Import: +shop\/web, programmed$/m],
  [["migrate", "--from", "by-hand"], /^one +ServiceImport shop\/web +taken-over/m],
  [["simulate", "--without", "cluster-1"], /^one: 1 of 1 port differs$/m],
  [["export", "web", "-n", "shop", "--dry-run"], /^one: shop\/serviceexport\/web created/m],
  [["drain", "cluster-1", "--for", "1h", "--dry-run"], /^one: clusterproperty\/\S+ drained/m],
] as const)
  test(`${command[0]}: the others' answers, each cluster without one, why, what to do, and exit code 1`, async () => {
    const { code, out, note } = await user.run(...command, ...ALL);
    assert.equal(code, 1, note);
    assert.match(out, shown);
    for (const told of [
      `gone: ${gone}: .*ECONNREFUSED.*; check the address`,
      `silent: ${silent.url}: .*3 seconds.*--request-timeout`,
      "keyless: .*/nonexistent/plugin.*; check the user and the cluster of this context",
      "stuck: .*3 seconds",
      'login: .*"<html>log in</html>"; .*a login page answers',
    ])
      assert.match(note, new RegExp(`^error: ${told}`, "m"));
    assert.doesNotMatch(note, /CSP_|\n {4}at /);
  });

test("bundle: the others' files, each cluster without an answer, and no second request to it", async () => {
  await using deaf = await FakeApiServer.start({ silent: true });
  const contexts = { deaf: deaf.inline, gone: kubeconfigOf(gone), one: one.inline };
  using operator = new CommandLine(contexts);
  const file = bundleOf(operator);
  const { code, out } = await operator.run("bundle", "-f", file, ...ALL);
  assert.equal(code, 3);
  assert.match(out, /^3-one\/objects\/serviceimports\.json +[1-9]/m);
  for (const [folder, why] of [
    ["1-deaf", "stalled: .*3 seconds"],
    ["2-gone", "unreachable: .*ECONNREFUSED"],
  ])
    for (const name of ["version", "objects/nodes", "objects/leases"])
      assert.match(out, new RegExp(`^${folder}/${name}\\.json +- +${why}`, "m"));
  const urls = deaf.requests.map(({ url }) => url);
  assert.deepEqual(urls, ["/version"]);
});

test("bundle: an API server that answers nothing but its version is asked for one kind of objects, and for one pod", async () => {
  let requests = 0;
  const never = new Promise<void>(() => undefined);
  await using stuck = await fakeMember("c1", "prod", () =>
    requests++ === 0 ? Promise.resolve() : never,
  );
  using operator = new CommandLine({ stuck: stuck.inline });
  const file = bundleOf(operator);
  const { code, out } = await operator.run("bundle", "-f", file, ...ALL);
  assert.equal(code, 3);
  assert.match(out, /^1-stuck\/version\.json +[1-9]/m);
  assert.match(out, /^1-stuck\/objects\/leases\.json +- +stalled/m);
  assert.equal(requests, 3);
});

for (const argv of [
  ["status", "--all-contexts"],
  ["explain", "shop/web", "--all-contexts"],
  ["simulate", "--all-contexts"],
  ["migrate", "--from", "submariner", "--all-contexts"],
  ["bundle", "-f", "BUNDLE", "--all-contexts"],
  ["drain", "c1", "--for", "1h", "--dry-run", "--all-contexts"],
  ["undrain", "c1", "--dry-run", "--all-contexts"],
  ["export", "web", "-n", "shop", "--dry-run", "--all-contexts"],
  ["unexport", "web", "-n", "shop", "--dry-run", "--all-contexts"],
  ["join", "a", "b", "c", "d", "e", "--clusterset", "prod", "--dry-run=client"],
  ["leave", "a", "--context", "b,c,d,e", "--dry-run"],
  ["rotate", "a", "b", "c", "d", "e", "--dry-run"],
  ["upgrade", "a", "b", "c", "d", "e", "--dry-run"],
])
  test(`${argv[0]}: all clusters are asked before one has answered`, async () => {
    const names = ["a", "b", "c", "d", "e"];
    const asked = new Set<string>();
    const all = Promise.withResolvers<void>();
    await using servers = new AsyncDisposableStack();
    const kubeconfigs: Record<string, string> = {};
    for (const [i, name] of names.entries()) {
      const server = await fakeMember(`c${i}`, "prod", () => {
        if (asked.add(name).size === names.length) all.resolve();
        // The cluster that leaves is read before the others.
        return argv[0] === "leave" && name === "a" ? Promise.resolve() : all.promise;
      });
      kubeconfigs[name] = servers.use(server).inline;
    }
    using operator = new CommandLine(kubeconfigs);
    const file = bundleOf(operator);
    const words = argv.map((word) => (word === "BUNDLE" ? file : word));
    const { out, note } = await operator.run(...words, "--request-timeout", "5s");
    assert.deepEqual([...asked].sort(), names, note);
    assert.doesNotMatch(out + note, /stalled|within 5 seconds/);
  });

for (const command of [
  ["explain", "shop/web"],
  ["explain", "241.0.0.1"],
  ["simulate", "--all"],
  ["export", "web", "-n", "shop", "--dry-run"],
  ["unexport", "web", "-n", "shop", "--dry-run"],
  ["drill", "shop/web", "--yes"],
  ["drain", "c2", "--for", "1h"],
  ["undrain", "c2"],
  ["upgrade", "bare", "--yes"],
])
  test(`${command.join(" ")}: a cluster without our CRDs is no member, and the command that makes it one is named`, async () => {
    const at = command[0] === "upgrade" ? [] : ["--context", "bare"];
    const { code, note } = await user.run(...command, ...at);
    assert.equal(code, 1);
    const advice =
      /^error: bare: (http\S+: )?not a member.*\. Let it join: kubectl clusterset join bare OTHERS --clusterset ID$/m;
    assert.match(note, advice);
  });

test("status: one row for each cluster of which nothing is known", async () => {
  const { code, out } = await user.run("status", ...ALL);
  assert.equal(code, 1);
  const rowsOf = (context: string) => out.match(new RegExp(`^${context} .*$`, "gm")) ?? [];
  for (const [context, reason] of [
    ["gone", "unreachable"],
    ["silent", "stalled"],
    ["keyless", "no-credentials"],
    ["bare", "not-served"],
    ["stuck", "no-credentials"],
    ["login", "garbage"],
  ] as const) {
    const [row = "", problem = "", ...more] = rowsOf(context);
    assert.match(row, /^\S+ +unknown$/);
    assert.match(problem, new RegExp(`^\\S+ +cluster +${reason} +\\S+: \\S`));
    assert.deepEqual(more, []);
  }
});

test("status: pods that may not be listed are unknown, and not absent", async () => {
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  const metadata = { name: "clusterset-agent", namespace: "clusterset-proxy", labels };
  const agents = { metadata, status: { desiredNumberScheduled: 3 } };
  await using closed = await FakeApiServer.start({
    objects: { daemonsets: [agents] },
    answerTo: ({ url = "" }) => (url.includes("/pods") ? forbidden : undefined),
  });
  using reader = new CommandLine({ closed: closed.inline });
  const { code, out } = await reader.run("status");
  assert.equal(code, 1);
  assert.match(out, /^closed +unknown +unknown/m);
  assert.match(out, /^closed +reading controllers +forbidden/m);
  assert.doesNotMatch(out, /there is no pod|without an agent/);
});

test("a request timeout of 0 is the default", async () => {
  const { code, out } = await user.run("explain", "shop/web", "--request-timeout", "0");
  assert.equal(code, 3, out);
});

test("an invalid entry of a kubeconfig concerns its own context only", async () => {
  using operator = new CommandLine({ one: one.inline, "": one.inline });
  const { code, out } = await operator.run("explain", "shop/web", "--context", "one");
  assert.equal(code, 3);
  assert.match(out, /^Import: +shop\/web, programmed$/m);
});

test("drain and undrain: a cluster that rejects the change does not keep the others from it", async () => {
  const metadata = {
    ...{ namespace: "clusterset-proxy", name: "c9", labels: { [LABEL_PEER]: "c9" } },
    annotations: { [ANNOTATION_DRAIN]: "until=2026-11-24T12:00:00Z" },
  };
  const objects = { secrets: [{ apiVersion: "v1", metadata }] };
  await using closed = await FakeApiServer.start({
    objects,
    answerTo: ({ method }) => (method === "GET" ? undefined : forbidden),
  });
  await using open = await FakeApiServer.start({ objects });
  using operator = new CommandLine({ closed: closed.inline, open: open.inline });
  for (const argv of [
    ["drain", "c9", "--for", "1h"],
    ["undrain", "c9"],
  ]) {
    const { code, out, note } = await operator.run(...argv, "--all-contexts");
    assert.equal(code, 1);
    assert.match(out, /^open: clusterset-proxy\/secret\/c9 (un)?drained/m);
    assert.match(note, /^error: closed: .*HTTP 403/m);
  }
});

test("rotate names contexts of the same cluster", async () => {
  using operator = new CommandLine({ one: one.inline, again: one.inline });
  const { code, note } = await operator.run("rotate", "one", "again", "--yes");
  assert.equal(code, 1);
  assert.match(note, /^error: one and again are contexts of the same cluster\.$/m);
});

test("export by two contexts of the same cluster is not an error", async () => {
  await using member = await fakeMember("cluster-1");
  using operator = new CommandLine({ one: member.inline, again: member.inline });
  const { code, out, note } = await operator.run("export", "shop/web", "--all-contexts");
  assert.equal(code, 0, note);
  assert.deepEqual(out.match(/(created|unchanged)$/gm)?.sort(), ["created", "unchanged"]);
});

test("leave of a cluster that never joined changes nothing, and says so", async () => {
  for (const [context, server] of Object.entries({ bare, one })) {
    const before = server.writes.length;
    const argv = ["leave", context, "--context", context, "--yes"];
    const { code, out, note } = await user.run(...argv);
    assert.equal(code, 0, note);
    assert.match(out, new RegExp(`^${context}: not a member`));
    assert.equal(server.writes.length, before);
  }
});

test("drain without a context finds the clusters of the current context's clusterset", async () => {
  await using c2 = await fakeMember("c2");
  await using other = await fakeMember("c2", "test");
  const contexts = { two: c2.inline, test: other.inline, gone: kubeconfigOf(gone) };
  using operator = new CommandLine({ one: one.inline, again: c2.inline, ...contexts });
  const { code, out, note } = await operator.run("drain", "c2", "--for", "1h");
  assert.equal(code, 0, note);
  assert.equal(out.match(/ drained, effective in all clusters$/gm)?.length, 1);
  assert.deepEqual([c2.writes.length, other.writes.length], [1, 0]);
  assert.equal(note, "");
  using stranger = new CommandLine({ bare: bare.inline, ...contexts });
  const unclear = await stranger.run("drain", "c2", "--for", "1h");
  assert.equal(unclear.code, 1);
  assert.match(unclear.note, /^unknown: gone: .*ECONNREFUSED/m);
  assert.match(unclear.note, /several clustersets have this ID: two \(prod\), test \(test\)/);
});

test("drain does not wait for contexts of no member, and undrain --at own neither", async () => {
  await using c1 = await fakeMember("c1", "prod", undefined, ["c2"]);
  await using c2 = await fakeMember("c2", "prod", undefined, ["c1"]);
  await using deaf = await FakeApiServer.start({ silent: true });
  using operator = new CommandLine({ one: c1.inline, deaf: deaf.inline, two: c2.inline });
  const wait = ["--request-timeout", "20s"];
  const drained = await operator.run("drain", "c2", "--for", "1h", ...wait);
  assert.match(drained.out, /^two: clusterproperty\/\S+ drained, effective in all clusters$/m);
  const undrained = await operator.run("undrain", "c2", "--at", "own", ...wait);
  assert.match(undrained.out, /^two: clusterproperty\/\S+ undrained/m);
  assert.ok(deaf.requests.length > 0, "all contexts are searched");
  for (const { code, note } of [drained, undrained]) assert.deepEqual([code, note], [0, ""]);
});

test("rotate of clusters that never joined says so, and what to do", async () => {
  await using one = await fakeMember("one");
  await using two = await fakeMember("two");
  using operator = new CommandLine({ one: one.inline, two: two.inline });
  const { code, note } = await operator.run("rotate", "one", "two", "--yes");
  assert.equal(code, 1);
  const advice =
    /: (one|two) has no token for \S+\. Let it join: kubectl clusterset join \1 OTHERS --clusterset ID\n$/;
  assert.match(note, advice);
});

test("export: a Service that does not exist does not keep the others from being exported", async () => {
  await using member = await fakeMember("c1");
  using operator = new CommandLine({ one: member.inline });
  const { code, out, note } = await operator.run("export", "shop/nope", "shop/web");
  assert.equal(code, 1);
  assert.equal(out, "one: shop/serviceexport/web created\n");
  assert.equal(note, "error: one: there is no Service shop/nope\n");
});

test("a context whose name has a comma is named by itself, and contexts without one as a list", async () => {
  await using c1 = await fakeMember("c1");
  await using c2 = await fakeMember("c2");
  await using c3 = await fakeMember("c3");
  using operator = new CommandLine({ a: c1.inline, b: c2.inline, "a,b": c3.inline });
  const contextsOf = async (...flags: string[]) => {
    const { out } = await operator.run("export", "shop/web", "--dry-run", ...flags);
    return [...out.matchAll(/^(\S+): /gm)].map(([, context = ""]) => context).sort();
  };
  assert.deepEqual(await contextsOf("--context", "a,b"), ["a,b"]);
  assert.deepEqual(await contextsOf("--context", "b,a"), ["a", "b"]);
  assert.deepEqual(await contextsOf("--context=a,b", "--context=b"), ["a,b", "b"]);
});

test("HTTPS_PROXY is used as kubectl does, also for a name that only the proxy resolves", async () => {
  const connected: string[] = [];
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, client) => {
    connected.push(url);
    const upstream = connect(Number(new URL(gone).port), "127.0.0.1");
    upstream.on("error", () => client.destroy());
    client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as { port: number };
  using behind = new CommandLine({ far: kubeconfigOf("https://api.invalid:6443") });
  behind.env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
  const { code } = await behind.run("explain", "shop/web");
  proxy.close();
  assert.equal(code, 1);
  assert.ok(connected.length > 0);
  assert.deepEqual([...new Set(connected)], ["api.invalid:6443"]);
});
