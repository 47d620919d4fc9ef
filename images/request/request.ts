/**
 * request: makes connections and prints a JSON line for each: the server that answered, the time that it took, or the
 * error. Needs only Node.js.
 */
import { ATTEMPTS } from "./attempt.ts";
import { hold } from "./hold.ts";
import { optionsOf } from "./options.ts";
import { repeat } from "./repeat.ts";

const options = optionsOf(process.argv.slice(2));
const attempt = ATTEMPTS[options.target.protocol];
if (attempt === undefined) throw new Error(`${options.target.href}: expected http, tcp or udp`);
process.exitCode = (await (options.hold ? hold(options) : repeat(options, attempt))) ? 0 : 1;
