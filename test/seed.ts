import fc from "fast-check";

// `node --import ./test/seed.ts --test FILE` sets the seed of fast-check, too, for tests that do not import this file.

/**
 * The seed of all that tests do by chance. It is fixed, so that an unchanged tree gives an unchanged result. `SEED=random` draws a
 * seed and prints it, to find new cases. `SEED=7` repeats a run; fast-check's failures name their seed, too.
 */
export const SEED = seed(process.env.SEED ?? "1");

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

function seed(text: string): number {
  if (text === "random") {
    const drawn = Math.floor(Math.random() * 1_000_000);
    console.log(`SEED=${drawn}`);
    return drawn;
  }
  const given = Number(text);
  if (!Number.isInteger(given)) throw new Error(`SEED=${text}: expected "random" or an integer`);
  return given;
}
