import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { nftables } from "../backends/nftables.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AGENT, AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

// The nftables backend with the capability that deploy/base gives it, and no other, at a size that fills the socket's buffers.

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const SERVICES = 1000;
const EACH = 10;
/** Endpoints whose change fits into one batch of netlink, and some whose change does not. */
const LARGE = 500;
const HUGE = 1500;
const RIGHTS = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all,+net_admin"];

let on: AgentNode;
let agent: AgentProcess;

/** What nft was given to write. */
const written = () => readFileSync(join(on.lab.directory, "written"), "utf8");

before(async () => {
  on = await AgentNode.create();
  const { directory } = on.lab;
  const standIn = join(directory, "nft");
  const log = join(directory, "written");
  writeFileSync(log, "");
  const script = `case "$1" in -i|-f) tee -a ${log} | /usr/sbin/nft "$@" ;; *) exec /usr/sbin/nft "$@" ;; esac`;
  writeFileSync(standIn, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const path = `PATH=${directory}:${process.env.PATH}`;
  agent = on.agent(nftables.flags, ["env", path, ...RIGHTS, AGENT]);
});
after(() => on?.[Symbol.asyncDispose]());

/** An import with its endpoints in a network of its own, 10.network.0.0/16, from the `first` on. */
function objects(
  name: string,
  vip: string,
  network: number,
  endpoints: number,
  first = 0,
): object[] {
  const addresses = Array.from({ length: endpoints }, (_, i) => {
    const n = first + i;
    return `10.${network}.${n >> 8}.${n & 255}`;
  });
  // A slice holds 1,000.
  const slices = [0, 1000].map((from) => {
    const some = addresses.slice(from, from + 1000);
    return sliceObject(`${name}-${from}`, `shop/${name}`, { cluster: "c1" }, [HTTP], some);
  });
  return [importObject(`shop/${name}`, [vip], [HTTP]), ...slices];
}

/** The endpoints of these addresses. */
async function endpoints(pattern: RegExp): Promise<string[]> {
  const text = await on.node.exec(["nft", "list", "map", "ip", "clusterset-proxy", "endpoints"]);
  return [...text.matchAll(/ : (10\.\S+) \. 80/g)].flatMap(([, address = ""]) =>
    pattern.test(address) ? [address] : [],
  );
}

test("with CAP_NET_ADMIN only, the agent programs 10,000 endpoints by netlink", async () => {
  const one = (n: number) => objects(`web-${n}`, `241.0.${n >> 8}.${n & 255}`, 1, EACH, n * EACH);
  on.manifests.write("webs", ...Array.from({ length: SERVICES }, (_, n) => one(n + 1)).flat());
  await agent.start();
  assert.equal((await endpoints(/^10\.1\./)).length, SERVICES * EACH);
  assert.match(written(), /add chain ip clusterset-proxy pick-64/);
  assert.doesNotMatch(written(), / : 10\.1\./);
  assert.doesNotMatch(agent.log, /"level":"(warn|error)".*CSP_/);
});

test("a service with hundreds of endpoints changes in one batch, a larger one as text, each as a whole", async () => {
  const write = (first: number) =>
    on.manifests.write(
      "many",
      ...objects("large", "241.0.9.1", 2, LARGE, first),
      ...objects("huge", "241.0.9.2", 3, HUGE, first),
    );
  write(0);
  await eventually(async () => assert.equal((await endpoints(/^10\.3\./)).length, HUGE));
  write(5000);
  // 10.2.19.136 and 10.3.19.136 are the first.
  await eventually(async () => {
    assert.equal((await endpoints(/^10\.2\.(19\.1[3-9]|19\.2|2\d)/)).length, LARGE);
    assert.equal((await endpoints(/^10\.3\.(19\.1[3-9]|19\.2|2\d)/)).length, HUGE);
  });
  assert.equal((await endpoints(/^10\.[23]\./)).length, LARGE + HUGE);
  assert.doesNotMatch(written(), / : 10\.2\./);
  assert.match(written(), / : 10\.3\.19\.136 /);
  assert.doesNotMatch(agent.log, /Sync failed/);
});

test("a restart writes nothing, a change and the repair of a flushed table are programmed", async () => {
  assert.equal((await agent.stop()).code, 0);
  await agent.start();
  assert.deepEqual(await agent.writes(), [0, 0]);
  on.manifests.write("one", ...objects("one", "241.0.9.3", 4, 1));
  await eventually(async () => assert.deepEqual(await endpoints(/^10\.4\./), ["10.4.0.0"]));
  await on.node.exec(["nft", "flush", "ruleset"]);
  const all = SERVICES * EACH + LARGE + HUGE + 1;
  await eventually(async () => assert.equal((await endpoints(/./)).length, all));
});

test("cleanup with CAP_NET_ADMIN only deletes everything", async () => {
  assert.equal((await agent.stop()).code, 0);
  await on.node.exec([...RIGHTS, AGENT, "cleanup"]);
  assert.deepEqual(await nftables.own(on.node), []);
});
