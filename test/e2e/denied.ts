import { type AuditEvent, readAuditEvents } from "../apiserver/audit.ts";

/** A request that an API server has refused for want of a right. */
export interface Denied {
  /** Who asked; empty, if the token was no good. */
  readonly user: string;
  readonly verb: string;
  readonly uri: string;
  /** 401: the token was no good. 403: its owner may not do this. */
  readonly code: number;
}

/** Agents, controllers, those that peers come as, and the DNS server, whom deploy/coredns gives a right. */
const OURS = /^system:serviceaccount:(clusterset-.*|kube-system:coredns)$/;

/** Who of ours, by the log of an API server, has asked at all; all but the DNS server, which asks on anyway. */
export function oursIn(auditFile: string): Set<string> {
  const users = readAuditEvents(auditFile).map(userOf);
  return new Set(users.filter((user) => OURS.test(user) && !user.endsWith(":coredns")));
}

/** What of it was refused. Of a token that was no good, nobody knows whose it was: all of these count. */
export function deniedIn(auditFile: string): Denied[] {
  return readAuditEvents(auditFile).flatMap((event) => {
    const { verb, requestURI: uri, responseStatus } = event;
    const [user, code = 0] = [userOf(event), responseStatus?.code];
    const isDenied = code === 401 || (code === 403 && OURS.test(user));
    return isDenied ? [{ user, verb, uri, code }] : [];
  });
}

function userOf({ user }: AuditEvent): string {
  return user.username ?? "";
}
