import { AGENT_RULES } from "./agent-rules.ts";
import { CLI_RULES } from "./cli-rules.ts";
import { CONTROLLER_RULES } from "./controller-rules.ts";
import type { Rule } from "./rule.ts";

/** Allowed imports. docs/ARCHITECTURE.md shows this table, and a test enforces it. */
export const RULES: readonly Rule[] = [
  {
    files: ["**/*.test.ts", "test/**", "bench/**", "demo/**", "scripts/**"],
    may: ["**", "node:", "*"],
    pure: false,
    why: "Tests, benchmarks, the demo and scripts may import everything; no other file imports them.",
  },
  {
    files: ["api/**"],
    may: ["api/**", "ip-address"],
    pure: true,
    why: "The types that all programs share; loads anywhere. ip-address is pure, and computes address ranges.",
  },
  {
    files: ["common/kubernetes/**"],
    may: ["api/**", "common/**", "node:", "@kubernetes/client-node/dist/config.js", "yaml"],
    pure: false,
    why: "The only place with requests to an API server.",
  },
  {
    files: ["common/**"],
    may: ["api/**", "common/**", "node:", "package.json", "pino", "prom-client"],
    pure: false,
    why: "Shared by all programs; imports none of them.",
  },
  ...AGENT_RULES,
  ...CONTROLLER_RULES,
  ...CLI_RULES,
  {
    files: ["images/*/*"],
    may: ["./", "node:"],
    pure: false,
    why: "Programs of the lab's containers, independent of each other.",
  },
];

/** Programs and tests: they are started, never imported. */
export const PROGRAMS: readonly string[] = ["**/main.ts", "scripts/*.ts", "**/*.test.ts"];
