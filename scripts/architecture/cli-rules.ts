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
      "node:os",
      "node:util",
    ],
    pure: false,
    why: "The command line.",
  },
];
