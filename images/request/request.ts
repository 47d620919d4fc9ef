/**
 * request: makes connections and tells what became of each, one JSON line a time, so that a person, a test
 * or `kubectl logs` can see who answered, how soon, and what failed. Needs nothing but Node.
 */
import { ATTEMPTS } from "./attempt.ts";
import { hold } from "./hold.ts";
import { optionsOf } from "./options.ts";
import { repeat } from "./repeat.ts";

const options = optionsOf(process.argv.slice(2));
const attempt = ATTEMPTS[options.target.protocol];
if (attempt === undefined) throw new Error(`${options.target.href}: expected http, tcp or udp`);
process.exitCode = (await (options.hold ? hold(options) : repeat(options, attempt))) ? 0 : 1;
