import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { identityOf } from "../install/desired.ts";
import type { HubFacts } from "../install/facts.ts";
import { type InstallObject, titleOf } from "../install/install-object.ts";
import {
  CRDS,
  DNS_RIGHTS,
  type Images,
  memberOf,
  ON_HUB,
  programs,
  readerOf,
  registryOf,
} from "../install/manifests.ts";
import { applyPlanned, type Planned, type PlanOptions, planObject } from "./apply-objects.ts";
import type { Cluster } from "./cluster.ts";
import { applyNames, type NamesPlan, planNames } from "./cluster-names.ts";
import {
  accountObjects,
  type Handover,
  hubHandover,
  meshHandover,
  type OpenMember,
  planHandover,
} from "./handover.ts";
import { untilToken } from "./token-secrets.ts";
import { until } from "./until.ts";

/** Milliseconds for the write of an object: kinds of an applied CRD are served a moment later. */
const WRITE_MS = 60_000;

/** What is to be joined, and how. */
export interface JoinOptions extends PlanOptions {
  readonly clusterset: string;
  readonly members: readonly OpenMember[];
  readonly hub?: { readonly on: Cluster; readonly facts: HubFacts; readonly server: string };
  readonly images: Images;
  /** False: CRDs, agents, controllers and their permissions are applied by others. */
  readonly manifests: boolean;
  /** False: CoreDNS stays as it is. */
  readonly dns: boolean;
}

/** The actions on the objects of one cluster. */
export interface ContextPlan {
  readonly on: Cluster;
  /** In the order in which they are applied. */
  readonly objects: readonly Planned[];
  /** Kubeconfigs of other API servers, after the objects of all clusters. */
  readonly handovers: readonly (readonly [Handover, Planned])[];
  /** Its ClusterProperties: after the handovers. */
  readonly identity: readonly Planned[];
  readonly names?: NamesPlan;
}

/** Compares all objects of a join with those of the clusters. Writes nothing. Rejects with an ApiFault. */
export async function planJoin(options: JoinOptions): Promise<ContextPlan[]> {
  const { members, hub, dns, clusterset } = options;
  const plans = members.map(async (member): Promise<ContextPlan> => {
    const { on } = member;
    const incoming =
      hub === undefined
        ? members.filter((one) => one !== member).map((owner) => meshHandover(owner, member))
        : [hubHandover(hub.on, hub.server, member)];
    return {
      on,
      objects: await planAll(on, await objectsOf(member, options), options),
      handovers: await Promise.all(
        incoming.map(async (one) => [one, await planHandover(one, options)] as const),
      ),
      identity: await planAll(on, identityOf(member, clusterset), options),
      ...(dns && { names: await planNames(on, "add") }),
    };
  });
  const onHub = hub === undefined ? [] : [planHub(hub.on, hub.server, options)];
  return Promise.all([...onHub, ...plans]);
}

/** The objects that a member has, without the kubeconfigs of others and its identity. */
async function objectsOf(member: OpenMember, options: JoinOptions): Promise<InstallObject[]> {
  const { members, hub, images, manifests, dns } = options;
  const mode = hub === undefined ? "mesh" : "hub";
  const readers = members.filter((one) => one !== member && hub === undefined);
  const accounts = await Promise.all(
    readers.map((reader) =>
      accountObjects(meshHandover(member, reader), readerOf(member.id, reader.id)),
    ),
  );
  return [
    ...(manifests ? [...CRDS, ...programs(mode, images, member.components)] : []),
    ...(hub === undefined ? registryOf(member.id, member.server, member.endpointCidrs) : []),
    ...accounts.flat(),
    ...(dns ? DNS_RIGHTS : []),
  ];
}

async function planHub(on: Cluster, server: string, options: JoinOptions): Promise<ContextPlan> {
  const accounts = await Promise.all(
    options.members.map((member) =>
      accountObjects(hubHandover(on, server, member), memberOf(member.id, member.endpointCidrs)),
    ),
  );
  const objects = [...(options.manifests ? [...CRDS, ...ON_HUB] : []), ...accounts.flat()];
  return { on, objects: await planAll(on, objects, options), handovers: [], identity: [] };
}

async function planAll(
  on: Cluster,
  objects: readonly InstallObject[],
  options: PlanOptions,
): Promise<Planned[]> {
  return Promise.all(objects.map((object) => planObject(on, object, options)));
}

/** All that a plan does to objects of a cluster. PURE. */
export function plannedOf({ objects, handovers, identity }: ContextPlan): readonly Planned[] {
  return [...objects, ...handovers.map(([, planned]) => planned), ...identity];
}

/** True if a plan changes nothing. PURE. */
export function isDone(plan: ContextPlan): boolean {
  const isLeft = ({ action }: Pick<Planned, "action">) =>
    action !== "unchanged" && action !== "kept";
  return !plannedOf(plan).some(isLeft) && plan.names?.action !== "changed";
}

/** What `applyJoin` reports, and needs. */
export interface ApplyOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly timeOfDay: number;
  /** Called after each write. */
  readonly done: (on: Cluster, title: string, action: string) => void;
}

/** Carries plans out: all objects, then the kubeconfigs, identities and names. Rejects with an ApiFault at the first failure. */
export async function applyJoin(
  plans: readonly ContextPlan[],
  options: ApplyOptions,
): Promise<void> {
  const { signal, timeOfDay, done } = options;
  await Promise.all(plans.map(({ on, objects }) => applyInOrder(on, objects, options)));
  for (const { handovers } of plans) {
    for (const [handover, planned] of handovers) {
      const { from, namespace, account, to } = handover;
      if (planned.action === "unchanged") continue;
      await untilToken(from, namespace, account, signal);
      const { force } = options;
      const again = await planHandover(handover, { force, validate: false });
      await applyInOrder(to, [again], options);
    }
  }
  await Promise.all(plans.map(({ on, identity }) => applyInOrder(on, identity, options)));
  for (const { on, names } of plans) {
    if (names?.action !== "changed") continue;
    await applyNames(on, names, timeOfDay, signal);
    done(on, titleOf(NAMES_OBJECT), "changed");
  }
}

/** What `planNames` changes, for messages. */
export const NAMES_OBJECT: InstallObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "kube-system", name: "coredns" },
};

/** Applies planned objects one after the other, each as it is by then. Rejects with an ApiFault. */
export async function applyInOrder(
  on: Cluster,
  planned: readonly Planned[],
  { force, signal, done }: ApplyOptions,
): Promise<void> {
  for (const { object, action: expected } of planned) {
    if (expected === "unchanged" || expected === "kept") continue;
    const action = await until(WRITE_MS, signal, async () => {
      const now = await planObject(on, object, { force, validate: false });
      if (now.action === "conflict") {
        const { context } = on;
        throw new ApiFault("refused", `${context}: ${titleOf(object)}: ${now.detail ?? ""}`);
      }
      try {
        await applyPlanned(on, now, force);
      } catch (thrown) {
        // Such as a status that was written meanwhile.
        if (!(thrown instanceof ApiFault) || thrown.reason !== "write-conflict") throw thrown;
        return { missing: thrown.message };
      }
      return { found: now.action };
    });
    if (action === "created" || action === "changed") done(on, titleOf(object), action);
  }
}
