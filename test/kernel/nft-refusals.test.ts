import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { nftables } from "../backends/nftables.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

/** Imports that the kernel accepts, with two endpoints each, and the elements for which the map has room. */
const GOOD = 200;
const ROOM = 500;
const HTTP = { name: "http", port: 80, protocol: "TCP" };

/** In place of nft: the map of endpoints has little room, so that the kernel rejects a service with more endpoints than that. */
const STAND_IN = `#!/bin/sh
case "$1" in
  -i|-f) sed -u 's/add map ip clusterset-proxy endpoints { /&size ${ROOM}; /' | /usr/sbin/nft "$@" ;;
  *) exec /usr/sbin/nft "$@" ;;
esac
`;

function objects(name: string, vip: string, endpoints: number, first = 1): object[] {
  const addresses = Array.from({ length: endpoints }, (_, i) => {
    const n = first + i;
    return `10.2.${n >> 8}.${n & 255}`;
  });
  const slices = [0, 1000].map((from) =>
    sliceObject(
      `${name}-${from}`,
      `shop/${name}`,
      { cluster: "c2" },
      [HTTP],
      addresses.slice(from, from + 1000),
    ),
  );
  return [importObject(`shop/${name}`, [vip], [HTTP]), ...slices];
}

const WAYS = [
  { title: "by netlink", program: async () => [AGENT] },
  { title: "as text", program: nftables.writingByTools },
];

for (const { title, program } of WAYS) {
  describe(`elements that the kernel rejects, written ${title}`, () => {
    let lab: Lab;
    let manifests: ManifestDirectory;
    let agent: AgentProcess;
    const aside = () => agent.metric("clusterset_agent_set_aside_services");
    const list = (map: string) =>
      agent.node.exec(["nft", "list", "map", "ip", "clusterset-proxy", map]);
    const failures = () => agent.log.match(/Sync failed/g)?.length ?? 0;
    const goodOnes = async () =>
      (await list("endpoints")).match(/241\.1\.\S+ \. tcp[^,}]*/g)?.sort() ?? [];

    before(async () => {
      lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] });
      manifests = new ManifestDirectory(lab, "manifests");
      const nft = join(lab.directory, "nft");
      writeFileSync(nft, STAND_IN);
      chmodSync(nft, 0o755);
      const command = ["env", `PATH=${lab.directory}:${process.env.PATH}`];
      const argv = [...command, ...((await program?.(lab)) ?? [])];
      const flags = ["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8", ...nftables.flags];
      agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, flags, argv);
    });
    after(() => lab?.remove());

    test("at the start, two rejected services do not prevent the programming of all others", async () => {
      const good = (n: number) => objects(`good-${n}`, `241.1.0.${n}`, 2, 2 * n);
      manifests.write("good", ...Array.from({ length: GOOD }, (_, i) => good(i + 1)).flat());
      // The second is larger than a batch of netlink.
      manifests.write("one", ...objects("one", "241.0.0.1", 600));
      manifests.write("two", ...objects("two", "241.0.0.2", 1200));
      agent.launch();
      await eventually(async () => assert.equal(await aside(), 2));
      await agent.page("/readyz");
      assert.equal((await goodOnes()).length, 2 * GOOD);
      assert.doesNotMatch(`${await list("services")}${await list("endpoints")}`, /241\.0\.0/);
      assert.match(agent.log, /CSP_NFT_REFUSED.*add elements: (ENFILE|Too many open files)/);
      assert.match(agent.log, /shop\/two:http.*Quarantined a port that the kernel rejects/);
      const { setAside } = JSON.parse(await agent.page("/plan/shop/one"));
      assert.equal(setAside[0].reason, "refused-by-kernel");
      assert.equal(failures(), 1);
    });

    test("changes of other services are live, without a failed pass", async () => {
      const before = failures();
      manifests.write("new", ...objects("new", "241.0.0.3", 1));
      await eventually(async () => assert.match(await list("endpoints"), /241\.0\.0\.3 \. tcp/));
      assert.equal(failures(), before);
      assert.equal(await aside(), 2);
    });

    test("a service that changes beyond what the kernel accepts keeps its endpoints, and others in the same change are live", async () => {
      const before = await goodOnes();
      manifests.write(
        "new",
        ...objects("new", "241.0.0.3", 601),
        ...objects("four", "241.0.0.4", 1),
      );
      await eventually(async () => assert.equal(await aside(), 3));
      await eventually(async () => assert.match(await list("services"), /241\.0\.0\.4 \. tcp/));
      assert.deepEqual(await goodOnes(), before);
    });

    test("an element of another program in the place of one of ours is replaced, and blocks no other", async () => {
      const theirs = "{ 241.0.0.5 . tcp . 80 . none : 192.0.2.1 . 9 }";
      await agent.node.exec(["nft", `add element ip clusterset-proxy endpoints ${theirs}`]);
      manifests.write(
        "five",
        ...objects("five", "241.0.0.5", 1),
        ...objects("six", "241.0.0.6", 1),
      );
      await eventually(async () => {
        const text = await list("endpoints");
        for (const n of [5, 6])
          assert.match(
            text,
            new RegExp(`241\\.0\\.0\\.${n} \\. tcp [^,]* : 10\\.2\\.0\\.1 \\. 80`),
          );
        assert.doesNotMatch(text, /192\.0\.2\.1/);
      });
      assert.equal(await aside(), 3);
    });

    test("a rejected service is programmed once it fits", async () => {
      manifests.write("one", ...objects("one", "241.0.0.7", 10));
      await eventually(async () => assert.match(await list("services"), /241\.0\.0\.7 \. tcp/));
      assert.equal((await list("endpoints")).match(/241\.0\.0\.7 \. tcp/g)?.length, 10);
      assert.equal(await aside(), 2);
      assert.equal((await agent.stop()).code, 0);
    });
  });
}
