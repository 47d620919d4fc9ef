import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { manifest } from "../generators/objects.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** For a cluster: longer than a busy machine keeps a controller from its Lease: clusters become stale only where a test is about that. */
const LEASE = { name: "CLUSTERSET_CONTROLLER_LEASE_DURATION", value: "60s" };
const CONTAINER = { name: "controller", env: [LEASE] };
const LONG_LEASE = {
  ...manifest("Deployment", "clusterset-proxy/clusterset-controller"),
  spec: { template: { spec: { containers: [CONTAINER] } } },
};

/**
 * A kustomization of an operator's own, in a folder of its own: an overlay of deploy/, with components added to it. `isApplied`: for a
 * cluster, with a long Lease.
 */
export class Kustomization implements Disposable {
  /** For `kubectl apply -k`. */
  readonly folder: string;

  constructor(overlay: string, components: readonly string[], isApplied = true) {
    this.folder = mkdtempSync(join(realpathSync(tmpdir()), "clusterset-proxy-kustomization-"));
    // Kustomize takes no absolute paths.
    const deploy = relative(this.folder, realpathSync(DEPLOY));
    const text = JSON.stringify({
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [`${deploy}/overlays/${overlay}`],
      components: components.map((name) => `${deploy}/components/${name}`),
      ...(isApplied && { patches: [{ patch: JSON.stringify(LONG_LEASE) }] }),
    });
    writeFileSync(join(this.folder, "kustomization.yaml"), text);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
