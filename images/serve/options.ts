import { hostname } from "node:os";
import { parseArgs } from "node:util";

const USAGE = `serve [--name NAME] [--tcp PORT] [--udp PORT] [--as NAME=ADDRESS]... [--grace SECONDS]

  --name NAME        who to answer as; default: $POD_NAME, then the host's name
  --tcp PORT         HTTP and raw TCP on all addresses (default 8080; 0: none)
  --udp PORT         UDP (default 0: none)
  --as NAME=ADDRESS  answer as NAME on this address of the machine; may be repeated, so that one
                     process stands for many pods. Other addresses answer as --name
  --grace SECONDS    on SIGTERM: no new connections; those in use get this long (default 5)

HTTP:  GET /              {"name":"web-1","source":"10.1.0.13","address":"10.1.0.11","family":"IPv4"}
       GET /stream?ms=N   a numbered line every N ms (default 100) for as long as the client stays
       GET /slow?ms=N     the answer of / after N ms (default 1000)
       GET /healthz       ok
raw:   a line that reads "who" is answered with "NAME SOURCE", and the connection is closed
UDP:   a datagram is answered with "NAME SOURCE"`;

/** The parsed command line. */
export interface Options {
  readonly name: string;
  /** Ports; 0: none. */
  readonly tcp: number;
  readonly udp: number;
  /** Names by address. */
  readonly names: ReadonlyMap<string, string>;
  readonly graceMs: number;
}

/** Parses the command line. Throws if it is invalid; `--help` prints the usage and exits. */
export function optionsOf(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      name: { type: "string", default: process.env.POD_NAME ?? hostname() },
      tcp: { type: "string", default: "8080" },
      udp: { type: "string", default: "0" },
      as: { type: "string", multiple: true, default: [] },
      grace: { type: "string", default: "5" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const names = new Map(
    values.as.map((text) => {
      const [name = "", address = ""] = text.split("=");
      if (name === "" || address === "") throw new Error(`--as ${text}: expected NAME=ADDRESS`);
      return [address, name];
    }),
  );
  return {
    name: values.name,
    tcp: number("--tcp", values.tcp, 65_535),
    udp: number("--udp", values.udp, 65_535),
    names,
    graceMs: number("--grace", values.grace, 3_600) * 1_000,
  };
}

function number(flag: string, text: string, max: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new Error(`${flag} ${text}: expected a number from 0 to ${max}`);
}
