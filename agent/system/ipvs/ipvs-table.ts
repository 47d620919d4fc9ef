import { existsSync } from "node:fs";
import { constants } from "node:os";
import { addressFromHex } from "../../../api/address.ts";
import { CodedError } from "../../../common/errors.ts";
import { CONTROL, familyNumber, familyRequest } from "../netlink/generic.ts";
import { MOST_AT_ONCE, NETLINK, NetlinkSocket, nameOf } from "../netlink/socket.ts";
import {
  decodeDestination,
  decodeServer,
  decodeTcpTimeout,
  encodeCommand,
  encodeDestinationsRequest,
  encodeServersRequest,
  encodeTcpTimeout,
  encodeTimeoutsRequest,
  IPVS,
} from "./encoding.ts";
import type { Command, Server, ServerName, StandingDestination } from "./object.ts";

/** The kernel's virtual servers, by way of generic netlink: a conversation for each piece of work. */
export class IpvsTable {
  /** Whether the kernel has IPVS now. Whoever asks IPVS itself has the kernel load it, on nodes that never had it. */
  get loaded(): boolean {
    return existsSync("/proc/net/ip_vs");
  }

  /** All virtual servers, whoever made them. Rejects with CSP_IPVS_MISSING, CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED. */
  servers(): Promise<Server[]> {
    return conversation(async (socket, family) => {
      const servers: Server[] = [];
      await socket.dump(family, encodeServersRequest(), (payload) => {
        const server = decodeServer(payload);
        if (server !== undefined) servers.push(server);
      });
      return servers;
    });
  }

  /**
   * The destinations of each of these; none for a server that is gone. The kernel gives those of one server in one
   * dump. Rejects as `servers` does.
   */
  destinations<Name extends ServerName>(
    servers: readonly Name[],
    stop?: AbortSignal,
  ): Promise<Map<Name, StandingDestination[]>> {
    return conversation(async (socket, family) => {
      const found = new Map<Name, StandingDestination[]>();
      for (const server of servers) {
        if (stop?.aborted) break;
        const destinations: StandingDestination[] = [];
        found.set(server, destinations);
        await socket.dump(family, encodeDestinationsRequest(server), (payload) => {
          const destination = decodeDestination(payload, server.family);
          if (destination !== undefined) destinations.push(destination);
        });
      }
      return found;
    });
  }

  /** Seconds after which a TCP connection is forgotten that stands and is silent. Rejects as `servers` does. */
  tcpTimeout(): Promise<number> {
    return conversation(async (socket, family) => {
      let seconds: number | undefined;
      const errno = await socket.ask(family, encodeTimeoutsRequest(), (payload) => {
        seconds = decodeTcpTimeout(payload);
      });
      if (seconds !== undefined) return seconds;
      throw new CodedError("CSP_NETLINK_FAILED", `IPVS: its timeouts: ${nameOf(errno)}`);
    });
  }

  /** Sets it for all TCP connections of the network namespace, whosever they are. Rejects as `servers` does. */
  setTcpTimeout(seconds: number): Promise<void> {
    return conversation(async (socket, family) => {
      const errno = await socket.ask(family, encodeTcpTimeout(seconds), () => undefined);
      if (errno === 0) return;
      throw new CodedError("CSP_NETLINK_FAILED", `IPVS: its TCP timeout: ${nameOf(errno)}`);
    });
  }

  /**
   * Makes changes, in their order. What is to be deleted and is gone already is no error. Rejects as `servers` does, and
   * with CSP_IPVS_REFUSED, or CSP_SERVER_GONE, at the first batch that holds something the kernel refuses: those before
   * it are made, and of that batch all that it does not refuse.
   */
  run(commands: readonly Command[]): Promise<void> {
    if (commands.length === 0) return Promise.resolve();
    return conversation(async (socket, family) => {
      for (let i = 0; i < commands.length; i += MOST_AT_ONCE) {
        const batch = commands.slice(i, i + MOST_AT_ONCE);
        const answers = await socket.batch(family, batch.map(encodeCommand));
        for (const [k, errno] of answers.entries()) {
          const command = batch[k];
          if (command === undefined || errno === 0) continue;
          if (command.kind.startsWith("delete") && isGone(errno)) continue;
          throw refusal(command, errno);
        }
      }
    });
  }
}

/** ESRCH: no such server; ENOENT: no such destination. */
function isGone(errno: number): boolean {
  return errno === constants.errno.ESRCH || errno === constants.errno.ENOENT;
}

/**
 * What is not the object's fault must not pass for it: whole services are set aside for that. EEXIST and ESRCH tell of
 * somebody else who writes, ENOMEM and EPERM of the node.
 */
function refusal(command: Command, errno: number): CodedError {
  const { EEXIST, ESRCH, ENOENT, ENOMEM, EPERM } = constants.errno;
  const { protocol, address, port } = command.server;
  const what = `${command.kind} ${protocol} ${addressFromHex(address).text} ${port}`;
  const message = `IPVS: ${what}: the kernel says ${nameOf(errno)}`;
  if (errno === ESRCH) return new CodedError("CSP_SERVER_GONE", message);
  // Only for a new server ENOENT is a refusal: its scheduler is not there.
  const gone = errno === ENOENT && command.kind !== "new-server" && command.kind !== "set-server";
  const others = [EEXIST, ENOMEM, EPERM].includes(errno) || gone;
  return new CodedError(others ? "CSP_NETLINK_FAILED" : "CSP_IPVS_REFUSED", message);
}

async function conversation<Result>(
  talk: (socket: NetlinkSocket, family: number) => Promise<Result>,
): Promise<Result> {
  const socket = await NetlinkSocket.open(NETLINK.generic);
  try {
    return await talk(socket, await familyOf(socket));
  } finally {
    socket.close();
  }
}

/** The number may be another after the module was loaded anew: it is asked for each time, in 0.1 ms. */
async function familyOf(socket: NetlinkSocket): Promise<number> {
  let number: number | undefined;
  const errno = await socket.ask(CONTROL, familyRequest(IPVS), (payload) => {
    number = familyNumber(payload);
  });
  if (number !== undefined) return number;
  const why = errno === constants.errno.ENOENT ? "the module ip_vs is not loaded" : nameOf(errno);
  throw new CodedError("CSP_IPVS_MISSING", `IPVS: the kernel does not offer it: ${why}`);
}
