import { type Command, InvalidArgumentError, Option } from "commander";
import { isClusterSetId } from "../../api/names.ts";
import type { ChangeFlags } from "../changes/carry-out.ts";
import { timeoutOption, withDryRunFlag } from "../command-line.ts";
import { DNS_WAYS, type DnsWay } from "../install/dns-server.ts";
import {
  type ClustersetFlags,
  type ImageFlags,
  withClustersetFlags,
  withImageFlags,
} from "./clusterset-flags.ts";
import { type MemberValueFlags, withMemberFlags } from "./member-flags.ts";

/** Flags of `join`. */
export interface JoinFlags
  extends ClustersetFlags,
    ImageFlags,
    Omit<ChangeFlags, "output">,
    MemberValueFlags {
  readonly clusterset: string;
  readonly hubServer?: string;
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
    .option("--hub-server <url>", "URL of the hub for the clusters; default: of the kubeconfig");
  withMemberFlags(command);
  return withDryRunFlag(withImageFlags(command))
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

function clusterSetId(value: string): string {
  if (isClusterSetId(value)) return value;
  throw new InvalidArgumentError("Expected a label value, such as prod.");
}
