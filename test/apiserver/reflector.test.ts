import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "../../common/clock.ts";
import { Connection } from "../../common/kubernetes/connection.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { listPages } from "../../common/kubernetes/list-pages.ts";
import { Reflector, type ResourceQuery } from "../../common/kubernetes/reflector.ts";
import { logLines } from "../doubles/log-lines.ts";
import { importObject } from "../generators/objects.ts";
import { ControlPlane } from "./control-plane.ts";

const IMPORTS: ResourceQuery = {
  group: "multicluster.x-k8s.io",
  versions: ["v1beta1", "v1alpha1"],
  resource: "serviceimports",
  optional: true,
};
const CONFIG_MAPS: ResourceQuery = { group: "", versions: ["v1"], resource: "configmaps" };

/** Ten times as fast as ours: what takes minutes is over in seconds. */
const HASTE = 10;
const hasty: Clock = {
  now: () => performance.now() * HASTE,
  after(ms, run) {
    const timer = globalThis.setTimeout(run, ms / HASTE);
    return () => clearTimeout(timer);
  },
};

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start();
});
after(() => plane.remove());

/** A reflector of a real API server, and its reports. */
class Reflected implements AsyncDisposable {
  readonly believed = new Set<string>();
  /** `+key`, `-key`, `listed`, and the reasons of states. */
  readonly told: string[] = [];
  readonly api: HttpApiServer;
  readonly reflector: Reflector;

  private constructor(api: HttpApiServer, query: ResourceQuery) {
    this.api = api;
    const events = {
      changed: (key: string) => {
        this.believed.add(key);
        this.told.push(`+${key}`);
      },
      removed: (key: string) => {
        this.believed.delete(key);
        this.told.push(`-${key}`);
      },
      listed: () => void this.told.push("listed"),
      state: ({ reason }: { readonly reason: string }) => void this.told.push(reason),
    };
    const { log } = logLines();
    const random = Math.random;
    this.reflector = new Reflector({ api, query, clock: hasty, random, log, events });
  }

  static async start(
    query: ResourceQuery,
    kubeconfig = plane.kubeconfig({ user: "admin" }),
  ): Promise<Reflected> {
    const credentials = await Credentials.load({ kubeconfig, clock: hasty, ...logLines() });
    const reflected = new Reflected(new HttpApiServer(credentials, "test", hasty), query);
    reflected.reflector.start();
    return reflected;
  }

