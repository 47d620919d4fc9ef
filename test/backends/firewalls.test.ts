import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { ConntrackStage, REJECTED, VIP } from "../conntrack/stage.ts";
import { eventually } from "../stages/agent-process.ts";

/** As firewalld writes it: base chains 10 after those of others, which accept what is DNATed, and reject the rest. */
const FIREWALLD = `
add table inet firewalld
delete table inet firewalld
table inet firewalld {
  chain nat_PREROUTING { type nat hook prerouting priority dstnat + 10; policy accept; }
  chain filter_FORWARD {
    type filter hook forward priority filter + 10; policy accept;
    ct state { established, related } accept
    ct status dnat accept
    ct state invalid drop
    reject with icmpx admin-prohibited
  }
  chain filter_OUTPUT {
    type filter hook output priority filter + 10; policy accept;
    ct state { established, related } accept
  }
}`;
/** As ufw writes it, with a rule for the network of pods: its whole table, which deletes what others had in it. */
const UFW = `*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:ufw-before-forward - [0:0]
-A FORWARD -j ufw-before-forward
-A ufw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A ufw-before-forward -s 10.1.0.0/16 -j ACCEPT
COMMIT
`;

for (const backend of BACKENDS) {
  describe(`beside firewalls, ${backend.title}`, () => {
    let stage: ConntrackStage;
    const load = (tool: string, text: string) =>
      stage.node.exec(["sh", "-c", `printf '%s\\n' "$1" | ${tool}`, "sh", text]);
    /** The import answers, and a port that it does not have is rejected at once. */
    const works = () =>
      eventually(async () => {
        assert.equal(await stage.answer(), "a");
        assert.equal(await stage.answer(`${VIP}:81`), REJECTED);
      });
    before(async () => {
      stage = await ConntrackStage.create({ backend });
      stage.writeImport();
      stage.writeSlices(["a"]);
      await stage.agent.start();
      await works();
    });
    after(() => stage[Symbol.asyncDispose]());

    test("with firewalld's tables, after its reload, and after a flushed ruleset and its reload", async () => {
      await load("nft -f -", FIREWALLD);
      await works();
      await load("nft -f -", FIREWALLD);
      await works();
      await load("nft -f -", `flush ruleset\n${FIREWALLD}`);
      await works();
      await stage.node.exec(["nft", "delete", "table", "inet", "firewalld"]);
    });

    test("after ufw's load of the whole filter table, with DROP for what is forwarded by default", async () => {
      const flavour = backend.config.iptablesFlavour ?? "nft";
      await load(`iptables-${flavour}-restore -w`, UFW);
      await works();
    });
  });
}
