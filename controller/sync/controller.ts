import type { Clock } from "../../common/clock.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { LeaderElector } from "../../common/lease/leader-elector.ts";
import type { ControllerConfig } from "../config/config.ts";
import type { Identity, OwnIdentity } from "../identity/own-identity.ts";
import { publishedAsReady } from "../liveness/collective-drop.ts";
import { Contact } from "../liveness/contact.ts";
import { ReadinessHold } from "../liveness/readiness-hold.ts";
import type { PeerFact } from "../peers/parse-peer.ts";
import { registryNamespace } from "../registry/names.ts";
import type { Follow } from "../stores/feed.ts";
import { OwnCluster } from "../stores/own-cluster.ts";
import { AddressRanges } from "./address-ranges.ts";
import type { ControllerEvents } from "./controller-events.ts";
import { Members } from "./members.ts";
import { believedBefore, Membership } from "./membership.ts";
import { OwnFeeds } from "./own-feeds.ts";
import { Registrar } from "./registrar.ts";
import { HubRoster, type Roster, type RosterTold } from "./roster.ts";
import { SecretRoster } from "./secret-roster.ts";
import { VipBook } from "./vip-book.ts";
import { SYSTEM, WhoWeAre } from "./who-we-are.ts";
import { Work } from "./work.ts";

/** What a `Controller` is made of. */
export interface ControllerOptions {
  readonly config: Pick<
    ControllerConfig,
    | "cluster"
    | "clusterSet"
    | "clusterSetCidrs"
    | "leaderElectionId"
    | "leaseSeconds"
    | "namespace"
    | "podCidrs"
    | "region"
    | "registry"
    | "serviceCidrs"
  >;
  /** The API server of our own cluster. */
  readonly api: ApiServer;
  /** The API server that our registry is on: our own one, or the hub. */
  readonly registryApi: ApiServer;
  /** Connects to a peer as its Secret says. */
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  /** Makes what follows a query on an API server. */
  readonly follow: (api: ApiServer) => Follow;
  /** Who this replica is: no other may call itself the same. */
  readonly replica: string;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** The time of day, for people, and for conditions. */
  readonly today: () => Date;
  readonly events: ControllerEvents;
}

