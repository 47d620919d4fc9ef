import type { Problem } from "../../api/problem.ts";
import { Model } from "../model/model.ts";
import type { Source } from "../sources/source.ts";

/** What a source holds at one moment. */
export interface Loaded {
  readonly model: Model;
  /** What is wrong, by object. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

/** Takes one complete look at a source. */
export async function load(source: Source): Promise<Loaded> {
  const model = new Model();
  const problems = new Map<string, readonly Problem[]>();
  const { promise, resolve } = Promise.withResolvers<void>();
  source.start({
    importChanged: (fact, at) => model.setImport(fact, at),
    importRemoved: (key, at) => model.removeImport(key, at),
    sliceChanged: (fact, at) => model.setSlice(fact, at),
    sliceRemoved: (key, at) => model.removeSlice(key, at),
    problems: (object, list) => problems.set(object, list),
    listed: resolve,
  });
  await promise;
  await source.stop();
  return { model, problems };
}
