import assert from "node:assert/strict";
import { test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { ConntrackStage } from "../conntrack/stage.ts";
import { eventually } from "../stages/agent-process.ts";

const VIP = { IPv4: "198.51.100.7", IPv6: "2001:db8::7" } as const;
/** The address itself, and another one whose subnet contains it. */
const ADDED = {
  IPv4: ["198.51.100.7/32", "198.51.100.1/24"],
  IPv6: ["2001:db8::7/128", "2001:db8::1/64"],
} as const;

for (const backend of BACKENDS) {
  test(`an explicit VIP that the node gets as an address is its own, and a VIP again when the address goes, ${backend.title}`, async () => {
    const flags = ["--explicit-vip-cidrs", "198.51.100.0/24,2001:db8::/32"];
    await using stage = await ConntrackStage.create({ backend, flags });
    stage.writeImport({}, Object.values(VIP));
    await stage.agent.start();
    await stage.use(["a"]);
    for (const family of ["IPv4", "IPv6"] as const) {
      const pod = stage.pod("a").address(family);
      for (const address of ADDED[family]) {
        const change = (verb: string) =>
          stage.node.exec(["ip", "address", verb, address, "dev", "lo"]);
        const untilTaken = (takers: readonly string[]) =>
          eventually(async () => {
            assert.deepEqual(await backend.takers(stage.node, family, "UDP"), takers);
          }, 20_000);
        await change("add");
        await untilTaken([]);
        const planned = `{"address":"${VIP[family]}","reason":"vip-reserved"}`;
        assert.ok((await stage.agent.page("/plan")).includes(planned));
        await change("del");
        await untilTaken([pod]);
      }
    }
    await stage.agent.stop();
  });
}
