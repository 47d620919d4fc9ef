import type { AboutItself, Program } from "../../common/config/program.ts";
import { FLAGS } from "./flags.ts";

/** Commands of the agent. */
export type Command = "run" | "cleanup" | "render" | "plan" | AboutItself;

/** Command line of the agent. */
export const AGENT: Program<Command, typeof FLAGS> = {
  name: "clusterset-agent",
  about: [
    "clusterset-agent routes connections to a ClusterSetIP to its nearest endpoints: in this cluster,",
    "else in this region, else anywhere.",
  ],
  commands: {
    run: "Program this node's kernel and keep it in sync with the imports (default)",
    cleanup: "Remove all kernel objects of the agent, without affecting anything else",
    render: "Print the rules for the imports without programming them",
    plan: "Print the decision about each import, with reasons, without programming it",
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
