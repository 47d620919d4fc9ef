import { get } from "node:http";
import { type Failure, failureOf } from "./attempt.ts";
import type { Options } from "./options.ts";
import { now, print } from "./output.ts";

/** Keeps one connection open and prints what it receives; true if it ended after its time or by SIGTERM. */
export function hold(options: Options): Promise<boolean> {
  const done = Promise.withResolvers<boolean>();
  let over = false;
  const end = (error?: Failure) => {
    if (over) return;
    over = true;
    clearTimeout(patience);
    if (error !== undefined) print({ at: now(), error });
    done.resolve(error === undefined);
    request.destroy();
  };
  const target = new URL("/stream", options.target);
  const request = get(target, { agent: false }, (response) => {
    clearTimeout(patience);
    if (response.statusCode !== 200) return end("status");
    let rest = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) {
        const heard = parseLine(text);
        if (heard === undefined) return end("garbled");
        if (!over) print({ at: now(), ...heard });
      }
    });
    response.once("end", () => end("closed"));
    response.on("error", (error) => end(failureOf(error)));
  });
  request.on("error", (error) => end(failureOf(error)));
  const patience = setTimeout(() => end("timeout"), options.timeoutMs);
  // The first process of a pod has no default action for SIGTERM.
  process.once("SIGTERM", () => end());
  if (Number.isFinite(options.forMs)) setTimeout(end, options.forMs).unref();
  return done.promise;
}

/** Parses one line of /stream. */
export function parseLine(text: string): { name: string; line: number } | undefined {
  const match = /^\{"line":(\d+),"name":"([^"\\]*)"/.exec(text);
  return match === null ? undefined : { name: match[2] ?? "", line: Number(match[1]) };
}
