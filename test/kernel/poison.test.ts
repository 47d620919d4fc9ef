import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** The directory of iptables' extensions on Debian. */
const EXTENSIONS = "/usr/lib/x86_64-linux-gnu/xtables";
const GOOD = 1000;
/** Milliseconds until the node's extensions are tried again. */
const RETRY = 120_000;
/** Milliseconds until two offenders among a thousand are found, on a busy machine. */
const SEARCH = 60_000;
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

/** Which iptables, and whether what it supports can be found out ahead, in a network namespace of its own. */
const KINDS = [
  { flavour: "nft", probed: true },
  { flavour: "nft", probed: false },
  { flavour: "legacy", probed: false },
] as const;

for (const { flavour, probed } of KINDS) {
  const found = probed ? "found ahead" : "found by bisection";
  describe(`the ${flavour} flavour of an iptables without SCTP and recent, ${found}`, () => {
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
      const unshare = join(lab.directory, "unshare");
      if (!probed) writeFileSync(unshare, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
      const path = `PATH=${lab.directory}:${process.env.PATH}`;
      const program = ["env", `XTABLES_LIBDIR=${directory}`, path, PROGRAM];
      agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, flags, program);
    });
    after(() => lab.remove());

    test("two rejected services do not prevent the programming of a thousand others", async () => {
      manifests.write("good", ...Array.from({ length: GOOD }, (_, i) => good(i + 1)).flat());
      manifests.write("one", ...objects("one", "241.0.0.1", SIGNAL, "10.2.0.1"));
      manifests.write("two", ...objects("two", "241.0.0.2", SIGNAL, "10.2.0.2"));
      agent.launch();
      await eventually(async () => assert.equal(await aside(), 2), SEARCH);
      await agent.page("/readyz");
      const text = await rules();
      assert.equal(
        text.match(/"shop\/good-\d+:http local|"shop\/good-\d+:http regional/g)?.length,
        GOOD,
      );
      assert.doesNotMatch(text, /shop\/(one|two)/);
      assert.match(agent.log, /shop\/one:signal.*Quarantined a port that the kernel rejects/);
      const { setAside } = JSON.parse(await agent.page("/plan/shop/one"));
      const expected = { servicePort: "shop/one:signal", protocol: "SCTP", family: "IPv4" };
      const failures = probed ? undefined : 1;
      assert.equal(agent.log.match(/Sync failed/g)?.length, failures);
      assert.equal(agent.log.match(/Rules are in sync again/g)?.length, failures);
      assert.deepEqual(setAside, [{ ...expected, reason: "refused-by-kernel" }]);
    });

    test("changes of all other services are programmed, without a failed pass", async () => {
      const failures = () => agent.log.match(/Sync failed/g)?.length;
      const before = failures();
      manifests.write("new", ...objects("new", "241.0.0.3", HTTP, "10.2.0.3"));
      await eventually(async () => assert.match(await rules(), /"shop\/new:http/));
      assert.equal(failures(), before);
      assert.equal(await aside(), 2);
    });

    test("a third rejected service, changed together with valid ones, is found, and existing rules stay", async () => {
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

    test("unsupported affinity is left out, and the service is programmed", async () => {
      manifests.write("new", ...affine(objects("new", "241.0.0.3", HTTP, "10.2.0.33")));
      await eventually(async () => {
        assert.match(await rules(), /"shop\/new:http.*--to-destination 10\.2\.0\.33:80/);
      });
      await eventually(async () => assert.equal(await aside(), 4));
      assert.match(agent.log, /shop\/new:http.*Session affinity is not supported/);
      assert.doesNotMatch(await rules(), /recent/);
    });

    test("a changed service is programmed once the extension is installed", async () => {
      const name = readdirSync(EXTENSIONS).find((file) => file.endsWith("_sctp.so")) ?? "";
      symlinkSync(join(EXTENSIONS, name), join(lab.directory, "xtables", name));
      manifests.write("one", ...objects("one", "241.0.0.6", SIGNAL, "10.2.0.1"));
      await eventually(async () => {
        assert.match(await rules(), /-d 241\.0\.0\.6\/32 -p sctp.*"shop\/one:signal"/);
      }, RETRY);
      await eventually(async () => assert.ok((await aside()) <= 3), RETRY);
      const exit = await agent.stop();
      assert.equal(exit.code, 0, agent.log);
    });
  });
}
