import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { Namespace } from "./namespace.ts";

/** One end of a connection. */
export interface End {
  readonly address: string;
  readonly port: number;
}

/** The first segment of a connection, and the answer to it. Their numbers fit each other, whoever sends them. */
export type Segment = "SYN" | "SYN-ACK";

const FLAGS = { SYN: 0x02, "SYN-ACK": 0x12 } as const;
const TCP = 6;
const PREFIX: Readonly<Record<Family, number>> = { IPv4: 32, IPv6: 128 };

/** Sends one segment from a pod, in the name of any end: a pod with a raw socket can. */
export async function sendSegment(pod: Namespace, segment: Segment, from: End, to: End) {
  const [source, target] = [addressOf(from), addressOf(to)];
  const isIPv6 = source.family === "IPv6";
  const address = `${source.text}/${PREFIX[source.family]}`;
  const kind = isIPv6 ? "IP6-SENDTO" : "IP4-SENDTO";
  const [host, own] = [target, source].map(({ text }) => (isIPv6 ? `[${text}]` : text));
  const bytes = [...segmentOf(segment, source, from.port, target, to.port)];
  const octal = bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  const added = pod.addresses.every(({ text }) => text !== source.text);
  // A socket has an address of the pod as its source.
  const change = (verb: string) =>
    added
      ? `ip address ${verb} ${address} dev lo${verb === "add" && isIPv6 ? " nodad" : ""}; `
      : "";
  await pod.exec([
    "sh",
    "-ec",
    `${change("add")}printf '${octal}' | socat -u - ${kind}:${host}:${TCP},bind=${own}; ${change("del")}`,
  ]);
}

function addressOf({ address }: End): Address {
  const parsed = parseAddress(address);
  if (!isAddress(parsed)) throw new Error(`${address}: no address`);
  return parsed;
}

function segmentOf(
  segment: Segment,
  source: Address,
  sourcePort: number,
  target: Address,
  targetPort: number,
): Uint8Array {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt16BE(sourcePort, 0);
  bytes.writeUInt16BE(targetPort, 2);
  // The SYN has number 1, so the answer acknowledges 2.
  bytes.writeUInt32BE(1, 4);
  bytes.writeUInt32BE(segment === "SYN" ? 0 : 2, 8);
  bytes.writeUInt8(5 << 4, 12);
  bytes.writeUInt8(FLAGS[segment], 13);
  bytes.writeUInt16BE(1_000, 14);
  const pseudo = Buffer.from(`${source.hex}${target.hex}`, "hex");
  const sum = sumOf(pseudo) + TCP + bytes.length + sumOf(bytes);
  bytes.writeUInt16BE(~folded(sum) & 0xffff, 16);
  return bytes;
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  return sum;
}

function folded(sum: number): number {
  return sum > 0xffff ? folded((sum & 0xffff) + (sum >>> 16)) : sum;
}
