import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finished } from "../../agent/backends/backend.ts";
import { IptablesLayout } from "../../agent/backends/iptables/layout.ts";
import { Model } from "../../agent/model/model.ts";
import { parseImport } from "../../agent/model/parse-import.ts";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { FAMILIES } from "../../api/address.ts";
import { containsAny, ofFamily } from "../../api/cidr.ts";
import { problemText } from "../../api/problem.ts";
import { pureTable } from "../doubles/pure-table.ts";
import { address, importFact, nodeFact, sliceFact } from "../generators/facts.ts";
import { serviceImport } from "../generators/hostile-imports.ts";
import { endpointSlice } from "../generators/hostile-slices.ts";
import { mutated } from "../generators/mutations.ts";

/**
 * Every line that the iptables backend may ever write, spelled out a second time: what does not match has
 * come from somewhere else than our own templates.
 */

const V4 = String.raw`(?:\d{1,3}\.){3}\d{1,3}`;
const V6 = "[0-9a-f:]{2,39}";
const RANGE = String.raw`(?:${V4}/\d{1,2}|${V6}/\d{1,3})`;
const DIGITS = `(?:${V4}/${V4}|${V6}/${V6})`;
const MASKED = `(?:${DIGITS}|${V4}/1|${V6}/1)`;
const CHAIN = "CSP-[-A-Za-z0-9./]{1,24}";
const COMMENT = `-m comment --comment (?:[-A-Za-z0-9]{1,255}|"[-A-Za-z0-9_/:. ]{1,255}")`;
const PROTOCOL = "(?:tcp|udp|sctp)";
const PORT = String.raw`\d{1,5}`;
const LIST = String.raw`--name CSP-[-a-z0-9.:]{1,180} --mask (?:255\.255\.255\.255|ffff(?::ffff){7}) --rsource`;
const CHANCE = String.raw`-m statistic --mode random --probability 0\.\d{11}`;
const DNAT = String.raw`-j DNAT --to-destination (?:${V4}|\[${V6}\]):${PORT}`;
const MASQUERADE = "-j MASQUERADE --random-fully";
const ORIGINAL = `-m conntrack --ctstate DNAT --ctorigdst (?:${RANGE}|${V4}|${V6})`;
const NOT_LED_HERE = "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT";

const LINES = [
  String.raw`\*(?:filter|nat)`,
  "COMMIT",
  String.raw`:${CHAIN} - \[0:0\]`,
  `-X ${CHAIN}`,
  // Dispatch.
  `-A ${CHAIN} -d ${DIGITS} -g ${CHAIN}`,
  `-A ${CHAIN} -d ${RANGE} -p ${PROTOCOL} -m ${PROTOCOL} --dport ${PORT} ${COMMENT} (?:-g ${CHAIN}|-j RETURN)`,
  // A service.
  `-A ${CHAIN} -p ${PROTOCOL} ${COMMENT} -m recent --update --seconds \\d{1,5} --reap ${LIST} ${DNAT}`,
  `-A ${CHAIN} -p ${PROTOCOL} ${COMMENT}(?: ${CHANCE})?(?: -m recent --set ${LIST})? ${DNAT}`,
  // Masquerading.
  `-A CSP-HAIRPIN -s ${MASKED} -d ${MASKED} -j RETURN`,
  `-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN`,
  `-A ${CHAIN} -[sd] ${RANGE} ${COMMENT} -j RETURN`,
  `-A ${CHAIN} ${COMMENT} ${MASQUERADE}`,
  `-A ${CHAIN} ${ORIGINAL} -g ${CHAIN}`,
  // The guard.
  `-A ${CHAIN} -p tcp -m conntrack --ctstate NEW ${COMMENT} -j REJECT --reject-with tcp-reset`,
  `-A ${CHAIN} -m conntrack --ctstate NEW ${COMMENT} -j REJECT --reject-with icmp6?-port-unreachable`,
  `-A ${CHAIN} ${COMMENT} -j DROP`,
  // Jumps.
  `-I (?:FORWARD|OUTPUT) 1 -d ${RANGE} ${NOT_LED_HERE} ${COMMENT} -j ${CHAIN}`,
  `-I (?:FORWARD|OUTPUT|PREROUTING) 1 -d ${RANGE} ${COMMENT} -j ${CHAIN}`,
  `-I POSTROUTING 1 ${ORIGINAL} ${COMMENT} -j ${CHAIN}`,
  `-D (?:FORWARD|OUTPUT) -d ${RANGE} ${NOT_LED_HERE} ${COMMENT} -j ${CHAIN}`,
  `-D (?:FORWARD|OUTPUT|PREROUTING) -d ${RANGE} ${COMMENT} -j ${CHAIN}`,
  `-D POSTROUTING ${ORIGINAL} ${COMMENT} -j ${CHAIN}`,
].map((line) => new RegExp(`^${line}$`));

