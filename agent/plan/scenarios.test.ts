import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { fieldAt } from "../../api/parse/fields.ts";
import { cidr, nodeFact } from "../../test/generators/facts.ts";
import { Model } from "../model/model.ts";
import { parseImport } from "../model/parse-import.ts";
import { parseSlice } from "../model/parse-slice.ts";
import { planImport } from "./plan.ts";

const MANIFESTS = new URL("../../test/scenarios/manifests/", import.meta.url);

/** Manifests of published walk-throughs, and a node among them, without addresses of its own. */
function node(cluster?: string, region?: string) {
  const { cluster: _c, region: _r, zone: _z, ...rest } = nodeFact();
  const clusterSetCidrs = [cidr("241.0.0.0/8")];
  return {
    ...rest,
    podCidrs: [],
    clusterSetCidrs,
    ...(cluster !== undefined && { cluster }),
    ...(region !== undefined && { region }),
  };
}

/** Every import's plan in a few lines, after `change` was made to the text of the file. */
function told(
  file: string,
  here: ReturnType<typeof node>,
  change = (text: string): string => text,
): string[] {
  const model = new Model();
  for (const document of parseAllDocuments(
    change(readFileSync(new URL(file, MANIFESTS), "utf8")),
  )) {
    const object: unknown = document.toJS();
    const kind = fieldAt(object, "kind");
    const parsed =
      kind === "ServiceImport" ? parseImport(object) : parseSlice(object, here.clusterSetCidrs);
    if (kind !== "ServiceImport" && kind !== "EndpointSlice") continue;
    assert.deepEqual(parsed.problems, []);
    if (parsed.fact === undefined) continue;
    if ("importKey" in parsed.fact) model.setSlice(parsed.fact, 0);
    else model.setImport(parsed.fact, 0);
  }
  return [...model.keys()].sort().flatMap((key) => {
    const view = model.view(key);
    assert.ok(view);
    const { reason, services } = planImport(view, here);
    if (reason !== "programmed") return [`${key} ${reason}`];
    return services.map((service) => {
      const to = service.endpoints.map((e) => `${e.address}:${e.port}`).join(" ");
      const port = service.portName || service.port;
      return `${key}:${port} ${service.vips.join(" ")} ${service.tier ?? service.reason} ${to}`.trim();
    });
  });
}

/** Takes all endpoints of one source cluster out of a file. */
const scaledToNothing = (...clusters: readonly string[]) => {
  return (text: string): string =>
    text
      .split("---\n")
      .map((part) =>
        clusters.some((cluster) => part.includes(`source-cluster: ${cluster}\n`))
          ? part.replace(/^endpoints:\n( .*\n?)*/m, "endpoints: []\n")
          : part,
      )
      .join("---\n");
};

describe("by-hand.yaml", () => {
  test("serve has no VIP yet; the explicit VIP 1.2.3.4 is programmed, and rejects immediately", () => {
    assert.deepEqual(told("by-hand.yaml", node("c1")), [
      "demo/serve no-vip",
      "demo/serve-with-vip:80 1.2.3.4 no-endpoint",
    ]);
  });
  test("with a VIP, both clusters' endpoints take connections alike", () => {
    const withVip = (text: string) =>
      text.replace("type: ClusterSetIP", "type: ClusterSetIP\n  ips: [241.0.0.3]");
    assert.equal(
      told("by-hand.yaml", node("c1"), withVip)[0],
      "demo/serve:80 241.0.0.3 global 10.10.0.7:8080 10.12.0.7:8080",
    );
  });
});

describe("prefer-local.yaml", () => {
  test("a node in brazil uses brazil, and chile when brazil has no endpoint", () => {
    const brazil = node("brazil", "sa-brazil-1");
    const LOCAL = ["default/serve:80 241.0.0.10 local 172.16.0.21:8080"];
    assert.deepEqual(told("prefer-local.yaml", brazil), LOCAL);
    assert.deepEqual(told("prefer-local.yaml", brazil, scaledToNothing("brazil")), [
      "default/serve:80 241.0.0.10 global 10.0.0.13:8080 10.0.0.5:8080",
    ]);
  });
  test("a node elsewhere uses all endpoints", () => {
    assert.deepEqual(told("prefer-local.yaml", node("peru", "pe-1")), [
      "default/serve:80 241.0.0.10 global 10.0.0.13:8080 10.0.0.5:8080 172.16.0.21:8080",
    ]);
  });
});

describe("three-tiers.yaml", () => {
  const WHERE = [
    { gone: [], http: "local 10.1.0.11:8080 10.1.0.12:8080" },
    { gone: ["c1"], http: "regional 10.2.0.11:8080" },
    { gone: ["c1", "c2"], http: "global 10.3.0.11:8080" },
    { gone: ["c1", "c2", "c3"], http: "no-endpoint" },
  ];
  for (const { gone, http } of WHERE) {
    test(`without ${gone.join(" and ") || "a loss"}, both ports go ${http}`, () => {
      assert.deepEqual(told("three-tiers.yaml", node("c1", "eu-west"), scaledToNothing(...gone)), [
        `shop/web:http 241.0.1.7 ${http}`,
        `shop/web:dns 241.0.1.7 ${http.replaceAll(":8080", ":5353")}`,
      ]);
    });
  }
});

test("three-tiers.yaml: c3's terminating endpoint is used when no endpoint is ready", () => {
  const lines = told("three-tiers.yaml", node("c1", "eu-west"), (text) =>
    text.replaceAll("ready: true", "ready: false"),
  );
  assert.deepEqual(lines, [
    "shop/web:http 241.0.1.7 global 10.3.0.12:8080",
    "shop/web:dns 241.0.1.7 global 10.3.0.12:5353",
  ]);
});

test("exported.yaml has no object for an agent, and no fault", () => {
  assert.deepEqual(told("exported.yaml", node("cls1")), []);
});
