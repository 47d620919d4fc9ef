import type { Rule } from "./rule.ts";

/** Allowed imports of the kubectl plugin. */
export const CLI_RULES: readonly Rule[] = [
  {
    files: ["cli/output/**", "cli/{exit-code,install-namespace}.ts"],
    may: ["./", "yaml"],
    pure: true,
    why: "Text for people and for other programs.",
  },
  {
    files: ["cli/view/**"],
    may: ["./", "api/**", "agent/{model,plan}/**", "cli/exit-code.ts", "cli/output/**"],
    pure: true,
    why: "What commands show, by the same pure code as the agents'.",
  },
  {
    files: ["cli/agents/**"],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/config/{config,node-fact}.ts",
      "agent/{model,plan}/**",
      "agent/sources/kubernetes/queries.ts",
      "agent/sources/manifests/document.ts",
      "cli/clusters/cluster.ts",
      "cli/install-namespace.ts",
      "cli/view/**",
    ],
    pure: false,
    why: "What a cluster's agents decide by: their configuration, objects and facts.",
  },
  {
    files: ["cli/programs/**"],
    may: ["./", "api/**", "common/**", "cli/{agents,clusters,view}/**", "cli/install-namespace.ts"],
    pure: false,
    why: "What the agents and controllers of a cluster report: their pods and pages.",
  },
  {
    files: ["cli/clusters/**"],
    may: [
      "./",
      "api/**",
      "common/**",
      "cli/{install-namespace,terminal}.ts",
      "node:http",
      "node:stream",
      "ws",
    ],
    pure: false,
    why: "Reads and writes of clusters, and pages of agents and controllers by port-forward.",
  },
  {
    files: ["cli/command/**"],
    may: ["./", "api/**", "common/**", "cli/**", "controller/model/**", "commander"],
    pure: false,
    why: "One file for each command: flags in, an exit code out.",
  },
  {
    files: ["cli/*"],
    may: [
      "./",
      "api/**",
      "common/**",
      "cli/{command,output}/**",
      "commander",
      "node:fs",
      "node:os",
      "node:util",
    ],
    pure: false,
    why: "The command line.",
  },
];
