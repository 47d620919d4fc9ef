import { cp, rm } from "node:fs/promises";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { Guard, newRun, type Run, removeRun, SCRATCH } from "../lab/removal.ts";
import { type Asked, readAudit } from "./audit.ts";
import { CertificateAuthority } from "./certificates.ts";
import type { KubernetesCommand } from "./commands.ts";
import { ControllerManager, Etcd, type ProgramFlags, startApiServer } from "./components.ts";
import { installCrds, removeCrds, untilCrdsServed } from "./crds.ts";
import { inNamespace, loopback, type Place } from "./place.ts";
import { Plane } from "./plane.ts";
import type { Release } from "./release.ts";
import { ADMIN, kubeconfigOf, newUser } from "./user.ts";

export interface ControlPlaneOptions {
  /** Where it runs: a node of a lab, or its router. Without it: on the loopback, where the test itself reaches it. */
  readonly namespace?: Namespace;
  /** Users beside `admin`, without any rights until RBAC objects give them some. */
  readonly users?: readonly string[];
  /**
   * True: a kube-controller-manager runs, too, and stops, dies and stands still with the API server. It makes
   * EndpointSlices of Services and pods, empties deleted namespaces, and finds nodes NotReady. Flags: one with these
   * flags besides.
   */
  readonly controllerManager?: boolean | ProgramFlags;
  /** The API server of an older Kubernetes; by default the newest of the tests. */
  readonly server?: Extract<KubernetesCommand, "kube-apiserver-1.24"> | undefined;
  /** The etcd binary; by default the one that Kubernetes' version expects. */
  readonly etcd?: string;
}

/**
 * A real etcd and a real kube-apiserver, and if need be a real kube-controller-manager, for as long as a test lasts.
 *
 *     await using plane = await ControlPlane.start({ namespace: lab.node("c1", "n1"), users: ["agent"] });
 *     await plane.installCrds();
 *     await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
 *     const kubeconfig = plane.kubeconfig({ user: "agent" });
 *
 * Unless it is asked for, there is no controller: nothing makes EndpointSlices of pods, and nothing empties a deleted
 * namespace.
 * Needs root. Everything ends with this process, however that ends.
 */
export class ControlPlane extends Plane implements AsyncDisposable {
  readonly #run: Run;
  readonly #guard: Guard;
  readonly #etcdCommand: string | undefined;
  readonly #command: ControlPlaneOptions["server"];
  #authority = new CertificateAuthority("clients");
  #etcd: Etcd | undefined;
  #backups = 0;
  #server: Process | undefined;
  #manager: ControllerManager | undefined;
  /** Undefined: none is to run. */
  readonly #managed: ProgramFlags | undefined;

  private constructor(
    place: Place,
    run: Run,
    { users = [], controllerManager = false, etcd, server }: ControlPlaneOptions,
  ) {
    const all = [ADMIN, ...users].map((name) => newUser(name));
    super(place, `${SCRATCH}/${run.id}`, all);
    this.#etcdCommand = etcd;
    this.#command = server;
    const flags = controllerManager === true ? {} : controllerManager;
    this.#managed = flags === false ? undefined : flags;
    this.#run = run;
    this.#guard = new Guard(run);
  }

