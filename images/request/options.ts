import { parseArgs } from "node:util";

const USAGE = `request [options] TARGET

TARGET   http://241.0.1.7:80/path   one HTTP request on a connection of its own, to a "serve"
         tcp://241.0.1.7:80         the leanest: connect, ask "who", read the name, close
         udp://241.0.1.7:53         one datagram there, one back
         IPv6 addresses in brackets: tcp://[fd00:241::7]:80

  --timeout MS    give one attempt up after this long (default 2000)
  --count N       attempts, each on a fresh connection (default 1, or no limit with --for)
  --for SECONDS   go on for so long
  --rate N        start so many a second (default: one after the other, at most 1000/s)
  --in-flight N   start no more while so many are unanswered (default 2000)
  --every MS      instead of a line per attempt, a line of sums for each so many ms
  --hold          instead, keep one HTTP connection to /stream open, and print what comes

Attempts:  {"at":5123.417,"name":"web-1","source":"10.1.0.13","ms":0.512}
           {"at":5123.417,"error":"refused","ms":0.231}
Sums:      {"at":5200.001,"answers":{"web-1":20},"errors":{"refused":1},"maxMs":1.211}
Held:      {"at":5123.417,"name":"web-1","line":1}   and at last   {"at":9123.417,"error":"reset"}
A run of more than one attempt ends with {"total":2000,"answered":1999,"errors":{"refused":1},"maxMs":3.2}.

at      when the attempt began (held: when the line came), in ms of CLOCK_MONOTONIC: comparable between
        the processes of one machine
errors  refused, reset, timeout, unreachable, closed (ended without an answer), status (HTTP, not 200),
        garbled (an answer that is none), no-port (this machine has no local port left), failed

SIGTERM ends a run early: nothing new is begun, and what is under way is waited for.
The exit code is 0 if every attempt was answered.`;

/** What the command line asks for. */
export interface Options {
  readonly target: URL;
  readonly timeoutMs: number;
  /** Infinite if only time ends the run, as `forMs` is if only the count does. */
  readonly count: number;
  readonly forMs: number;
  /** A second; none: one after the other. */
  readonly rate: number | undefined;
  readonly inFlight: number;
  /** Print sums so often instead of every attempt. */
  readonly everyMs: number | undefined;
  readonly hold: boolean;
}

/** Reads the command line. Throws on what it does not understand; `--help` prints and ends. */
export function optionsOf(argv: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      timeout: { type: "string", default: "2000" },
      count: { type: "string" },
      for: { type: "string" },
      rate: { type: "string" },
      "in-flight": { type: "string", default: "2000" },
      every: { type: "string" },
      hold: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const [text] = positionals;
  const target = text === undefined || positionals.length > 1 ? null : URL.parse(text);
  if (target === null) throw new Error("expected one TARGET; see --help");
  const seconds = number("--for", values.for, 3_600);
  return {
    target,
    timeoutMs: number("--timeout", values.timeout, 600_000) ?? 2_000,
    count:
      number("--count", values.count, 100_000_000) ??
      (seconds === undefined ? 1 : Number.POSITIVE_INFINITY),
    forMs: seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1_000,
    rate: number("--rate", values.rate, 50_000),
    inFlight: number("--in-flight", values["in-flight"], 50_000) ?? 2_000,
    everyMs: number("--every", values.every, 60_000),
    hold: values.hold,
  };
}

function number(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= max) return value;
  throw new Error(`${flag} ${text}: expected a number above 0 and up to ${max}`);
}
