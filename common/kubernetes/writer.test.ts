import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Answer, FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { Slots } from "../queue/slots.ts";
import type { ApiFault } from "./api-fault.ts";
import type { ApiServer } from "./api-server.ts";
import { Credentials } from "./credentials.ts";
import { HttpApiServer } from "./http-api-server.ts";
import { Recovery } from "./recovery.ts";
import type { ApiResource, Manifest } from "./resource.ts";
import { ApiWriter, type ApiWriterOptions } from "./writer.ts";

const IMPORTS: ApiResource = {
  group: "multicluster.x-k8s.io",
  versions: ["v1beta1", "v1alpha1"],
  resource: "serviceimports",
  kind: "ServiceImport",
};
const WEB: Manifest = { metadata: { namespace: "shop", name: "web" } };
const STORED = { metadata: { ...WEB.metadata, uid: "u", resourceVersion: "7" } };

/** A writer to a fake API server, and what that was sent. */
async function stage(options: Partial<ApiWriterOptions> = {}) {
  const fake = await FakeApiServer.start();
  const clock = new FakeClock();
  const credentials = await Credentials.load({ kubeconfig: fake.kubeconfig, ...logLines(), clock });
  const api = new HttpApiServer(credentials, "test/1", clock);
  const writer = new ApiWriter({ api, clock, fieldManager: "me", ...options });
  const sent: Sent[] = [];
  /** Answers the next request, once all of it has been read. */
  const answer = (status: number, body: unknown = STORED): void => {
    const reply: Answer = (request, response) => {
      void sentBy(request).then((what) => {
        sent.push(what);
        response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
      });
    };
    fake.answers.push(reply);
  };
  const dispose = async (): Promise<void> => {
    await api.close();
    await fake[Symbol.asyncDispose]();
    assert.equal(clock.pending, 0);
  };
  return { fake, clock, writer, sent, answer, [Symbol.asyncDispose]: dispose };
}

interface Sent {
  readonly line: string;
  readonly type: string | undefined;
  readonly body: unknown;
}

async function sentBy(request: IncomingMessage): Promise<Sent> {
  const { method, url, headers } = request;
  const body = await text(request);
  return {
    line: `${method} ${url}`,
    type: headers["content-type"],
    body: body === "" ? undefined : JSON.parse(body),
  };
}

/** A Status that names an object, as an API server answers about one. */
function about(reason: string, details: object = { name: "web" }) {
  return { kind: "Status", apiVersion: "v1", reason, message: `it is ${reason}`, details };
}

/** As API servers say that something is not allowed. */
function denied(why: string): string {
  return `serviceimports.multicluster.x-k8s.io "web" is forbidden: ${why}`;
}

const PATH = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceimports";

test("an apply sends its field manager and the version that it applies to, or one that no object has", async () => {
  await using it = await stage();
  it.answer(200);
  it.answer(201);
  const manifest = { ...WEB, spec: { ips: ["10.99.0.1"] } };
  const { meta, object } = await it.writer.apply(IMPORTS, manifest, {
    seen: { uid: "u", resourceVersion: "6" },
  });
  assert.deepEqual(meta, { key: "shop/web", uid: "u", resourceVersion: "7" });
  assert.deepEqual(object, STORED);
  await it.writer.apply(IMPORTS, manifest, { subresource: "status", force: false });
  const type = "application/apply-patch+yaml";
  const kind = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
  const metadata = { ...WEB.metadata, uid: "u", resourceVersion: "6" };
  assert.deepEqual(it.sent, [
    {
      line: `PATCH ${PATH}/web?fieldManager=me&force=true&timeout=7s`,
      type,
      body: { ...manifest, ...kind, metadata },
    },
    {
      line: `PATCH ${PATH}/web/status?fieldManager=me&force=false&timeout=7s`,
      type,
      body: { ...manifest, ...kind, metadata: { ...WEB.metadata, resourceVersion: "1" } },
    },
  ]);
});

