import { type Command, InvalidArgumentError, Option } from "commander";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isClusterId, isClusterSetId, isLabelValue } from "../../api/names.ts";
import type { ChangeFlags } from "../changes/carry-out.ts";
import { timeoutOption, withDryRunFlag } from "../command-line.ts";
import { DNS_WAYS, type DnsWay } from "../install/dns-server.ts";
import { COMPONENTS } from "../install/manifests.ts";
import {
  type ComponentFlag,
  type MemberFlags,
  NO_COMPONENT,
  NO_FLAGS,
} from "../install/members.ts";
import { rangesIn } from "../install/ranges.ts";
import {
  type ClustersetFlags,
  type ImageFlags,
  withClustersetFlags,
  withImageFlags,
} from "./clusterset-flags.ts";

/** Default of agents and controllers. */
const CLUSTERSET_CIDR = "241.0.0.0/8";

/** Flags of `join`. */
export interface JoinFlags
  extends ClustersetFlags,
    ImageFlags,
    Omit<ChangeFlags, "output">,
    Partial<MemberFlags> {
  readonly component?: readonly ComponentFlag[];
  readonly clusterset: string;
  readonly hubServer?: string;
  readonly clustersetCidr: readonly Cidr[];
  readonly skipManifests?: boolean;
  readonly skipReachability?: boolean;
  readonly dns?: DnsWay;
  readonly dnsImage?: string;
  /** Prints all objects, and changes nothing. */
  readonly output?: "yaml";
  /** Milliseconds. */
  readonly timeout: number;
  readonly wait: boolean;
}

/** Adds the flags of `join`. */
export function withJoinFlags(command: Command): Command {
  withClustersetFlags(command)
    .requiredOption("--clusterset <id>", "ID of the clusterset", clusterSetId)
    .option("--hub-server <url>", "URL of the hub for the clusters; default: of the kubeconfig")
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
    );
  return withDryRunFlag(withImageFlags(command))
    .option(
      "--component <[context=]name>",
      `a component of all clusters, or of one; may be repeated: ${COMPONENTS.join(", ")}; default: those of earlier joins (none: without them)`,
      component,
    )
    .option(
      "--skip-manifests",
      "leave CRDs, agents, controllers and their permissions to a chart or a GitOps tool",
    )
    .option(
      "--skip-reachability",
      "do not check first, with a short-lived pod in each cluster, that pods reach API servers and each other",
    )
    .addOption(
      new Option(
        "--dns <way>",
        "what serves clusterset.local; default: the existing CoreDNS where it can and may, else own",
      ).choices(DNS_WAYS),
    )
    .option("--dns-image <image>", "image of CoreDNS for --dns own; default: of the manifests")
    .addOption(
      new Option(
        "-o, --output <format>",
        "print all objects, except tokens, and change nothing",
      ).choices(["yaml"]),
    )
    .option("--force-conflicts", "take over fields that other programs own")
    .addOption(timeoutOption("for agents and controllers to be ready", "3m"))
    .option("--no-wait", "do not wait for agents and controllers");
}

/** The flags that are about single clusters. */
export function memberFlags(flags: JoinFlags): MemberFlags {
  const { id, region, endpointCidrs, apiServer, component: components } = flags;
  return {
    components: components ?? NO_FLAGS.components,
    id: id ?? NO_FLAGS.id,
    region: region ?? NO_FLAGS.region,
    endpointCidrs: endpointCidrs ?? NO_FLAGS.endpointCidrs,
    apiServer: apiServer ?? NO_FLAGS.apiServer,
  };
}

function clusterSetId(value: string): string {
  if (isClusterSetId(value)) return value;
  throw new InvalidArgumentError("Expected a label value, such as prod.");
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
