import type { Family } from "../../../api/address.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { runProgram } from "../../system/run-program.ts";
import { type Limits, UNLIMITED } from "../limits.ts";
import type { RejectedExtension } from "../requirements.ts";
import { type Flavour, programOf } from "./flavour.ts";
import { rejectedIn, trialCommand } from "./used-extensions.ts";

/** Tries the extensions that our rules use, for limits and preflight alike. A trial in which none is rejected is not repeated. */
export class ExtensionTrials {
  readonly #flavour: Flavour;
  readonly #run: typeof runProgram;
  /** Trials under way, and those in which none was rejected. */
  readonly #trials = new Map<Family, Promise<readonly RejectedExtension[] | undefined>>();

  constructor(flavour: Flavour, run = runProgram) {
    this.#flavour = flavour;
    this.#run = run;
  }

  /** The extensions that are rejected; undefined if they could not be tried. Never rejects. */
  rejected(family: Family, stop?: AbortSignal): Promise<readonly RejectedExtension[] | undefined> {
    const trial = this.#trials.get(family) ?? this.#try(family, stop);
    this.#trials.set(family, trial);
    return trial;
  }

  /** What a family cannot do on this node. What could not be tried is assumed to be supported. Never rejects. */
  async limits(family: Family, stop?: AbortSignal): Promise<Limits> {
    const rejected = await this.rejected(family, stop);
    if (rejected === undefined || stop?.aborted) return UNLIMITED;
    const missing = new Set(rejected.map(({ name }) => name));
    return {
      affinity: !missing.has("recent"),
      protocols: new Set(PROTOCOLS.filter((protocol) => !missing.has(protocol.toLowerCase()))),
    };
  }

  async #try(
    family: Family,
    stop: AbortSignal | undefined,
  ): Promise<readonly RejectedExtension[] | undefined> {
    const command = trialCommand(programOf(this.#flavour, family), family);
    const { status, stdout } = await this.#run(command, stop);
    const rejected = status === 0 ? rejectedIn(stdout) : undefined;
    if (rejected?.length !== 0) this.#trials.delete(family);
    return rejected;
  }
}
