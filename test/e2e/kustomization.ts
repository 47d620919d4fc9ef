import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** A kustomization of an operator's own, in a folder of its own: an overlay of deploy/, with components added to it. */
export class Kustomization implements Disposable {
  /** For `kubectl apply -k`. */
  readonly folder: string;

  constructor(overlay: string, components: readonly string[]) {
    this.folder = mkdtempSync(join(realpathSync(tmpdir()), "clusterset-proxy-kustomization-"));
    // Kustomize takes no absolute paths.
    const deploy = relative(this.folder, realpathSync(DEPLOY));
    const text = JSON.stringify({
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [`${deploy}/overlays/${overlay}`],
      components: components.map((name) => `${deploy}/components/${name}`),
    });
    writeFileSync(join(this.folder, "kustomization.yaml"), text);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
