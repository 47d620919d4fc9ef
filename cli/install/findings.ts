import { byCount, counted } from "../../api/count.ts";
import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import type { HubFacts, Member } from "./members.ts";
import { outsideOf } from "./ranges.ts";

/** Two contexts of one cluster, a hub that is a member, and IDs that two clusters have, in sentences. PURE. */
export function sameClusters({
  members,
  hub,
}: {
  readonly members: readonly Member[];
  readonly hub: HubFacts | undefined;
}): string[] {
  return members.flatMap((member, i) => {
    const twin = members.slice(i + 1).find(({ facts }) => facts.uid === member.facts.uid);
    const namesake = members
      .slice(i + 1)
      .find(({ id, facts }) => id === member.id && facts.uid !== member.facts.uid);
    return [
      ...(twin === undefined
        ? []
        : [`${member.context} and ${twin.context} are contexts of the same cluster.`]),
      ...(namesake === undefined
        ? []
        : [`${member.context} and ${namesake.context} have the same ID, ${member.id}.`]),
      ...(hub?.uid === member.facts.uid
        ? [
            `${hub.context}: the hub is the API server of ${member.context}, whose controller could write in all registries.`,
          ]
        : []),
    ];
  });
}

/** A sentence about the endpoints of exported Services that other clusters will reject, because the ranges of a member do not contain them; undefined if there are none. PURE. */
export function rejectedEndpoints(
  { context, endpointCidrs }: Pick<Member, "context" | "endpointCidrs">,
  exports: readonly unknown[],
  slices: readonly unknown[],
): string | undefined {
  const exported = new Set(exports.map((one) => nameIn(one, textField(metadataOf(one), "name"))));
  const services = new Map<string, Set<string>>();
  for (const slice of slices) {
    const label = fieldAt(metadataOf(slice), "labels", LABEL_SERVICE_SLICE);
    const service = nameIn(slice, typeof label === "string" ? label : undefined);
    if (service === undefined || !exported.has(service)) continue;
    const addresses = listOf(field(slice, "endpoints")).flatMap((one) =>
      listOf(field(one, "addresses")).slice(0, 1).map(String),
    );
    const outside = outsideOf(endpointCidrs, addresses);
    if (outside.length > 0)
      services.set(service, new Set([...(services.get(service) ?? []), ...outside]));
  }
  const [first] = [...services].sort(([a], [b]) => (a < b ? -1 : 1));
  if (first === undefined) return undefined;
  const count = [...services.values()].reduce((sum, { size }) => sum + size, 0);
  const [example = ""] = [...first[1]].sort();
  return `${counted(services.size, "exported Service")} ${byCount(services.size, "has", "have")} ${counted(count, "endpoint")} outside ${endpointCidrs}, such as ${example} of ${first[0]}: other clusters will reject ${byCount(count, "it", "them")}. Pods with hostNetwork have addresses of Nodes (docs/guides/install.md). Give --endpoint-cidrs ${context}=RANGES.`;
}

const metadataOf = (object: unknown): unknown => field(object, "metadata");

function nameIn(object: unknown, name: string | undefined): string | undefined {
  const namespace = textField(metadataOf(object), "namespace");
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}
