import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import type { ExportedMetadata } from "../../controller/model/facts.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace, sliceName } from "../../controller/registry/names.ts";
import { type Answer, FakeApiServer } from "../doubles/fake-api-server.ts";
import { exportRecord } from "../generators/export-records.ts";
import { ControllerStage, peerSecret, type StagedCluster } from "./controller-stage.ts";

// A peer whose API server sends anything that fills memory, beside one that behaves: the controller stays below 768 MB, three
// quarters of what its pod may have, and the other peer's changes arrive.

const MOST_MEGABYTES = 768;
/** What Node gives itself in a container of 1 GiB, measured: 560 MB in all. With this machine's memory it collects garbage later. */
const HEAP = ["--max-old-space-size=512", "--max-semi-space-size=16"];
const CONTROLLER = new URL("../../controller/main.ts", import.meta.url).pathname;
/** So that peers need no certificate. */
const ALLOWED = ["--peer-kubeconfig-allow", "http"];

type Kind = "endpointslices" | "leases" | "serviceimports";
type Fields = Readonly<Record<string, unknown>>;
const PORTS = [{ name: "http", protocol: "TCP", port: 80 }] as const;
/** Text to send for a watch of one kind; the response stays open after it. */
type Attack = Partial<Record<Kind, () => Iterable<string>>>;

let version = 1000;

function versioned(object: object): Fields {
  const { metadata, ...rest } = object as { metadata: Fields };
  version++;
  return { ...rest, metadata: { ...metadata, uid: `u${version}`, resourceVersion: `${version}` } };
}

function event(object: object, type = "ADDED"): string {
  return `${JSON.stringify({ type, object: versioned(object) })}\n`;
}

function bookmark(): string {
  const annotations = { "k8s.io/initial-events-end": "true" };
  return `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: `${version}`, annotations } } })}\n`;
}

/** The API server of one peer: its registry, or what an attack says instead. */
class Peer {
  readonly id: string;
  readonly #namespace: string;
  #server: FakeApiServer | undefined;
  #attack: Attack = {};
  readonly #sent = new Map<string, () => void>();

  constructor(id: string) {
    this.id = id;
    this.#namespace = registryNamespace(id);
  }

