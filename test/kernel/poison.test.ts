import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** Where Debian has what iptables knows of each match and target. */
const EXTENSIONS = "/usr/lib/x86_64-linux-gnu/xtables";
const GOOD = 1000;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const SIGNAL = { name: "signal", port: 36412, protocol: "SCTP" };

function good(n: number): object[] {
  const vip = `241.1.${n >> 8}.${n & 255}`;
  return objects(`good-${n}`, vip, HTTP, `10.${2 + (n >> 8)}.0.${n & 255}`);
}

function objects(name: string, vip: string, port: typeof HTTP, ...endpoints: string[]): object[] {
  const at = { cluster: "c2", region: "eu-west" };
  return [
    importObject(`shop/${name}`, [vip], [port]),
    sliceObject(`${name}-c2`, `shop/${name}`, at, [port], endpoints),
  ];
}

/** The same import with session affinity. */
function affine([first, ...rest]: object[]): object[] {
  if (first === undefined || !("spec" in first)) throw new Error("no import");
  return [{ ...first, spec: Object.assign({ sessionAffinity: "ClientIP" }, first.spec) }, ...rest];
}

for (const flavour of ["nft", "legacy"] as const) {
  describe(`the ${flavour} flavour of an iptables that knows neither SCTP nor recent`, () => {
    let lab: Lab;
    let manifests: ManifestDirectory;
    let agent: AgentProcess;
    const rules = () => agent.node.exec([`iptables-${flavour}-save`, "-t", "nat"]);
    const aside = () => agent.metric("clusterset_agent_set_aside_services");

    before(async () => {
      lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] });
      manifests = new ManifestDirectory(lab, "manifests");
      const directory = join(lab.directory, "xtables");
      mkdirSync(directory);
      for (const file of readdirSync(EXTENSIONS)) {
        const known = !/_(sctp|recent)\.so$/.test(file);
        if (known) symlinkSync(join(EXTENSIONS, file), join(directory, file));
      }
      const flags = [
        ...["--cluster-id", "c1", "--region", "eu-west", "--node-name", "n1"],
        ...["--clusterset-cidr", "241.0.0.0/8", "--iptables-flavour", flavour],
      ];
      const program = ["env", `XTABLES_LIBDIR=${directory}`, PROGRAM];
      agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, flags, program);
    });
    after(() => lab.remove());

    test("two services that it refuses do not keep a thousand others from the kernel", async () => {
      manifests.write("good", ...Array.from({ length: GOOD }, (_, i) => good(i + 1)).flat());
      manifests.write("one", ...objects("one", "241.0.0.1", SIGNAL, "10.2.0.1"));
      manifests.write("two", ...objects("two", "241.0.0.2", SIGNAL, "10.2.0.2"));
      agent.launch();
      await eventually(async () => assert.equal(await aside(), 2));
      await agent.page("/readyz");
      const text = await rules();
      assert.equal(
        text.match(/"shop\/good-\d+:http local|"shop\/good-\d+:http regional/g)?.length,
        GOOD,
      );
      assert.doesNotMatch(text, /shop\/(one|two)/);
      assert.match(agent.log, /shop\/one:signal.*A port is refused and set aside/);
      const { setAside } = JSON.parse(await agent.page("/plan/shop/one"));
      const expected = { servicePort: "shop/one:signal", protocol: "SCTP", family: "IPv4" };
      assert.equal(agent.log.match(/The kernel is in step again/g)?.length, 1, "only when it is");
      assert.deepEqual(setAside, [{ ...expected, reason: "refused-by-kernel" }]);
    });

    test("changes of all others go on, in one transaction each", async () => {
      const refused = await agent.metric("clusterset_agent_sync_failures_total");
      manifests.write("new", ...objects("new", "241.0.0.3", HTTP, "10.2.0.3"));
      await eventually(async () => assert.match(await rules(), /"shop\/new:http/));
      assert.equal(await agent.metric("clusterset_agent_sync_failures_total"), refused);
      assert.equal(await aside(), 2);
    });

    test("a third one, changed together with good ones, is found without touching what is live", async () => {
      const before = (await rules()).match(/^-A CSP-SVC.*shop\/good-\d+:.*$/gm);
      manifests.write(
        "bundle",
        ...objects("three", "241.0.0.4", SIGNAL, "10.2.0.4"),
        ...objects("four", "241.0.0.5", HTTP, "10.2.0.5"),
      );
      await eventually(async () => assert.equal(await aside(), 3));
      await eventually(async () => assert.match(await rules(), /"shop\/four:http/));
      assert.deepEqual((await rules()).match(/^-A CSP-SVC.*shop\/good-\d+:.*$/gm), before);
    });

    test("affinity that it does not know is left out, and the service is live", async () => {
      manifests.write("new", ...affine(objects("new", "241.0.0.3", HTTP, "10.2.0.33")));
      await eventually(async () => {
        assert.match(await rules(), /"shop\/new:http.*--to-destination 10\.2\.0\.33:80/);
      });
      await eventually(async () => assert.equal(await aside(), 4));
      assert.match(agent.log, /shop\/new:http.*Session affinity is refused/);
      assert.doesNotMatch(await rules(), /recent/);
    });

    test("a service that has changed is tried again, and is live once it is known", async () => {
      const name = readdirSync(EXTENSIONS).find((file) => file.endsWith("_sctp.so")) ?? "";
      symlinkSync(join(EXTENSIONS, name), join(lab.directory, "xtables", name));
      manifests.write("one", ...objects("one", "241.0.0.6", SIGNAL, "10.2.0.1"));
      await eventually(async () => {
        assert.match(await rules(), /-d 241\.0\.0\.6\/32 -p sctp.*"shop\/one:signal"/);
      });
      await eventually(async () => assert.equal(await aside(), 3));
      const exit = await agent.stop();
      assert.equal(exit.code, 0, agent.log);
    });
  });
}
