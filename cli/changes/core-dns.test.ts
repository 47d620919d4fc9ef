import assert from "node:assert/strict";
import { test } from "node:test";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiObject } from "../../common/kubernetes/writer.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { withNames } from "../install/dns.ts";
import { applyNames, planNames } from "./core-dns.ts";

// The cluster keeps its DNS, whatever happens to a change of the Corefile.

const COREFILE = ".:53 {\n    errors\n}\n";
const OTHER = "clusterset.local:53 {\n    forward . 10.1.2.3\n}\n";

/** A cluster with this Corefile, whose CoreDNS may not be restarted. */
class Broken {
  corefile: string;
  /** Called before each answer to a write of the Deployment. */
  meanwhile = () => {};
  #version = 1;

  constructor(corefile: string) {
    this.corefile = corefile;
  }

  get cluster(): Cluster {
    const objects = {
      get: () => Promise.resolve(this.#live()),
      patch: async (kind: unknown, _: unknown, patch: unknown, { resourceVersion = "" }) => {
        if (field(kind, "resource") === "deployments") {
          this.meanwhile();
          throw new ApiFault("forbidden", "not you");
        }
        if (resourceVersion !== String(this.#version)) throw new ApiFault("write-conflict", "late");
        this.write(String(fieldAt(patch, "data", "Corefile")));
        return this.#live();
      },
    };
    return { context: "c1", objects } as unknown as Cluster;
  }

  write(corefile: string): void {
    this.corefile = corefile;
    this.#version++;
  }

  #live(): ApiObject {
    const meta = { resourceVersion: String(this.#version), uid: "1" };
    return { meta, object: { data: { Corefile: this.corefile } } } as unknown as ApiObject;
  }
}

/** What else is written to the ConfigMap before CoreDNS fails, and the Corefile that is left. */
const RESTORED: readonly (readonly [string, (broken: Broken) => void, string])[] = [
  ["nothing", () => {}, COREFILE],
  ["another key", (broken) => broken.write(broken.corefile), COREFILE],
  [
    "another block",
    (broken) => broken.write(`a.example:53 {\n}\n${broken.corefile}`),
    `a.example:53 {\n}\n${COREFILE}`,
  ],
];

for (const [what, write, wanted] of RESTORED)
  test(`a CoreDNS that does not restart keeps no block of ours, if ${what} is written meanwhile`, async () => {
    const broken = new Broken(COREFILE);
    broken.meanwhile = () => write(broken);
    const on = broken.cluster;
    const plan = await planNames(on, "add");
    assert.equal(plan.after, withNames(COREFILE));
    await assert.rejects(applyNames(on, plan, 0, new AbortController().signal), /not you/);
    assert.equal(broken.corefile, wanted);
  });

test("a Corefile with another block for the zone is kept, and loses ours", async () => {
  const { cluster: on } = new Broken(`${COREFILE}${OTHER}`);
  for (const verb of ["add", "forward"] as const) {
    const { action, detail } = await planNames(on, verb);
    assert.equal(action, "kept");
    assert.match(detail ?? "", /another block .* deploy\/coredns\/names (add|forward)$/);
  }
  const both = new Broken(withNames(`${COREFILE}${OTHER}`));
  assert.equal((await planNames(both.cluster, "remove")).after, `${COREFILE}${OTHER}`);
});
