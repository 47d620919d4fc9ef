import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Command } from "commander";
import { fakeMember } from "../test/doubles/fake-member.ts";
import { CommandLine } from "../test/stages/command-line.ts";
import { candidates } from "./command/completion.ts";
import { withDryRunKinds } from "./command-line.ts";
import { PLAIN } from "./output/table.ts";
import { createProgram, run } from "./run.ts";
import { type Streams, terminalOn } from "./terminal.ts";

function streams(columns?: number): Streams & { readonly text: () => string } {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  return {
    ...PLAIN,
    ...(columns !== undefined && { columns }),
    ...{ out: write, note: write, ask: async () => undefined, env: {}, home: "/nonexistent" },
    ...{ user: "ann", timeOfDay: () => 0, signal: new AbortController().signal },
    text: () => text,
  };
}

const program = createProgram(terminalOn(streams()), () => undefined);
const commands = program.commands.filter((one) => !one.name().startsWith("__"));

const valuesOf = (placeholder: string) =>
  ["names", "context", "contexts"].includes(placeholder) ? ["dev", "prod-1", "prod-2"] : [];
const of = (...words: string[]) => candidates(program, words, valuesOf);

test("commands complete by their beginning; internal ones do not", () => {
  assert.deepEqual(of("dr"), ["drain", "drill"]);
  assert.ok(of("").includes("undrain"));
  assert.ok(of("").every((word) => !word.startsWith("_")));
});

test("flags are those of the command, and values those of the flag", () => {
  assert.deepEqual(of("drain", "c2", "--rea"), ["--reason"]);
  assert.deepEqual(of("undrain", "c2", "--rea"), []);
  assert.deepEqual(of("drain", "--at", ""), ["hub", "own", "peer"]);
  assert.deepEqual(of("simulate", "--output=j"), ["--output=json"]);
  assert.deepEqual(of("simulate", "-o", "y"), ["yaml"]);
  assert.deepEqual(of("drain", "--reason", ""), [], "any text");
});

test("contexts complete one by one, also behind a comma", () => {
  assert.deepEqual(of("drain", "c2", "--context", "pr"), ["prod-1", "prod-2"]);
  assert.deepEqual(of("drain", "c2", "--context", "dev,p"), ["dev,prod-1", "dev,prod-2"]);
  assert.deepEqual(of("join", "prod-1", "--hub", "d"), ["dev"]);
  const comma = candidates(program, ["drain", "c2", "--context", "a,"], () => ["a", "a,b"]);
  assert.deepEqual(comma, ["a,a", "a,a,b", "a,b"], "a name may have one");
});

test("help of what is no command names it", async () => {
  for (const argv of [["help", "nope"], ["nope"]]) {
    const user = streams();
    assert.equal(await run(argv, user), 2);
    assert.equal(user.text(), "error: unknown command 'nope'\n(--help lists the flags)\n");
  }
});

test("contexts that are arguments complete, each once; cluster IDs and Services do not", () => {
  for (const command of ["join", "rotate", "upgrade", "leave"])
    assert.deepEqual(of(command, "pr"), ["prod-1", "prod-2"]);
  assert.deepEqual(of("join", "prod-1", "--clusterset", "x", ""), ["dev", "prod-2"]);
  assert.deepEqual(of("drain", ""), []);
});

const has = (command: Command, flag: string) => command.options.some(({ long }) => long === flag);

test("each command that reads clusters has -o, --kubeconfig and --request-timeout", () => {
  for (const command of commands.filter((one) => one.name() !== "completion"))
    for (const flag of ["--output", "--kubeconfig", "--request-timeout"])
      assert.ok(has(command, flag), `${command.name()} ${flag}`);
});

