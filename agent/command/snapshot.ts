import type { Cidr } from "../../api/cidr.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { NodeObservation } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import type { RuleLimits } from "../model/rule-budget.ts";
import type { SourceEvents } from "../sources/source.ts";
import type { ObjectSource } from "./object-source.ts";

/** The objects of a source at one moment. */
export interface Snapshot {
  readonly model: Model;
  /** Problems by object. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
  readonly observation: NodeObservation;
}

/** Milliseconds to wait for a directory that does not exist. */
const DIRECTORY_TIMEOUT = 100;
/** Milliseconds without a new object after which an API server counts as not answering. */
const SERVER_TIMEOUT = 10_000;

/** Lists a source once, and closes it. Rejects with CSP_MANIFESTS_UNREADABLE or CSP_API_REQUEST if it cannot be listed. */
export async function takeSnapshot(
  open: ObjectSource,
  config: RuleLimits & { readonly clusterSetCidrs: readonly Cidr[] },
  clock: Clock,
): Promise<Snapshot> {
  const model = new Model(config.clusterSetCidrs, config);
  const problems = new Map<string, readonly Problem[]>();
  let observation: NodeObservation = { properties: new Map() };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = open.states !== undefined;
  const timeout = server ? SERVER_TIMEOUT : DIRECTORY_TIMEOUT;
  let changed = clock.now();
  const check = (): void => {
    const left = changed + timeout - clock.now();
    if (left > 0) cancel = clock.after(left, check);
    else reject(server ? notAnswered(open) : unreadable(open));
  };
  let cancel = clock.after(timeout, check);
  let unlisted = open.sources.length;
  const events: SourceEvents = {
    importChanged: (fact, at) => {
      changed = at;
      model.setImport(fact, at);
    },
    importRemoved: (key, at) => model.removeImport(key, at),
    sliceChanged: (fact, at) => {
      changed = at;
      model.setSlice(fact, at);
    },
    sliceRemoved: (key, at) => model.removeSlice(key, at),
    vipHeld: (vip, holder, at) => model.setHolder(vip, holder, at),
    nodeObserved: (part) => {
      observation = { ...observation, ...part };
    },
    // What does not answer is known to a running agent only.
    silenceChanged: () => undefined,
    problems: (object, list) => problems.set(object, list),
    listed: () => {
      if (--unlisted === 0) resolve();
    },
  };
  for (const source of open.sources) source.start(events);
  try {
    await promise;
    model.listed();
  } finally {
    cancel();
    await open.close();
  }
  return { model, problems, observation };
}

function unreadable(open: ObjectSource): CodedError {
  const why = open.brokenFiles().map(({ file, detail }) => `${file}: ${detail}`);
  return new CodedError("CSP_MANIFESTS_UNREADABLE", why.join("; "));
}

function notAnswered(open: ObjectSource): CodedError {
  const why = [...(open.states?.() ?? [])]
    .filter(([, { reason }]) => reason !== "watching")
    .map(([resource, { reason, detail = "" }]) => `${resource}: ${reason} ${detail}`.trimEnd());
  const seconds = SERVER_TIMEOUT / 1000;
  const message = `${open.name} has not listed everything, and sent nothing for ${seconds} s: ${why.join("; ")}`;
  return new CodedError("CSP_API_REQUEST", message);
}