  /** Starts all of it, and returns when it is ready: 2 to 4 seconds, with a controller manager 3 more. */
  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const { namespace } = options;
    const place = namespace === undefined ? await loopback() : inNamespace(namespace, 6443);
    const plane = new ControlPlane(place, newRun(), options);
    plane.#guard.start();
    try {
      plane.prepare();
      plane.#etcd = await Etcd.start(place, plane.directory, options.etcd);
      await plane.start();
    } catch (error) {
      await plane.remove();
      throw error;
    }
    return plane;
  }

  /**
   * Starts the API server again after `stop` or `kill`: same address, same data. `watchList: false`: as one before
   * Kubernetes 1.32, which everybody has to list in pages.
   */
  async start({ watchList = true }: { readonly watchList?: boolean } = {}): Promise<void> {
    if (this.#server !== undefined || this.#etcd === undefined)
      throw new Error("it runs, or never did");
    this.writeTokens();
    this.write(this.files.clientCa, this.#authority.certificate);
    const { place, directory, admin: client } = this;
    const etcdUrl = this.#etcd.url;
    const command = this.#command;
    this.#server = await startApiServer({ place, directory, etcdUrl, client, watchList, command });
    await untilCrdsServed(client);
    const flags = this.#managed;
    if (flags === undefined) return;
    const kubeconfig = this.kubeconfig({ user: ADMIN });
    const { key } = this.files;
    this.#manager = await ControllerManager.start({ place, kubeconfig, key, client, flags });
  }

  /** Asks the API server to end, as a rollout does: open watches end in good order. Then connections are refused. */
  async stop(): Promise<void> {
    const server = this.#running();
    await this.#manager?.stop();
    await server.stop();
    this.#ended();
  }

  /** Kills the API server, also if it is stopped: connections break. */
  async kill(): Promise<void> {
    const server = this.#running();
    this.#etcd?.signal("SIGCONT");
    server.signal("SIGKILL");
    await Promise.all([this.#manager?.kill(), server.exited]);
    this.#ended();
  }

  /** Stops all processes: connections are accepted, without a response. */
  freeze(): void {
    this.#signal("SIGSTOP");
  }

  /** Continues all processes. */
  thaw(): void {
    this.#signal("SIGCONT");
  }

  /**
   * Makes every resourceVersion so far too old to watch or to continue a list from: 410. etcd forgets what was, and
   * the API server is restarted, because its watch cache would go on to answer from memory.
   */
  async compact(): Promise<void> {
    await this.stop();
    await this.#etcd?.compact();
    await this.start();
  }

  /** Copies what etcd has. Returns where the copy is: what `restore` takes. */
  async backup(): Promise<string> {
    const copy = `${this.directory}/backup-${++this.#backups}`;
    await this.#etcd?.copyTo(copy);
    return copy;
  }

  /**
   * All of it is killed, and comes back with what a backup has, or with nothing: versions of objects go back, and those that
   * clients have seen are given again. Without a backup, CRDs and rights have to be made anew.
   */
  async restore(backup?: string): Promise<void> {
    if (this.#server !== undefined) await this.kill();
    await this.#etcd?.kill();
    await rm(`${this.directory}/etcd`, { recursive: true });
    if (backup !== undefined) await cp(backup, `${this.directory}/etcd`, { recursive: true });
    this.#etcd = await Etcd.start(this.place, this.directory, this.#etcdCommand);
    await this.start();
  }

  /**
   * Writes a kubeconfig with the user's newest token, and the file with the token that it names, and returns its
   * path: the same each time, replaced by renaming. Where both are there, client-go reads the file, and reads it again
   * from time to time.
   */
  kubeconfig({ user }: { readonly user: string }): string {
    const { token } = this.user(user);
    const tokenFile = `${this.directory}/${user}.token`;
    this.write(tokenFile, token);
    return this.#writeKubeconfig(user, { token, tokenFile });
  }

  /**
   * Writes a kubeconfig by which the user shows a certificate and no token: to the path of `kubeconfig`. The files that
   * it names are those of `certify`.
   */
  certificateKubeconfig({ user }: { readonly user: string }): string {
    const { certificateFile, keyFile } = this.certify(user);
    const shown = { "client-certificate": certificateFile, "client-key": keyFile };
    return this.#writeKubeconfig(user, shown);
  }

  /** Gives a user a new key and certificate: in the same files each time, replaced one after the other by renaming. */
  certify(user: string): { certificateFile: string; keyFile: string } {
    const [certificateFile = "", keyFile = ""] = ["crt", "key"].map(
      (end) => `${this.directory}/${user}.${end}`,
    );
    const { certificate, key } = this.#authority.certify(this.user(user));
    this.write(certificateFile, certificate);
    this.write(keyFile, key);
    return { certificateFile, keyFile };
  }

  /** Authenticated requests of a user other than `admin` so far: rejected tokens have no user. */
  asked(user: string): Asked[] {
    return readAudit(this.files.audit, user);
  }

  /**
   * Gives a user another token and restarts the API server, which reads tokens at its start only. The old one is
   * refused with 401 from now on. Kubeconfigs keep the old one until `kubeconfig` writes them anew.
   */
  async rotateToken(user: string): Promise<void> {
    this.users.set(user, newUser(user));
    await this.stop();
    await this.start();
  }

  /**
   * Takes another authority for clients' certificates and restarts the API server. Those that were given before are refused
   * with 401 from now on.
   */
  async rotateAuthority(): Promise<void> {
    this.#authority = new CertificateAuthority("clients");
    await this.stop();
    await this.start();
  }

  /** Installs what deploy/crds of a release has (without: of these sources), serving these versions only (without: all), and waits until they are served. */
  installCrds({
    versions,
    release,
  }: {
    readonly versions?: readonly string[];
    readonly release?: Release;
  } = {}): Promise<void> {
    return installCrds(this.admin, versions, release);
  }

  /** Removes them with all their objects. */
  removeCrds(): Promise<void> {
    return removeCrds(this.admin);
  }

  /** Kills all of it and removes the directory. May be repeated. */
  async remove(): Promise<void> {
    await this.admin.close();
    if (this.#server !== undefined) await this.kill();
    await this.#etcd?.kill();
    this.place[Symbol.dispose]();
    await removeRun(this.#run);
    this.#guard.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  #running(): Process {
    if (this.#server === undefined) throw new Error("the API server does not run");
    return this.#server;
  }

  #signal(name: "SIGCONT" | "SIGSTOP"): void {
    for (const program of [this.#etcd, this.#running(), this.#manager]) program?.signal(name);
  }

  #ended(): void {
    this.#server = undefined;
    this.#manager = undefined;
  }

  #writeKubeconfig(name: string, user: object): string {
    const path = `${this.directory}/${name}.kubeconfig`;
    const cluster = { server: this.url, "certificate-authority": this.files.ca };
    this.write(path, kubeconfigOf({ name: "test", cluster, user }));
    return path;
  }
}
