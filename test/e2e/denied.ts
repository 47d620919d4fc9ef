import assert from "node:assert/strict";
import { type AuditEvent, readAuditEvents } from "../apiserver/audit.ts";

/** A request that an API server has refused for want of a right. */
export interface Denied {
  /** When: ms since 1970. */
  readonly at: number;
  /** The user; empty if the token was invalid. */
  readonly user: string;
  readonly verb: string;
  readonly uri: string;
  /** 401: the token was no good. 403: its owner may not do this. */
  readonly code: number;
}

/** Agents, controllers, those that peers come as, and the DNS server, whom deploy/coredns gives a right. */
const OURS = /^system:serviceaccount:(clusterset-.*|kube-system:coredns)$/;

/** Our users in the log of an API server; without the DNS server, which always sends requests. */
export function oursIn(auditFile: string): Set<string> {
  const users = readAuditEvents(auditFile).map(userOf);
  return new Set(users.filter((user) => OURS.test(user) && !user.endsWith(":coredns")));
}

/**
 * What of it was refused. Of a token that was no good, nobody knows whose it was: all of these count. `wasStarting`: times
 * (ms since 1970) that do not, because the API server did not know the rights yet.
 */
export function deniedIn(
  auditFile: string,
  wasStarting: (at: number) => boolean = () => false,
): Denied[] {
  return readAuditEvents(auditFile).flatMap((event) => {
    const { verb, requestURI: uri, requestReceivedTimestamp, responseStatus } = event;
    const at = Date.parse(requestReceivedTimestamp);
    const [user, code = 0] = [userOf(event), responseStatus?.code];
    // Of the API server's own probe, sent before it has read its tokens. The product's programs do not request it.
    if (uri === "/readyz") return [];
    const isDenied = code === 401 || (code === 403 && OURS.test(user));
    return isDenied && !wasStarting(at) ? [{ at, user, verb, uri, code }] : [];
  });
}

/** Throws with the entries of this list, if there are any. */
export function assertNone(denied: readonly Denied[]): void {
  const lines = new Set(
    denied.map(({ user, verb, uri, code }) => JSON.stringify({ user, verb, uri, code })),
  );
  assert.equal(lines.size, 0, `API servers have refused:\n${[...lines].join("\n")}`);
}

function userOf({ user }: AuditEvent): string {
  return user.username ?? "";
}
