import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import { renderGuard, renderMasquerade } from "./base-chains.ts";
import { explicitJumps, treeJumps } from "./jumps.ts";
import { chancesOf, guardEntry, renderEntry, renderService } from "./render.ts";
import { comment, withProbability } from "./rule.ts";

/** xt_statistic keeps a chance as a count of 1 / 2^31. */
function counted(probability: number): number {
  return Math.round(probability * 2 ** 31);
}

describe("withProbability", () => {
  test("of any number of endpoints is read back as the same chance", () => {
    for (let n = 2; n <= 5000; n++) {
      const probability = Number(
        withProbability(1 / n)
          .split(" ")
          .at(-1),
      );
      assert.equal(counted(probability), counted(1 / n), String(n));
    }
  });
});

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

  test("with affinity checks the lists of all endpoints before it selects one", () => {
    const two = { ...THREE, endpoints: THREE.endpoints.slice(0, 2), affinitySeconds: 60 };
    const start = `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1"`;
    const list = (address: string) =>
      `--name CSP-demo.serve-${address} --mask 255.255.255.255 --rsource`;
    assert.deepEqual(renderService(two, LISTS).rules, [
      `${start} -m recent --update --seconds 60 --reap ${list("10.1.0.1")} -j DNAT --to-destination 10.1.0.1:8080`,
      `${start} -m recent --update --seconds 60 --reap ${list("10.1.0.2")} -j DNAT --to-destination 10.1.0.2:8080`,
      `${start} -m statistic --mode random --probability 0.50000000000 -m recent --set ${list("10.1.0.1")} -j DNAT --to-destination 10.1.0.1:8080`,
      `${start} -m recent --set ${list("10.1.0.2")} -j DNAT --to-destination 10.1.0.2:8080`,
    ]);
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

test("the guard of IPv6 rejects new connections, and drops other packets", () => {
  const refused =
    '-m conntrack --ctstate NEW -m comment --comment "no endpoint for this ClusterSetIP and port" -j REJECT';
  assert.deepEqual(renderGuard("IPv6"), {
    name: "CSP-GUARD",
    rules: [
      `-A CSP-GUARD -p tcp ${refused} --reject-with tcp-reset`,
      `-A CSP-GUARD ${refused} --reject-with icmp6-port-unreachable`,
      '-A CSP-GUARD -m comment --comment "not a new connection" -j DROP',
    ],
  });
});

describe("the masquerade chain", () => {
  const podCidrs = [cidr("10.1.0.0/16"), cidr("10.2.0.0/16"), cidr("fd10::/16")];
  const rules = (
    mode: "none" | "off-cluster" | "remote" | "all",
    family: "IPv4" | "IPv6" = "IPv4",
  ) => renderMasquerade({ mode, podCidrs }, family).rules;
  const HAIRPIN = "-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN";

  test("of mode off-cluster excludes sources in pod ranges", () => {
    assert.deepEqual(rules("off-cluster"), [
      HAIRPIN,
      '-A CSP-MASQUERADE -s 10.1.0.0/16 -m comment --comment "masquerade off-cluster" -j RETURN',
      '-A CSP-MASQUERADE -s 10.2.0.0/16 -m comment --comment "masquerade off-cluster" -j RETURN',
      '-A CSP-MASQUERADE -m comment --comment "masquerade off-cluster" -j MASQUERADE --random-fully',
    ]);
  });

  test("of mode remote excludes destinations in pod ranges", () => {
    assert.deepEqual(rules("remote").slice(1, 2), [
      '-A CSP-MASQUERADE -d 10.1.0.0/16 -m comment --comment "masquerade remote" -j RETURN',
    ]);
    assert.equal(rules("remote").length, 4);
  });

  test("of mode all has no exclusion", () => {
    assert.deepEqual(rules("all"), [
      HAIRPIN,
      '-A CSP-MASQUERADE -m comment --comment "masquerade all" -j MASQUERADE --random-fully',
    ]);
  });
});

test("the guard of an explicit VIP admits connections that are DNATed to it", () => {
  const mark = "-m comment --comment clusterset-proxy";
  assert.deepEqual(explicitJumps("2001:db8::1/128", "IPv6"), [
    `filter FORWARD -d 2001:db8::1/128 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT ${mark} -j CSP-GUARD-EXPLICIT`,
    `filter OUTPUT -d 2001:db8::1/128 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT ${mark} -j CSP-GUARD-EXPLICIT`,
    `nat PREROUTING -d 2001:db8::1/128 ${mark} -j CSP-EXPLICIT`,
    `nat OUTPUT -d 2001:db8::1/128 ${mark} -j CSP-EXPLICIT`,
    `nat POSTROUTING -m conntrack --ctstate DNAT --ctorigdst 2001:db8::1 ${mark} -j CSP-MASQUERADE`,
  ]);
});

test("the guard of an explicit VIP has the VIP and port of the dispatch", () => {
  const service = virtualService({ vips: ["198.51.100.7"] });
  const none = { ...service, endpoints: [] };
  const entry = "-d 198.51.100.7/32 -p tcp -m tcp --dport 80 -m comment --comment";
  assert.equal(
    guardEntry(renderEntry(service, "198.51.100.7")),
    `${entry} "demo/serve:http" -g CSP-GUARD`,
  );
  assert.equal(
    guardEntry(renderEntry({ ...none, reason: "no-endpoint" }, "198.51.100.7")),
    `${entry} "demo/serve:http no-endpoint" -g CSP-GUARD`,
  );
});

test("the jumps to the trees are guarded by no address", () => {
  const mark = "-m comment --comment clusterset-proxy";
  assert.deepEqual(treeJumps("CSP-X", "CSP-M", "CSP-G"), [
    `filter FORWARD -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT ${mark} -j CSP-G`,
    `filter OUTPUT -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT ${mark} -j CSP-G`,
    `nat PREROUTING ${mark} -j CSP-X`,
    `nat OUTPUT ${mark} -j CSP-X`,
    `nat POSTROUTING -m conntrack --ctstate DNAT ${mark} -j CSP-M`,
  ]);
});
