import assert from "node:assert/strict";
import { test } from "node:test";
import { exported } from "../../apiserver/conformance/fixture.ts";
import { type CaseStage, ServiceCase } from "../../apiserver/service-case.ts";
import type { AskingCluster } from "./asking-cluster.ts";
import { nameOf, type Story } from "./served.ts";

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
        const [version, service, ...forbidden] = await story
          .in(id)
          .resolve(
            "TXT:dns-version.clusterset.local",
            `A:${nameOf(story)}`,
            ...story.clusters.map((one) => `A:${one}.${nameOf(story)}`),
          );
        assert.equal(service?.records?.length, 1);
        assert.match(version?.records?.join() ?? "", /^1\.\d+\.\d+$/);
        for (const { error } of forbidden) assert.equal(error, "ENOTFOUND");
      });
    }
  });
}

function untilAddressed(story: Story, id: string) {
  return story.untilImported(id, ({ spec: { ips } }) => assert.equal(ips?.length, 2));
}
