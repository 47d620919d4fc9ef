import assert from "node:assert/strict";
import { test } from "node:test";
import { type CaseStage, ServiceCase } from "../../apiserver/service-case.ts";
import type { AskingCluster } from "./asking-cluster.ts";
import {
  endpointsOf,
  nameOf,
  type Pods,
  readyIn,
  type Story,
  served,
  untilEndpoints,
} from "./served.ts";

const HERE = "cluster-1";
const RECORDS = [
  ["IPv4", "A"],
  ["IPv6", "AAAA"],
] as const;

/** Cases of the suite about names of headless Services, asked for by pods of both clusters. */
export function headlessNameCases(stage: () => CaseStage<AskingCluster>): void {
  test("C25 (optional): a headless name has the addresses of all ready pods, and is none when none is ready", async () => {
    const story = await exportedHeadless(stage(), { replicas: 2 });
    for (const id of story.clusters) {
      for (const [family, type] of RECORDS) {
        const addresses = await addressesOf(story, family);
        await story.until(id, async () => {
          const [found] = await story.in(id).records(`${type}:${nameOf(story)}`);
          assert.deepEqual(found, addresses);
        });
      }
    }
    const scale = { spec: { replicas: 0 } };
    await story.in(HERE).plane.admin.patch(story.reference("apps/v1", "Deployment"), scale);
    for (const id of story.clusters) {
      await story.until(id, async () => {
        const found = await story.in(id).resolve(`A:${nameOf(story)}`, `AAAA:${nameOf(story)}`);
        for (const { error } of found) assert.equal(error, "ENOTFOUND");
      });
    }
  });

  test("C26 (optional): pods with hostnames have names of their own, below their cluster's id", async () => {
    const story = await exportedHeadless(stage(), { replicas: 2, named: true });
    for (const id of story.clusters) {
      const slices = await untilEndpoints(story, id, 2);
      for (const [family, type] of RECORDS) {
        const endpoints = readyIn(slices, family);
        assert.deepEqual(endpoints.map(({ hostname }) => hostname).sort(), ["hello-0", "hello-1"]);
        assert.deepEqual(endpoints.map(addressOf).sort(), await addressesOf(story, family));
        for (const endpoint of endpoints) {
          await story.until(id, async () => {
            const name = `${endpoint.hostname}.${HERE}.${nameOf(story)}`;
            assert.deepEqual(await story.in(id).records(`${type}:${name}`), [
              [addressOf(endpoint)],
            ]);
          });
        }
      }
    }
  });

  test("C27 (optional): a headless name has an SRV record for each address of a pod, whose target is the pod's name", async () => {
    const story = await exportedHeadless(stage(), { replicas: 2 });
    const name = nameOf(story);
    for (const id of story.clusters) {
      for (const [family, type] of RECORDS) {
        for (const address of await addressesOf(story, family)) {
          const host = `${address.replaceAll(/[.:]/g, "-")}.${HERE}.${name}`;
          await story.until(id, async () => {
            for (const question of [name, `_tcp._tcp.${name}`, `_udp._udp.${name}`]) {
              const [found = []] = await story.in(id).records(`SRV:${question}`);
              assert.equal(
                found.filter((one) => one === `42 ${host}`).length,
                1,
                `${question} ${host} ${found.join(", ")}`,
              );
              assert.equal(found.length, 4);
            }
            assert.deepEqual(await story.in(id).records(`${type}:${host}`), [[address]]);
          });
        }
      }
    }
  });
}

async function exportedHeadless(stage: CaseStage<AskingCluster>, pods: Pods): Promise<Story> {
  const story = await ServiceCase.open(stage);
  await served(story, HERE, { ...pods, headless: true });
  await story.export(HERE);
  for (const id of story.clusters) await untilEndpoints(story, id, pods.replicas ?? 1);
  return story;
}

/** The addresses of the exporter's ready pods, sorted. */
async function addressesOf(story: Story, family: string): Promise<string[]> {
  return (await endpointsOf(story, HERE, family)).map(addressOf).sort();
}

function addressOf({
  addresses: [address = ""],
}: {
  readonly addresses: readonly string[];
}): string {
  return address;
}
