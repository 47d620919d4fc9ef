import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { COMPILED } from "./compiled.ts";

// Builds what tests need and a new machine lacks, after "scripts/prepare kubernetes lab vm". The builds of Go come one after the other at low priority, as each of them uses all processors. Everything else comes beside them,
// also one after the other. What exists already takes no time.

export type Artefact =
  | "api-server"
  | "kubelets"
  | "agnhost"
  | "old-api-server"
  | "coredns"
  | "helm"
  | "envoy"
  | "connector"
  | "debian"
  | "vm"
  | "images"
  | "clusters"
  | "promtool"
  | "old-etcd"
  | "more-images";

export interface Step {
  readonly artefact: Artefact;
  readonly lane: "go" | "other";
  readonly argv: readonly string[];
  /** What has to be there before, besides earlier steps of the lane. */
  readonly needs: readonly Artefact[];
  /** How long it takes on a new machine with two processors, about. */
  readonly seconds: number;
}

const BUILD = "test/kubernetes/build";
const NODE = process.execPath;
const NODE_COMMANDS = ["kube-proxy", "kube-controller-manager", "kube-scheduler", "kubelet"];

/** In the order in which each lane takes them. */
export const STEPS: readonly Step[] = [
  // For tests of API servers, the most by far.
  step("api-server", "go", 215, [BUILD, "etcd", "kube-apiserver", "kubectl"]),
  // kube-proxy and the controllers of Kubernetes, too.
  step("kubelets", "go", 120, [BUILD, ...NODE_COMMANDS]),
  step("coredns", "go", 30, [BUILD, "coredns"]),
  step("connector", "go", 2, [BUILD, "connector"]),
  // The server and client of the install guide.
  step("agnhost", "go", 40, [BUILD, "agnhost"]),
  step("helm", "go", 89, [BUILD, "helm"]),
  step("old-api-server", "go", 200, [BUILD, "kube-apiserver-1.24"]),
  step("envoy", "go", 159, ["test/kubernetes/envoy-gateway/build"]),
  // Downloads; prometheus is in the same package as promtool.
  step("promtool", "other", 3, [BUILD, "promtool"]),
  step("old-etcd", "other", 2, [BUILD, "debian-etcd"]),
  // What the disk of the virtual machine and the images begin with.
  step("debian", "other", 20, [NODE, "test/vm/make.ts", "debian"]),
  step("vm", "other", 25, [NODE, "test/vm/make.ts", "disk"], ["debian"]),
  // Of these sources: after a change of product code again.
  step("images", "other", 35, [NODE, "test/e2e/make-ready.ts", "images"], ["debian"]),
  // The images of the lab, all of them unpacked: with it, everything for real clusters is there.
  step(
    "clusters",
    "other",
    30,
    [NODE, "test/e2e/make-ready.ts", "clusters"],
    [...(["api-server", "kubelets", "coredns", "images"] as const)],
  ),
  // Of the next release, and what clusters without the product begin with. Tests of the kernel run meanwhile.
  step(
    "more-images",
    "other",
    40,
    ["nice", "-n", "10", NODE, "test/e2e/make-ready.ts", "rest"],
    ["clusters", "agnhost"],
  ),
];

function step(
  artefact: Artefact,
  lane: Step["lane"],
  seconds: number,
  argv: readonly string[],
  needs: readonly Artefact[] = [],
): Step {
  return { artefact, lane, seconds, argv, needs };
}

/** Runs one command; rejects with what it wrote to standard error if it fails. */
export type Run = (argv: readonly string[], env: NodeJS.ProcessEnv) => Promise<void>;

/**
 * Builds that are under way. `ready` waits for one artefact; it rejects if that, or what it needs, could not be built. `done` waits for all, and
 * rejects if any failed.
 */
export class Builds {
  readonly done: Promise<void>;
  readonly #ends = new Map<Artefact, PromiseWithResolvers<void>>();
  readonly #run: Run;

  /** Builds these artefacts, and those that they need. */
  constructor(artefacts: Iterable<Artefact>, run: Run = runCommand) {
    this.#run = run;
    const wanted = withNeeds(artefacts);
    const steps = STEPS.filter(({ artefact }) => wanted.has(artefact));
    for (const { artefact } of steps) {
      const end = Promise.withResolvers<void>();
      // A failure that nobody waits for is in `done`.
      end.promise.catch(() => undefined);
      this.#ends.set(artefact, end);
    }
    const lanes = [...Map.groupBy(steps, ({ lane }) => lane).values()];
    this.done = this.#inLanes(lanes);
    this.done.catch(() => undefined);
  }

  ready(artefact: Artefact): Promise<void> {
    const end = this.#ends.get(artefact);
    if (end === undefined) throw new Error(`${artefact} was not requested`);
    return end.promise;
  }

  async #inLanes(lanes: readonly (readonly Step[])[]): Promise<void> {
    await Promise.all(lanes.map((lane) => this.#inTurn(lane)));
    await Promise.all([...this.#ends.values()].map(({ promise }) => promise));
    // After a failure, Go's caches make the next attempt short.
    await this.#run([BUILD], process.env);
  }

  /** All of them, whether or not earlier steps failed. */
  async #inTurn(steps: readonly Step[]): Promise<void> {
    for (const { artefact, argv, lane, needs } of steps) {
      const end = this.#ends.get(artefact);
      try {
        await Promise.all(needs.map((needed) => this.ready(needed)));
        const begun = performance.now();
        const command = lane === "go" ? ["nice", "-n", "10", ...argv] : argv;
        await this.#run(command, { ...COMPILED, KEEP_GO_CACHES: "1" });
        const seconds = Math.round((performance.now() - begun) / 1000);
        if (seconds > 0) console.log(`builds: ${artefact} in ${seconds} s`);
        end?.resolve();
      } catch (error) {
        console.log(`builds: ${artefact} FAILED`);
        end?.reject(new Error(`${artefact} could not be built`, { cause: error }));
      }
    }
  }
}

/** These artefacts, and all that they need. */
function withNeeds(artefacts: Iterable<Artefact>): Set<Artefact> {
  const wanted = new Set(artefacts);
  // An artefact's needs are earlier in the table.
  for (const { artefact, needs } of STEPS.toReversed()) {
    if (wanted.has(artefact)) for (const needed of needs) wanted.add(needed);
  }
  return wanted;
}

/** Enough lines to see why a build failed. */
const SHOWN_LINES = 20;

async function runCommand([command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv) {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = Promise.withResolvers<number | null>();
  child.once("error", ended.reject);
  child.once("close", ended.resolve);
  const code = await ended.promise;
  const shown = errors.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  if (code !== 0) throw new Error(`${[command, ...args].join(" ")}: status ${code}\n${shown}`);
}
