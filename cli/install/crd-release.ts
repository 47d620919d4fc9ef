import { field, fieldAt, textField } from "../../api/parse/fields.ts";

/** Labels of mcs-api's CRDs, since its v0.4.0. */
const LABELS = ["release-version", "crd-schema-revision"].map(
  (name) => `multicluster.x-k8s.io/${name}`,
);

/** Why the CRD of a cluster stays as it is, rather than becoming ours; undefined if it does not. As deploy/crds/install. PURE. */
export function whyCrdStays(present: unknown, ours: unknown): string | undefined {
  const [theirRelease, ourRelease] = [releaseOf(present), releaseOf(ours)];
  if (theirRelease.length > 0 && isLater(theirRelease, ourRelease)) {
    return `${theirRelease.join(" ")} is newer than ${ourRelease.join(" ")}`;
  }
  const known = new Set(versionsOf(ours));
  const extra = versionsOf(present).filter((version) => !known.has(version));
  return extra.length > 0 ? `it has API version ${extra.join(", ")}` : undefined;
}

function releaseOf(crd: unknown): string[] {
  return LABELS.flatMap((label) => {
    const value = fieldAt(crd, "metadata", "labels", label);
    return typeof value === "string" ? [value] : [];
  });
}

function isLater(a: readonly string[], b: readonly string[]): boolean {
  const numeric = new Intl.Collator("en", { numeric: true });
  return numeric.compare(a.join(" "), b.join(" ")) > 0;
}

function versionsOf(crd: unknown): string[] {
  const versions = field(field(crd, "spec"), "versions");
  return (Array.isArray(versions) ? versions : []).flatMap((one) => textField(one, "name") ?? []);
}
