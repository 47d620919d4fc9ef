import { type Command, InvalidArgumentError, Option } from "commander";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isClusterId, isLabelValue } from "../../api/names.ts";
import { COMPONENTS } from "../install/manifests.ts";
import {
  type ComponentFlag,
  type MemberFlags,
  NO_COMPONENT,
  NO_FLAGS,
} from "../install/members.ts";
import { rangesIn } from "../install/ranges.ts";

/** Default of agents and controllers. */
const CLUSTERSET_CIDR = "241.0.0.0/8";

/** Flags with the values of single clusters, and the range that all share. */
export interface MemberValueFlags extends Partial<Omit<MemberFlags, "components">> {
  readonly component?: readonly ComponentFlag[];
  readonly clustersetCidr: readonly Cidr[];
}

/** Adds `MemberValueFlags`. */
export function withMemberFlags(command: Command): Command {
  return command
    .option(
      "--id <context=id>",
      "ID of a cluster; default: the name of its context",
      byContext((value) => (isClusterId(value) ? undefined : "Expected a cluster ID.")),
    )
    .option(
      "--region <context=region>",
      "region of a cluster; default: the label of its Nodes",
      byContext((value) => (isLabelValue(value) ? undefined : "Expected a label value.")),
    )
    .option(
      "--endpoint-cidrs <context=ranges>",
      "ranges of a cluster's pods, separated by commas; default: as its network plugin or its Nodes have them",
      byContext((value) => (rangesIn(value) ? undefined : "Expected ranges such as 10.1.0.0/16.")),
    )
    .option(
      "--api-server <context=url>",
      "URL of a cluster's API server for the other clusters; default: of the kubeconfig",
      byContext((value) => (isHttps(value) ? undefined : "Expected an https URL.")),
    )
    .addOption(
      new Option("--clusterset-cidr <ranges>", "ClusterSet CIDRs, which no other range may overlap")
        .argParser(cidrs)
        .default(cidrs(CLUSTERSET_CIDR), CLUSTERSET_CIDR),
    )
    .option(
      "--component <[context=]name>",
      `a component of all clusters, or of one; may be repeated: ${COMPONENTS.join(", ")}; default: those of earlier joins (none: without them)`,
      component,
    );
}

/** The flags that are about single clusters. */
export function memberFlags(flags: MemberValueFlags): MemberFlags {
  const { id, region, endpointCidrs, apiServer, component: components } = flags;
  return {
    components: components ?? NO_FLAGS.components,
    id: id ?? NO_FLAGS.id,
    region: region ?? NO_FLAGS.region,
    endpointCidrs: endpointCidrs ?? NO_FLAGS.endpointCidrs,
    apiServer: apiServer ?? NO_FLAGS.apiServer,
  };
}

function cidrs(value: string): readonly Cidr[] {
  const ranges = value.split(",").map((part) => parseCidr(part.trim()));
  if (ranges.every(isCidr)) return ranges;
  throw new InvalidArgumentError("Expected ranges such as 241.0.0.0/8.");
}

/** `NAME`, or `CONTEXT=NAME`; contexts may have an equals sign, names do not. */
function component(value: string, before: readonly ComponentFlag[] = []): ComponentFlag[] {
  const end = value.lastIndexOf("=");
  const name = value.slice(end + 1);
  if (!COMPONENTS.includes(name) && name !== NO_COMPONENT)
    throw new InvalidArgumentError(`Expected one of ${COMPONENTS.join(", ")}, or ${NO_COMPONENT}.`);
  return [...before, { name, ...(end > 0 && { context: value.slice(0, end) }) }];
}

function isHttps(value: string): boolean {
  return URL.parse(value)?.protocol === "https:";
}

/** A parser of `CONTEXT=VALUE`, for a flag that may be repeated. `check`: why a value is wrong. */
function byContext(
  check: (value: string) => string | undefined,
): (text: string, before?: ReadonlyMap<string, string>) => ReadonlyMap<string, string> {
  return (text, before = new Map()) => {
    // Contexts such as an ARN have no equals sign, but URLs of API servers may.
    const end = text.indexOf("=");
    if (end < 1) throw new InvalidArgumentError("Expected CONTEXT=VALUE.");
    const [context, value] = [text.slice(0, end), text.slice(end + 1)];
    const why = check(value);
    if (why !== undefined) throw new InvalidArgumentError(why);
    return new Map([...before, [context, value]]);
  };
}