/** The lines of a transaction that the backend cannot have meant. */
function foreignLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  // The last line ends, too.
  const last = lines.pop();
  const foreign = lines.filter((line) => !LINES.some((known) => known.test(line)));
  return last === "" ? foreign : [...foreign, last ?? ""];
}

const node = nodeFact();

const anyImport = fc.oneof(
  mutated(
    serviceImport(
      {
        ips: ["241.0.0.10", "198.51.100.1", "fd00:241::10"],
        ipFamilies: ["IPv4", "IPv6"],
        ports: [
          { name: "http", port: 80, protocol: "TCP" },
          { name: "dns", port: 53, protocol: "UDP" },
        ],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        trafficDistribution: "PreferClose",
        internalTrafficPolicy: "Cluster",
      },
      {
        creationTimestamp: "2026-01-02T03:04:05Z",
        annotations: {
          "clusterset-proxy.io/cluster-selectors": "[]",
          "clusterset-proxy.io/cluster-weights": "c1=1,c2=9",
          "clusterset-proxy.io/min-ready": "30%",
          "clusterset-proxy.io/unselected-clusters": "last",
        },
      },
    ),
  ),
  mutated(serviceImport()),
);

const ENDPOINTS = [
  { addresses: ["10.1.0.1"], nodeName: "n1", zone: "eu-west-a", conditions: { ready: true } },
  { addresses: ["10.1.0.2"], conditions: { ready: false, serving: true, terminating: true } },
  { addresses: ["10.2.0.3", "10.2.0.4"], nodeName: "n2" },
];
const SIXTH = ENDPOINTS.map((endpoint, i) => ({ ...endpoint, addresses: [`fd10:1::${i + 1}`] }));

const anySlice = fc.oneof(
  mutated(endpointSlice({ endpoints: ENDPOINTS })),
  mutated(
    endpointSlice({
      endpoints: SIXTH,
      addressType: "IPv6",
      ports: [
        { name: "http", port: 8080 },
        { name: "dns", port: 5353, protocol: "UDP" },
      ],
    }),
  ),
);

