import { constants } from "node:os";
import type { Family } from "../../../api/address.ts";
import type { CodedError } from "../../../common/errors.ts";
import { NETLINK, NetlinkSocket, rejected } from "../netlink/socket.ts";
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
/** Errors for a change that is made already. */
const DONE = { newAddress: EEXIST, deleteAddress: EADDRNOTAVAIL } as const;

/** Dumps of addresses, if they change during each. */
const DUMPS = 5;

/** A dummy device, which makes addresses local to the node. All methods reject with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED. */
export class DummyDevice {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** The device; undefined if there is none. */
  find(): Promise<Link | undefined> {
    return withSocket((socket) => this.#find(socket));
  }

  /**
   * Its addresses (`Address.hex`) of one family, without the link-local one that the kernel gives each device; none if the device does
   * not exist or is down.
   */
  addresses(family: Family): Promise<string[]> {
    return withSocket(async (socket) => {
      const link = await this.#find(socket);
      const all = link?.up ? await addressesOf(socket, link.index, family) : [];
      return all.filter((address) => family === "IPv4" || !/^fe[89ab]/.test(address));
    });
  }

  /** Adds addresses. Creates the device and sets it up, if necessary. */
  add(family: Family, addresses: readonly string[]): Promise<void> {
    return withSocket(async (socket) => {
      const { index } = await this.#create(socket);
      await this.#change(socket, "newAddress", index, family, addresses);
    });
  }

  /** Deletes addresses; the device stays. */
  delete(family: Family, addresses: readonly string[]): Promise<void> {
    return withSocket(async (socket) => {
      const link = await this.#find(socket);
      if (link === undefined) return;
      await this.#change(socket, "deleteAddress", link.index, family, addresses);
    });
  }

  /** Deletes the device with all its addresses. True if there was one. */
  remove(): Promise<boolean> {
    return withSocket(async (socket) => {
      if ((await this.#find(socket)) === undefined) return false;
      const errno = await socket.ask(ROUTE.deleteLink, encodeLinkName(this.name));
      if (errno !== 0 && errno !== ENODEV) throw this.#rejected("delete", errno);
      return errno === 0;
    });
  }

  async #find(socket: NetlinkSocket): Promise<Link | undefined> {
    let link: Link | undefined;
    const errno = await socket.ask(ROUTE.getLink, encodeLinkName(this.name), (payload) => {
      link = decodeLink(payload);
    });
    if (errno !== 0 && errno !== ENODEV) throw this.#rejected("get", errno);
    return link;
  }

  async #create(socket: NetlinkSocket): Promise<Link> {
    const before = await this.#find(socket);
    if (before?.up) return before;
    const errno =
      before === undefined
        ? await socket.ask(ROUTE.newLink, encodeDummy(this.name), undefined, CREATE)
        : await socket.ask(ROUTE.newLink, encodeUp(before.index));
    // The backend of the other family may have created it meanwhile.
    if (errno !== 0 && errno !== EEXIST) throw this.#rejected("create", errno);
    const link = await this.#find(socket);
    if (link === undefined) throw this.#rejected("create", ENODEV);
    return link;
  }

  async #change(
    socket: NetlinkSocket,
    what: keyof typeof DONE,
    index: number,
    family: Family,
    addresses: readonly string[],
  ): Promise<void> {
    const encode = (address: string) => encodeAddress({ index, family, address });
    const onAnswer = (errno: number) => {
      if (errno !== 0 && errno !== DONE[what]) throw this.#rejected("change addresses", errno);
    };
    const flags = what === "newAddress" ? CREATE : 0;
    await socket.askEach(ROUTE[what], addresses, encode, onAnswer, { flags });
  }

  #rejected(what: string, errno: number): CodedError {
    return rejected(`device ${this.name}: ${what}`, errno);
  }
}

/** The addresses (`Address.hex`) of one family of the device with this index. */
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
    // Interfaces of pods were added or deleted meanwhile, so addresses may be missing.
    if (!interrupted || tries === DUMPS) return found;
  }
}

function withSocket<Result>(work: (socket: NetlinkSocket) => Promise<Result>): Promise<Result> {
  return NetlinkSocket.use(NETLINK.route, work);
}
