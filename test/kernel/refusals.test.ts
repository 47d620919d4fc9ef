import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { nftables } from "../backends/nftables.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { Lab } from "../lab/lab.ts";
import { AGENT, AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

/** Milliseconds until the node's extensions are tried again, and until two offenders among a thousand are found on a busy machine. */
const PATIENCE = 120_000;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const SIGNAL = { name: "signal", port: 36412, protocol: "SCTP" };
/** The directory of iptables' extensions on Debian. */
const EXTENSIONS = "/usr/lib/x86_64-linux-gnu/xtables";
/** The elements for which the map of endpoints has room. */
const ROOM = 500;

/** An import with so many endpoints in 10.2.0.0/16, from the `first` on. */
function objects(name: string, vip: string, port: object, endpoints: number, first = 1): object[] {
  const addresses = Array.from({ length: endpoints }, (_, i) => {
    const n = first + i;
    return `10.2.${n >> 8}.${n & 255}`;
  });
  const origin = { cluster: "c2", region: "eu-west" };
  const slices = [0, 1000].map((from) => {
    const some = addresses.slice(from, from + 1000);
    return sliceObject(`${name}-${from}`, `shop/${name}`, origin, [port], some);
  });
  return [importObject(`shop/${name}`, [vip], [port]), ...slices];
}

/** A node on which the kernel rejects some services. */
interface Way {
  readonly title: string;
  readonly flags: readonly string[];
  /** Imports that the kernel accepts, and the endpoints of each. */
  readonly good: number;
  readonly each: number;
  /** Passes that fail until the first offenders are found. */
  readonly failures: number;
  /** The port of an offender, and what else its log shows. */
  readonly port: string;
  readonly logged: RegExp;
  readonly offender: (name: string, vip: string, endpoints?: number) => object[];
  /** A change that the kernel rejects. */
  readonly third: () => object[];
  /** The first offender as the kernel accepts it. */
  readonly healed: (lab: Lab) => object[];
  readonly program: (lab: Lab) => Promise<string[]>;
  /** Commands that list what is programmed, and an endpoint in it, with the import's name first. */
  readonly list: readonly (readonly string[])[];
  readonly endpoint: RegExp;
}

/** An iptables without SCTP and recent. `probed`: what it supports can be found out ahead, in a network namespace of its own. */
function withoutExtensions(flavour: Flavour, probed: boolean): Way {
  return {
    title: `the ${flavour} flavour of an iptables without SCTP and recent, ${probed ? "found ahead" : "found by bisection"}`,
    flags: ["--iptables-flavour", flavour],
    ...{ good: 1000, each: 1, failures: probed ? 0 : 1, port: "signal", logged: /./ },
    offender: (name, vip) => objects(name, vip, SIGNAL, 1),
    third: () => objects("three", "241.0.0.4", SIGNAL, 1),
    healed: (lab) => {
      const name = readdirSync(EXTENSIONS).find((file) => file.endsWith("_sctp.so")) ?? "";
      symlinkSync(join(EXTENSIONS, name), join(lab.directory, "xtables", name));
      return objects("one", "241.0.0.6", SIGNAL, 1);
    },
    program: async ({ directory }) => {
      const extensions = join(directory, "xtables");
      mkdirSync(extensions);
      for (const file of readdirSync(EXTENSIONS)) {
        const known = !/_(sctp|recent)\.so$/.test(file);
        if (known) symlinkSync(join(EXTENSIONS, file), join(extensions, file));
      }
      const unshare = join(directory, "unshare");
      if (!probed) writeFileSync(unshare, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
      return ["env", `XTABLES_LIBDIR=${extensions}`, AGENT];
    },
    list: [[`iptables-${flavour}-save`, "-t", "nat"]],
    endpoint: /^-A CSP-SVC.*"shop\/([\w-]+):.*--to-destination .*$/gm,
  };
}

/** In place of nft: the map of endpoints has little room, so that the kernel rejects a service with more endpoints than that. */
const STAND_IN = `#!/bin/sh
case "$1" in
  -i|-f) sed -u 's/add map ip clusterset-proxy endpoints { /&size ${ROOM}; /' | /usr/sbin/nft "$@" ;;
  *) exec /usr/sbin/nft "$@" ;;
esac
`;

function withoutRoom(how: string, program: Way["program"]): Way {
  const offender = (name: string, vip: string, endpoints = 600) =>
    objects(name, vip, HTTP, endpoints);
  return {
    title: `elements that the kernel rejects, written ${how}`,
    flags: nftables.flags,
    ...{ good: 200, each: 2, failures: 1, port: "http" },
    logged: /CSP_NFT_REFUSED.*add elements: (ENFILE|Too many open files)/,
    offender,
    third: () => offender("new", "241.0.0.3", 601),
    healed: () => offender("one", "241.0.0.6", 10),
    program: async (lab) => {
      writeFileSync(join(lab.directory, "nft"), STAND_IN, { mode: 0o755 });
      return program(lab);
    },
    list: ["services", "endpoints"].map((map) => {
      return ["nft", "list", "map", "ip", "clusterset-proxy", map];
    }),
    endpoint: /\S+ \. tcp \. \S+ \. \S+ comment "shop\/([\w-]+):[^"]*" : \S+ \. \d+/g,
  };
}

const WAYS: readonly Way[] = [
  withoutExtensions("nft", true),
  withoutExtensions("nft", false),
  withoutExtensions("legacy", false),
  withoutRoom("by netlink", async () => [AGENT]),
  withoutRoom("as text", async (lab) => (await nftables.writingByTools?.(lab)) ?? []),
];

for (const way of WAYS) {
  describe(way.title, () => {
    let on: AgentNode;
    let agent: AgentProcess;
    const write = (file: string, ...all: readonly object[]) => on.manifests.write(file, ...all);
    const aside = () => agent.metric("clusterset_agent_set_aside_services");
    const failures = () => agent.log.match(/Sync failed/g)?.length ?? 0;
    const rules = async () =>
      (await Promise.all(way.list.map((argv) => agent.node.exec(argv)))).join("");
    /** The endpoints of imports with such a name, as the tool lists them. */
    const endpoints = async (name: RegExp) => {
      const found = [...(await rules()).matchAll(way.endpoint)];
      return found.flatMap(([line, of = ""]) => (name.test(of) ? [line] : [])).sort();
    };
    const live = (name: RegExp, count: number) =>
      eventually(async () => assert.equal((await endpoints(name)).length, count), PATIENCE);

    before(async () => {
      on = await AgentNode.create();
      const path = ["env", `PATH=${on.lab.directory}:${process.env.PATH}`];
      const flags = ["--region", "eu-west", "--clusterset-cidr", "241.0.0.0/8", ...way.flags];
      agent = on.agent(flags, [...path, ...(await way.program(on.lab))]);
    });
    after(() => on?.[Symbol.asyncDispose]());

    test("two rejected services do not prevent the programming of all others", async () => {
      const good = (n: number) =>
        objects(`good-${n}`, `241.1.${n >> 8}.${n & 255}`, HTTP, way.each, way.each * n);
      write("good", ...Array.from({ length: way.good }, (_, i) => good(i + 1)).flat());
      write("one", ...way.offender("one", "241.0.0.1"));
      // With nftables, it is larger than a batch of netlink.
      write("two", ...way.offender("two", "241.0.0.2", 1200));
      agent.launch();
      await eventually(async () => assert.equal(await aside(), 2), PATIENCE);
      await agent.page("/readyz");
      assert.equal((await endpoints(/^good-/)).length, way.good * way.each);
      assert.doesNotMatch(await rules(), /shop\/(one|two):/);
      assert.match(agent.log, way.logged);
      const quarantined = `shop/two:${way.port}.*Quarantined a port that the kernel rejects`;
      assert.match(agent.log, new RegExp(quarantined));
      const { setAside } = JSON.parse(await agent.page("/plan/shop/one"));
      const { servicePort, reason } = setAside[0];
      assert.deepEqual([servicePort, reason], [`shop/one:${way.port}`, "refused-by-kernel"]);
      assert.equal(failures(), way.failures);
      assert.equal(agent.log.match(/Rules are in sync again/g)?.length ?? 0, way.failures);
    });

    test("changes of other services are live, without a failed pass", async () => {
      write("new", ...objects("new", "241.0.0.3", HTTP, 1));
      await live(/^new$/, 1);
      assert.equal(failures(), way.failures);
      assert.equal(await aside(), 2);
    });

    test("of a change with a third rejected service the others are live, and existing rules stay", async () => {
      const before = await endpoints(/^good-/);
      write("bundle", ...way.third(), ...objects("four", "241.0.0.5", HTTP, 1));
      await eventually(async () => assert.equal(await aside(), 3), PATIENCE);
      await live(/^four$/, 1);
      assert.deepEqual(await endpoints(/^good-/), before);
    });

    if (way.port === "signal") {
      test("unsupported affinity is left out, and the service is programmed", async () => {
        const [made, ...slices] = objects("new", "241.0.0.3", HTTP, 2);
        const spec = { ...Object(made).spec, sessionAffinity: "ClientIP" };
        write("new", { ...made, spec }, ...slices);
        await live(/^new$/, 2);
        await eventually(async () => assert.equal(await aside(), 4));
        assert.match(agent.log, /shop\/new:http.*Session affinity is not supported/);
        assert.doesNotMatch(await rules(), /recent/);
      });
    } else {
      test("an element of another program in the place of one of ours is replaced, and blocks no other", async () => {
        const theirs = "{ 241.0.0.7 . tcp . 80 . none : 192.0.2.1 . 9 }";
        await agent.node.exec(["nft", `add element ip clusterset-proxy endpoints ${theirs}`]);
        const of = (name: string, vip: string) => objects(name, vip, HTTP, 1);
        write("more", ...of("five", "241.0.0.7"), ...of("six", "241.0.0.8"));
        await live(/^(five|six)$/, 2);
        assert.doesNotMatch(await rules(), /192\.0\.2\.1/);
        assert.equal(await aside(), 3);
      });
    }

    test("a changed service is programmed once the kernel accepts it", async () => {
      const before = await aside();
      write("one", ...way.healed(on.lab));
      await eventually(async () => assert.ok((await endpoints(/^one$/)).length > 0), PATIENCE);
      await eventually(async () => assert.ok((await aside()) < before), PATIENCE);
      assert.equal((await agent.stop()).code, 0, agent.log);
    });
  });
}
