import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNamespace } from "./parse-namespace.ts";
import { parseService } from "./parse-service.ts";

function annotated(value: unknown): { readonly [field: string]: unknown } {
  const annotations = { "clusterset-proxy.io/cluster-ip-failover": value };
  return { metadata: { namespace: "demo", name: "serve", uid: "u1", annotations } };
}

test("only true and false say whether a Service or a Namespace asks for failover; all else is a problem", () => {
  for (const [value, answer] of [
    ["true", true],
    ["false", false],
    [undefined, undefined],
    [null, undefined],
  ] as const) {
    const service = parseService({ ...annotated(value), spec: { type: "ExternalName" } });
    assert.deepEqual([service.fact?.failover, service.problems], [answer, []]);
    const namespace = parseNamespace({
      metadata: { name: "demo", ...(annotated(value).metadata as object), namespace: undefined },
    });
    assert.deepEqual([namespace.fact?.failover, namespace.problems], [answer, []]);
  }
  for (const value of ["True", "yes", "", "toString", true, 1, {}]) {
    const { fact, problems } = parseService({
      ...annotated(value),
      spec: { type: "ExternalName" },
    });
    assert.equal(fact?.failover, undefined);
    assert.deepEqual(
      problems.map(({ reason, object, field }) => `${object} ${reason} ${field}`),
      [
        "Service demo/serve invalid-policy metadata.annotations[clusterset-proxy.io/cluster-ip-failover]",
      ],
    );
  }
});
