import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { streamDecode, streamEncode } from "dns-packet";
import type { Cluster } from "../clusters/cluster.ts";
import { lookUp } from "./cluster-dns.ts";

const NAME = "web.shop.svc.clusterset.local";

/** Answers every question with one address. */
function dns(): Duplex {
  return new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      const { id = 0, questions = [] } = streamDecode(chunk);
      const answers = questions.map(({ name }) => ({
        type: "A" as const,
        name,
        data: "241.0.0.1",
      }));
      this.push(streamEncode({ type: "response", id, questions, answers }));
      done();
    },
  });
}

/** A cluster with pods by their labels, and the selector of the Service kube-dns. */
function clusterWith(pods: Readonly<Record<string, string>>, selector?: object) {
  const connected: string[] = [];
  const cluster = {
    list: async ({ labelSelector = "" }) =>
      pods[labelSelector] === undefined ? [] : [{ metadata: { name: pods[labelSelector] } }],
    objects: { get: async () => selector && { object: { spec: { selector } } } },
    connect: async ({ pod }: { readonly pod: string }) => {
      connected.push(pod);
      return dns();
    },
  } as unknown as Cluster;
  return { cluster, connected };
}

const never = new AbortController().signal;

test("the pod of CoreDNS is found by the labels of kubeadm, then those of its chart", async () => {
  const chart = { "app.kubernetes.io/name=coredns": "chart" };
  for (const [pods, found] of [
    [{ ...chart, "k8s-app=kube-dns": "kubeadm" }, "kubeadm"],
    [chart, "chart"],
  ] as const) {
    const { cluster, connected } = clusterWith(pods);
    const { addresses } = await lookUp(cluster, NAME, ["A"], never);
    assert.deepEqual([addresses, connected], [["241.0.0.1"], [found]]);
  }
});

test("with labels of its own, it is found by the selector of the Service kube-dns", async () => {
  const selector = { app: "dns", tier: "system" };
  const { cluster, connected } = clusterWith({ "app=dns,tier=system": "own" }, selector);
  await lookUp(cluster, NAME, ["A"], never);
  assert.deepEqual(connected, ["own"]);
});

test("without any, it is absent: a Service without a selector selects no pod", async () => {
  for (const selector of [undefined, {}]) {
    const { cluster } = clusterWith({ "": "any pod" }, selector);
    await assert.rejects(lookUp(cluster, NAME, ["A"], never), /no pod of kube-system has one of/);
  }
});