test("parsers do not throw, whatever the value, and each problem is one printable line", () => {
  const anything = fc.oneof(fc.jsonValue({ stringUnit: "binary" }), anyImport, anySlice);
  fc.assert(
    fc.property(anything, (value) => {
      for (const parsed of [parseImport(value), parseSlice(value, node.clusterSetCidrs)]) {
        assert.ok(parsed.problems.length <= 100);
        for (const problem of parsed.problems) {
          assert.match(problemText(problem), /^[\x20-\x7e]{1,600}$/);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test("for any object, iptables-restore gets only lines of our grammar, in the right number", () => {
  let rendered = 0;
  fc.assert(
    fc.property(anyImport, fc.array(anySlice, { maxLength: 3 }), (importObject, sliceObjects) => {
      const model = new Model();
      const { fact } = parseImport(importObject);
      if (fact !== undefined) model.setImport(fact, 0);
      for (const object of sliceObjects) {
        const slice = parseSlice(object, node.clusterSetCidrs).fact;
        if (slice !== undefined) model.setSlice(slice, 0);
      }
      for (const family of FAMILIES) {
        const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
        const masquerade = { mode: "off-cluster", podCidrs: node.podCidrs } as const;
        const explicitVipCidrs = ofFamily(node.explicitVipCidrs, family);
        const options = { family, clusterSetCidrs, explicitVipCidrs, masquerade };
        const backend = pureTable(new IptablesLayout(options));
        const ruleset = backend.ruleset();
        const services: VirtualService[] = [];
        for (const key of model.keys()) {
          const view = model.view(key);
          assert.ok(view);
          const own = planImport(view, node).services.filter((s) => s.family === family);
          ruleset.set(key, own);
          services.push(...own);
        }
        const changes = finished(ruleset.take());
        const text = finished(backend.diff(backend.empty(), changes)).toString();
        assert.deepEqual(foreignLines(text), []);
        assert.equal(count(text, / -j DNAT /), meantEndpointRules(services));
        const entries = meantEntries(services, () => true);
        const isExplicit = (vip: string) => !containsAny(clusterSetCidrs, address(vip));
        assert.equal(count(text, / --dport /), entries + meantEntries(services, isExplicit));
        assert.equal(count(text, /^\*/), 2);
        assert.equal(count(text, /^COMMIT$/), 2);
        rendered += services.length;
      }
    }),
    { numRuns: 600 },
  );
  assert.ok(rendered > 600, `only ${rendered} services got so far`);
});

test("whatever objects another namespace has, with the same VIPs and endpoints, an import is planned as it is without them", () => {
  const vips = ["241.0.0.10", "198.51.100.1", "fd00:241::10"];
  const shop = () => {
    const model = new Model(node.clusterSetCidrs);
    for (const vip of vips) model.setHolder(vip, "shop/web", 0);
    model.setImport(importFact({ key: "shop/web", vips }), 0);
    const slice = { key: "shop/web-x", importKey: "shop/web", endpoints: ["10.1.0.1"] } as const;
    model.setSlice(sliceFact(slice), 0);
    return model;
  };
  const planned = (model: Model) => planImport(model.view("shop/web") ?? assert.fail(), node);
  const alone = planned(shop());
  assert.deepEqual(new Set(alone.services.flatMap((one) => one.vips)), new Set(vips));
  fc.assert(
    fc.property(fc.array(fc.oneof(anyImport, anySlice), { maxLength: 6 }), (objects) => {
      const model = shop();
      for (const object of objects) {
        const { fact } = parseImport(object);
        if (fact !== undefined) model.setImport(fact, 0);
        const slice = parseSlice(object, node.clusterSetCidrs).fact;
        if (slice !== undefined) model.setSlice(slice, 0);
      }
      assert.deepEqual(planned(model), alone);
    }),
    { numRuns: 600 },
  );
});

function count(text: string, pattern: RegExp): number {
  return text.split("\n").filter((line) => pattern.test(line)).length;
}

/** With affinity, each endpoint has a second rule. */
function meantEndpointRules(services: readonly VirtualService[]): number {
  const rules = services.map((s) => s.endpoints.length * (s.affinitySeconds === undefined ? 1 : 2));
  return rules.reduce((a, b) => a + b, 0);
}

/** A rule of the dispatch for each VIP and port; and one of the guard, if the VIP is explicit. */
function meantEntries(services: readonly VirtualService[], of: (vip: string) => boolean): number {
  return services.reduce((sum, { vips }) => sum + vips.filter(of).length, 0);
}

test("the grammar rejects a foreign line", () => {
  const own = "*nat\n:CSP-A - [0:0]\n-A CSP-A -d 0.0.0.9/0.0.0.15 -g CSP-B\nCOMMIT\n";
  assert.deepEqual(foreignLines(own), []);
  assert.deepEqual(foreignLines(`${own}-A INPUT -j ACCEPT\n`), ["-A INPUT -j ACCEPT"]);
  assert.deepEqual(foreignLines('-A CSP-A -m comment --comment "a" -j ACCEPT" -j DROP\n'), [
    '-A CSP-A -m comment --comment "a" -j ACCEPT" -j DROP',
  ]);
  assert.deepEqual(foreignLines("COMMIT"), ["COMMIT"], "a line that does not end");
});
