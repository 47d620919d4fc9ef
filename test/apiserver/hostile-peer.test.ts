import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import type { ExportedMetadata } from "../../controller/model/facts.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace, sliceName } from "../../controller/registry/names.ts";
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
/** Text to send for a watch of one kind; the response stays open after it. */
type Attack = Partial<Record<Kind, () => Iterable<string | Uint8Array>>>;

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

/** The API server of one peer; every watch gets what the attack says, and otherwise these objects. */
class Peer {
  readonly id: string;
  readonly namespace: string;
  readonly objects = new Map<string, { readonly kind: Kind; readonly object: object }>();
  readonly #server: Server = createServer(
    (request, response) => void this.#answer(request, response),
  );
  readonly #watches = new Map<ServerResponse, Kind>();
  #attack: Attack = {};
  readonly #waiting = new Map<Kind, () => void>();

  constructor(id: string) {
    this.id = id;
    this.namespace = registryNamespace(id);
    this.put("leases", this.lease("eu"));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    assert.ok(typeof address === "object" && address !== null);
    return `http://127.0.0.1:${address.port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  lease(region: string): object {
    return encodeCluster(
      {
        id: this.id,
        uid: `uid-${this.id}`,
        region,
        properties: {},
        leaseSeconds: 3600,
        renewal: new Date().toISOString().replace("Z", "000Z"),
        complete: true,
      },
      this.namespace,
    );
  }

  record(key: `${string}/${string}`, metadata?: ExportedMetadata): object {
    const ports = [{ name: "http", protocol: "TCP", port: 80 }] as const;
    const record = exportRecord({ cluster: this.id, key, ports, ...(metadata && { metadata }) });
    return encodeRecord(record, this.namespace);
  }

  slice(
    service: `${string}/${string}`,
    index: number,
    addresses: readonly string[],
    text = "",
  ): object {
    const endpoints = addresses.map((address, i) => ({
      address,
      ready: true,
      serving: true,
      terminating: false,
      ...(text !== "" && {
        nodeName: `n${index}-${i}.${text.repeat(4)}`.slice(0, 250),
        hostname: `h${index}-${i}-${text}`.slice(0, 60),
        zone: `z${index}-${i}-${text}`.slice(0, 60),
      }),
    }));
    const fact = {
      key: `${this.namespace}/${sliceName(service, "IPv4", index)}`,
      service,
      family: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      endpoints,
    } as const;
    return encodeSlice(fact, this.id);
  }

  /** Stores an object, and sends it to open watches. */
  put(kind: Kind, object: object): void {
    const { name } = (object as { metadata: { name: string } }).metadata;
    this.objects.set(`${kind} ${name}`, { kind, object });
    for (const [response, watched] of this.#watches) {
      if (watched === kind) response.write(event(object, "MODIFIED"));
    }
  }

  /** Attacks each watch from now on. Settles when all of it was sent once, or the client left before its end. */
  async attack(attack: Attack): Promise<void> {
    this.#attack = attack;
    const done = (Object.keys(attack) as Kind[]).map(
      (kind) => new Promise<void>((done) => this.#waiting.set(kind, done)),
    );
    for (const response of this.#watches.keys()) response.destroy();
    await Promise.all(done);
  }

  /** Sends its own objects again. */
  relent(): void {
    this.#attack = {};
    for (const response of this.#watches.keys()) response.destroy();
  }

  async #answer({ url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(url, "http://peer");
    const kind = path.pathname.split("/").at(-1) as Kind;
    response.on("error", () => undefined);
    if (path.searchParams.get("watch") !== "true") {
      // Lists are not served: each watch begins with everything.
      response.writeHead(500).end("{}");
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    this.#watches.set(response, kind);
    response.once("close", () => this.#watches.delete(response));
    const attacks = this.#attack;
    const attack = attacks[kind];
    if (attack === undefined) {
      for (const one of this.objects.values())
        if (one.kind === kind) response.write(event(one.object));
      response.write(bookmark());
      return;
    }
    for (const text of attack()) {
      if (response.destroyed) break;
      if (!response.write(text)) await drained(response);
    }
    // A response that an attack before this one had begun ends here, too.
    if (attacks === this.#attack) this.#waiting.get(kind)?.();
  }
}

/** Settles when more can be sent, or when the client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off("drain", end);
      response.off("close", end);
      resolve();
    };
    response.on("drain", end);
    response.on("close", end);
  });
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
        yield event({
          ...slice,
          metadata: { ...slice.metadata, labels: { ...slice.metadata.labels, [`l${i}`]: LONG } },
        });
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
    calm.put("serviceimports", calm.record("calm/web"));
    calm.put("endpointslices", calm.slice("calm/web", 0, ["10.3.0.99"]));
    for (const peer of [hostile, calm]) {
      const kubeconfig = kubeconfigOf(await peer.listen());
      await c1.plane.admin.apply(peerSecret(peer.id, kubeconfig));
    }
    await stage.start();
    await c1.untilImported("calm/web", ["10.3.0.99"]);
  });

  after(async () => {
    await stage[Symbol.asyncDispose]();
    for (const peer of [hostile, calm]) peer.close();
  });

  for (const [i, [name, attackOf]] of Object.entries(ATTACKS).entries()) {
    test(`that sends ${name} neither fills memory nor holds up another peer`, async (t) => {
      const sent = hostile.attack(attackOf(hostile));
      const address = `10.3.0.${i + 1}`;
      calm.put("endpointslices", calm.slice("calm/web", 0, [address]));
      await Promise.all([c1.untilImported("calm/web", [address]), sent]);
      const status = readFileSync(`/proc/${c1.process.pid}/status`, "utf8");
      const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
      t.diagnostic(`peak of memory: ${Math.round(megabytes)} MB`);
      assert.ok(megabytes < MOST_MEGABYTES, `${Math.round(megabytes)} MB`);
    });
  }

  test("that behaves again is read again", async () => {
    hostile.put("serviceimports", hostile.record("calm/web"));
    hostile.put("endpointslices", hostile.slice("calm/web", 0, ["10.2.0.1"]));
    hostile.relent();
    const last = `10.3.0.${Object.keys(ATTACKS).length}`;
    await c1.untilImported("calm/web", ["10.2.0.1", last]);
  });
});

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  });
}
