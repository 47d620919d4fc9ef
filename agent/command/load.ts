import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { NodeSight } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import type { OpenSource } from "./open-source.ts";

/** What a source holds at one moment. */
export interface Loaded {
  readonly model: Model;
  /** What is wrong, by object. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
  readonly sight: NodeSight;
}

/** Milliseconds after which a directory that was not there at the first look is not waited for. */
const PATIENCE = 100;
/** Milliseconds without a new object after which an API server is not waited for any longer: a person waits. */
const PATIENCE_WITH_SERVER = 10_000;

/**
 * Takes one complete look at a source, and closes it. Rejects with CSP_MANIFESTS_UNREADABLE or CSP_API_REQUEST
 * if there is nothing to look at.
 */
export async function load(open: OpenSource, clock: Clock): Promise<Loaded> {
  const model = new Model();
  const problems = new Map<string, readonly Problem[]>();
  let sight: NodeSight = { properties: new Map() };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = open.states !== undefined;
  const patience = server ? PATIENCE_WITH_SERVER : PATIENCE;
  let news = clock.now();
  const lose = (): void => {
    const left = news + patience - clock.now();
    if (left > 0) cancel = clock.after(left, lose);
    else reject(server ? notAnswered(open) : unreadable(open));
  };
  let cancel = clock.after(patience, lose);
  open.source.start({
    importChanged: (fact, at) => {
      news = at;
      model.setImport(fact, at);
    },
    importRemoved: (key, at) => model.removeImport(key, at),
    sliceChanged: (fact, at) => {
      news = at;
      model.setSlice(fact, at);
    },
    sliceRemoved: (key, at) => model.removeSlice(key, at),
    nodeChanged: (object) => {
      const { object: _gone, ...rest } = sight;
      sight = { ...rest, ...(object !== undefined && { object }) };
    },
    addressesChanged: (addresses) => {
      sight = { ...sight, addresses };
    },
    propertiesChanged: (properties) => {
      sight = { ...sight, properties };
    },
    problems: (object, list) => problems.set(object, list),
    listed: resolve,
  });
  try {
    await promise;
  } finally {
    cancel();
    await open.close();
  }
  return { model, problems, sight };
}

function unreadable(open: OpenSource): CodedError {
  const why = open.brokenFiles().map(({ file, detail }) => `${file}: ${detail}`);
  return new CodedError("CSP_MANIFESTS_UNREADABLE", why.join("; "));
}

function notAnswered(open: OpenSource): CodedError {
  const why = [...(open.states?.() ?? [])]
    .filter(([, { reason }]) => reason !== "watching")
    .map(([resource, { reason, detail = "" }]) => `${resource}: ${reason} ${detail}`.trimEnd());
  const seconds = PATIENCE_WITH_SERVER / 1000;
  const message = `${open.name} has not told everything, and nothing new for ${seconds} s: ${why.join("; ")}`;
  return new CodedError("CSP_API_REQUEST", message);
}
