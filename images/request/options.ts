import { parseArgs } from "node:util";

const USAGE = `request [options] TARGET

TARGET   http://241.0.1.7:80/path   one HTTP request on a connection of its own, to a "serve"
         tcp://241.0.1.7:80         a TCP connection: send "who", read the name, close
         udp://241.0.1.7:53         one datagram and its reply
         IPv6 addresses in brackets: tcp://[fd00:241::7]:80

  --timeout MS    timeout of an attempt in milliseconds (default 2000)
  --count N       attempts, each on a new connection (default 1, or no limit with --for)
  --for SECONDS   duration of the run
  --rate N        attempts per second (default: one after the other, at most 1000/s)
  --in-flight N   maximum number of unanswered attempts (default 2000)
  --every MS      print sums at this interval instead of a line per attempt
  --hold          keep one HTTP connection to /stream open and print what it receives

Attempts:  {"at":5123.417,"name":"web-1","source":"10.1.0.13","ms":0.512}
           {"at":5123.417,"error":"refused","ms":0.231}
Sums:      {"at":5200.001,"answers":{"web-1":20},"errors":{"refused":1},"maxMs":1.211}
Held:      {"at":5123.417,"name":"web-1","line":1}   and at last   {"at":9123.417,"error":"reset"}
A run of more than one attempt ends with {"total":2000,"answered":1999,"errors":{"refused":1},"maxMs":3.2}.

at      start of the attempt (--hold: arrival of the line) in ms of CLOCK_MONOTONIC, comparable between
        the processes of one machine
errors  refused, reset, timeout, unreachable, closed (ended without an answer), status (HTTP, not 200),
        garbled (an invalid answer), no-port (this machine has no free local port), failed

SIGTERM ends a run early: no attempt starts, and those under way end.
The exit code is 0 if every attempt was answered.`;

/** The parsed command line. */
export interface Options {
  readonly target: URL;
  readonly timeoutMs: number;
  /** Infinite if only time ends the run; `forMs` is infinite if only the count does. */
  readonly count: number;
  readonly forMs: number;
  /** Attempts per second; absent: one after the other. */
  readonly rate: number | undefined;
  readonly inFlight: number;
  /** Interval of sums, which are printed instead of attempts. */
  readonly everyMs: number | undefined;
  readonly hold: boolean;
}

/** Parses the command line. Throws if it is invalid; `--help` prints the usage and exits. */
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
