import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { MASQUERADES } from "../../agent/backends/backend.ts";
import type { GuardOptions } from "../../agent/backends/ipvs/guard.ts";
import { marksOf, renderElements, renderTables } from "../../agent/backends/ipvs/nft-tables.ts";
import type { GuardSets } from "../../agent/backends/ipvs/state.ts";
import { serviceKey } from "../../agent/backends/nft/service-key.ts";
import { NftProcess } from "../../agent/system/nft-process.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { changedChains } from "../backends/changed-chains.ts";
import { cidr } from "../generators/facts.ts";
import { parseListing } from "../ipvs/listing.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";

const RANGES = { IPv4: "241.0.0.0/8", IPv6: "fd00:241::/32" } as const;
const ONE = { IPv4: "f1000001", IPv6: `fd000241${"0".repeat(23)}1` } as const;
const OTHER = { IPv4: "01020304", IPv6: `20010db8${"0".repeat(24)}` } as const;
/** As long as an import's name can be. */
const LONGEST = `${"n".repeat(63)}/${"s".repeat(63)}`;

function optionsOf(family: Family, mode: (typeof MASQUERADES)[number] = "none"): GuardOptions {
  const podCidrs = [cidr("10.1.0.0/16"), cidr("10.9.0.0/16"), cidr("fd00:10:1::/48")];
  return { family, clusterSetCidrs: [cidr(RANGES[family])], masquerade: { mode, podCidrs } };
}

function setsOf(family: Family): GuardSets {
  const [address, other] = [ONE[family], OTHER[family]];
  return {
    served: new Map([
      [serviceKey({ address, protocol: "TCP", port: 80 }), "demo/serve"],
      [serviceKey({ address, protocol: "UDP", port: 53 }), "demo/dns"],
      [serviceKey({ address: other, protocol: "SCTP", port: 65535 }), LONGEST],
    ]),
    explicit: new Set([other]),
  };
}

const NONE: GuardSets = { served: new Map(), explicit: new Set() };

function tableOf(family: Family): readonly string[] {
  return [family === "IPv4" ? "ip" : "ip6", "csp-ipvs"];
}

/** The comments of the guard's rules, without those of the ARP table. */
function guardMarks(options: GuardOptions): string[] {
  return marksOf(options).filter((mark) => !mark.startsWith("arp "));
}

/** What nft shows in a network namespace of its own after it was given these texts, one after the other. */
function listed(family: Family, ...texts: readonly string[]) {
  const table = tableOf(family).join(" ");
  const steps = texts.map((_, i) => `printf '%s' "$T${i}" | nft -f -`).join(" && ");
  const env = { ...process.env, ...Object.fromEntries(texts.map((text, i) => [`T${i}`, text])) };
  const script = `${steps} && nft -j list table ${table}`;
  return parseListing(
    execFileSync("unshare", ["-n", "sh", "-c", script], { env, encoding: "utf8" }),
  );
}