test("create, replace and delete use the right paths, also for cluster-scoped kinds", async () => {
  await using it = await stage();
  for (const status of [201, 200, 200]) it.answer(status);
  it.answer(200, { metadata: { name: "shop", uid: "n", resourceVersion: "3" } });
  await it.writer.create(IMPORTS, WEB);
  await it.writer.replace(IMPORTS, STORED);
  assert.equal(await it.writer.delete(IMPORTS, WEB.metadata, STORED.metadata), true);
  const namespaces = { group: "", versions: ["v1"], resource: "namespaces", kind: "Namespace" };
  await it.writer.get(namespaces, { name: "shop" });
  assert.deepEqual(
    it.sent.map(({ line }) => line),
    [
      `POST ${PATH}?fieldManager=me&timeout=7s`,
      `PUT ${PATH}/web?fieldManager=me&timeout=7s`,
      `DELETE ${PATH}/web?timeout=7s`,
      "GET /api/v1/namespaces/shop",
    ],
  );
  const [, , deletion, read] = it.sent;
  assert.deepEqual(deletion?.body, {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid: "u", resourceVersion: "7" },
    propagationPolicy: "Background",
  });
  assert.deepEqual([read?.type, read?.body], [undefined, undefined]);
});

/** Of a webhook's JSON patch (evanphx/json-patch, version 4). */
const NO_PATH = 'add operation does not apply: doc is missing path: "/a/b": missing value';

test("rejections have different reasons", async () => {
  await using it = await stage();
  const terminating = { causes: [{ reason: "NamespaceTerminating" }] };
  const cases = [
    [409, about("Conflict"), "write-conflict"],
    [404, about("NotFound", { name: "shop", kind: "namespaces" }), "absent"],
    [422, about("Invalid"), "invalid"],
    [403, about("Forbidden", terminating), "namespace-terminating"],
    [403, about("Forbidden"), "forbidden"],
    [403, { ...about("Forbidden"), message: denied('User "exceeded quota: "') }, "forbidden"],
    [403, { ...about("Forbidden"), message: denied("exceeded quota: one, ...") }, "refused"],
    [403, { message: denied("ValidatingAdmissionPolicy 'a' with binding 'b' ...") }, "refused"],
    [403, { message: 'admission webhook "a.b" denied the request: no' }, "refused"],
    // Authors of webhooks and policies choose the status.
    ...[400, 401, 404, 409, 429, 500, 503, 504].map(
      (code) =>
        [code, { message: 'admission webhook "a.b" denied the request: no' }, "refused"] as const,
    ),
    [401, { message: denied("ValidatingAdmissionPolicy 'a' with binding 'b' ...") }, "refused"],
    [403, { message: denied("policy 'a' with binding 'b' denied request: ...") }, "refused"],
    [500, { message: `Internal error occurred: ${NO_PATH}` }, "webhook-failed"],
    [
      500,
      { message: 'Internal error occurred: failed calling webhook "a.b": ...' },
      "webhook-failed",
    ],
    [401, "", "unauthorized"],
    [429, "", "throttled"],
    [302, "", "garbage"],
    [200, "<html>", "garbage"],
    [200, { metadata: {} }, "garbage"],
    [200, { metadata: { ...STORED.metadata, name: "other" } }, "garbage"],
  ] as const;
  for (const [status, body, reason] of cases) {
    it.answer(status, body);
    await assert.rejects(it.writer.apply(IMPORTS, WEB), { reason, code: "CSP_API_REQUEST" });
  }
});

test("a missing object is undefined for get, and false for delete", async () => {
  await using it = await stage();
  it.answer(404, about("NotFound"));
  assert.equal(await it.writer.get(IMPORTS, WEB.metadata), undefined);
  it.answer(404, about("NotFound"));
  assert.equal(await it.writer.delete(IMPORTS, WEB.metadata, STORED.metadata), false);
});

