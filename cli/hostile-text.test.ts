import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { ANNOTATION_DRAIN, LABEL_PEER } from "../api/keys.ts";
import { FakeApiServer } from "../test/doubles/fake-api-server.ts";
import { FAKE_PORTS, fakeProperties } from "../test/doubles/fake-member.ts";
import { importObject, sliceObject } from "../test/generators/objects.ts";
import { CommandLine } from "../test/stages/command-line.ts";

// What a tenant or a peer wrote, in every command that shows it: hostile texts, and names as long as Kubernetes allows.

const HOSTILE =
  "x\u001b]52;c;ZXZpbA==\u0007\u001b[2K\r\none   forged   row\u202e\u009b1m\u2028\u0085y";
const PORTS = FAKE_PORTS;
const [LONG, LONG_NODE] = ["n".repeat(63), "n".repeat(253)];
const LONG_IMPORT = `${LONG}/${LONG}` as const;
/** What is not wrapped: commands to copy, and the title of a port. */
const WHOLE = new RegExp(`^ {5}\\S|^${LONG_IMPORT}:`);
const CONDITION = { type: "Ready", status: "False", reason: HOSTILE, message: HOSTILE };
const NODE = { apiVersion: "v1", metadata: { name: "n1" }, spec: {} };
const OBJECTS = {
  serviceimports: [
    { ...importObject("shop/web", ["241.0.0.1"], PORTS), status: { conditions: [CONDITION] } },
    importObject(LONG_IMPORT, ["fd00:241::1"], PORTS),
  ],
  serviceexports: [
    {
      metadata: { namespace: "shop", name: "web", annotations: { note: HOSTILE } },
      status: { conditions: [CONDITION, { ...CONDITION, type: "Conflict", status: "True" }] },
    },
  ],
  endpointslices: [
    sliceObject("web-c2", "shop/web", { cluster: "c2", region: HOSTILE }, PORTS, [
      { addresses: ["10.2.0.1"], zone: HOSTILE, nodeName: HOSTILE },
    ]),
    sliceObject("long", LONG_IMPORT, { cluster: LONG, region: LONG }, PORTS, [
      { addresses: ["fd00:1111:2222:3333:4444:5555:6666:1"], zone: LONG, nodeName: LONG_NODE },
      { addresses: ["fd00::2"], zone: LONG, conditions: { ready: false } },
    ]),
  ],
  clusterproperties: fakeProperties({ "cluster.clusterset.k8s.io": HOSTILE }),
  nodes: [NODE],
  services: [
    {
      metadata: { namespace: "shop", name: "web", annotations: { note: HOSTILE } },
      spec: { type: HOSTILE, clusterIP: "10.0.0.1", ports: PORTS },
    },
    { metadata: { namespace: "shop", name: HOSTILE, labels: { team: "a" } } },
  ],
  secrets: [
    {
      metadata: {
        namespace: "clusterset-proxy",
        name: HOSTILE,
        labels: { [LABEL_PEER]: "c2" },
        annotations: { [ANNOTATION_DRAIN]: HOSTILE },
      },
    },
  ],
  pods: [
    {
      metadata: { namespace: "clusterset-proxy", name: "clusterset-agent-x" },
      spec: { nodeName: "n1" },
      status: { containerStatuses: [{ state: { waiting: { reason: HOSTILE } } }] },
    },
  ],
};

/** A file that does not exist yet. */
const FILE = "FILE";

const COMMANDS = [
  ["status"],
  ["check", "--start-pods"],
  ["explain", "shop/web"],
  ["explain", "shop/web", "-v", "--from", "n1"],
  ["explain", "shop/none"],
  ["explain", LONG_IMPORT, "-v"],
  ["simulate", "--all"],
  ["simulate", "--without", "c9"],
  ["migrate", "--from", "submariner"],
  ["migrate", "--from", "by-hand"],
  ["drain", "c2", "--for", "1h"],
  ["undrain", "c2"],
  ["export", "web", "-n", "shop"],
  ["unexport", "web", "-n", "shop"],
  ["unexport", "-l", "team=a", "-n", "shop"],
  ["bundle", "-f", FILE],
  ["drill", "shop/web", "--yes"],
  ["leave", "one", "--dry-run"],
  ["join", "one", "--clusterset", "prod", "--dry-run", "client"],
  ["rotate", "one", "--dry-run"],
  ["upgrade", "one", "--dry-run"],
  ["nonsense\u001b[2K"],
];

for (const [format, columns] of [
  [[], undefined] as const,
  // Within the text of others, a line ends.
  [[], 80] as const,
  [["-o", "json"], undefined] as const,
  [["-o", "yaml"], undefined] as const,
])
  test(`no text of others controls the terminal, or begins a line: ${format.join(" ") || "table"}, ${columns ?? "any number of"} columns`, async () => {
    await using server = await FakeApiServer.start({ objects: OBJECTS });
    using user = new CommandLine({ one: server.inline });
    user.columns = columns;
    const showing = new Set<string>();
    for (const command of COMMANDS) {
      const file = user.file("bundle.tar.gz", "");
      rmSync(file);
      const argv = command.map((word) => (word === FILE ? file : word));
      const { out, note } = await user.run(...argv, ...format);
      const printed = out + note;
      assert.doesNotMatch(printed, /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u, command.join(" "));
      assert.doesNotMatch(printed, /^(one +)?forged/m, command.join(" "));
      const isWide = (line: string) => line.length > (columns ?? Infinity) && !WHOLE.test(line);
      assert.deepEqual(out.split("\n").filter(isWide), [], command.join(" "));
      if (/\\u202e|forged/.test(printed)) showing.add(command[0] ?? "");
    }
    for (const name of ["status", "explain", "undrain", "unexport"])
      assert.ok(showing.has(name), `${name} shows no text of others: ${[...showing].join()}`);
  });

test("hundreds of long texts of one namespace fill no terminal, and hide no problem of another one", async () => {
  const conditions = [{ ...CONDITION, message: "x".repeat(8_192) }];
  const evil = Array.from({ length: 500 }, (_, i) => ({
    ...{ ...importObject(`evil/n${i}`, [], PORTS, { type: "Headless" }), status: { conditions } },
  }));
  const serviceimports = [...evil, ...OBJECTS.serviceimports];
  await using server = await FakeApiServer.start({ objects: { ...OBJECTS, serviceimports } });
  using user = new CommandLine({ one: server.inline });
  const { out } = await user.run("status");
  assert.match(out, /^one +ServiceImport shop\/web /m);
  assert.match(out, /^… and \d{3} more: -n NAMESPACE, or -o json$/m);
  assert.ok(out.length < 300_000, `${out.length}`);
});