describe("the table of IPVS's guard, as nft accepts and lists it", () => {
  for (const family of FAMILIES) {
    for (const mode of MASQUERADES) {
      test(`${family}, masquerade ${mode}: the table is read as written`, () => {
        const [options, sets] = [optionsOf(family, mode), setsOf(family)];
        const found = listed(family, renderTables(options, sets));
        assert.deepEqual(found, { sets, rules: guardMarks(options) });
      });
    }

    test(`${family}: one nft changes elements in one transaction each, and replaces the table; a rejected transaction changes nothing`, async () => {
      await using lab = await Lab.oneNode();
      const { within } = lab.node("c1", "n1");
      const [first = "", ...rest] = within;
      let respawns = 0;
      const nft = new NftProcess({
        program: [first, ...rest, "nft"],
        onRespawn: () => respawns++,
      });
      const table = tableOf(family);
      const found = async () => {
        const text = await lab.node("c1", "n1").exec(["nft", "-j", "list", "table", ...table]);
        return parseListing(text)?.sets;
      };
      const change = (...lines: readonly string[]) =>
        nft.run(lines.map((line) => `${line}\n`).join(""));
      const [options, sets] = [optionsOf(family), setsOf(family)];
      await nft.run(renderTables(options, NONE));
      await change(...renderElements(family, NONE, sets));
      assert.deepEqual(await found(), sets);
      const back = renderElements(family, sets, NONE);
      const wrong = `add element ${table.join(" ")} nowhere { 1.2.3.4 }`;
      await assert.rejects(change(...back, wrong), {
        code: "CSP_EXEC_FAILED",
        message: /nft: Error: No such file or directory/,
      });
      await assert.rejects(change("no command at all"), { code: "CSP_EXEC_FAILED" });
      assert.deepEqual(await found(), sets);
      await change(...back);
      assert.deepEqual(await found(), NONE);
      await nft.run(renderTables(options, sets));
      await nft.run(renderTables(options, NONE));
      assert.deepEqual(await found(), NONE);
      assert.equal(respawns, 0, "by one process");
      await nft.close();
    });

    test(`${family}: a rule that another program adds or deletes is found`, () => {
      const options = optionsOf(family);
      const table = tableOf(family).join(" ");
      for (const change of [
        `insert rule ${table} guard accept`,
        `flush chain ${table} guard`,
        `add rule ${table} input drop`,
      ]) {
        const found = listed(family, renderTables(options, NONE), change);
        assert.notDeepEqual(found?.rules, guardMarks(options), change);
      }
    });

    test(`${family}: a change that no rule shows is found, and replacing the tables repairs it`, async () => {
      await using lab = await Lab.oneNode();
      const options = optionsOf(family);
      const commands = [
        ...changedChains(tableOf(family).join(" "), "forward"),
        ...(family === "IPv4" ? changedChains("arp csp-ipvs", "input") : []),
      ];
      const file = join(lab.directory, "guard.nft");
      writeFileSync(file, renderTables(options, NONE));
      const script = `
        import { execFileSync } from "node:child_process";
        import { listGuard } from "@/agent/backends/ipvs/list.ts";
        const [family, file, ...commands] = process.argv.slice(1);
        const show = async () => console.log(JSON.stringify((await listGuard(family, "elements")).rules));
        const write = () => execFileSync("nft", ["-f", file]);
        write();
        await show();
        for (const command of commands) {
          execFileSync("sh", ["-c", command]);
          await show();
          write();
          await show();
        }`;
      const args = [family, file, ...commands.map(({ command }) => command)];
      const found = await evaluate(lab.node("c1", "n1"), script, { args });
      const marks = marksOf(options);
      assert.equal(found.length, 2 * commands.length + 1);
      for (const [i, rules] of found.entries()) {
        const { what } = commands[(i - 1) >> 1] ?? { what: "nothing" };
        if (i % 2 === 0) assert.deepEqual(rules, marks, `after ${what}`);
        else assert.ok(rules.includes(""), what);
      }
    });
  }
});

/** Connects to HOST PORT, and prints what comes; says `one` at once, and `two` at SIGHUP. */
const CLIENT = `
const [host, port] = process.argv.slice(1);
const socket = require("node:net").connect({ host, port: Number(port) }, () => socket.write("one\\n"));
socket.on("data", (text) => process.stdout.write(text));
socket.on("error", ({ code }) => console.log(code));
process.on("SIGHUP", () => socket.write("two\\n"));
`;

describe("a connection without a conntrack entry", () => {
  for (const [loose, state] of [
    ["1", "new"],
    ["0", "invalid"],
  ] as const) {
    test(`continues while its port is served, although its next packet is ${state}`, async () => {
      await using lab = await Lab.oneNode({ client: [] });
      const node = lab.node("c1", "n1");
      const sets: GuardSets = {
        served: new Map([[serviceKey({ address: ONE.IPv4, protocol: "TCP", port: 80 }), "a/b"]]),
        explicit: new Set<string>(),
      };
      const table = `${lab.directory}/guard.nft`;
      writeFileSync(table, renderTables(optionsOf("IPv4"), sets));
      await node.exec(["nft", "-f", table]);
      // A program that listens on the node replaces the endpoint.
      await node.exec(["nft", "flush", "chain", "ip", "csp-ipvs", "strays"]);
      await node.exec(["ip", "address", "add", "241.0.0.1/32", "dev", "lo"]);
      await node.exec(["sysctl", "-w", `net.netfilter.nf_conntrack_tcp_loose=${loose}`]);
      node.spawn(["socat", "TCP-LISTEN:80,fork,reuseaddr", "EXEC:cat"]);
      await eventually(async () => assert.match(await node.exec(["ss", "-ltn"]), /:80 /));
      const argv = [process.execPath, "-e", CLIENT, "241.0.0.1", "80"];
      const client = lab.pod("c1", "n1", "client").spawn(argv);
      await client.line(/one/);
      await node.exec(["conntrack", "-F"]);
      client.signal("SIGHUP");
      await client.line(/two/);
      assert.deepEqual(client.lines, ["one", "two"]);
    });
  }
});
