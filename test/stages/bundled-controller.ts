import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/build/bundle.ts";

/** The controller of these sources, in one file: it begins to work in a third of the time that the sources take. */
export class BundledController implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "csp-controller-"));

  /** The command that starts it. */
  readonly program: readonly string[] = [process.execPath, join(this.#directory, "controller.mjs")];

  static async build(): Promise<BundledController> {
    const built = new BundledController();
    const main = join(import.meta.dirname, "../../controller/main.ts");
    await bundle(main, built.program[1] ?? "");
    return built;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}
