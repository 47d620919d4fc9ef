import { fieldAt, textField } from "../../api/parse/fields.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type OpenMember, trustedFor } from "../clusters/handover.ts";
import type { ContextPlan, JoinOptions } from "../clusters/join-plan.ts";
import type { Probe } from "./probe.ts";
import { hostAndPort, type ServerTarget } from "./probe-script.ts";

/**
 * The probes of a join: for each two clusters of which one gets a kubeconfig now, from pods of each to the other's pods, and to the API
 * server that it will read. Members that know each other already are not examined again. Rejects with an ApiFault.
 */
export async function probesOf(
  plans: readonly ContextPlan[],
  { members, hub, images }: JoinOptions,
): Promise<Probe[]> {
  const given = plans
    .flatMap(({ handovers }) => handovers)
    .flatMap(([handover, { action }]) => (action === "unchanged" ? [] : [handover]));
  const isGiven = (to: OpenMember, from?: OpenMember) =>
    given.some((one) => one.to === to.on && (from === undefined || one.from === from.on));
  const isPair = (a: OpenMember, b: OpenMember) =>
    hub === undefined ? isGiven(a, b) || isGiven(b, a) : isGiven(a) || isGiven(b);
  const probes = members.map(async (member): Promise<Probe> => {
    const others = members.filter((one) => one !== member && isPair(member, one));
    const onHub = hub !== undefined && isGiven(member);
    const servers = onHub
      ? [targetOf(hub.on.context, hub.on, hub.server, hub.facts.ca)]
      : hub === undefined
        ? others.map(({ id, on, server, facts }) => targetOf(id, on, server, facts.ca))
        : [];
    const { on, id, facts } = member;
    const plan = plans.find((one) => one.on === on);
    const image =
      imageIn(plan) ?? images["clusterset-controller"] ?? facts.images["clusterset-controller"];
    return {
      ...{ on, id, image: image ?? "", servers: await Promise.all(servers) },
      pods: others.map((one) => one.id),
    };
  });
  return (await Promise.all(probes)).filter(
    ({ servers, pods }) => servers.length + pods.length > 0,
  );
}

async function targetOf(
  to: string,
  on: Cluster,
  server: string,
  ofPods: string | undefined,
): Promise<ServerTarget> {
  const ca = await trustedFor(on, server, ofPods);
  return { to, ...hostAndPort(server), ...(ca !== undefined && { ca }) };
}

/** The image of the controller that a join applies. */
function imageIn(plan: ContextPlan | undefined): string | undefined {
  const deployment = plan?.objects.find(({ object }) => object.kind === "Deployment")?.object;
  const containers = fieldAt(deployment, "spec", "template", "spec", "containers");
  return Array.isArray(containers) ? textField(containers[0], "image") : undefined;
}
