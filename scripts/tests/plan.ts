import { globSync } from "node:fs";
import { matchesGlob } from "node:path";
import type { Artefact } from "./builds.ts";

/**
 * The command that runs a file: `check` (`make check`), `unit` (`npm test`), `test` (`make test`, which runs the former two as
 * well), or `all` (`make test-all`, which runs everything).
 */
export type Target = "check" | "unit" | "test" | "all";

/** Which test files a command runs, and how. */
export interface Row {
  /** A file belongs to the first row whose glob matches it; files for the virtual machine, to the first such row besides. */
  readonly files: string;
  readonly target: Target;
  /** For `test`: runs only the tests with these names (a regular expression). `make test-all` runs the file's other tests. */
  readonly only?: string;
  /** For `test`: runs all tests but those with these names. `make test-all` runs these. */
  readonly skip?: string;
  /** True if it makes random choices: `make test-all` runs it once more, with a seed of its own. */
  readonly random?: boolean;
  /** Expected duration of one file with two processors, so that long files begin first. Default: 10. */
  readonly seconds?: number;
  /** The same of what `only` or `skip` leave to the rest. Default: `seconds`. */
  readonly secondsOfRest?: number;
  /** Slots of the pool that one file takes. Default: 1. */
  readonly weight?: number;
  /** True if the file needs the whole machine, or the whole virtual machine: it runs last, with nothing beside it. */
  readonly alone?: boolean;
  /** True if a failure must not be forgiven: the file is not repeated, and the run fails. */
  readonly once?: boolean;
  /** True if the file runs in the virtual machine. */
  readonly guest?: boolean;
  /** What has to be built or installed before. */
  readonly needs?: readonly Artefact[];
}

/** What a row has that names nothing else. */
type Options = Omit<Row, "files" | "target">;

const row = (target: Target, files: string, options: Options = {}): Row => ({
  files,
  target,
  ...options,
});

/** Names of tests of one flavour or backend, as `test/backends.ts` lists them. */
const LEGACY = "legacy";
const NFTABLES = "nftables";

/** What tests on API servers need, some of them with Kubernetes' controllers or kube-proxy, and those with kubelets. */
const SERVERS: Options = { needs: ["api-server", "kubelets"] };
const CLUSTERS: Options = { needs: ["clusters"], weight: 2, seconds: 100 };
/** In the rest: clusters boot beside clients that must lose nothing, with one other job. */
const MORE_CLUSTERS: Options = { needs: ["more-images"], weight: 3, seconds: 200 };

/** Failover, rejection, and that nothing stays. */
const IPVS_PROMISES = "after a failover|without an endpoint|cleanup";

/** One guest runs all of a run's files for it; kube-proxy is for two of them. */
const GUEST: Options = { guest: true, needs: ["vm", "kubelets"], seconds: 100 };

const apiserver = (name: string, seconds: number, target: Target = "test"): Row =>
  row(target, `test/apiserver/${name}.test.ts`, { ...SERVERS, seconds });
const kernel = (name: string, seconds: number, options: Options = {}): Row =>
  row("test", `test/kernel/${name}.test.ts`, { ...options, seconds });
const backends = (name: string, seconds: number, options: Options): Row =>
  row("test", `test/backends/${name}.test.ts`, { ...options, seconds });