test("the served version is searched once, and again when another one is served", async () => {
  await using it = await stage();
  const versions = async (): Promise<(string | undefined)[]> => {
    await it.writer.apply(IMPORTS, WEB);
    return it.sent.splice(0).map(({ line }) => line.split("/")[3]);
  };
  it.answer(404, "404 page not found");
  it.answer(200);
  assert.deepEqual(await versions(), ["v1beta1", "v1alpha1"]);
  it.answer(200);
  assert.deepEqual(await versions(), ["v1alpha1"]);
  it.answer(404, "404 page not found");
  it.answer(200);
  assert.deepEqual(await versions(), ["v1alpha1", "v1beta1"]);
  it.answer(404, "404 page not found");
  it.answer(404, "404 page not found");
  await assert.rejects(versions(), { reason: "not-served" });
  // An absent object says nothing about the kind.
  it.sent.splice(0);
  it.answer(404, about("NotFound"));
  await assert.rejects(versions(), { reason: "absent" });
  assert.equal(it.sent.length, 1);
});

test("a write is sent once, even if a kept-alive connection ends then; a read is retried", async () => {
  await using it = await stage();
  const keep = async (): Promise<void> => {
    it.answer(200);
    await it.writer.get(IMPORTS, WEB.metadata);
  };
  await keep();
  it.fake.answers.push((request) => request.socket.destroy());
  await assert.rejects(it.writer.apply(IMPORTS, WEB), { reason: "unreachable" });
  assert.equal(it.fake.requests.length, 2);
  await keep();
  it.fake.answers.push((request) => request.socket.destroy());
  await keep();
  assert.equal(it.fake.requests.length, 5);
});

test("a write times out before the response, during it, and if data keeps arriving", async () => {
  await using it = await stage({ within: 4000 });
  let more = (): void => undefined;
  const cases: Answer[] = [
    () => {},
    (_, response) => response.writeHead(200).write("{"),
    (_, response) => {
      response.writeHead(200);
      more = () => void response.write("{");
    },
  ];
  for (const answer of cases) {
    it.fake.answers.push(answer);
    const late = assert.rejects(it.writer.apply(IMPORTS, WEB), { reason: "stalled" });
    await it.fake.nextRequest();
    for (const ms of [1000, 1000, 1000, 999, 1]) {
      more();
      // What was written has to arrive.
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      assert.notEqual(it.clock.pending, 0);
      it.clock.advance(ms);
    }
    await late;
  }
});

test("a response that is too long is garbage", async () => {
  await using it = await stage();
  it.fake.answers.push((_, response) => {
    response.writeHead(200);
    const more = Buffer.alloc(1024 * 1024, " ");
    const write = (): void => void (response.destroyed || response.write(more, write));
    write();
  });
  await assert.rejects(it.writer.get(IMPORTS, WEB.metadata), { reason: "garbage" });
});

test("no write is sent without permission; reads need none", async () => {
  const asked: number[] = [];
  const permit = (ms: number): boolean => {
    asked.push(ms);
    return false;
  };
  await using it = await stage({ permit, within: 4000 });
  const writes: (() => Promise<unknown>)[] = [
    () => it.writer.apply(IMPORTS, WEB),
    () => it.writer.create(IMPORTS, WEB),
    () => it.writer.replace(IMPORTS, STORED),
    () => it.writer.delete(IMPORTS, WEB.metadata, STORED.metadata),
  ];
  for (const write of writes) {
    await assert.rejects(write, (fault: ApiFault) => fault.reason === "not-leader");
  }
  assert.deepEqual(asked, [4000, 4000, 4000, 4000]);
  assert.equal(it.fake.requests.length, 0);
  it.answer(200);
  await it.writer.get(IMPORTS, WEB.metadata);
});

