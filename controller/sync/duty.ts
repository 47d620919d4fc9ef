import type { Identity } from "../identity/own-identity.ts";
import type { Member } from "../stores/member.ts";
import { Completeness } from "./completeness.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { Flow } from "./flow.ts";
import type { HomeCluster } from "./home-cluster.ts";
import { LostExports } from "./lost-exports.ts";
import type { Members } from "./members.ts";
import { OwnProperties } from "./own-properties.ts";
import type { Permit } from "./permit.ts";
import { Registrar } from "./registrar.ts";
import type { WhoWeAre } from "./who-we-are.ts";
import type { Work } from "./work.ts";

/** What a `Duty` is made of. */
export interface DutyOptions
  extends Pick<
    ControllerOptions,
    "api" | "clock" | "config" | "events" | "follow" | "registryApi" | "today"
  > {
  readonly home: HomeCluster;
  /** We, as our registry shows us. */
  readonly member: Member;
  readonly members: Members;
  /** Who we are, which is known from here on; what is said of it may change. */
  readonly identity: Identity;
  readonly uid: string;
  readonly who: WhoWeAre;
  readonly permit: Permit;
  readonly work: Work;
}

/** What this replica has to do while it works: to say that our cluster lives, and to keep exports and imports in step. */
export class Duty {
  readonly #options: DutyOptions;
  readonly #flow: Flow;
  readonly #registrar: Registrar;
  readonly #completeness: Completeness;
  readonly #lost: LostExports;
  readonly #properties: OwnProperties;

  constructor(options: DutyOptions) {
    const { api, clock, config, events, home, identity, member, members } = options;
    const { permit, registryApi, today, uid, who, work } = options;
    this.#options = options;
    const ownWriting = permit.writing(api);
    const registryWriting = permit.writing(registryApi);
    this.#properties = new OwnProperties({
      who,
      writing: ownWriting,
      feed: home.feeds.clusterproperties,
      clock,
      events,
    });
    const completeness = new Completeness({
      clock,
      member,
      completed: () => this.#registrar.again(),
    });
    this.#completeness = completeness;
    this.#registrar = new Registrar({
      writing: registryWriting,
      clock,
      today,
      leaseSeconds: config.leaseSeconds,
      member,
      uid,
      identity: () => who.identity ?? identity,
      properties: () => who.properties,
      sight: () => members.sight(identity.id),
      isComplete: () => completeness.isSeen,
      makesNamespace: config.registry === "mesh",
      events: {
        registering: (step) => events.registering(step),
        failed: (...failure) => events.registeringFailed(member.namespace, ...failure),
        elsewhere: () => {
          completeness.begin();
          work.exportAll();
        },
        registered: () => {
          work.exportAll();
          completeness.look();
        },
      },
    });
    this.#lost = new LostExports({
      own: home.own,
      member,
      feed: home.feeds.serviceexports,
      follow: options.follow(api),
      believed: () => work.exportAll(),
    });
    this.#flow = new Flow({
      clock,
      config,
      events,
      today,
      home,
      member,
      members,
      registrar: this.#registrar,
      completeness,
      isDoubted: (key) => this.#lost.isDoubted(key),
      ownWriting,
      registryWriting,
      outcome: (key) => work.add("status", key),
    });
  }

  /** This replica works from now on. */
  begin(): void {
    const { home, member, work } = this.#options;
    home.begin(member.slices.facts());
    this.#completeness.begin();
    this.#lost.begin();
    work.begin(this.#flow);
    this.#registrar.start();
    this.#properties.start();
  }

  /** This replica works no more. Settles when what says that our cluster lives is written no more. */
  async end(): Promise<void> {
    this.#options.work.pause();
    this.#completeness.end();
    this.#properties.stop();
    await Promise.all([this.#registrar.stop(), this.#lost.end()]);
  }

  /** How our own registry is read is something else than before. */
  connection(): void {
    this.#completeness.look();
  }

  /** Who we are, or what is said of it, may be something else. */
  identified(): void {
    this.#registrar.again();
  }
}
