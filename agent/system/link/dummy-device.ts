import { constants } from "node:os";
import type { Family } from "../../../api/address.ts";
import { CodedError } from "../../../common/errors.ts";
import { MOST_AT_ONCE, NETLINK, NetlinkSocket, nameOf } from "../netlink/socket.ts";
import {
  CREATE,
  decodeAddress,
  decodeLink,
  encodeAddress,
  encodeAddressesRequest,
  encodeDummy,
  encodeLinkName,
  encodeUp,
  type Link,
  ROUTE,
} from "./encoding.ts";

const { EADDRNOTAVAIL, EEXIST, ENODEV } = constants.errno;
/** What adding, and deleting, finds done already. */
const DONE = { newAddress: EEXIST, deleteAddress: EADDRNOTAVAIL } as const;

/** How often addresses are asked for that change meanwhile. */
const DUMPS = 5;

/**
 * A dummy device, whose addresses are the node's own without anybody beside it on a link. All of its methods reject with
 * CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED.
 */
export class DummyDevice {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** The device; undefined if there is none. */
  find(): Promise<Link | undefined> {
    return conversation((socket) => this.#find(socket));
  }

  /** The addresses (`Address.hex`) of one family that it has; none if it is not there, or not up. */
  addresses(family: Family): Promise<string[]> {
    return conversation(async (socket) => {
      const link = await this.#find(socket);
      return link?.up ? addressesOf(socket, link.index, family) : [];
    });
  }

  /** Adds addresses. The device is made, and turned up, if need be. */
  add(family: Family, addresses: readonly string[]): Promise<void> {
    return conversation(async (socket) => {
      const { index } = await this.#made(socket);
      await this.#change(socket, "newAddress", index, family, addresses);
    });
  }

  /** Deletes addresses; the device stays. */
  delete(family: Family, addresses: readonly string[]): Promise<void> {
    return conversation(async (socket) => {
      const link = await this.#find(socket);
      if (link === undefined) return;
      await this.#change(socket, "deleteAddress", link.index, family, addresses);
    });
  }

  /** Removes the device with all its addresses. True if there was one. */
  remove(): Promise<boolean> {
    return conversation(async (socket) => {
      if ((await this.#find(socket)) === undefined) return false;
      const errno = await socket.ask(ROUTE.deleteLink, encodeLinkName(this.name), () => undefined);
      if (errno !== 0 && errno !== ENODEV) throw this.#refused("removing it", errno);
      return errno === 0;
    });
  }

  async #find(socket: NetlinkSocket): Promise<Link | undefined> {
    let link: Link | undefined;
    const errno = await socket.ask(ROUTE.getLink, encodeLinkName(this.name), (payload) => {
      link = decodeLink(payload);
    });
    if (errno !== 0 && errno !== ENODEV) throw this.#refused("looking for it", errno);
    return link;
  }

  async #made(socket: NetlinkSocket): Promise<Link> {
    const before = await this.#find(socket);
    if (before?.up) return before;
    const [errno = 0] =
      before === undefined
        ? await socket.batch(ROUTE.newLink, [encodeDummy(this.name)], CREATE)
        : await socket.batch(ROUTE.newLink, [encodeUp(before.index)]);
    // The other family may have made it in the same moment.
    if (errno !== 0 && errno !== EEXIST) throw this.#refused("making it", errno);
    const link = await this.#find(socket);
    if (link === undefined) throw this.#refused("making it", ENODEV);
    return link;
  }

  async #change(
    socket: NetlinkSocket,
    what: keyof typeof DONE,
    index: number,
    family: Family,
    addresses: readonly string[],
  ): Promise<void> {
    for (let i = 0; i < addresses.length; i += MOST_AT_ONCE) {
      const batch = addresses.slice(i, i + MOST_AT_ONCE);
      const payloads = batch.map((address) => encodeAddress({ index, family, address }));
      const flags = what === "newAddress" ? CREATE : 0;
      const answers = await socket.batch(ROUTE[what], payloads, flags);
      const fault = answers.find((errno) => errno !== 0 && errno !== DONE[what]);
      if (fault !== undefined) throw this.#refused("its addresses", fault);
    }
  }

  #refused(what: string, errno: number): CodedError {
    const message = `netlink: device ${this.name}: ${what}: the kernel says ${nameOf(errno)}`;
    return new CodedError("CSP_NETLINK_FAILED", message);
  }
}

/** The addresses (`Address.hex`) of one family that the device of this index has. */
export async function addressesOf(
  socket: Pick<NetlinkSocket, "dump">,
  index: number,
  family: Family,
): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    const found: string[] = [];
    const request = encodeAddressesRequest(family);
    const interrupted = await socket.dump(ROUTE.getAddress, request, (payload) => {
      const one = decodeAddress(payload);
      if (one?.index === index && one.family === family) found.push(one.address);
    });
    // Pods that come and go add and take away interfaces, and the kernel may have passed some over.
    if (!interrupted || tries === DUMPS) return found;
  }
}

async function conversation<Result>(
  talk: (socket: NetlinkSocket) => Promise<Result>,
): Promise<Result> {
  const socket = await NetlinkSocket.open(NETLINK.route);
  try {
    return await talk(socket);
  } finally {
    socket.close();
  }
}
