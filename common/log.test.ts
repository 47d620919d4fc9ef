import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import { CodedError } from "./errors.ts";
import { createLogger, type Logger, type LogOptions } from "./log.ts";
import { LogRateLimit } from "./log-rate-limit.ts";

function logged(options: LogOptions, use: (log: Logger) => void): string[] {
  const lines: string[] = [];
  use(createLogger(options, { write: (line) => lines.push(line) }));
  return lines;
}

/** A pretty line without its time of day. */
function pretty(use: (log: Logger) => void, colour = false): string[] {
  return logged({ level: "trace", format: "pretty", colour }, use).map((line) => {
    assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} /);
    return line.slice(13);
  });
}

test("a JSON line has time, level, message and fields, but no process ID or host name", () => {
  const [line = ""] = logged({ level: "info", format: "json" }, (log) =>
    log.with({ import: "demo/serve" }).info("Import appeared.", { reason: "programmed" }),
  );
  const { time, ...rest } = JSON.parse(line);
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, {
    level: "info",
    import: "demo/serve",
    reason: "programmed",
    msg: "Import appeared.",
  });
});

test("lines below the level are not written", () => {
  const lines = logged({ level: "warn", format: "json" }, (log) => {
    assert.equal(log.enabled("info"), false);
    assert.equal(log.enabled("error"), true);
    log.info("quiet");
    log.write({ level: "debug", message: "quiet", fields: {} });
    log.write({ level: "error", message: "loud", fields: {} });
  });
  const messages = lines.map((line) => JSON.parse(line).msg);
  assert.deepEqual(messages, ["loud"]);
});

test("a coded error shows its code and its cause; only an unexpected one shows a stack", () => {
  const cause = new Error("no such file");
  const [coded = "", unforeseen = "", thrownText = ""] = logged(
    { level: "info", format: "json" },
    (log) => {
      log.error("Failed.", { error: new CodedError("CSP_EXEC_FAILED", "nft ended", { cause }) });
      log.error("Failed.", { error: cause });
      log.error("Failed.", { error: "just text" });
    },
  );
  const { stack, ...shownCause } = JSON.parse(coded).error.cause;
  assert.deepEqual(shownCause, { type: "Error", message: "no such file" });
  assert.match(stack, /log\.test\.ts/);
  assert.equal(JSON.parse(coded).error.code, "CSP_EXEC_FAILED");
  assert.equal(JSON.parse(coded).error.stack, undefined);
  assert.match(JSON.parse(unforeseen).error.stack, /log\.test\.ts/);
  assert.deepEqual(JSON.parse(thrownText).error, { message: "just text" });
});

test("a pretty line is level, message, name=value", () => {
  assert.deepEqual(
    pretty((log) => {
      log.info("Port moved.", { import: "demo/serve", from: "local", endpoints: 3, why: "a b" });
      log.warn("Nothing more.");
    }),
    [
      'INFO  Port moved.  import=demo/serve from=local endpoints=3 why="a b"\n',
      "WARN  Nothing more.\n",
    ],
  );
});

test("a pretty line shows an error as code, message and cause, with a stack if it is unexpected", () => {
  const cause = new Error("no such file");
  cause.stack = "Error: no such file\n    at open (file.ts:1:1)";
  assert.deepEqual(
    pretty((log) => {
      log.error("Failed.", { error: new CodedError("CSP_EXEC_FAILED", "nft ended", { cause }) });
      log.error("Failed.", { error: cause });
    }),
    [
      'ERROR Failed.  error="CSP_EXEC_FAILED: nft ended: Error: no such file"\n',
      'ERROR Failed.  error="Error: no such file"\n    at open (file.ts:1:1)\n',
    ],
  );
});

test("only the level has a colour, and only if requested", () => {
  const [line] = pretty((log) => log.warn("Odd.", { n: 1 }), true);
  assert.equal(line, "\u001b[33mWARN \u001b[0m Odd.  n=1\n");
});

test("in both formats, no text of a line controls a terminal, and JSON keeps it", () => {
  const text = "x\u001b[2K\r\n\u202e\u009b1m\u2028é";
  for (const format of ["json", "pretty"] as const) {
    const [line = ""] = logged({ level: "info", format }, (log) => log.info(text, { from: text }));
    assert.match(line, /^[\x20-\x7e]+\n$/);
    if (format === "json") assert.equal(JSON.parse(line).from, text);
  }
});

describe("shares of the log", () => {
  test("allow an object a hundred lines at once, then one a second, and count the others", () => {
    const clock = new FakeClock();
    const shares = new LogRateLimit(clock);
    const written = (lines: number) =>
      Array.from({ length: lines }, () => shares.ration("demo/a")).filter(({ write }) => write);
    assert.equal(written(180).length, 100);
    clock.advance(6_000);
    const [first, ...rest] = written(100);
    assert.equal(first?.leftOut, 80);
    const leftOut = rest.map(({ leftOut }) => leftOut);
    assert.deepEqual(leftOut, [0, 0, 0, 0, 0]);
  });

  test("are separate for each object, and forgotten once they are full again", () => {
    const clock = new FakeClock();
    const shares = new LogRateLimit(clock);
    for (let i = 0; i < 130; i++) shares.ration("demo/a");
    assert.ok(shares.ration("demo/b").write);
    clock.advance(50_000);
    shares.ration("demo/b");
    assert.equal(shares.size, 2);
    clock.advance(50_000);
    shares.ration("demo/c");
    assert.equal(shares.size, 2, "b has had a line since");
  });

  test("are remembered for 4,096 objects, however many names there are", () => {
    const shares = new LogRateLimit(new FakeClock());
    for (let i = 0; i < 10_000; i++) assert.ok(shares.ration(`demo/${i}`).write);
    assert.equal(shares.size, 4_096);
  });
});

/** A process of its own: it is the process's listeners that are exchanged. */
const PROGRAM = `
  import { createLogger } from "./log.ts";
  import { logNodeWarnings } from "./process.ts";
  const sink = { write: (line) => process.stderr.write(line) };
  logNodeWarnings(createLogger({ level: "info", format: "json" }, sink));
  process.emitWarning("too many listeners", "MaxListenersExceededWarning");
`;

test("a warning of Node is one log line, and the only output on stderr", () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module-typescript", "--eval", PROGRAM],
    { cwd: join(import.meta.dirname), encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  const { level, warning, detail } = JSON.parse(stderr);
  assert.deepEqual(
    { level, warning, detail },
    { level: "warn", warning: "MaxListenersExceededWarning", detail: "too many listeners" },
  );
});