  /** Starts it; returns a kubeconfig. */
  async start(): Promise<string> {
    const renewal = new Date().toISOString().replace("Z", "000Z");
    const cluster = { id: this.id, uid: `uid-${this.id}`, region: "eu", properties: {} };
    const lease = { ...cluster, leaseSeconds: 3600, renewal, completeExcept: new Set<string>() };
    this.#server = await FakeApiServer.start({
      objects: { leases: [encodeCluster(lease, this.#namespace)] },
      answerTo: (request) => this.#answerTo(request),
    });
    return this.#server.inline;
  }

  async stop(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  record(key: ObjectKey, metadata?: ExportedMetadata): object {
    const record = exportRecord({ cluster: this.id, key, ...(metadata && { metadata }) });
    return encodeRecord(record, this.#namespace);
  }

  slice(service: ObjectKey, index: number, addresses: readonly string[], text = ""): object {
    const endpoints = addresses.map((address, i) => ({
      ...{ address, ready: true, serving: true, terminating: false },
      ...(text !== "" && {
        nodeName: `n${index}-${i}.${text.repeat(4)}`.slice(0, 250),
        hostname: `h${index}-${i}-${text}`.slice(0, 60),
        zone: `z${index}-${i}-${text}`.slice(0, 60),
      }),
    }));
    const key = objectKey(this.#namespace, sliceName(service, "IPv4", index));
    return encodeSlice({ key, service, family: "IPv4", ports: PORTS, endpoints }, this.id);
  }

  /** Stores an object, and sends it to open watches. */
  async put(kind: Kind, object: object): Promise<void> {
    const { apiVersion, metadata } = object as { apiVersion: string; metadata: { name: string } };
    const path = `/apis/${apiVersion}/namespaces/${this.#namespace}/${kind}/${metadata.name}`;
    const body = JSON.stringify(object);
    const { status } = await fetch(`${this.#server?.url}${path}`, { method: "PATCH", body });
    assert.equal(status, 200);
  }

  /** Attacks each watch from now on. Settles when all of it was sent once, or the client left before its end. */
  async attack(attack: Attack): Promise<void> {
    this.#attack = attack;
    const sent = Object.keys(attack).map(
      (kind) => new Promise<void>((done) => this.#sent.set(kind, done)),
    );
    this.#server?.cut();
    await Promise.all(sent);
  }

  #answerTo({ url = "" }: IncomingMessage): Answer | undefined {
    const { pathname, searchParams } = new URL(url, "http://peer");
    const kind = pathname.split("/").at(-1) as Kind;
    const attacks = this.#attack;
    const attack = attacks[kind];
    if (attack === undefined) return undefined;
    return (_, response) => {
      // Lists are not served: each watch begins with everything.
      if (searchParams.get("watch") !== "true") return void response.writeHead(500).end("{}");
      response.writeHead(200, { "content-type": "application/json" }).on("error", () => undefined);
      const texts = Readable.from(attack());
      texts.pipe(response, { end: false });
      response.once("close", () => texts.destroy());
      // A response that an attack before this one had begun ends here, too.
      texts.once("close", () => attacks === this.#attack && this.#sent.get(kind)?.());
    };
  }
}

function* count(to: number): Generator<number> {
  for (let i = 0; i < to; i++) yield i;
}

const LONG = "x".repeat(7_000_000);
const NAME = "n".repeat(63);

const ATTACKS: Readonly<Record<string, (peer: Peer) => Attack>> = {
  "objects without end, with the longest names": () => ({
    *endpointslices() {
      for (const i of count(150_000)) {
        const name = `${i}.`.padEnd(253, "y");
        yield event({ metadata: { namespace: "n".repeat(63), name, padding: "z".repeat(40) } });
      }
    },
    *serviceimports() {
      for (const i of count(30_000)) {
        yield event({ metadata: { namespace: "n".repeat(63), name: `${i}.`.padEnd(253, "y") } });
      }
    },
  }),
  "objects of seven megabytes": (peer) => ({
    *endpointslices() {
      for (const i of count(12)) {
        const slice = peer.slice("shop/web", i, ["10.1.0.1"]) as { metadata: { labels: Fields } };
        const labels = { ...slice.metadata.labels, [`l${i}`]: LONG };
        yield event({ ...slice, metadata: { ...slice.metadata, labels } });
      }
    },
    *serviceimports() {
      for (const i of count(12))
        yield event({ ...peer.record(`shop/web-${i}`), spec: { type: LONG } });
    },
  }),
  "records with the longest annotations": (peer) => ({
    *serviceimports() {
      for (const i of count(1000)) {
        const annotations = { "example.com/note": `${i}${"a".repeat(32_000)}` };
        yield event(peer.record(`shop/web-${i}`, { labels: {}, annotations }));
      }
      yield bookmark();
    },
  }),
  "endpoints with the longest names": (peer) => ({
    *serviceimports() {
      for (const i of count(600)) yield event(peer.record(`shop/web-${i}`));
      yield bookmark();
    },
    *endpointslices() {
      for (const i of count(6000)) {
        const addresses = [...count(100)].map((n) => `10.${i >> 8}.${i & 255}.${n}`);
        yield event(peer.slice(`shop/web-${i % 600}`, i, addresses, NAME));
      }
      yield bookmark();
    },
  }),
  "changes without end": (peer) => ({
    *serviceimports() {
      for (const i of count(500)) yield event(peer.record(`shop/web-${i}`));
      yield bookmark();
    },
    *endpointslices() {
      yield bookmark();
      for (const i of count(20_000)) {
        const addresses = [...count(20)].map((n) => `10.${i % 250}.${(i >> 8) & 255}.${n}`);
        yield event(peer.slice(`shop/web-${i % 500}`, i % 500, addresses), "MODIFIED");
      }
    },
  }),
};

describe("a hostile peer", () => {
  const [hostile, calm] = [new Peer("c2"), new Peer("c3")];
  let stage: ControllerStage;
  let c1: StagedCluster;

  before(async () => {
    const program = [process.execPath, ...HEAP, CONTROLLER];
    stage = await ControllerStage.open({ clusters: ["c1"], program, flags: ALLOWED });
    c1 = stage.cluster("c1");
    await c1.namespace("calm");
    for (const peer of [hostile, calm])
      await c1.plane.admin.apply(peerSecret(peer.id, await peer.start()));
    await calm.put("serviceimports", calm.record("calm/web"));
    await calm.put("endpointslices", calm.slice("calm/web", 0, ["10.3.0.99"]));
    await stage.start();
    await c1.untilImported("calm/web", ["10.3.0.99"]);
  });

  after(async () => {
    await stage[Symbol.asyncDispose]();
    for (const peer of [hostile, calm]) await peer.stop();
  });

  for (const [i, [name, attackOf]] of Object.entries(ATTACKS).entries()) {
    test(`that sends ${name} neither fills memory nor holds up another peer`, async (t) => {
      const sent = hostile.attack(attackOf(hostile));
      const address = `10.3.0.${i + 1}`;
      await calm.put("endpointslices", calm.slice("calm/web", 0, [address]));
      await Promise.all([c1.untilImported("calm/web", [address]), sent]);
      const status = readFileSync(`/proc/${c1.process.pid}/status`, "utf8");
      const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
      t.diagnostic(`peak of memory: ${Math.round(megabytes)} MB`);
      assert.ok(megabytes < MOST_MEGABYTES, `${Math.round(megabytes)} MB`);
    });
  }

  test("that behaves again is read again", async () => {
    await hostile.put("serviceimports", hostile.record("calm/web"));
    await hostile.put("endpointslices", hostile.slice("calm/web", 0, ["10.2.0.1"]));
    await hostile.attack({});
    const last = `10.3.0.${Object.keys(ATTACKS).length}`;
    await c1.untilImported("calm/web", ["10.2.0.1", last]);
  });
});