test("each command that changes clusters has --dry-run, with or without a kind; it takes no argument for its kind", () => {
  for (const name of "export unexport drain undrain join upgrade rotate leave".split(" "))
    assert.ok(has(commands.find((one) => one.name() === name) ?? program, "--dry-run"), name);
  const kinds = (line: string) => withDryRunKinds(line.split(" ")).join(" ");
  assert.equal(kinds("leave --dry-run c1"), "leave --dry-run=client c1");
  assert.equal(kinds("join c1 --dry-run server c2"), "join c1 --dry-run=server c2");
  assert.equal(kinds("join c1 --dry-run=server"), "join c1 --dry-run=server");
});

test("help has lines of 80 characters, or of the terminal's width, and readable defaults", async () => {
  for (const columns of [undefined, 80, 100, 160])
    for (const command of commands) {
      const user = streams(columns);
      assert.equal(await run([command.name(), "--help"], user), 0);
      for (const line of user.text().split("\n"))
        assert.ok(line.length <= (columns ?? 80), `${line.length}: ${line}`);
      assert.doesNotMatch(user.text(), /\[object|\{"/);
    }
});

test("the examples of README are run as they are written, and do what README says", async () => {
  const readme = readFileSync(`${import.meta.dirname}/../README.md`, "utf8");
  const lines = [...readme.matchAll(/^kubectl clusterset (.*?)(?: +#.*)?$/gm)].map(
    // The placeholder of a node.
    ([, line = ""]) => line.replace("NODE", "n1"),
  );
  await using one = await fakeMember("cluster-1");
  await using two = await fakeMember("cluster-2");
  using user = new CommandLine({ "cluster-2": two.inline, "cluster-1": one.inline });
  const shown: Readonly<Record<string, RegExp>> = {
    export: /^cluster-2: shop\/serviceexport\/web created$/m,
    status: /^cluster-1 .*\n(.*\n)*cluster-2 /m,
    simulate: /ports? differs?/,
    drain: /^cluster-1: clusterproperty\/\S+ drained, effective in all clusters$/m,
    explain: /^Import: +shop\/web, programmed\nSeen from: +node n1/m,
  };
  const seen = new Set<string>();
  for (const line of lines) {
    const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
    const [command = ""] = words;
    const { code, out, note } = await user.run(...words);
    // Clusters that are not real cannot join; the command line is right.
    assert.notEqual(code, 2, `${line}: ${note}`);
    const expected = shown[command];
    if (expected === undefined) continue;
    assert.match(out, expected, line);
    seen.add(command);
  }
  assert.deepEqual([...seen].sort(), Object.keys(shown).sort());
  assert.ok(
    one.writes.some((write) => write.startsWith("PATCH") && /clusterproperties/.test(write)),
  );
});

test("clusters that a flag does not name, or names twice over, are a usage error", async () => {
  await using one = await fakeMember("c1");
  using user = new CommandLine({ one: one.inline });
  for (const [argv, shown] of [
    [["status", "--context", ""], /Expected names, separated by commas/],
    [["drain", "c1", "--for", "1h", "--context", ","], /Expected names, separated by commas/],
    [["leave", "one", "--absent", ""], /Expected names, separated by commas/],
    [["export", "a", "--context", "one", "--all-contexts"], /'--all-contexts' cannot be used with/],
  ] as const) {
    const { code, note } = await user.run(...argv);
    assert.equal(code, 2, note);
    assert.match(note, shown);
  }
  assert.deepEqual(one.requests, []);
});

test("a drain that controllers would reject is a usage error, before anything is changed", async () => {
  using user = new CommandLine({});
  const long = "x".repeat(100);
  for (const flags of [
    ["--for", "30d", "--by", long, "--reason", long],
    ["--for", "2h", "--reason", "\u{1f6a7}".repeat(100)],
    ["--for", "2h", "--from", "0000-01-01T00:00:00+14:00"],
  ]) {
    const { code, note } = await user.run("drain", "c1", ...flags);
    assert.equal(code, 2, note);
    assert.match(note, /^The drain would be invalid: "from=/);
  }
});
