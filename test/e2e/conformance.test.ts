import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AuditEvent, readAuditEvents } from "../apiserver/audit.ts";
import { lifeCases, propertyCases, sliceCases } from "../apiserver/conformance/cases.ts";
import { EVERYWHERE, type RightsObject, rightsIn, type Subject } from "../apiserver/rights.ts";
import type { CaseStage } from "../apiserver/service-case.ts";
import { Clusterset } from "./clusterset.ts";
import { connectionCases } from "./conformance/connections.ts";
import { headlessNameCases, nameCases } from "./conformance/names.ts";
import { AskingCluster } from "./conformance/served.ts";

/** A verb that a role grants, and that none of its users has used. */
interface UnusedRight {
  /** Its name; of a Role, with its namespace before it. */
  readonly role: string;
  readonly verb: string;
  /** Group and resource: `coordination.k8s.io/leases`. */
  readonly of: string;
}

/** What of these rights was not used, by the log of the API server on which they are. */
function unusedRights(
  objects: readonly RightsObject[],
  events: readonly AuditEvent[],
): UnusedRight[] {
  const allowed = events.filter(({ responseStatus }) => {
    return responseStatus?.code !== 401 && responseStatus?.code !== 403;
  });
  return objects.flatMap((role) => {
    const { metadata, rules = [] } = role;
    const bindings = objects.filter((one) => isBindingOf(one, role));
    const asked = allowed.filter((event) => bindings.some((one) => isBound(event, one)));
    const name = [metadata.namespace ?? [], metadata.name].flat().join("/");
    return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      crossed(apiGroups, resources).flatMap(([group, resource]) => {
        const of = `${group}/${resource}`;
        const about = asked.filter(
          (event) =>
            resourceOf(event) === of &&
            (resourceNames?.includes(event.objectRef?.name ?? "") ?? true),
        );
        const used = new Set(about.flatMap(verbsOf));
        return verbs.filter((verb) => !used.has(verb)).map((verb) => ({ role: name, verb, of }));
      }),
    );
  });
}

/** Server-side apply of what was not there takes the right to create it, too. */
function verbsOf({ verb, responseStatus }: AuditEvent): string[] {
  return verb === "patch" && responseStatus?.code === 201 ? ["patch", "create"] : [verb];
}

function resourceOf({ objectRef }: AuditEvent): string {
  const { apiGroup = "", resource = "", subresource } = objectRef ?? {};
  return `${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
}

function isBindingOf({ metadata, roleRef }: RightsObject, role: RightsObject): boolean {
  const isNamed = roleRef?.kind === role.kind && roleRef.name === role.metadata.name;
  return isNamed && (role.kind !== "Role" || metadata.namespace === role.metadata.namespace);
}

/** Whether a request was made by whom a binding is about, and where it counts. */
function isBound({ user, objectRef }: AuditEvent, binding: RightsObject): boolean {
  const { metadata, subjects = [] } = binding;
  const isHere = metadata.namespace === undefined || metadata.namespace === objectRef?.namespace;
  return isHere && subjects.some((subject) => isOf(user, subject));
}

function isOf({ username, groups = [] }: AuditEvent["user"], subject: Subject): boolean {
  const { kind, namespace, name } = subject;
  if (kind === "Group") return groups.includes(name);
  return username === (kind === "User" ? name : `system:serviceaccount:${namespace}:${name}`);
}

function crossed(these: readonly string[], those: readonly string[]): [string, string][] {
  return these.flatMap((one) => those.map((other): [string, string] => [one, other]));
}

// Cases of the conformance suite of the Multi-Cluster Services API, by the numbers of docs/MCS-API.md, on two real clusters:
// connections and names, from real pods, and imports that come and go, so that every right is used. For a report
// (scripts/conformance.ts) also properties and conflicts, by the same code as in test/apiserver/conformance.test.ts.

const IS_REPORT = process.env.CONFORMANCE_REPORT !== undefined;

describe("two real clusters", () => {
  let set: Clusterset;
  let stage: CaseStage<AskingCluster>;
  before(async () => {
    const regions = ["eu-west", "us-east"];
    set = await Clusterset.create({ clusters: 2, regions, components: ["dual-stack", "ipvs"] });
    stage = { clusters: await Promise.all(set.ids.map((id) => AskingCluster.start(set, id))) };
  });
  after(() => set?.remove());

  describe("conform", { concurrency: 6 }, () => {
    describe("by connections", { concurrency: 1 }, () => connectionCases(() => stage));
    headlessNameCases(() => stage);
    nameCases(() => stage);
    lifeCases(() => stage);
    sliceCases(() => stage);
    if (IS_REPORT) propertyCases(() => stage);
  });

  test("agents that may use IPVS do so where the node supports it, else they use iptables and log the reason; their container can set sysctls", async () => {
    for (const { id } of set.clusters.all) {
      const { host } = set.clusters.cluster(id).node("node-1");
      const page = (path: string) => host.exec(["curl", "-s", `127.0.0.1:10269/${path}`]);
      const remark = /^\[(?:\+\]backend-(ipvs) ok|\?\]backend-(iptables) ipvs-unusable: .+)$/m;
      const [, ipvs, iptables] = remark.exec(await page("readyz?verbose")) ?? [];
      assert.ok(ipvs ?? iptables, id);
      assert.match(
        await page("metrics"),
        new RegExp(`^\\w+_build_info{.*backend="${ipvs ?? iptables}"`, "m"),
      );
    }
    const sysctl = "/sys/net/ipv4/conf/all/arp_announce";
    const write = (procfs: string) =>
      `kubectl --context cluster-1 -n clusterset-proxy exec daemonset/clusterset-agent -- sh -c 'cat ${procfs}${sysctl} | tee ${procfs}${sysctl}'`;
    assert.match(await set.shell(write("/host/proc")), /^\d$/m);
    await assert.rejects(set.shell(write("/proc")), /Read-only file system/);
  });

  test("agents, controllers and peers used every verb that they are granted, except those for faults or older clusters", () => {
    for (const { id, plane } of set.clusters.all) {
      const [peer = ""] = set.ids.filter((one) => one !== id);
      const objects = [
        ...rightsIn([...EVERYWHERE, "mesh/peers.yaml"]),
        ...rightsIn(["mesh/registry.yaml", "mesh/reader.yaml"], { cluster: id, peer }),
      ];
      const unused = unusedRights(objects, readAuditEvents(plane.auditFile)).filter(
        ({ verb, of }) => !isRare(verb, of),
      );
      assert.deepEqual(unused, [], id);
    }
  });
});

/**
 * What is not asked for as long as all goes well: lists, by API servers that can stream them; an object as it is, where
 * nobody else writes it; who a cluster is, where it is said; and a peer that leaves. registry-rights.test.ts shows all of it.
 */
function isRare(verb: string, of: string): boolean {
  return (
    ["list", "get"].includes(verb) ||
    ["create", "delete"].some(
      (rare) => `${verb} ${of}` === `${rare} about.k8s.io/clusterproperties`,
    )
  );
}
