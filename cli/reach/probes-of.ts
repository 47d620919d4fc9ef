import { fieldAt, textField } from "../../api/parse/fields.ts";
import { trustedFor } from "../clusters/api-address.ts";
import type { Cluster } from "../clusters/cluster.ts";
import type { Handover, InstallObject } from "../install/change.ts";
import type { HubFacts } from "../install/facts.ts";
import type { HubAddress } from "../install/handovers.ts";
import type { Images } from "../install/manifests.ts";
import type { Member } from "../install/members.ts";
import type { Probe } from "./probe.ts";
import { hostAndPort, type ServerTarget } from "./probe-script.ts";

/** The clusters of a join. */
interface JoiningSet {
  readonly members: readonly (Member & { readonly on: Cluster })[];
  readonly hub?: HubAddress & { readonly on: Cluster; readonly facts: HubFacts };
  readonly images: Images;
}

/** An object that a join applies in a context. */
interface PlacedObject {
  readonly on: string;
  readonly object: InstallObject;
}

/**
 * The probes of a join: for each two clusters of which one is `given` a kubeconfig now, from pods of each to the other's pods, and to the API
 * server that it will read. Members that know each other already are not examined again. Rejects with an ApiFault.
 */
export async function probesOf(
  given: readonly Handover[],
  objects: readonly PlacedObject[],
  { members, hub, images }: JoiningSet,
): Promise<Probe[]> {
  const isGiven = (to: Member, from?: Member) =>
    given.some((one) => one.to === to.context && (from === undefined || one.from === from.context));
  const isPair = (a: Member, b: Member) =>
    hub === undefined ? isGiven(a, b) || isGiven(b, a) : isGiven(a) || isGiven(b);
  const probes = members.map(async (member): Promise<Probe> => {
    const others = members.filter((one) => one !== member && isPair(member, one));
    const onHub = hub !== undefined && isGiven(member);
    const servers = onHub
      ? [targetOf(hub.context, hub.on, hub.server, hub.facts.ca)]
      : hub === undefined
        ? others.map(({ id, on, server, facts }) => targetOf(id, on, server, facts.ca))
        : [];
    const { on, id, facts } = member;
    const image =
      imageIn(objects, member) ??
      images["clusterset-controller"] ??
      facts.images["clusterset-controller"];
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
function imageIn(objects: readonly PlacedObject[], { context }: Member): string | undefined {
  const deployment = objects.find(
    ({ on, object }) => on === context && object.kind === "Deployment",
  )?.object;
  const containers = fieldAt(deployment, "spec", "template", "spec", "containers");
  return Array.isArray(containers) ? textField(containers[0], "image") : undefined;
}
