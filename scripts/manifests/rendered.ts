import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { renderedComponents } from "./components.ts";
import { sourcesDigest } from "./sources.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** What `kubectl clusterset` carries with it: the objects of deploy, as `kubectl kustomize` renders them. */
export function rendered(kubectl: string): Record<string, unknown> {
  const kustomized = (folder: string) =>
    objectsIn(execFileSync(kubectl, ["kustomize", join(DEPLOY, folder)], { encoding: "utf8" }));
  const files = (...names: readonly string[]) =>
    names.flatMap((name) => objectsIn(readFileSync(join(DEPLOY, name), "utf8")));
  return {
    sources: sourcesDigest(),
    crds: files(
      ...["clusterproperties", "serviceexports", "serviceimports"].map((n) => `crds/${n}.yaml`),
    ),
    mesh: kustomized("overlays/mesh"),
    hub: kustomized("overlays/hub"),
    onHub: files("rbac/registry-publisher.yaml", "rbac/registry-reader.yaml", "rbac/hub/hub.yaml"),
    registry: files("rbac/mesh/registry.yaml"),
    reader: files("rbac/mesh/reader.yaml"),
    member: files("rbac/hub/cluster.yaml"),
    dns: kustomized("coredns"),
    dnsOwn: kustomized("coredns/own"),
    corefile: corefileBlocks(),
    cleanup: kustomized("cleanup"),
    components: renderedComponents(kubectl),
  };
}

function objectsIn(text: string): unknown[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** The server blocks that deploy/coredns/names adds, with their marker lines. The second one forwards to `$address`. */
function corefileBlocks(): { names: string; forward: string } {
  const script = readFileSync(join(DEPLOY, "coredns/names"), "utf8");
  const blocks = script
    .replaceAll(/end"$/gm, "end")
    .matchAll(/^# clusterset-proxy: begin\n[\s\S]*?\n# clusterset-proxy: end$/gm);
  const [names, forward] = [...blocks].map(([block]) => block);
  if (names === undefined || forward === undefined)
    throw new Error("deploy/coredns/names has no blocks for the Corefile");
  return { names, forward };
}
