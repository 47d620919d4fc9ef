import { rotationProperty } from "../../api/keys.ts";
import type { Identity } from "../identity/own-identity.ts";
import { publishable } from "../registry/publication-limits.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { IdentitySource, SYSTEM } from "./identity-source.ts";
import { ImportedBefore } from "./imported-before.ts";
import { LeaderLoops } from "./leader-loops.ts";
import { LocalCluster } from "./local-cluster.ts";
import { MemberConnections } from "./member-connections.ts";
import { Members } from "./members.ts";
import { ReconcileQueue } from "./reconcile-queue.ts";
import { WritePermission } from "./write-permission.ts";

/**
 * Keeps the exports, imports and VIPs of one cluster in sync with those of the other clusters.
 *
 *     local cluster -> LocalCluster -+-> ReconcileQueue -> Reconcilers -> own registry, local cluster
 *     registries    -> Members ------+
 *
 * Everything is read at once; the queue runs while the `WritePermission` is granted.
 */
export class Controller {
  readonly local: LocalCluster;
  readonly identity: IdentitySource;
  readonly members: Members;
  readonly permission: WritePermission;
  readonly queue: ReconcileQueue;
  readonly #options: ControllerOptions;
  readonly #connections: MemberConnections;
  #before: ImportedBefore | undefined;
  #loops: LeaderLoops | undefined;

  constructor(options: ControllerOptions) {
    const { clock, config, events } = options;
    this.#options = options;
    const queue = new ReconcileQueue(options);
    this.queue = queue;
    this.local = new LocalCluster(options, {
      dirty: queue.dirty,
      listed: () => this.#identify(),
      id: () => this.identity.identity?.id,
      property: () => this.#identify(),
      namespace: (name) => this.#namespace(name),
    });
    const { stores: own } = this.local;
    this.identity = new IdentitySource(config, own, events);
    this.members = new Members({
      clock,
      today: options.today,
      windows: config,
      drains: (id) => this.#connections.drains(id),
      recorded: (id) => own.properties.fact(rotationProperty(id))?.rotation,
      isLeader: () => this.permission.isGranted,
      clusterSetCidrs: config.clusterSetCidrs,
      maxRules: config.maxRulesPerCluster,
      dirty: queue.dirty,
      synced: (cluster) => {
        this.permission.update();
        if (cluster === undefined) this.#ownRegistry();
        queue.importAll(cluster);
      },
      turned: (cluster) => {
        queue.importFrom(cluster);
        // Tiers are relative to the local cluster.
        if (cluster === this.identity.identity?.id) queue.failoverAll();
        if (this.permission.isGranted) this.#loops?.turned();
      },
      connection: (cluster) => {
        if (cluster === this.identity.identity?.id) this.#loops?.connection();
      },
      accepted: () => queue.exportAll(),
      events,
    });
    this.#connections = new MemberConnections({
      ...options,
      own,
      members: this.members,
      declared: (ranges) => {
        this.local.ranges.declare([...ranges.values()].flat());
        this.#loops?.declared();
        queue.failoverAll();
      },
      accepted: () => queue.exportAll(),
    });
    this.permission = new WritePermission({
      ...options,
      identity: this.identity,
      isKnown: () => this.#before?.isKnown === true,
      asked: (fault) => this.local.contact.asked("election", fault),
      turned: (isGranted) => {
        events.working(isGranted, this.permission.lacks);
        if (isGranted) this.#loops?.begin();
        else void this.#loops?.end();
      },
    });
  }

  /** Starts; returns at once. Once. */
  start(): void {
    this.local.start();
    this.permission.elector.start();
  }

  /** Finishes work in progress and releases the leadership. Everything written stays. */
  async stop(): Promise<void> {
    this.permission.end();
    await Promise.all([this.#loops?.end(), this.queue.stop()]);
    await this.permission.elector.stop();
    await Promise.all([this.local.stop(), this.#before?.stop(), this.#connections.stop()]);
  }

  /** Age of the oldest change that is not written, in milliseconds: in a queue, or the Lease of the registry. */
  get oldestChange(): number {
    const { failingFor, oldest } = this.queue.tasks;
    return Math.max(oldest, failingFor, this.#loops?.leaseFailingFor ?? 0);
  }

  #identify(): void {
    if (!this.local.informers.listed || this.permission.isEnded) return;
    this.identity.update();
    const { identity, uid } = this.identity;
    if (identity !== undefined && uid !== undefined) {
      const { drain, properties } = this.identity;
      const { region } = identity;
      const description = {
        properties: publishable(properties),
        ...(region !== undefined && { region }),
        ...(drain !== undefined && { drain }),
      };
      this.members.identify({ identity, uid, description });
      this.#loops ??= this.#newLoops(identity, uid);
      this.#loops.identified();
    }
    this.permission.update();
  }

  /** Whether the own registry is listed may have changed. */
  #ownRegistry(): void {
    const { id = "" } = this.identity.identity ?? {};
    if (this.members.get(id)?.listed !== true) return;
    void this.#before?.stop();
    this.#loops?.publish();
  }

  #newLoops(identity: Identity, uid: string): LeaderLoops {
    const { api, clock, follow } = this.#options;
    const member = this.#connections.begin(identity.id);
    const before = new ImportedBefore({
      member,
      follow: follow(api),
      clock,
      known: () => this.permission.update(),
    });
    this.#before = before;
    return new LeaderLoops({
      ...this.#options,
      local: this.local,
      member,
      before,
      members: this.members,
      declared: () => this.#connections.declared,
      accepted: () => this.#connections.accepted,
      identity,
      uid,
      source: this.identity,
      permission: this.permission,
      queue: this.queue,
    });
  }

  #namespace(name: string): void {
    if (name === SYSTEM) this.#identify();
    const exported = [...this.local.stores.exports.facts()].map(({ key }) => key);
    for (const key of new Set([...this.members.services(), ...exported])) {
      if (key.startsWith(`${name}/`)) this.queue.dirty("import", key);
    }
  }
}
