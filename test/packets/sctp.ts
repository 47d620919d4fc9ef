import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseLine, type Result } from "../../images/request/attempt.ts";
import type { Namespace } from "../lab/namespace.ts";

/** True if this kernel has SCTP, as a module that can be loaded or built in. Node has none itself: socat speaks it. */
export function hasSctp(): boolean {
  try {
    execFileSync("/sbin/modprobe", ["--quiet", "sctp"]);
  } catch {
    // Without this module SCTP may be built in.
  }
  return /^SCTP /m.test(readFileSync("/proc/net/protocols", "utf8"));
}

/** Responds like `serve` of images/, over IPv4: with the place's name and the client's address. */
export async function serveSctp(place: Namespace, port: number): Promise<void> {
  const listen = `SCTP4-LISTEN:${port},fork,reuseaddr`;
  place.spawn(["socat", listen, `SYSTEM:echo ${place.path} $SOCAT_PEERADDR`]);
  const listening = async () =>
    (await place.exec(["cat", "/proc/net/sctp/eps"])).includes(` ${port} `);
  while (!(await listening())) await sleep(50);
}

/** Opens associations one after the other. An ICMP error ends an attempt at once, as with TCP and UDP. */
export async function askOverSctp(
  place: Namespace,
  address: string,
  port: number,
  count: number,
): Promise<Result[]> {
  // Without IP_RECVERR, the kernel repeats what was refused by ICMP for half a minute.
  const target = `SCTP4-CONNECT:${address}:${port},ip-recverr=1,connect-timeout=10`;
  const results: Result[] = [];
  while (results.length < count) {
    const { code, stdout, stderr } = await place.run(["socat", "-T10", "-u", target, "-"]);
    if (code === 0) results.push(parseLine(stdout));
    else results.push({ error: /Connection refused/.test(stderr) ? "refused" : "failed" });
  }
  return results;
}
