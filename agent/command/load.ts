import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import { Model } from "../model/model.ts";
import type { Source } from "../sources/source.ts";

/** What a source holds at one moment. */
export interface Loaded {
  readonly model: Model;
  /** What is wrong, by object. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

/** Milliseconds after which a directory that was not there at the first look is not waited for. */
const PATIENCE = 100;

/** Takes one complete look at a source. Rejects with CSP_MANIFESTS_UNREADABLE if there is nothing to look at. */
export async function load(
  source: Source & { brokenFiles(): readonly { readonly file: string; readonly detail: string }[] },
  clock: Clock,
): Promise<Loaded> {
  const model = new Model();
  const problems = new Map<string, readonly Problem[]>();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(PATIENCE, () => {
    const why = source.brokenFiles().map(({ file, detail }) => `${file}: ${detail}`);
    reject(new CodedError("CSP_MANIFESTS_UNREADABLE", why.join("; ")));
  });
  source.start({
    importChanged: (fact, at) => model.setImport(fact, at),
    importRemoved: (key, at) => model.removeImport(key, at),
    sliceChanged: (fact, at) => model.setSlice(fact, at),
    sliceRemoved: (key, at) => model.removeSlice(key, at),
    nodeChanged: () => undefined,
    propertiesChanged: () => undefined,
    problems: (object, list) => problems.set(object, list),
    listed: resolve,
  });
  try {
    await promise;
  } finally {
    cancel();
    await source.stop();
  }
  return { model, problems };
}
