import fc from "fast-check";
import type { Family } from "../../../api/address.ts";
import type { TableName } from "./place.ts";

const CHAINS = ["CSP-A", "CSP-B", "CSP-C", "CSP-241.0.0.0/20"] as const;
const BASES = {
  nat: ["PREROUTING", "OUTPUT", "POSTROUTING"],
  filter: ["FORWARD", "OUTPUT"],
} as const;

const chain = fc.constantFrom(...CHAINS);
const protocol = fc.constantFrom("tcp", "udp", "sctp");
const word = fc.string({ unit: fc.constantFrom(..."ab0-_./: \"'\\#!".split("")), maxLength: 12 });

/** `text` as one word of a line, quoted even where it need not be. */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function range(family: Family): fc.Arbitrary<string> {
  const host = fc.integer({ min: 0, max: 255 });
  if (family === "IPv4") {
    const text = fc.tuple(host, host).map(([a, b]) => `241.0.${a}.${b}`);
    return fc.tuple(text, fc.integer({ min: 0, max: 32 })).map(([a, bits]) => `${a}/${bits}`);
  }
  const group = fc.constantFrom("0", "0", "1", "f00");
  const text = fc
    .array(group, { minLength: 7, maxLength: 7 })
    .map((groups) => `fd00:${groups.join(":")}`);
  return fc.tuple(text, fc.integer({ min: 0, max: 128 })).map(([a, bits]) => `${a}/${bits}`);
}

function match(family: Family): fc.Arbitrary<string> {
  const state = fc.constantFrom("NEW", "ESTABLISHED", "RELATED", "INVALID", "DNAT", "SNAT");
  return fc.oneof(
    word.map((text) => `-m comment --comment ${quote(text)}`),
    fc
      .double({ min: 0, max: 1, noNaN: true })
      .map((p) => `-m statistic --mode random --probability ${p.toFixed(15)}`),
    // The halves: multiples of 1/4096 print with a digit more than the listing has.
    fc
      .integer({ min: 0, max: 4096 })
      .map((k) => `-m statistic --mode random --probability ${k / 4096}`),
    fc
      .integer({ min: 1, max: 5000 })
      .map((n) => `-m statistic --mode random --probability ${(1 / n).toFixed(11)}`),
    fc
      .constantFrom("a", "CSP-demo.serve-10.0.0.1")
      .map((list) => `-m recent --set --name ${list} --rsource`),
    fc
      .integer({ min: 1, max: 99999 })
      .map((s) => `-m recent --update --seconds ${s} --reap --name a --rsource`),
    fc
      .tuple(fc.constantFrom("", "! "), fc.uniqueArray(state, { minLength: 1 }))
      .map(([not, states]) => `-m conntrack ${not}--ctstate ${states.join(",")}`),
    range(family).map((r) => `-m conntrack --ctstate DNAT --ctorigdst ${r}`),
  );
}

/** What the table allows, for a rule with `-p` or without. */
function target(family: Family, table: TableName, hasProtocol: boolean): fc.Arbitrary<string> {
  const host = family === "IPv4" ? "10.0.0.1" : "[fd01::1]";
  const port = fc.nat(65535).map((port) => `-j DNAT --to-destination ${host}:${port}`);
  const others =
    table === "nat"
      ? [fc.constant("-j MASQUERADE --random-fully"), ...(hasProtocol ? [port] : [])]
      : [fc.constantFrom("-j DROP", "-j REJECT")];
  return fc.oneof(
    fc.constantFrom("-j RETURN", "-j ACCEPT"),
    fc.tuple(fc.constantFrom("-j", "-g"), chain).map((parts) => parts.join(" ")),
    ...others,
  );
}

function rule(family: Family, table: TableName): fc.Arbitrary<string> {
  const some = (option: string) => range(family).map((r) => `${option} ${r}`);
  const of = fc.oneof(
    fc.constant(""),
    protocol.map((p) => `-p ${p}`),
    fc.tuple(protocol, fc.nat(65535)).map(([p, n]) => `-p ${p} -m ${p} --dport ${n}`),
  );
  return of
    .chain((protocol) =>
      fc.tuple(
        fc.option(some("-s"), { nil: "", freq: 1 }),
        fc.option(some("-d"), { nil: "" }),
        fc.constant(protocol),
        fc.array(match(family), { maxLength: 2 }).map((matches) => matches.join(" ")),
        fc.option(target(family, table, protocol !== ""), { nil: "", freq: 9 }),
      ),
    )
    .map((parts) => parts.filter((part) => part !== "").join(" "));
}

function command(family: Family, table: TableName): fc.Arbitrary<string> {
  const base = fc.constantFrom(...BASES[table]);
  const place = fc.oneof({ weight: 4, arbitrary: chain }, { weight: 1, arbitrary: base });
  const body = rule(family, table);
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(place, body).map(([c, r]) => `-A ${c} ${r}`) },
    { weight: 2, arbitrary: fc.tuple(place, body).map(([c, r]) => `-I ${c} 1 ${r}`) },
    { weight: 1, arbitrary: fc.tuple(place, body).map(([c, r]) => `-A ${c} ${r}\n-D ${c} ${r}`) },
    { weight: 1, arbitrary: place.map((c) => `-F ${c}`) },
    { weight: 1, arbitrary: chain.map((c) => `-X ${c}`) },
  );
}

/**
 * Inputs of iptables-restore, one run after the other: most transactions declare the chains that they need,
 * so that about as many are accepted as refused.
 */
export function restoreTexts(family: Family): fc.Arbitrary<string[]> {
  const section = fc.constantFrom<TableName[]>("nat", "nat", "filter").chain((table) =>
    fc
      .tuple(
        fc.oneof(
          { weight: 3, arbitrary: fc.constant<readonly string[]>(CHAINS) },
          { weight: 1, arbitrary: fc.subarray([...CHAINS]) },
        ),
        fc.array(command(family, table), { maxLength: 4 }),
      )
      .map(([chains, commands]) => {
        const lines = [...chains.map((name) => `:${name} - [0:0]`), ...commands];
        return [`*${table}`, ...lines, "COMMIT", ""].join("\n");
      }),
  );
  const run = fc
    .array(section, { minLength: 1, maxLength: 2 })
    .map((sections) => sections.join(""));
  return fc.array(run, { minLength: 1, maxLength: 4 });
}
