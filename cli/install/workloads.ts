import type { Images } from "./manifests.ts";

/** The namespace of `deploy/base`: agents, controllers, and the Secrets of peers. */
export const INSTALL_NAMESPACE = "clusterset-proxy";

const namespace = INSTALL_NAMESPACE;

/** What runs in every member, in the order of an upgrade. */
export const WORKLOADS = [
  { kind: "Deployment", namespace, name: "clusterset-controller" },
  { kind: "DaemonSet", namespace, name: "clusterset-agent" },
] as const;

/** The Deployment of `deploy/coredns/own`, and its Service. */
export const OWN_DNS = { kind: "Deployment", namespace, name: "clusterset-dns" } as const;

/** An image with a tag; undefined if it is named by a digest, from which no version follows, unless it has that tag, too. PURE. */
export function withTag(image: string, tag: string): string | undefined {
  const [name = "", digest] = image.split("@");
  // The registry may have a port.
  const tagged = `${name.replace(/:[^/:]*$/, "")}:${tag}`;
  if (digest === undefined) return tagged;
  return name === tagged ? image : undefined;
}

/**
 * The images of a member's programs at a version, of flags (`given`) or as it has them, and why those of others are not known: new manifests would run
 * programs of another release. PURE.
 */
export function imagesAt(
  version: string,
  present: Readonly<Record<string, string>>,
  given: Images,
): { readonly images: Images; readonly faults: string[] } {
  const faults: string[] = [];
  const images = WORKLOADS.flatMap(({ name }) => {
    const image = present[name] ?? "";
    const known = given[name] ?? (image === "" ? undefined : withTag(image, version));
    if (known === undefined && image !== "") {
      const flag = `--${name.replace("clusterset-", "")}-image`;
      faults.push(`its image ${image} is named by a digest: give that of ${version} (${flag})`);
    }
    return known === undefined ? [] : [[name, known]];
  });
  return { images: { ...given, ...Object.fromEntries(images) }, faults };
}