  /** Waits until it has reported this, after `since`. */
  async until(line: string, since = 0): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (this.told.indexOf(line, since) !== -1) return;
      await setTimeout(50);
    }
    assert.fail(`never ${line}: ${this.told.slice(since).join(", ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reflector.stop();
    await this.api.close();
  }
}

const removals = (told: readonly string[]) => told.filter((line) => line.startsWith("-"));

async function write(name: string): Promise<void> {
  const metadata = { namespace: "default", name };
  await plane.admin.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: {} });
}

test("CRDs are created late, in one version or the other, and deleted", async () => {
  await using it = await Reflected.start(IMPORTS);
  await it.until("listed");
  assert.deepEqual(it.told, ["not-served", "listed"]);
  await plane.installCrds({ versions: ["v1alpha1"] });
  await it.until("watching");
  const object = importObject("default/web", ["10.99.0.1"], [{ port: 80 }]);
  await plane.admin.create({ ...object, apiVersion: "multicluster.x-k8s.io/v1alpha1" });
  await it.until("+default/web");
  const known = it.told.length;
  await plane.installCrds({ versions: ["v1beta1"] });
  await plane.kill();
  await plane.start();
  await it.until("watching", known);
  assert.deepEqual(removals(it.told), []);
  await plane.removeCrds();
  await it.until("-default/web");
  // It may watch before this test knows that the CRDs are established.
  const without = it.told.length;
  await plane.installCrds();
  await it.until("watching", without);
});

test("after a restart, a kill and a compaction no object is lost, and later changes are reported", async () => {
  await write("first");
  await using it = await Reflected.start(CONFIG_MAPS);
  await it.until("+default/first");
  await it.until("watching");
  for (const [name, fault] of [
    ["after-stop", () => plane.stop().then(() => plane.start())],
    ["after-kill", () => plane.kill().then(() => plane.start())],
    ["after-compact", () => plane.compact()],
  ] as const) {
    await fault();
    await write(name);
    await it.until(`+default/${name}`);
  }
  assert.deepEqual(removals(it.told), []);
  assert.ok(it.told.includes("unreachable"));
  assert.equal(it.told.filter((line) => line === "+default/first").length, 1);
});

test("an expired history is reported, and the objects are listed again", async () => {
  await using it = await Reflected.start(IMPORTS);
  await it.until("watching");
  // Versions grow, and none of it concerns this kind.
  for (let i = 0; i < 5; i++) await write(`other-${i}`);
  await plane.compact();
  await plane.admin.create(importObject("default/late", ["10.99.0.2"], [{ port: 80 }]));
  await it.until("+default/late");
  assert.ok((it.reflector.faults.get("expired") ?? 0) > 0, it.told.join(", "));
});

test("a server that does not respond is reported as stalled, and followed after its return", async () => {
  await using it = await Reflected.start(CONFIG_MAPS);
  await it.until("watching");
  const before = it.told.length;
  plane.freeze();
  await it.until("stalled", before);
  plane.thaw();
  await it.until("watching", before);
  await write("thawed");
  await it.until("+default/thawed");
  assert.deepEqual(removals(it.told), []);
});

test("a rejected token is reported, and a valid one is used as soon as it exists", async () => {
  await using it = await Reflected.start(CONFIG_MAPS);
  await it.until("watching");
  const before = it.told.length;
  writeFileSync(`${plane.directory}/admin.token`, "nonsense");
  await plane.kill();
  await plane.start();
  await it.until("unauthorized", before);
  const since = it.told.length;
  plane.kubeconfig({ user: "admin" });
  await it.until("watching", since);
  assert.deepEqual(removals(it.told), []);
});

test("through a proxy that the kubeconfig names, a server is followed; without the proxy it is unreachable, and then followed again", async (t) => {
  let tunnels = 0;
  const open = new Set<Socket>();
  const proxy = createServer().on("connect", (request, client: Socket, head: Buffer) => {
    tunnels++;
    const { hostname, port } = new URL(`tcp://${request.url}`);
    const server = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.write(head);
      server.pipe(client).pipe(server);
    });
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", () => socket.destroy()).on("close", () => open.delete(socket));
    }
  });
  const listen = async (port: number): Promise<number> => {
    await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
    const address = proxy.address();
    assert.ok(typeof address === "object" && address !== null);
    return address.port;
  };
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => proxy.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  t.after(close);
  const port = await listen(0);
  const config = JSON.parse(readFileSync(plane.kubeconfig({ user: "admin" }), "utf8"));
  config.clusters[0].cluster["proxy-url"] = `http://127.0.0.1:${port}`;
  const kubeconfig = `${plane.directory}/through-proxy.kubeconfig`;
  writeFileSync(kubeconfig, JSON.stringify(config));
  await using it = await Reflected.start(CONFIG_MAPS, kubeconfig);
  await it.until("watching");
  await write("through-proxy");
  await it.until("+default/through-proxy");
  assert.ok(tunnels > 0);
  const before = it.told.length;
  await close();
  await it.until("unreachable", before);
  const since = it.told.length;
  await listen(port);
  await it.until("watching", since);
  await write("through-proxy-again");
  await it.until("+default/through-proxy-again");
  assert.deepEqual(removals(it.told), []);
});

test("1,300 objects are listed once each, by a watch and in pages", async () => {
  const metadata = (i: number) => ({ namespace: "default", name: `many-${i}` });
  const objects = Array.from({ length: 1300 }, (_, i) => metadata(i));
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  await plane.admin.createAll(objects.map((one) => ({ ...kind, metadata: one })));
  await using it = await Reflected.start(CONFIG_MAPS);
  await it.until("listed");
  const names = objects.map(({ name }) => `default/${name}`);
  assert.deepEqual(
    names.filter((name) => !it.believed.has(name)),
    [],
  );
  const signal = new AbortController().signal;
  const connection = new Connection({ api: it.api, clock: hasty, signal });
  const keys: string[] = [];
  await listPages(connection, CONFIG_MAPS, "v1", (_, { key }) => keys.push(key));
  assert.deepEqual(keys.sort(), [...it.believed].sort());
});
