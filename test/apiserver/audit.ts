import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { ADMIN } from "./user.ts";

/** One request, as the API server has answered it. */
export interface Asked {
  /** `list`, `watch`, `get`, `create`, …. */
  readonly verb: string;
  /** Path and query. */
  readonly uri: string;
  readonly code: number;
}

/** Has an API server note what everybody asks but `admin` and itself: once it begins to answer, and no bodies. */
export function writeAuditPolicy(file: string): void {
  const rules = [
    { level: "None", users: [ADMIN, "system:apiserver"] },
    { level: "None", userGroups: ["system:unauthenticated"] },
    { level: "Metadata" },
  ];
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules };
  writeFileSync(file, JSON.stringify({ ...policy, omitStages: ["RequestReceived"] }));
}

/** A line of an audit log: what of it tests look at. */
export interface AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly verb: string;
  readonly requestURI: string;
  /** Empty, if the token was no good. */
  readonly user: { readonly username?: string };
  readonly responseStatus?: { readonly code?: number };
}

/** All that an API server has noted so far. A watch is in it from its first answer on, and again at its end. */
export function readAuditEvents(file: string): AuditEvent[] {
  if (!existsSync(file)) return [];
  // The last event is being written; or it was, when the API server was killed, and another one went on from there.
  const texts = readFileSync(file, "utf8").split(/(?=\{"kind":"Event",)/);
  return texts.flatMap((text): AuditEvent[] => (text.endsWith("}\n") ? [JSON.parse(text)] : []));
}

/** Requests of a user so far. */
export function readAudit(file: string, user: string): Asked[] {
  return readAuditEvents(file).flatMap((event) => {
    const { verb, requestURI: uri, responseStatus } = event;
    return event.user.username === user ? [{ verb, uri, code: responseStatus?.code ?? 0 }] : [];
  });
}
