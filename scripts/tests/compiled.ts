import { fileURLToPath } from "node:url";

/**
 * The environment of tests: what Node makes of a source it keeps, and takes from there as long as the source is the same. Tests
 * start programs of a hundred files all the time, and half of an agent's start was to take out types and to compile.
 */
export const COMPILED: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/compiled", import.meta.url)),
};
