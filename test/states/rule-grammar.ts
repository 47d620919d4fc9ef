/**
 * Every line that the iptables backend may ever write, spelled out a second time: what does not match has
 * come from somewhere else than our own templates.
 */

const V4 = String.raw`(?:\d{1,3}\.){3}\d{1,3}`;
const V6 = "[0-9a-f:]{2,39}";
const RANGE = String.raw`(?:${V4}/\d{1,2}|${V6}/\d{1,3})`;
const MASKED = `(?:${V4}/(?:1|${V4})|${V6}/(?:1|${V6}))`;
const CHAIN = "CSP-[-A-Za-z0-9./]{1,24}";
const COMMENT = `-m comment --comment (?:[-A-Za-z0-9]{1,255}|"[-A-Za-z0-9_/:. ]{1,255}")`;
const PROTOCOL = "(?:tcp|udp|sctp)";
const PORT = String.raw`\d{1,5}`;
const LIST = String.raw`--name CSP-[-a-z0-9.:]{1,180} --mask (?:255\.255\.255\.255|ffff(?::ffff){7}) --rsource`;
const CHANCE = String.raw`-m statistic --mode random --probability 0\.\d{11}`;
const DNAT = String.raw`-j DNAT --to-destination (?:${V4}|\[${V6}\]):${PORT}`;
const MASQUERADE = "-j MASQUERADE --random-fully";
const ORIGINAL = `-m conntrack --ctstate DNAT(?: --ctorigdst (?:${RANGE}|${V4}|${V6}))?`;
const NOT_LED_HERE = "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT";

const LINES = [
  String.raw`\*(?:filter|nat)`,
  "COMMIT",
  String.raw`:${CHAIN} - \[0:0\]`,
  `-X ${CHAIN}`,
  // Dispatch.
  `-A ${CHAIN} -d ${RANGE} -g ${CHAIN}`,
  `-A ${CHAIN} -d ${RANGE} -p ${PROTOCOL} -m ${PROTOCOL} --dport ${PORT} ${COMMENT} (?:-g ${CHAIN}|-j RETURN)`,
  // A service.
  `-A ${CHAIN} -p ${PROTOCOL} ${COMMENT} -m recent --update --seconds \\d{1,5} --reap ${LIST} ${DNAT}`,
  `-A ${CHAIN} -p ${PROTOCOL} ${COMMENT}(?: ${CHANCE})?(?: -m recent --set ${LIST})? ${DNAT}`,
  // Masquerading.
  `-A CSP-HAIRPIN -s ${MASKED} -d ${MASKED} -j RETURN`,
  `-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN`,
  `-A ${CHAIN} -[sd] ${RANGE} ${COMMENT} -j RETURN`,
  `-A ${CHAIN} ${COMMENT} ${MASQUERADE}`,
  `-A ${CHAIN} ${ORIGINAL} -g ${CHAIN}`,
  // The guard.
  `-A ${CHAIN} -p tcp -m conntrack --ctstate NEW ${COMMENT} -j REJECT --reject-with tcp-reset`,
  `-A ${CHAIN} -m conntrack --ctstate NEW ${COMMENT} -j REJECT --reject-with icmp6?-port-unreachable`,
  `-A ${CHAIN} ${COMMENT} -j DROP`,
  // Jumps.
  `-I (?:FORWARD|OUTPUT) 1(?: -d ${RANGE})? ${NOT_LED_HERE} ${COMMENT} -j ${CHAIN}`,
  `-I (?:FORWARD|OUTPUT|PREROUTING) 1(?: -d ${RANGE})? ${COMMENT} -j ${CHAIN}`,
  `-I POSTROUTING 1 ${ORIGINAL} ${COMMENT} -j ${CHAIN}`,
  `-D (?:FORWARD|OUTPUT)(?: -d ${RANGE})? ${NOT_LED_HERE} ${COMMENT} -j ${CHAIN}`,
  `-D (?:FORWARD|OUTPUT|PREROUTING)(?: -d ${RANGE})? ${COMMENT} -j ${CHAIN}`,
  `-D POSTROUTING ${ORIGINAL} ${COMMENT} -j ${CHAIN}`,
].map((line) => new RegExp(`^${line}$`));

/** The lines of a transaction that the backend cannot have meant. */
export function foreignLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  // The last line ends, too.
  const last = lines.pop();
  const foreign = lines.filter((line) => !LINES.some((known) => known.test(line)));
  return last === "" ? foreign : [...foreign, last ?? ""];
}
