import type { LeaderElector } from "../../common/lease/leader-elector.ts";
import type { Identity, OwnIdentity } from "../identity/own-identity.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { Duty } from "./duty.ts";
import { HomeCluster } from "./home-cluster.ts";
import { Members } from "./members.ts";
import { Membership } from "./membership.ts";
import { Permit } from "./permit.ts";
import { SYSTEM, WhoWeAre } from "./who-we-are.ts";
import { Work } from "./work.ts";

/**
 * Keeps exports, imports and VIPs of one cluster in step with those of the others, until it is stopped.
 *
 *     own cluster -> HomeCluster --+-> Flow: Exporter -> own registry
 *     registries  -> Members ------+         Importer -> own cluster
 *
 * All that goes this way is read at once; it flows while the `Permit` is granted. What changes says to `Work` which
 * name to look at.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #home: HomeCluster;
  readonly members: Members;
  readonly #membership: Membership;
  readonly #who: WhoWeAre;
  readonly #permit: Permit;
  readonly #work: Work;
  #duty: Duty | undefined;

  constructor(options: ControllerOptions) {
    const { clock, config, events } = options;
    this.#options = options;
    const work = new Work(options);
    this.#work = work;
    this.#home = new HomeCluster(options, {
      listed: () => this.#identify(),
      property: () => this.#identify(),
      namespace: (name) => this.#namespace(name),
      exporting: (key) => {
        work.add("export", key);
        work.add("status", key);
      },
      importing: (key) => work.add("import", key),
    });
    const { own } = this.#home;
    this.#who = new WhoWeAre({ flags: config, own, events });
    const members = new Members({
      clock,
      clusterSetCidrs: config.clusterSetCidrs,
      told: {
        exported: (service, cluster) => {
          // Somebody else may have written to our registry.
          if (cluster === this.identity?.id) work.add("export", service);
          work.add("import", service);
          work.add("status", service);
        },
        heard: () => {
          this.#permit.look();
          work.importAll();
        },
        turned: (cluster) => work.importFrom(cluster),
        connection: (cluster) => {
          if (cluster === this.identity?.id) this.#duty?.connection();
        },
      },
      events,
    });
    this.members = members;
    this.#membership = new Membership({
      ...options,
      own,
      members,
      declared: (ranges) => this.#home.declared(ranges),
    });
    this.#permit = new Permit({
      ...options,
      who: this.#who,
      members,
      asked: (fault) => this.#home.asked("election", fault),
      turned: (isWorking) => {
        events.working(isWorking, this.lacks);
        if (isWorking) this.#duty?.begin();
        else void this.#duty?.end();
      },
    });
  }

  /** What is believed of our own cluster. */
  get own(): OwnCluster {
    return this.#home.own;
  }

  /** True once everything of our own cluster has been listed. */
  get listed(): boolean {
    return this.#home.listed;
  }

  /** Endpoints whose unreadiness is held back. */
  get heldBack(): number {
    return this.#home.heldBack;
  }

  /** Who we are; undefined until that is known. */
  get identity(): Identity | undefined {
    return this.#who.identity;
  }

  /** Who we are, or why that is not known; undefined until it was looked at. */
  get whoWeAre(): OwnIdentity | undefined {
    return this.#who.state;
  }

  /** Who of the replicas leads. */
  get elector(): Pick<LeaderElector, "isLeader" | "state"> {
    return this.#permit.elector;
  }

  /** True while everything is known that is needed, and this replica writes. */
  get isWorking(): boolean {
    return this.#permit.isGranted;
  }

  /** Why it does not write; undefined if it may. */
  get lacks(): Permit["lacks"] {
    return this.#permit.lacks;
  }

  /** What is to be done, to be looked at. */
  get queue(): Work["queue"] {
    return this.#work.queue;
  }

  /** Starts; returns at once. Once. */
  start(): void {
    this.#home.start();
    this.#permit.elector.start();
  }

  /** Ends what is under way, and gives the leadership back. Everything that was written stays. */
  async stop(): Promise<void> {
    this.#permit.end();
    await Promise.all([this.#duty?.end(), this.#work.stop()]);
    await this.#permit.elector.stop();
    await Promise.all([this.#home.stop(), this.#membership.stop()]);
  }

  /** Who we are is looked at when all is listed, and whenever what says it changes. */
  #identify(): void {
    if (!this.#home.listed || this.#permit.isEnded) return;
    this.#who.look();
    const { identity, uid } = this.#who;
    if (identity !== undefined && uid !== undefined) {
      this.members.identify(identity, uid);
      this.#duty ??= this.#newDuty(identity, uid);
      this.#duty.identified();
    }
    this.#permit.look();
  }

  #newDuty(identity: Identity, uid: string): Duty {
    return new Duty({
      ...this.#options,
      home: this.#home,
      member: this.#membership.begin(identity.id),
      members: this.members,
      identity,
      uid,
      who: this.#who,
      permit: this.#permit,
      work: this.#work,
    });
  }

  #namespace(name: string): void {
    if (name === SYSTEM) this.#identify();
    for (const key of this.members.services()) {
      if (key.startsWith(`${name}/`)) this.#work.add("import", key);
    }
  }
}
