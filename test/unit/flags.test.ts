import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { AGENT, parseConfig as parseAgent } from "../../agent/config/config.ts";
import { type AnyProgram, flagList, variableOf, variablePrefix } from "../../common/config/flag.ts";
import { helpText } from "../../common/config/help.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { CONTROLLER, parseConfig as parseController } from "../../controller/config/config.ts";
import { forAll } from "../generators/for-all.ts";

// What holds for each flag of both programs.

const HOST = { name: "node-1", terminal: false };

interface Parsed {
  readonly program: AnyProgram;
  readonly parse: typeof parseAgent | typeof parseController;
  /** A flag without which no command runs, and its key. */
  readonly source: readonly string[];
  readonly sourceKey: string;
}

const PROGRAMS: readonly Parsed[] = [
  { program: AGENT, parse: parseAgent, source: ["--manifests", "dir"], sourceKey: "manifests" },
  {
    ...{ program: CONTROLLER, parse: parseController },
    ...{ source: ["--kubeconfig", "k"], sourceKey: "kubeconfig" },
  },
];

for (const { program, parse, source, sourceKey } of PROGRAMS) {
  const prefix = variablePrefix(program);
  describe(program.name, () => {
    test("every flag can be set by its variable, and the error of an invalid value names the variable", () => {
      for (const flag of flagList(program)) {
        const variable = variableOf(program, flag);
        assert.match(variable, /^[A-Z_]+$/);
        if (flag.key === "manifests") continue;
        const argv = flag.key === sourceKey ? [] : source;
        const parsed = parse(argv, { [variable]: "\u0000" }, HOST);
        assert.ok(isUsage(parsed), variable);
        assert.ok(usageText(parsed).startsWith(`CSP_USAGE: ${variable}: "\\u0000": `), variable);
      }
    });

    test("the help names every flag, its default and its variable", () => {
      const lines = helpText(program).split("\n");
      for (const flag of flagList(program)) {
        const line = lines.find((each) => each.includes(`--${flag.name} ${flag.placeholder}`));
        const variable = variableOf(program, flag).slice(prefix.length);
        assert.ok(line?.endsWith(`[…_${variable}]`), flag.name);
        if (typeof flag.default === "string" && flag.default !== "")
          assert.ok(line?.includes(`(default: ${flag.default})`), flag.name);
      }
    });

    test("the configuration cannot be changed", () => {
      const config = parse(source, {}, HOST);
      assert.throws(() => Object.assign(config, { region: "us" }), TypeError);
    });

    test("no command line makes the parser throw", async () => {
      const names = flagList(program).map(({ name }) => `--${name}`);
      const words = fc.constantFrom(...names, "run", "plan", "-o", "-h", "--", "-");
      const line = fc.array(fc.oneof(words, fc.string()), { maxLength: 6 });
      await forAll([line], (argv) => {
        assert.equal(typeof parse(argv, {}, HOST), "object");
      });
    });
  });
}
