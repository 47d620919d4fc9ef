import type { Cidr } from "../../api/cidr.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { Accepted } from "../import/outside.ts";
import { acceptedTexts } from "../registry/accepted-ranges.ts";
import type { Member } from "../stores/member.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { ExportCompleteness } from "./export-completeness.ts";
import type { IdentitySource } from "./identity-source.ts";
import type { ImportedBefore } from "./imported-before.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import type { LocalCluster } from "./local-cluster.ts";
import type { Members } from "./members.ts";
import type { ReconcileQueue } from "./reconcile-queue.ts";
import { Reconcilers } from "./reconcilers.ts";
import { UnconfirmedExports } from "./unconfirmed-exports.ts";
import type { WritePermission } from "./write-permission.ts";

/** Dependencies of `LeaderLoops`. */
export interface LeaderLoopsOptions extends ControllerOptions {
  readonly local: LocalCluster;
  /** The local cluster's registry. */
  readonly member: Member;
  readonly members: Members;
  readonly before: ImportedBefore;
  /** The declared endpoint ranges of other clusters. */
  readonly declared: () => ReadonlyMap<string, readonly Cidr[]>;
  /** The endpoint ranges that others declare for the local cluster. */
  readonly accepted: () => Accepted;
  readonly identity: Identity;
  readonly uid: string;
  /** The present identity and properties. */
  readonly source: IdentitySource;
  readonly permission: WritePermission;
  readonly queue: ReconcileQueue;
}

/** What runs while this replica has the permission: Lease renewal and reconciles. */
export class LeaderLoops {
  readonly #options: LeaderLoopsOptions;
  readonly #reconcilers: Reconcilers;
  readonly #renewer: LeaseRenewer;
  readonly #completeness: ExportCompleteness;
  readonly #unconfirmed: UnconfirmedExports;
  #isPublishing = false;

  constructor(options: LeaderLoopsOptions) {
    const { api, clock, config, events, local, identity, member, members } = options;
    const { permission, queue, registryApi, source, today, uid } = options;
    this.#options = options;
    const completeness = new ExportCompleteness(member.registry, clock, () =>
      this.#renewer.renewNow(),
    );
    this.#completeness = completeness;
    this.#renewer = new LeaseRenewer({
      writing: permission.writing(registryApi),
      clock,
      today,
      leaseSeconds: config.leaseSeconds,
      member,
      uid,
      identity: () => source.identity ?? identity,
      properties: () => source.properties,
      drain: () => source.drain,
      status: () => members.state(identity.id)?.lease.status,
      // On a hub, they are on each cluster's namespace.
      accepts: () => (config.registry === "mesh" ? acceptedTexts(options.declared()) : undefined),
      completeExcept: () => completeness.except,
      makesNamespace: config.registry === "mesh",
      events: {
        registering: (step) => events.registering(step),
        failed: (...failure) => events.registeringFailed(member.namespace, ...failure),
        waiting: () => {
          completeness.begin();
          queue.exportAll();
        },
        registered: () => {
          queue.exportAll();
          completeness.update();
        },
      },
    });
    this.#unconfirmed = new UnconfirmedExports({
      own: local.stores,
      member,
      reflector: local.informers.byResource.serviceexports.reflector,
      follow: options.follow(api),
      importedFrom: () => this.#reconcilers.importedFrom(member.id),
      confirmed: () => {
        queue.exportAll();
        queue.importAll();
      },
    });
    this.#reconcilers = new Reconcilers({
      ...options,
      renewer: this.#renewer,
      completeness,
      isUnconfirmed: (key) => this.#unconfirmed.isUnconfirmed(key),
      dirty: queue.dirty,
    });
  }

  /** For how long the Lease of the registry could not be written, in milliseconds. */
  get leaseFailingFor(): number {
    return this.#renewer.failingFor;
  }

  /** The permission was granted. */
  begin(): void {
    const { before, local, member, queue } = this.#options;
    local.begin(before.slices());
    this.#completeness.begin();
    if (!member.listed) this.#unconfirmed.begin();
    this.#reconcilers.begin();
    queue.begin(this.#reconcilers);
    this.publish();
  }

  /** Publishes as soon as the local cluster's registry is listed; what was published is unknown before. */
  publish(): void {
    const { member, permission } = this.#options;
    if (this.#isPublishing || !member.listed || !permission.isGranted) return;
    this.#isPublishing = true;
    this.#unconfirmed.begin();
    this.#renewer.start();
  }

  /** The permission was withdrawn. Settles when a Lease renewal in progress has ended. */
  async end(): Promise<void> {
    this.#isPublishing = false;
    this.#options.queue.pause();
    this.#completeness.end();
    await Promise.all([this.#renewer.stop(), this.#unconfirmed.end()]);
  }

  /** The connection to the local cluster's registry has changed. */
  connection(): void {
    this.#completeness.update();
  }

  /** The local cluster's identity or properties have changed. */
  identified(): void {
    this.#renewer.renewNow();
    this.#options.queue.propertyAll();
  }

  /** How a cluster is used has changed. */
  turned(): void {
    this.#options.queue.propertyAll();
  }

  /** The declared endpoint ranges have changed. */
  declared(): void {
    this.#renewer.renewNow();
    this.#options.queue.propertyAll();
  }
}
