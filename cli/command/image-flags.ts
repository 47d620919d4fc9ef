import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import type { Images } from "../install/manifests.ts";

/** Flags that name images. */
export interface ImageFlags {
  readonly registryPrefix?: string;
  readonly agentImage?: string;
  readonly controllerImage?: string;
}

/** Adds `ImageFlags`. */
export function withImageFlags(command: Command): Command {
  return command
    .option(
      "--registry-prefix <prefix>",
      `such as registry.example.com/team: its images clusterset-agent:${VERSION} and clusterset-controller:${VERSION}`,
    )
    .option("--agent-image <image>", "image of the agent; default: of --registry-prefix")
    .option("--controller-image <image>", "image of the controller; default: of --registry-prefix");
}

/** The images that flags name. Those of no flag are as in the manifests. */
export function imagesOf({ registryPrefix, agentImage, controllerImage }: ImageFlags): Images {
  const prefixed = (name: string) =>
    registryPrefix === undefined
      ? undefined
      : `${registryPrefix.replace(/\/+$/, "")}/${name}:${VERSION}`;
  const agent = agentImage ?? prefixed("clusterset-agent");
  const controller = controllerImage ?? prefixed("clusterset-controller");
  return {
    ...(agent !== undefined && { "clusterset-agent": agent }),
    ...(controller !== undefined && { "clusterset-controller": controller }),
  };
}
