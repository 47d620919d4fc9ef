import type { AboutItself, Program } from "../../common/config/program.ts";
import { FLAGS } from "./flags.ts";

/** What the controller can be told to do. */
export type Command = "run" | AboutItself;

/** The controller as whoever calls it sees it. */
export const CONTROLLER: Program<Command, typeof FLAGS> = {
  name: "clusterset-controller",
  about: [
    "clusterset-controller keeps exports, imports and ClusterSetIPs in step between the clusters of a clusterset.",
  ],
  commands: {
    run: "Publish this cluster's exports and import those of the others, until stopped (the default)",
    version: "Print the version",
    help: "Print this page",
  },
  flags: FLAGS,
  examples: [
    "run --kubeconfig ~/.kube/config --cluster-id c1 --clusterset-id prod --region eu-west",
    "run --cluster-id c1 --registry hub --hub-kubeconfig /etc/clusterset/hub.kubeconfig",
  ],
};
