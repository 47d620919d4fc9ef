import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../backends/service.ts";
import { evaluate, request } from "../lab/programs.ts";
import { AgentNode, eventually } from "../stages/agent-process.ts";

const VIP = "241.0.0.10";
const PODS = { a: "10.1.0.11", b: "10.1.0.12", c: "10.1.0.13" } as const;
/** Fills `clients` with other clients; prints how many fit. */
const FILL = `
  import { NftElements } from "@/agent/system/nftables/nft-elements.ts";
  const set = { name: "clients", key: ["address", "address"], value: ["number"] };
  const elements = new NftElements("IPv4", "clusterset-proxy");
  const add = async (from, count) => {
    const all = Array.from({ length: count }, (_, i) => ({ key: (from + i).toString(16).padStart(8, "0") + " f1000063", value: "1", comment: "" }));
    await elements.run([[{ kind: "add", set, elements: all }]], () => undefined);
  };
  let [next, step, full] = [0x0b000000, 1024, 0];
  while (step >= 1) {
    await add(next, step).then(() => { next += step; full += step; }, () => { step = Math.floor(step / 2); });
  }
  console.log(full);`;

test("nftables: with the memory of clients full, new clients are assigned by address: each to one endpoint, none rejected", async () => {
  const clients = ["d", "e", "f", "g"];
  const pods = Object.fromEntries([...Object.keys(PODS), ...clients].map((name) => [name, []]));
  await using on = await AgentNode.create(pods);
  await on.serve(...Object.keys(PODS));
  const spec = { sessionAffinity: "ClientIP" };
  on.manifests.write("web", ...service("demo/web", [VIP], Object.values(PODS), { spec }));
  const agent = on.agent(["--backend", "nftables"]);
  await agent.start();
  const answers = async (client: string): Promise<string[]> => {
    const text = await on.pod(client).exec(request("--count", "8", `tcp://${VIP}:80`));
    const lines = text.split("\n").filter((line) => line.startsWith('{"at"'));
    return lines.map((line) => JSON.parse(line).name);
  };
  await eventually(async () => assert.equal((await answers("d")).length, 8));
  const [remembered] = await answers("d");

  const [full] = await evaluate(on.node, FILL);
  assert.ok(full > 200_000);
  for (const client of clients) {
    const names = await answers(client);
    assert.equal(names.length, 8);
    assert.equal(new Set(names).size, 1, `${client} came to ${names.join()}`);
  }
  assert.equal((await answers("d"))[0], remembered);
  await agent.stop();
});
