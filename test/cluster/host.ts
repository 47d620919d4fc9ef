import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { removeGroup } from "../lab/cgroups.ts";
import type { ExecOptions, Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";

const INIT = `${import.meta.dirname}/host-init`;

/** Dies with the process that started it, however that ends. */
const WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"];

/**
 * What enters by its namespaces is not in the node's control groups yet. The tree of version 2, or those of version 1: in a
 * node, each has its own `init`.
 */
const JOIN = `for group in /sys/fs/cgroup/init /sys/fs/cgroup/*/init; do
  [ ! -f $group/cgroup.procs ] || echo 0 >$group/cgroup.procs
done
exec "$@"`;

/** Drops all packets: the network namespace stays, and its kernel would respond for a machine that is off. */
const SILENT = `table inet off {
  chain prerouting { type filter hook prerouting priority -500; policy drop; }
  chain output { type filter hook output priority -500; policy drop; }
}
`;
const HEARD = "add table inet off\ndelete table inet off\n";

/**
 * What a kernel forgets with the power is taken out of the namespace: rules, connections, and the links to pods, which go by
 * themselves as their namespaces do, but later.
 */
const FORGET = `nft -f - <<END
flush ruleset
${SILENT}END
for family in ip ip6; do
  for table in $(cat /proc/net/$family'_tables_names' 2>/dev/null); do
    $family'tables-legacy' -t $table -F
    $family'tables-legacy' -t $table -X
  done
done
conntrack -F 2>/dev/null
for link in $(ip -o link show type veth | sed -n 's/^[0-9]*: \\(veth[^@:]*\\).*/\\1/p'); do
  ip link delete $link 2>/dev/null
done
true`;

/** A lab's namespaces have a lock of iptables each, below the machine's /run. A host has a /run of its own. */
const LOCK = ["env", "XTABLES_LOCKFILE=/run/xtables.lock"];

const ISOLATED = ["cgroup", "mnt", "uts", "ipc", "pid"] as const;

export interface HostOptions {
  /** Its network. */
  readonly namespace: Namespace;
  /** Its control group, below the top of every tree: `<run>/<name>`. */
  readonly group: string;
  /** Where /var/lib and /var/log are kept while it is off. */
  readonly directory: string;
  readonly hostname: string;
}

/**
 * A host as programs see one: with a network, a name, processes, control groups, /run, /var/lib and /var/log of its own. The
 * rest of its file system is the machine's.
 */
export class Host {
  readonly options: HostOptions;
  #init: Process | undefined;
  #pid: string | undefined;

  constructor(options: HostOptions) {
    this.options = options;
  }

  /** Switches it on. */
  async boot(): Promise<void> {
    const { namespace, group, directory, hostname } = this.options;
    mkdirSync(directory, { recursive: true });
    await namespace.exec(["nft", "-f", "-"], { stdin: HEARD });
    this.#init = namespace.spawn([...WITH_PARENT, INIT, group, directory, hostname]);
    this.#pid = await this.#init.line(/^\d+$/, 30_000);
  }

  /** No packet leaves it or reaches it from now on; `cutPower` begins with that, and takes longer. Ends when it boots. */
  async silence(): Promise<void> {
    await this.options.namespace.exec(["nft", "-f", "-"], { stdin: SILENT });
  }

  /** Cuts its power: all its processes are killed without a packet, and /run is emptied. */
  async cutPower(): Promise<void> {
    await this.silence();
    // Killing `unshare` kills the node's first process, and with that all others.
    this.#init?.signal("SIGKILL");
    await this.#init?.exited;
    this.#init = undefined;
    this.#pid = undefined;
    // Groups of pods that are no more would keep the next kubelet busy for some ten seconds.
    while (!removeGroup(this.options.group)) await sleep(5);
    await this.options.namespace.exec(["sh", "-c", FORGET]);
  }

  /** Starts a program on it that ends with this process. Its output is appended to /var/log/NAME.log. */
  serve(name: string, argv: readonly string[]): Process {
    const logging = ["sh", "-c", `exec "$@" >>/var/log/${name}.log 2>&1`, "sh"];
    return this.options.namespace.spawn(this.#enter([...logging, ...argv]));
  }

  /** The last words of a program that was started with `serve`. */
  lastWords(name: string): string {
    return endOf(`${this.options.directory}/log/${name}.log`);
  }

  /** Runs a program on it to its end, and gives its standard output. Throws unless it ends with code 0. */
  exec(argv: readonly string[], options: ExecOptions = {}): Promise<string> {
    return this.options.namespace.exec(this.#enter(argv), options);
  }

  /** What to put before a command so that it runs here. */
  get within(): readonly string[] {
    return [...this.options.namespace.within, ...this.#enter([])];
  }

  #enter(argv: readonly string[]): string[] {
    if (this.#pid === undefined) throw new Error(`${this.options.hostname} is off`);
    const namespaces = ISOLATED.map((kind) => {
      const flag = kind === "mnt" ? "mount" : kind;
      return `--${flag}=/proc/${this.#pid}/ns/${kind}`;
    });
    const join = ["sh", "-c", JOIN, "sh"];
    const enter = ["nsenter", ...namespaces, "--", ...WITH_PARENT];
    return [...WITH_PARENT, ...enter, ...LOCK, ...join, ...argv];
  }
}

/** Sends SIGTERM to a program of a host, and waits for its end. `Process.stop` would kill the process that entered the host. */
export async function endOnHost(program: Process): Promise<void> {
  const children = readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, "utf8");
  for (const pid of children.trim().split(" ").filter(Boolean)) {
    execFileSync("kill", ["-TERM", pid]);
  }
  await program.exited;
}

/** Characters of a log that are shown when something fails. */
const LAST_WORDS = 4_000;

/** The end of a log; empty if it does not exist. */
export function endOf(log: string): string {
  return existsSync(log) ? readFileSync(log, "utf8").slice(-LAST_WORDS) : "";
}
