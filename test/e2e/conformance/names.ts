import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { exported } from "../../apiserver/conformance/cases.ts";
import { type CaseStage, type Endpoint, ServiceCase } from "../../apiserver/service-case.ts";
import {
  type AskingCluster,
  endpointsOf,
  nameOf,
  readyIn,
  type Story,
  served,
  untilAddressed,
  untilEndpoints,
} from "./served.ts";

/** Cases of the suite about names of ClusterIP Services, resolved by pods of both clusters. */
export function nameCases(stage: () => CaseStage<AskingCluster>): void {
  test("C22 (optional): the name resolves to the import's addresses, of both families, and no others", async () => {
    const story = await exported(stage());
    for (const id of story.clusters) {
      const { spec } = await untilAddressed(story, id);
      await story.until(id, async () => {
        const found = await story.in(id).records(`A:${nameOf(story)}`, `AAAA:${nameOf(story)}`);
        assert.deepEqual(found.flat(), spec.ips);
      });
    }
  });

  test("C23 (optional): the name has one SRV record for an unnamed port, and each named port has its own", async () => {
    const story = await exported(stage());
    const name = nameOf(story);
    const questions = [name, `_tcp._tcp.${name}`, `_udp._udp.${name}`];
    for (const id of story.clusters) {
      await untilAddressed(story, id);
      await story.until(id, async () => {
        const found = await story.in(id).records(...questions.map((one) => `SRV:${one}`));
        assert.deepEqual(found, Array(3).fill([`42 ${name}`]));
      });
    }
  });

  test("C24 (optional): the cluster-local name resolves to the Service's address, and does not exist where the Service does not", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("cluster-1", { ipFamilyPolicy: "PreferDualStack" });
    const { admin } = story.in("cluster-1").plane;
    const { spec } = await admin.get(story.serviceReference);
    const { clusterIPs } = spec as { clusterIPs: readonly string[] };
    assert.equal(clusterIPs.length, 2);
    const own = nameOf(story, "cluster.local");
    const untilOwn = () =>
      story.until("cluster-1", async () => {
        const found = await story.in("cluster-1").records(`A:${own}`, `AAAA:${own}`);
        assert.deepEqual(found.flat(), clusterIPs);
      });
    await untilOwn();
    await story.export("cluster-1");
    for (const id of story.clusters) await untilAddressed(story, id);
    await untilOwn();
    await story.until("cluster-2", async () => {
      const [elsewhere] = await story.in("cluster-2").resolve(`A:${own}`);
      assert.equal(elsewhere?.error, "ENOTFOUND");
    });
  });

  test("items 36 and 42: the version of the DNS schema has a record, and a Service's name has no subdomain for a cluster", async () => {
    const story = await exported(stage());
    for (const id of story.clusters) {
      await untilAddressed(story, id);
      await story.until(id, async () => {
        const names = ["", ...story.clusters.map((one) => `${one}.`)];
        const questions = names.map((part) => `A:${part}${nameOf(story)}`);
        const all = await story.in(id).resolve("TXT:dns-version.clusterset.local", ...questions);
        const [version, service, ...forbidden] = all;
        assert.equal(service?.records?.length, 1);
        assert.match(version?.records?.join() ?? "", /^1\.\d+\.\d+$/);
        for (const { error } of forbidden) assert.equal(error, "ENOTFOUND");
      });
    }
  });
}

const HERE = "cluster-1";
const THERE = "cluster-2";
const RECORDS = [
  ["IPv4", "A"],
  ["IPv6", "AAAA"],
] as const;

/** Cases of the suite about names of headless Services, resolved by pods of both clusters. */
export function headlessNameCases(stage: () => CaseStage<AskingCluster>): void {
  describe("names of pods without hostnames", { concurrency: 1 }, () => {
    let story: Story;
    before(async () => {
      story = await ServiceCase.open(stage());
      await Promise.all([
        served(story, HERE, { replicas: 2, headless: true }),
        served(story, THERE, { headless: true }),
      ]);
      await story.export(HERE);
      for (const id of story.clusters) await untilEndpoints(story, id, 2);
    });

    test("C27 (optional): a headless name has an SRV record for each address of a pod, whose target is the pod's name", async () => {
      const name = nameOf(story);
      const addresses = (await familiesOf(story, HERE)).flat();
      assert.equal(addresses.length, 4);
      const hosts = addresses.map((one) => `${one.replaceAll(/[.:]/g, "-")}.${HERE}.${name}`);
      const typeOf = (address = "") => (address.includes(":") ? "AAAA" : "A");
      const questions = hosts.map((host, i) => `${typeOf(addresses[i])}:${host}`);
      const records = hosts.map((host) => `42 ${host}`).sort();
      const ports = [name, `_tcp._tcp.${name}`, `_udp._udp.${name}`].map((one) => `SRV:${one}`);
      for (const id of story.clusters) {
        await story.until(id, async () => {
          assert.deepEqual(await story.in(id).records(...ports), Array(3).fill(records));
          assert.deepEqual((await story.in(id).records(...questions)).flat(), addresses);
        });
      }
    });

    test("C25 (optional): a headless name has the ready pods of exporters, and does not exist without any; a cluster-local name has local pods", async () => {
      const exported = await familiesOf(story, HERE);
      for (const id of story.clusters) {
        const own = await familiesOf(story, id);
        await story.until(id, async () => {
          const names = [nameOf(story), nameOf(story, "cluster.local")];
          const questions = names.flatMap((name) => [`A:${name}`, `AAAA:${name}`]);
          assert.deepEqual(await story.in(id).records(...questions), [...exported, ...own]);
        });
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
  });

  test("C26 (optional): pods with hostnames have their own names, below their cluster's id", async () => {
    const story = await ServiceCase.open(stage());
    await served(story, HERE, { replicas: 2, named: true, headless: true });
    await story.export(HERE);
    for (const id of story.clusters) {
      const slices = await untilEndpoints(story, id, 2);
      for (const [family, type] of RECORDS) {
        const endpoints = readyIn(slices, family);
        const addresses = new Map(endpoints.map((one) => [one.hostname ?? "", addressOf(one)]));
        assert.deepEqual([...addresses.keys()].sort(), ["hello-0", "hello-1"]);
        assert.deepEqual([...addresses.values()].sort(), await addressesOf(story, HERE, family));
        const names = [...addresses.keys()].map((host) => `${host}.${HERE}.${nameOf(story)}`);
        await story.until(id, async () => {
          const found = await story.in(id).records(...names.map((name) => `${type}:${name}`));
          assert.deepEqual(found.flat(), [...addresses.values()]);
        });
      }
    }
  });
}

/** The addresses of a cluster's own ready pods: IPv4, then IPv6, each sorted. */
function familiesOf(story: Story, id: string): Promise<string[][]> {
  return Promise.all(RECORDS.map(([family]) => addressesOf(story, id, family)));
}

async function addressesOf(story: Story, id: string, family: string): Promise<string[]> {
  return (await endpointsOf(story, id, family)).map(addressOf).sort();
}

function addressOf({ addresses: [address = ""] }: Endpoint): string {
  return address;
}
