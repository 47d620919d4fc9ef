import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import { renderMasquerade } from "./base-chains.ts";
import { chancesOf, renderEntry, renderService } from "./render.ts";
import { comment } from "./rule.ts";

describe("comment", () => {
  test("of 255 characters is kept, and a longer one is cut to 255, with an ellipsis", () => {
    const kept = "x".repeat(255);
    assert.equal(comment(kept), `-m comment --comment ${kept}`);
    assert.equal(comment(`${kept}x`), `-m comment --comment "${"x".repeat(252)}..."`);
    assert.equal(comment(kept.repeat(9)), comment(`${kept}x`));
  });
});

test("a connection reaches each endpoint with its cluster's share, divided by the endpoints of the cluster", () =>
  forAll([anyShared], ({ service, shareOf }) => {
    let left = 1;
    const chances = chancesOf(service);
    assert.equal(chances.at(-1), 1);
    for (const [i, endpoint] of service.endpoints.entries()) {
      const chance = left * (chances[i] ?? 0);
      left -= chance;
      assert.ok(Math.abs(chance - shareOf(endpoint)) < 1e-9, `${chance} ${shareOf(endpoint)}`);
    }
  }));

const CHAIN = "CSP-SVC-ZXRW4YYXZOJNWMBM";
const LISTS = "CSP-demo.serve";
const THREE = virtualService({
  endpoints: [
    { address: "10.1.0.1", port: 8080, cluster: "c1" },
    { address: "10.1.0.2", port: 8080, cluster: "c1" },
    { address: "10.1.0.3", port: 9090, cluster: "c1" },
  ],
});

describe("the chain of a service", () => {
  test("has all endpoints in order, each with an equal chance and a complete comment", () => {
    assert.deepEqual(renderService(THREE, LISTS), {
      name: CHAIN,
      rules: [
        `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -m statistic --mode random --probability 0.33333333349 -j DNAT --to-destination 10.1.0.1:8080`,
        `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -m statistic --mode random --probability 0.50000000000 -j DNAT --to-destination 10.1.0.2:8080`,
        `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -j DNAT --to-destination 10.1.0.3:9090`,
      ],
    });
  });

  test("shows in comments that endpoints only serve, and that their origin is unknown", () => {
    const [rule] = renderService(
      virtualService({
        reason: "nearest-serving",
        tier: "global",
        endpoints: [{ address: "10.2.0.1", port: 8080 }],
      }),
      LISTS,
    ).rules;
    assert.equal(
      rule,
      `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http global origin-unknown serving" -j DNAT --to-destination 10.2.0.1:8080`,
    );
  });

  test("of IPv6, UDP and a port without a name", () => {
    const service = virtualService({
      portName: "",
      protocol: "UDP",
      port: 53,
      family: "IPv6",
      vips: ["fd00:241::a"],
      tier: "regional",
      endpoints: [{ address: "fd10:2::1", port: 5353, cluster: "c2" }],
    });
    const { name, rules } = renderService(service, LISTS);
    assert.deepEqual(rules, [
      `-A ${name} -p udp -m comment --comment "demo/serve:53 regional c2" -j DNAT --to-destination [fd10:2::1]:5353`,
    ]);
    assert.equal(
      renderEntry(service, "fd00:241::a"),
      `-d fd00:241::a/128 -p udp -m udp --dport 53 -m comment --comment "demo/serve:53" -g ${name}`,
    );
  });

  test("with the longest possible names has comments that the kernel accepts", () => {
    const long = "x".repeat(63);
    const { rules } = renderService(
      virtualService({
        importKey: `${long}/${long}`,
        portName: long,
        reason: "nearest-serving",
        endpoints: [{ address: "10.1.0.1", port: 1, cluster: long }],
      }),
      LISTS,
    );
    for (const rule of rules) {
      assert.ok((/--comment "([^"]*)"/.exec(rule)?.[1]?.length ?? 999) <= 255);
    }
  });
});

describe("the entry of a VIP", () => {
  test("shows the reason, and leaves rejection to the guard", () => {
    assert.equal(
      renderEntry(virtualService({ reason: "no-endpoint-on-node", endpoints: [] }), "241.0.0.10"),
      '-d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http no-endpoint-on-node" -j RETURN',
    );
  });
});

test("the masquerade chain excludes pod ranges, says why, and takes ports at random", () => {
  const podCidrs = [cidr("10.1.0.0/16"), cidr("10.2.0.0/16"), cidr("fd10::/16")];
  assert.deepEqual(renderMasquerade({ mode: "off-cluster", podCidrs }, "IPv4").rules, [
    "-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN",
    '-A CSP-MASQUERADE -s 10.1.0.0/16 -m comment --comment "masquerade off-cluster" -j RETURN',
    '-A CSP-MASQUERADE -s 10.2.0.0/16 -m comment --comment "masquerade off-cluster" -j RETURN',
    '-A CSP-MASQUERADE -m comment --comment "masquerade off-cluster" -j MASQUERADE --random-fully',
  ]);
});
