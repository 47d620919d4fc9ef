import type { Following } from "../../controller/stores/informer.ts";

const ignore = (): void => undefined;

/** A reflector whose part a test plays: what it is asked for has no effect. */
export const IDLE: Following = {
  ...{ start: ignore, stop: () => Promise.resolve(), again: ignore },
  ...{ wrote: ignore, found: ignore, erased: ignore, rewound: ignore },
};