/**
 * Keeps exports, imports and VIPs of one cluster in step with those of the others, until it is stopped.
 *
 *     own cluster -> OwnCluster -+-> Exporter -> own registry
 *     registries  -> Members ----+-> Importer -> own cluster
 *
 * Nothing is written before everything needed has been listed, it is known who we are, and this replica leads.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly own: OwnCluster;
  readonly members: Members;
  readonly elector: LeaderElector;
  readonly #feeds: OwnFeeds;
  readonly #vips: VipBook;
  readonly #ranges: AddressRanges;
  readonly #hold: ReadinessHold;
  readonly #contact: Contact;
  readonly #membership: Membership;
  readonly #who: WhoWeAre;
  #work: Work | undefined;
  #registrar: Registrar | undefined;
  #roster: Roster | undefined;
  #working = false;
  #stopped = false;
  /** Asked right before each write. */
  readonly #permit = (ms: number): boolean => this.#working && this.elector.isLeader(ms);

  constructor(options: ControllerOptions) {
    const { api, clock, config, events, follow, random, replica, today } = options;
    this.#options = options;
    this.#vips = new VipBook(config.clusterSetCidrs);
    const own = new OwnCluster(config.clusterSetCidrs, {
      exporting: (key) => {
        this.#work?.add("export", key);
        this.#work?.add("status", key);
      },
      importing: (key) => this.#work?.add("import", key),
      slices: (service) => this.#hold.serviceChanged(service),
      taken: (object, addresses) => this.#vips.take(object, addresses),
      namespace: (name) => this.#namespace(name),
      property: () => this.#identify(),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
    this.own = own;
    this.#ranges = new AddressRanges({
      clusterSetCidrs: config.clusterSetCidrs,
      podCidrs: config.podCidrs,
      serviceCidrs: config.serviceCidrs,
      own,
      vips: this.#vips,
      follow: follow(api),
      events: {
        overlapping: (overlaps) => events.overlapping(overlaps),
        problems: (object, problems) => events.problems(undefined, object, problems),
      },
    });
    this.#hold = new ReadinessHold({
      clock,
      services: () => own.servicesWithSlices(),
      slicesOf: (service) => own.serviceSlices.factsOf(service),
      events: {
        changed: (services) => {
          for (const service of services) this.#work?.add("export", service);
        },
        held: (drop) => events.held(drop),
        believed: (drop) => events.believed(drop),
      },
    });
    this.#contact = new Contact({
      clock,
      events: {
        lost: (reason) => {
          this.#hold.lost();
          events.contactLost(reason);
        },
        regained: (ms) => {
          this.#hold.regained();
          events.contactRegained(ms);
        },
      },
    });
    this.#feeds = new OwnFeeds(follow(api), own, {
      listed: () => this.#identify(),
      state: (name, state) => {
        this.#contact.state(name, state);
        events.connection(undefined, name, state);
      },
      controllers: (lease) => this.#contact.controllers(lease),
    });
    this.#who = new WhoWeAre({
      flags: config,
      own,
      writing: { api, clock, permit: this.#permit },
      feed: () => this.#feeds.feeds.clusterproperties,
      events: {
        identified: (state) => events.identified(state),
        failed: (thrown) => events.registeringFailed(thrown),
      },
    });
    this.members = new Members({
      clock,
      clusterSetCidrs: config.clusterSetCidrs,
      told: {
        exported: (service, cluster) => {
          // Somebody else may have written to our registry.
          if (cluster === this.#who.identity?.id) this.#work?.add("export", service);
          this.#work?.add("import", service);
          this.#work?.add("status", service);
        },
        heard: () => this.#heard(),
        judged: (cluster, verdict) => events.judged(cluster, verdict),
        turned: (cluster, sight) => {
          events.turned(cluster, sight);
          this.#work?.importFrom(cluster);
        },
        replaced: (cluster, uid, before) => events.replaced(cluster, uid, before),
        state: (cluster, resource, state) => events.connection(cluster, resource, state),
        problems: (cluster, object, problems) => events.problems(cluster, object, problems),
      },
    });
    this.#membership = new Membership({
      own,
      members: this.members,
      registryApi: options.registryApi,
      follow,
      events: {
        left: (cluster) => events.left(cluster),
        unreachable: (cluster, thrown) => events.unreachable(cluster, thrown),
        declared: (ranges) => this.#ranges.declare(ranges),
      },
    });
    this.elector = new LeaderElector({
      api,
      clock,
      random,
      today,
      lease: { namespace: config.namespace, name: config.leaderElectionId },
      identity: replica,
      events: {
        state: (state) => {
          events.leader(state);
          this.#consider();
        },
        failed: (fault) => events.electionFailed(fault),
      },
    });
  }

  /** True while everything is known that is needed, and this replica writes. */
  get isWorking(): boolean {
    return this.#working;
  }

  /** True once everything of our own cluster has been listed. */
  get listed(): boolean {
    return this.#feeds.listed;
  }

  /** Who we are; undefined until that is known. */
  get identity(): Identity | undefined {
    return this.#who.identity;
  }

  /** Who we are, or why that is not known; undefined until it was looked at. */
  get whoWeAre(): OwnIdentity | undefined {
    return this.#who.state;
  }

  /** Endpoints whose unreadiness is held back. */
  get heldBack(): number {
    return this.#hold.heldBack;
  }

  /** What is to be done, to be looked at; undefined until it is known who we are. */
  get queue(): Work["queue"] | undefined {
    return this.#work?.queue;
  }

  /** Starts; returns at once. Once. */
  start(): void {
    this.#feeds.start();
    this.#ranges.start();
    this.elector.start();
  }

  /** Ends what is under way, and gives the leadership back. Everything that was written stays. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#registrar?.stop();
    this.#contact.stop();
    this.#hold.stop();
    await this.#work?.stop();
    await this.elector.stop();
    await Promise.all([
      this.#feeds.stop(),
      this.#ranges.stop(),
      this.#roster?.stop(),
      this.members.stop(),
    ]);
    await this.#membership.stop();
  }

  /** Who we are is looked at when all is listed, and whenever what says it changes. */
  #identify(): void {
    if (!this.#feeds.listed || this.#stopped) return;
    const isNew = this.#who.identity === undefined;
    this.#who.look();
    const { identity, uid } = this.#who;
    if (identity !== undefined && uid !== undefined) {
      this.members.identify(identity, uid);
      if (isNew) this.#begin(identity, uid);
      this.#registrar?.again();
    }
    this.#consider();
  }

  /** Everything of our own cluster is known, and who we are. */
  #begin(identity: Identity, uid: string): void {
    const { api, clock, config, events, follow, random, registryApi, today } = this.#options;
    const ownWriting = { api, clock, permit: this.#permit };
    const registryWriting = { ...ownWriting, api: registryApi };
    const { id } = identity;
    const { known, was } = believedBefore(this.own, id);
    const member = this.members.admit({ id, namespace: registryNamespace(id), was });
    void this.members.read(id, { endpointCidrs: [], follow: follow(registryApi), known });
    const registrar = new Registrar({
      writing: registryWriting,
      clock,
      today,
      leaseSeconds: config.leaseSeconds,
      member,
      uid,
      identity: () => this.#who.identity ?? identity,
      properties: () => this.#who.properties,
      sight: () => this.members.sight(id),
      makesNamespace: config.registry === "mesh",
      events: {
        registering: (step) => events.registering(step),
        failed: (thrown) => events.registeringFailed(thrown),
        elsewhere: () => this.#work?.exportAll(),
        registered: () => this.#work?.exportAll(),
      },
    });
    this.#registrar = registrar;
    this.#work = new Work({
      config,
      own: this.own,
      member,
      members: this.members,
      vips: this.#vips,
      ownWriting,
      registryWriting,
      feeds: this.#feeds.feeds,
      published: (slice) => this.#hold.published(slice),
      registrar,
      clock,
      random,
      today,
      events,
    });
    this.#roster = this.#newRoster(id);
    this.#roster.start();
  }

  #newRoster(own: string): Roster {
    const { api, config, connect, events, follow, registryApi } = this.#options;
    const told: RosterTold = {
      joined: (id, endpointCidrs, reach) => {
        if (id !== own) this.#membership.join(id, endpointCidrs, reach);
      },
      left: (id) => {
        if (id !== own) this.#membership.leave(id);
      },
      listed: () => this.members.complete(),
      state: (resource, state) => events.connection(undefined, `${resource} of members`, state),
      problems: (object, problems) => events.problems(undefined, object, problems),
    };
    const sources = [...this.own.importedSlices.facts()].map(({ cluster }) => cluster);
    const known = new Set(sources.map(registryNamespace));
    return config.registry === "hub"
      ? new HubRoster({ follow: follow(registryApi), hub: registryApi, known, told })
      : new SecretRoster({ namespace: config.namespace, follow: follow(api), connect, told });
  }

  #heard(): void {
    this.#consider();
    this.#work?.importAll();
  }

  #namespace(name: string): void {
    if (name === SYSTEM) this.#identify();
    for (const key of this.members.services()) {
      if (key.startsWith(`${name}/`)) this.#work?.add("import", key);
    }
  }

  /** Whether this replica works. */
  #consider(): void {
    const { events } = this.#options;
    const member = this.members.get(this.#who.identity?.id ?? "");
    const isReady =
      !this.#stopped && this.#who.isKnown && member?.listed === true && this.elector.isLeader();
    if (isReady === this.#working) return;
    this.#working = isReady;
    events.working(isReady);
    if (isReady) {
      this.#ranges.compare();
      this.#hold.begin(publishedAsReady(member.slices.facts()));
      this.#work?.allow(true);
      this.#registrar?.start();
      void this.#who.createProperties();
    } else {
      this.#registrar?.stop();
      this.#work?.allow(false);
    }
  }
}
