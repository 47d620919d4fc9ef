import type { AboutItself, Program } from "../../common/config/program.ts";
import { FLAGS } from "./flags.ts";

/** The commands. */
export type Command = "run" | AboutItself;

/** The command line of the controller. */
export const CONTROLLER: Program<Command, typeof FLAGS> = {
  name: "clusterset-controller",
  about: [
    "clusterset-controller keeps exports, imports and ClusterSetIPs in sync between the clusters of a clusterset.",
  ],
  commands: {
    run: "Publish this cluster's exports and import those of its peers (the default)",
    version: "Print the version",
    help: "Print this help",
  },
  flags: FLAGS,
  examples: [
    "run --kubeconfig ~/.kube/config --cluster-id c1 --clusterset-id prod --region eu-west",
    "run --cluster-id c1 --registry hub --hub-kubeconfig /etc/clusterset/hub.kubeconfig",
  ],
};
