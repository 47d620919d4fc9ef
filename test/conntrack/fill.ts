/**
 * Fills the connection tracking table of its network namespace, by netlink: COUNT entries of clients whose datagrams
 * (`UDP`) or first packets (`TCP`) to DESTINATION PORT were led to ENDPOINT PORT, and never answered. Run as a program on a
 * node of a lab; needs root.
 */

import { NEW } from "../../agent/system/conntrack/encoding.ts";
import type { Entry } from "../../agent/system/conntrack/entry.ts";
import { attribute } from "../../agent/system/netlink/attributes.ts";
import { NETLINK, NetlinkSocket } from "../../agent/system/netlink/socket.ts";
import { uint32BE } from "../../agent/system/netlink/values.ts";
import { isAddress, parseAddress } from "../../api/address.ts";
import { encodeEntry } from "./encode-entry.ts";

/** NLM_F_CREATE. */
const CREATE = 0x400;
/** CTA_TIMEOUT, in seconds: of clients that sent their last packet at different times. */
const TIMEOUT = { type: 7, least: 300, most: 600 } as const;

/** CTA_STATUS: IPS_CONFIRMED, without which nothing may be created. Of two, the last counts. */
const STATUS = { type: 3, confirmed: Buffer.of(0, 0, 0, 8) };

const [protocol, count = "0", destination = "", port = "", endpoint = "", targetPort = ""] =
  process.argv.slice(2);
const [to, from] = [hexOf(destination), hexOf(endpoint)];
const socket = await NetlinkSocket.open(NETLINK.netfilter);
const encode = (i: number) =>
  Buffer.concat([
    encodeEntry(entry(i)),
    attribute(STATUS.type, STATUS.confirmed),
    attribute(TIMEOUT.type, uint32BE(TIMEOUT.least + (i % (TIMEOUT.most - TIMEOUT.least)))),
  ]);
const onAnswer = (errno: number) => {
  if (errno !== 0) throw new Error(`the kernel rejects entries: ${errno}`);
};
await socket.askEach(NEW, [...Array(Number(count)).keys()], encode, onAnswer, { flags: CREATE });
socket.close();
console.log(`created ${count}`);

function entry(i: number): Entry {
  // The lab does not use 100.64.0.0/10 (RFC 6598).
  const client = (0x64400000 + (i >> 14)).toString(16);
  const clientPort = 1024 + (i & 0x3fff);
  return {
    family: "IPv4",
    ...(protocol === "TCP" ? { protocol, tcp: "SYN_SENT" } : { protocol: "UDP" }),
    original: {
      source: client,
      destination: to,
      sourcePort: clientPort,
      destinationPort: Number(port),
    },
    reply: {
      source: from,
      destination: client,
      sourcePort: Number(targetPort),
      destinationPort: clientPort,
    },
    replied: false,
  };
}

function hexOf(text: string): string {
  const address = parseAddress(text);
  if (!isAddress(address)) throw new Error(`${text}: ${address}`);
  return address.hex;
}
