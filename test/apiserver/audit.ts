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

/** What a user has asked so far. A watch is in it from its first answer on, and again at its end. */
export function readAudit(file: string, user: string): Asked[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  // The last line is empty, or is being written.
  return lines.slice(0, -1).flatMap((line) => {
    const event = JSON.parse(line) as {
      readonly verb: string;
      readonly requestURI: string;
      readonly user: { readonly username: string };
      readonly responseStatus?: { readonly code?: number };
    };
    const { verb, requestURI: uri, responseStatus } = event;
    return event.user.username === user ? [{ verb, uri, code: responseStatus?.code ?? 0 }] : [];
  });
}
