import assert from "node:assert/strict";
import { test } from "node:test";
import { liveChainOf, liveElementOf } from "./live-text.ts";

const RULE =
  '-A CSP-1 -p tcp -m comment --comment "bench/live:http local c1" -j DNAT --to-destination 10.2.1.11:8080';

test("Only the chain of the changed service is written, as rendered", () => {
  const others = [
    "*nat",
    ":CSP-1 - [0:0]",
    '-A CSP-0 -d 241.0.1.7/32 -m comment --comment "bench/live:http" -g CSP-1',
    RULE.replace("live", "lively").replace("CSP-1", "CSP-2"),
  ];
  const expected = ["*nat", ":CSP-1 - [0:0]", RULE, "COMMIT", ""].join("\n");
  assert.equal(liveChainOf([...others, RULE, "COMMIT", ""].join("\n")), expected);
  assert.throws(() => liveChainOf(others.join("\n")), /no chain has rules/);
});

test("Only the element of the changed service is replaced, by itself", () => {
  const element = '241.0.1.7 . tcp . 80 comment "bench/live:http local" : 0:a';
  const listing = [
    "table ip clusterset-proxy {",
    "\tmap services {",
    "\t\ttype ipv4_addr . inet_proto . inet_service : classid",
    `\t\telements = { ${element} }`,
    "\t}",
    "}",
  ].join("\n");
  const map = "element ip clusterset-proxy services";
  assert.equal(
    liveElementOf(listing),
    `delete ${map} { 241.0.1.7 . tcp . 80 }\nadd ${map} { ${element} }\n`,
  );
  assert.throws(() => liveElementOf(listing.replace(element, "")), /no element/);
});
