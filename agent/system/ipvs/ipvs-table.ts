import { existsSync } from "node:fs";
import { constants } from "node:os";
import { addressFromHex } from "../../../api/address.ts";
import { CodedError } from "../../../common/errors.ts";
import { CONTROL, familyNumber, familyRequest } from "../netlink/generic.ts";
import { NETLINK, NetlinkSocket, nameOf, rejected } from "../netlink/socket.ts";
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
import type { Command, ListedDestination, Server, ServerName } from "./object.ts";

/** The kernel's virtual servers, accessed by generic netlink, with a socket per call. */
export class IpvsTable {
  /** Whether the module is loaded. A request to IPVS itself would load it. */
  get loaded(): boolean {
    return existsSync("/proc/net/ip_vs");
  }

  /** All virtual servers, also foreign ones. Rejects with CSP_IPVS_MISSING, CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED. */
  servers(): Promise<Server[]> {
    return withSocket(async (socket, family) => {
      const servers: Server[] = [];
      await socket.dump(family, encodeServersRequest(), (payload) => {
        const server = decodeServer(payload);
        if (server !== undefined) servers.push(server);
      });
      return servers;
    });
  }

  /** The destinations of each server, one dump per server; none if the server does not exist. Rejects as `servers` does. */
  destinations<Name extends ServerName>(
    servers: readonly Name[],
    stop?: AbortSignal,
  ): Promise<Map<Name, ListedDestination[]>> {
    return withSocket(async (socket, family) => {
      const found = new Map<Name, ListedDestination[]>();
      for (const server of servers) {
        if (stop?.aborted) break;
        const destinations: ListedDestination[] = [];
        found.set(server, destinations);
        await socket.dump(family, encodeDestinationsRequest(server), (payload) => {
          const destination = decodeDestination(payload, server.family);
          if (destination !== undefined) destinations.push(destination);
        });
      }
      return found;
    });
  }

  /** Idle timeout of established TCP connections in seconds. Rejects as `servers` does. */
  tcpTimeout(): Promise<number> {
    return withSocket(async (socket, family) => {
      let seconds: number | undefined;
      const errno = await socket.ask(family, encodeTimeoutsRequest(), (payload) => {
        seconds = decodeTcpTimeout(payload);
      });
      if (seconds !== undefined) return seconds;
      throw rejected("get IPVS timeouts", errno);
    });
  }

  /** Sets it for all TCP connections of the network namespace, also foreign ones. Rejects as `servers` does. */
  setTcpTimeout(seconds: number): Promise<void> {
    return withSocket(async (socket, family) => {
      const errno = await socket.ask(family, encodeTcpTimeout(seconds));
      if (errno !== 0) throw rejected("set IPVS TCP timeout", errno);
    });
  }

  /**
   * Makes changes in order. Deleting what does not exist is no error. Rejects as `servers` does, and with CSP_IPVS_REFUSED or
   * CSP_SERVER_GONE after the first batch with a change that the kernel rejects; all other changes up to there are made.
   */
  run(commands: readonly Command[]): Promise<void> {
    if (commands.length === 0) return Promise.resolve();
    return withSocket((socket, family) =>
      socket.askEach(family, commands, encodeCommand, (errno, command) => {
        if (errno === 0 || (command.kind.startsWith("delete") && isGone(errno))) return;
        throw errorOf(command, errno);
      }),
    );
  }
}

/** ESRCH: no such server; ENOENT: no such destination. */
function isGone(errno: number): boolean {
  return errno === constants.errno.ESRCH || errno === constants.errno.ENOENT;
}

/**
 * CSP_IPVS_REFUSED quarantines a service, so errors with another cause have another code: EEXIST and ESRCH come from another
 * writer, ENOMEM and EPERM from the node.
 */
function errorOf(command: Command, errno: number): CodedError {
  const { EEXIST, ESRCH, ENOENT, ENOMEM, EPERM } = constants.errno;
  const { protocol, address, port } = command.server;
  const what = `${command.kind} ${protocol} ${addressFromHex(address).text} ${port}`;
  const message = `IPVS: ${what}: ${nameOf(errno)}`;
  if (errno === ESRCH) return new CodedError("CSP_SERVER_GONE", message);
  // For a server, ENOENT means that its scheduler is not available.
  const gone = errno === ENOENT && command.kind !== "new-server" && command.kind !== "set-server";
  const others = [EEXIST, ENOMEM, EPERM].includes(errno) || gone;
  if (others) return new CodedError("CSP_NETLINK_FAILED", message);
  return new CodedError("CSP_IPVS_REFUSED", message, { rejected: true });
}

function withSocket<Result>(
  work: (socket: NetlinkSocket, family: number) => Promise<Result>,
): Promise<Result> {
  return NetlinkSocket.use(NETLINK.generic, async (socket) => work(socket, await familyOf(socket)));
}

/** The number may change when the module is loaded again, so it is resolved each time (0.1 ms). */
async function familyOf(socket: NetlinkSocket): Promise<number> {
  let number: number | undefined;
  const errno = await socket.ask(CONTROL, familyRequest(IPVS), (payload) => {
    number = familyNumber(payload);
  });
  if (number !== undefined) return number;
  const why = errno === constants.errno.ENOENT ? "the module ip_vs is not loaded" : nameOf(errno);
  throw new CodedError("CSP_IPVS_MISSING", `IPVS: not available: ${why}`);
}
