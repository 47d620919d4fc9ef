import { readFileSync } from "node:fs";

/** A request that an API server has refused for want of a right. */
export interface Denied {
  readonly user: string;
  readonly verb: string;
  readonly uri: string;
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code?: number };
}

/** Who of ours, by the log of an API server, has asked at all. */
export function oursIn(auditFile: string): Set<string> {
  return new Set(events(auditFile).map(({ user }) => user.username));
}

/** What of it was refused: 401 and 403. */
export function deniedIn(auditFile: string): Denied[] {
  return events(auditFile)
    .filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0))
    .map(({ user, verb, requestURI }) => ({ user: user.username, verb, uri: requestURI }));
}

/** Requests of our service accounts: agents, controllers, and those that peers come as. */
function events(auditFile: string): AuditEvent[] {
  const lines = readFileSync(auditFile, "utf8").split("\n");
  // The last line is empty, or is being written.
  return lines
    .slice(0, -1)
    .map((line): AuditEvent => JSON.parse(line))
    .filter(({ user }) => user.username.startsWith("system:serviceaccount:clusterset-"));
}