test("writers that share slots never have more concurrent requests than slots", async () => {
  const replies: (() => void)[] = [];
  const api: ApiServer = {
    address: "nowhere",
    recovery: new Recovery(),
    close: async () => undefined,
    request: async () => {
      await new Promise<void>((resolve) => replies.push(resolve));
      const body = Readable.from([Buffer.from(JSON.stringify(STORED))]);
      return { status: 200, header: () => undefined, body };
    },
  };
  const shared = { api, clock: new FakeClock(), slots: new Slots(2) };
  const writers = ["one", "other"].map((name) => new ApiWriter({ ...shared, fieldManager: name }));
  const all = [1, 2, 3].flatMap(() => writers.map((writer) => writer.apply(IMPORTS, WEB)));
  for (let answered = 0; answered < all.length; answered++) {
    await setImmediate();
    // All that may have begun has: these wait for nothing but their answers.
    assert.equal(replies.length, Math.min(answered + 2, all.length));
    replies[answered]?.();
    await all[answered];
  }
});

test("a write that the API server ends is a rejection if it answers a read, and an outage if it does not", async () => {
  await using it = await stage();
  const ended = { kind: "Status", reason: "Timeout", message: "Timeout: not complete" };
  for (const [status, reason] of [
    [404, "webhook-failed"],
    [200, "webhook-failed"],
    [504, "stalled"],
    [500, "stalled"],
    [401, "stalled"],
    [429, "stalled"],
  ] as const) {
    it.answer(504, ended);
    it.answer(status, ended);
    await assert.rejects(it.writer.apply(IMPORTS, WEB), { reason, message: /not complete/ });
  }
  const [write, read] = it.sent.map(({ line }) => line);
  assert.match(write ?? "", /&timeout=7s$/);
  assert.equal(read, `GET ${PATH}/web?limit=1`);
});

test("an internal error for a write is a rejection if the API server answers a read, and an outage if it does not", async () => {
  await using it = await stage();
  const failed = { kind: "Status", message: "Internal error occurred: quota evaluation timed out" };
  for (const [write, read, reason] of [
    [500, 200, "write-failed"],
    [507, 404, "write-failed"],
    [500, 500, "server-error"],
    [503, 429, "server-error"],
    [500, 403, "server-error"],
  ] as const) {
    it.answer(write, failed);
    it.answer(read);
    const message = /quota evaluation timed out/;
    await assert.rejects(it.writer.apply(IMPORTS, WEB), { reason, status: write, message });
  }
});

test("after a write of a status that the API server ends, the object is read; where nothing may be read, the write counts as rejected", async () => {
  await using it = await stage();
  const ended = { kind: "Status", reason: "Timeout", message: "Timeout: not complete" };
  const status = { subresource: "status", force: false } as const;
  for (const [read, reason] of [
    [504, "stalled"],
    [403, "webhook-failed"],
  ] as const) {
    it.sent.length = 0;
    it.answer(504, ended);
    it.answer(read, ended);
    await assert.rejects(it.writer.apply(IMPORTS, WEB, status), { reason });
    assert.equal(it.sent[1]?.line, `GET ${PATH}/web?limit=1`);
  }
});

test("a connection that the API server closes when the time of a write is over has ended it; one that is closed before is an outage", async () => {
  await using it = await stage();
  for (const [after, read, reason] of [
    [7_000, 404, "webhook-failed"],
    [7_000, 500, "unreachable"],
    [6_900, 404, "unreachable"],
  ] as const) {
    it.fake.answers.push((request, response) => {
      it.clock.advance(after);
      response.destroy();
      request.resume();
    });
    it.answer(read);
    await assert.rejects(it.writer.apply(IMPORTS, WEB), { reason });
  }
});

test("a writer with little time has all of it", async () => {
  await using it = await stage({ within: 4_000 });
  it.answer(200);
  await it.writer.apply(IMPORTS, WEB);
  assert.doesNotMatch(it.sent[0]?.line ?? "", /timeout/);
});
