import { LABEL_PEER } from "../../api/keys.ts";
import { isClusterId, isSubdomainName, type ObjectKey } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { parseDrain } from "../model/drain.ts";
import { type PeerScope, parsePeerScope } from "../model/peer-scope.ts";

/** A peer's Secret. */
export interface PeerFact {
  readonly key: ObjectKey;
  /** The configured cluster ID. */
  readonly cluster: string;
  /** Text of a kubeconfig. SECRET: never logged or shown. */
  readonly kubeconfig: string;
  readonly scope: PeerScope;
}

const KUBECONFIG = "kubeconfig";
/** Replaces secret values in problems. */
const HIDDEN = "(not shown)";

/** Parses a Secret with `LABEL_PEER`; others are ignored. No fact if any part is invalid. */
export function parsePeer(secret: unknown): Parsed<PeerFact> {
  return parseObject("Secret", secret, isSubdomainName, (key, complaints) => {
    const label = fieldAt(secret, "metadata", "labels", LABEL_PEER);
    if (isUnset(label)) return undefined;
    const cluster = parseCluster(label, complaints);
    const kubeconfig = parseKubeconfig(fieldAt(secret, "data", KUBECONFIG), complaints);
    const scope = parsePeerScope(secret, complaints);
    // `introducedBySecrets` reads it also from a Secret that is invalid.
    parseDrain(secret, complaints);
    if (cluster === undefined || kubeconfig === undefined || scope === undefined) {
      return undefined;
    }
    return { key, cluster, kubeconfig, scope };
  });
}

function parseCluster(label: unknown, complaints: Complaints): string | undefined {
  if (typeof label === "string" && isClusterId(label)) return label;
  return complaints.add("invalid-label", `metadata.labels[${LABEL_PEER}]`, label);
}

function parseKubeconfig(value: unknown, complaints: Complaints): string | undefined {
  const path = `data.${KUBECONFIG}`;
  if (isUnset(value)) return complaints.add("invalid-object", path, undefined);
  const text = typeof value === "string" ? textOf(value) : undefined;
  return text ?? complaints.add("invalid-object", path, HIDDEN);
}

/** Decodes base64; undefined if it is invalid, not UTF-8, or empty. */
function textOf(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.trim() === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
