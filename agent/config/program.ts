import type { AboutItself, Program } from "../../common/config/program.ts";
import { FLAGS } from "./flags.ts";

/** What the agent can be told to do. */
export type Command = "run" | "cleanup" | "render" | "plan" | AboutItself;

/** The agent as whoever calls it sees it. */
export const AGENT: Program<Command, typeof FLAGS> = {
  name: "clusterset-agent",
  about: [
    "clusterset-agent sends connections to a ClusterSetIP to its nearest endpoints: in this cluster,",
    "else in this region, else anywhere.",
  ],
  commands: {
    run: "Keep this node's kernel in step with the imports, until stopped (the default)",
    cleanup: "Remove every kernel object of the agent, and nothing else",
    render: "Print the rules for the imports, and program nothing",
    plan: "Print what would be decided about each import, and why, and program nothing",
    version: "Print the version",
    help: "Print this page",
  },
  flags: FLAGS,
  examples: [
    "plan --manifests ./manifests --cluster-id c1 --region eu-west -o yaml",
    "render --manifests ./manifests --cluster-id c1 --region eu-west",
    "plan --kubeconfig ~/.kube/config --node-name worker-1 -o yaml",
    "run --manifests ./manifests --cluster-id c1 --region eu-west \\\n    --pod-cidrs 10.1.0.0/16 --masquerade off-cluster",
    "cleanup",
  ],
};
