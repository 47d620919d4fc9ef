import { kubernetesCommand } from "../apiserver/commands.ts";
import {
  apiServerFlags,
  argumentsOf,
  Etcd,
  isReady,
  type ProgramFlags,
  untilReady,
} from "../apiserver/components.ts";
import { inNamespace } from "../apiserver/place.ts";
import { Plane } from "../apiserver/plane.ts";
import { ADMIN, newUser } from "../apiserver/user.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { endOf } from "./host.ts";

const PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

const CONTROLLERS = "system:kube-controller-manager";
const SCHEDULER = "system:kube-scheduler";

/** Whom the API server lets do what a kube-proxy has to. */
export const KUBE_PROXY = "system:kube-proxy";

/** As whom a kubelet comes: the API server lets it touch its own Node and pods only. */
export function nodeUser(node: string): string {
  return `system:node:${node}`;
}

/**
 * etcd, kube-apiserver, kube-controller-manager and kube-scheduler of a cluster, on a host of their own. Everybody comes with
 * the rights of a real cluster: RBAC, and the node authorizer.
 */
export class ClusterControlPlane extends Plane {
  #etcd: Etcd | undefined;
  #programs: Process[] = [];
  readonly #starts: { readonly from: number; readonly until: number }[] = [];

  /** `nodes`: the names of the Nodes that may join. */
  constructor(namespace: Namespace, directory: string, nodes: readonly string[]) {
    super(inNamespace(namespace, 6443), directory, [
      ...[ADMIN, CONTROLLERS, SCHEDULER, KUBE_PROXY].map((name) => newUser(name)),
      ...nodes.map((node) => newUser(nodeUser(node), ["system:nodes"])),
    ]);
  }

  /** Starts all of it, the first time or after `kill`, with the same data; returns when the API server is ready. */
  async start(): Promise<void> {
    if (this.#programs.length > 0) throw new Error(`${this.url} runs`);
    const from = Date.now();
    if (this.#etcd === undefined) {
      this.prepare();
      this.writeTokens();
    }
    this.#etcd = await Etcd.start(this.place, this.directory);
    const server = this.#spawn("kube-apiserver", {
      ...apiServerFlags(this.place, this.directory, this.#etcd.url),
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
      // It has no kube-proxy, and cannot resolve the names of nodes.
      "enable-aggregator-routing": true,
      "kubelet-preferred-address-types": "InternalIP",
    });
    try {
      await untilReady(server, "kube-apiserver", () => isReady(this.admin));
    } catch (error) {
      throw new Error(this.lastWords, { cause: error });
    }
    this.#starts.push({ from, until: Date.now() });
    const common = { "leader-elect": false, "secure-port": 0 };
    this.#spawn("kube-controller-manager", {
      ...common,
      kubeconfig: this.#kubeconfig(CONTROLLERS),
      // The lab assigns the pod ranges of Nodes.
      controllers: "*,-nodeipam",
      // It would make its default, below /usr.
      "flex-volume-plugin-dir": `${this.directory}/plugins`,
      "service-account-private-key-file": this.files.key,
      "root-ca-file": this.files.ca,
      "use-service-account-credentials": true,
    });
    this.#spawn("kube-scheduler", { ...common, kubeconfig: this.#kubeconfig(SCHEDULER) });
  }

  /** Kills everything, also etcd. */
  async kill(): Promise<void> {
    for (const program of this.#programs) program.signal("SIGKILL");
    await Promise.all(this.#programs.map((program) => program.exited));
    this.#programs = [];
    await this.#etcd?.kill();
  }

  /** Stops API server, controllers and scheduler: connections are accepted, without a response. */
  freeze(): void {
    for (const program of this.#programs) program.signal("SIGSTOP");
  }

  /** Continues them. */
  thaw(): void {
    for (const program of this.#programs) program.signal("SIGCONT");
  }

  /** Requests of all users but the admin, one JSON object a line. */
  get auditFile(): string {
    return this.files.audit;
  }

  /**
   * Whether its API server was starting then: it answers before it is ready, and refuses what it will allow once it has read
   * the rights. In ms since 1970.
   */
  wasStarting(at: number): boolean {
    return this.#starts.some(({ from, until }) => from <= at && at < until);
  }

  /** Shows why something is not ready. */
  get lastWords(): string {
    const wordsOf = (name: (typeof PROGRAMS)[number]) => endOf(this.#logOf(name));
    return PROGRAMS.map((name) => `--- ${this.url}: ${name}\n${wordsOf(name)}`).join("\n");
  }

  /** Lets go of it. Whoever removes the lab kills it. */
  async close(): Promise<void> {
    await this.admin.close();
    this.place[Symbol.dispose]();
  }

  #spawn(name: (typeof PROGRAMS)[number], flags: ProgramFlags): Process {
    const logging = ["sh", "-c", `exec "$@" >>'${this.#logOf(name)}' 2>&1`, "sh"];
    const argv = [...logging, kubernetesCommand(name), ...argumentsOf(flags)];
    const program = this.place.spawn(argv);
    this.#programs.push(program);
    return program;
  }

  #logOf(program: (typeof PROGRAMS)[number]): string {
    return `${this.directory}/${program}.log`;
  }

  /** The path of a user's kubeconfig. */
  #kubeconfig(user: string): string {
    const path = `${this.directory}/${user.replaceAll(":", "-")}.kubeconfig`;
    this.write(path, this.inlineKubeconfig({ user }));
    return path;
  }
}