/** The first row that matches applies: the most specific ones come first. */
export const PLAN: readonly Row[] = [
  // Without root.
  row("check", "test/unit/{architecture,charts,documents,plan}.test.ts"),
  row("all", "bench/connector/connector.test.ts", { needs: ["connector"] }),
  row("unit", "test/{health,states}/*.test.ts", { random: true }),
  row(
    "unit",
    "{agent,common,controller}/**/*{-faults,histories,properties,random-changes}.test.ts",
    {
      random: true,
    },
  ),
  row("unit", "{agent,api,bench,cli,common,controller,demo}/**/*.test.ts"),
  row("unit", "test/{doubles,packets,scenarios,states,unit}/**/*.test.ts"),

  // Real API servers: the drill, the KEP's cases, rights, and the plugin's commands. Faults are in the rest.
  apiserver("clusterset-drill", 60),
  apiserver("controller", 28),
  apiserver("{registry-rights,cli-status}", 22),
  row("test", "test/apiserver/local-node.test.ts", { ...SERVERS, only: "in a pod", seconds: 16 }),
  apiserver("conformance", 20),
  apiserver("writer", 9),
  row("test", "test/apiserver/install-manifests.test.ts", {
    ...SERVERS,
    skip: "components|privileged",
    seconds: 9,
  }),
  apiserver("{admission-policies,registry-objects}", 7),
  apiserver("change-port", 20, "all"),
  apiserver("cli-explain-drill", 14),
  row("all", "test/apiserver/cli-rotate-leave.test.ts", {
    needs: ["api-server", "kubelets", "helm"],
    seconds: 80,
  }),
  apiserver(
    "{agent-objects,cli-join,cli-join-hub,cli-bundle-drain,agent-faults,checklist,hub}",
    70,
    "all",
  ),
  apiserver("{controller-faults,hostile-peer,other-release,kubernetes-controllers}", 80, "all"),
  row("all", "test/apiserver/headless-names.test.ts", {
    needs: ["api-server", "coredns"],
    seconds: 200,
  }),
  row("all", "test/apiserver/cli-migrate.test.ts", {
    needs: ["api-server", "kubelets", "coredns"],
    seconds: 110,
  }),
  row("all", "test/apiserver/older-kubernetes.test.ts", {
    needs: ["api-server", "kubelets", "old-api-server"],
    seconds: 30,
  }),
  row("all", "test/apiserver/old-etcd.test.ts", { needs: ["api-server", "old-etcd"] }),
  apiserver("*", 45, "all"),

  // Real clusters with kubelets.
  row("test", "test/e2e/journey.test.ts", { ...CLUSTERS, seconds: 130 }),
  row("all", "test/e2e/hub.test.ts", { ...MORE_CLUSTERS, needs: ["more-images", "helm"] }),
  // Clusters boot under connections that must not fail: beside other tests, the servers of healthy clusters get no processor for seconds.
  // The file makes its own load. A connection that is lost once in several runs is lost for a user, too: so the file is not repeated.
  row("all", "test/e2e/drill.test.ts", {
    ...MORE_CLUSTERS,
    seconds: 400,
    alone: true,
    once: true,
  }),
  row("all", "test/e2e/{new-clusters,rollout}.test.ts", { ...MORE_CLUSTERS, seconds: 400 }),
  row("all", "test/e2e/*.test.ts", MORE_CLUSTERS),
  row("all", "test/cluster/*.test.ts", { ...CLUSTERS, seconds: 90 }),

  // This machine's kernel, with each backend that it has. Storms and random kills are in the rest.
  row("all", "test/backends/storm.test.ts", { alone: true, seconds: 90 }),
  backends("restart", 76, { skip: LEGACY }),
  backends("packets", 40, {}),
  backends("mass-loss", 40, { only: NFTABLES }),
  backends("traffic", 20, { only: NFTABLES }),
  backends("histories", 15, { skip: LEGACY, random: true }),
  backends("*", 15, { skip: LEGACY }),
  // Clients that must lose no connection within seconds of a death: with four jobs on two processors, they and the agent wait for a processor.
  kernel("reach", 160, { only: "nftables, IPv4", secondsOfRest: 600, weight: 2 }),
  kernel("{unanswered,restore}", 30),
  kernel("conntrack", 30, { skip: "50,000 entries|program list|tracking by conntrack" }),
  kernel("{agent,preflight,health-table}", 15),
  kernel("affinity", 15, { only: NFTABLES }),
  kernel("refusals", 30, { skip: "legacy|found ahead" }),
  row("all", "test/kernel/killed.test.ts", { random: true, seconds: 30 }),
  row("all", "test/kernel/every-object.test.ts", { seconds: 280 }),
  row("all", "test/kernel/silence.test.ts", { seconds: 800 }),
  row(
    "all",
    "test/kernel/{half-open,node-addresses,range-change,moving,net-admin,fake-iptables,net-raw,nft-versions}.test.ts",
    { seconds: 40 },
  ),
  kernel("{drift,render}", 10, { skip: LEGACY }),
  kernel("*", 10),

  // The virtual machine: IPVS, and another kernel. `pod` unloads modules, and a storm needs both processors.
  row("test", "test/ipvs/agent.test.ts", { ...GUEST, only: IPVS_PROMISES, seconds: 60 }),
  row("all", "test/{ipvs/pod,backends/storm}.test.ts", { ...GUEST, alone: true }),
  // Silence, firewalls, held traffic and counters take the same way with each backend: this machine's kernel shows them.
  row(
    "all",
    "test/{ipvs/*,kernel/{every-object,range-change,reach},backends/{histories,packets,restart}}.test.ts",
    GUEST,
  ),
  row("all", "test/vm/machine.test.ts", { needs: ["vm"], seconds: 60, weight: 2 }),

  // Next to kube-proxy, one mode in `make test`.
  row("test", "test/coexistence/kube-proxy.test.ts", {
    ...SERVERS,
    only: "in mode nftables",
    seconds: 50,
  }),
  row("all", "test/coexistence/*.test.ts", { ...SERVERS, seconds: 120 }),

  // What is delivered, and what keeps the tests themselves honest.
  row("all", "test/limits/*.test.ts", { seconds: 80 }),
  row("all", "test/monitoring/*.test.ts", { needs: ["api-server", "promtool"], seconds: 30 }),
  row("all", "test/packages/http-route.test.ts", { needs: ["api-server", "envoy"] }),
  row("all", "test/packages/*.test.ts", { needs: ["api-server", "helm"], seconds: 40 }),
  row("all", "test/lab/*.test.ts", { seconds: 10 }),
];

/** The repository's top folder. */
export const ROOT = new URL("../../", import.meta.url).pathname;

/** All test files of the tree, relative to it, in order. */
export function testFiles(): string[] {
  const exclude = ["node_modules/**", "dist/**"];
  return globSync("**/*.test.ts", { cwd: ROOT, exclude }).sort();
}

/** The rows that a file belongs to: one for this machine, one for the virtual machine, or both. */
export function rowsOf(file: string, plan = PLAN): Row[] {
  const matching = plan.filter(({ files }) => matchesGlob(file, files));
  const here = matching.find(({ guest }) => guest !== true);
  const there = matching.find(({ guest }) => guest === true);
  return [here, there].filter((row) => row !== undefined);
}
