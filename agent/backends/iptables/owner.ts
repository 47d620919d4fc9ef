import { type ForeignRule, parseForeign } from "./foreign-rule.ts";
import type { Shadowing } from "./shadowing-rule.ts";

/** Programs by the prefixes of their chains and of their rules' comments. */
const OWNERS: readonly (readonly [program: string, marks: RegExp])[] = [
  ["kube-router", /^KUBE-(ROUTER|POD-FW|NWPLCY)-/],
  ["ip-masq-agent", /^IP-MASQ-AGENT$/],
  ["kube-proxy", /^KUBE-/],
  ["Calico", /^cali[-:]/],
  ["Cilium", /^(OLD_)?CILIUM_|^cilium[-:]/],
  ["flannel", /^FLANNEL-|^flanneld /],
  ["Docker", /^DOCKER($|-)/],
  ["ufw", /^ufw6?-/],
  ["firewalld", /_direct$|_ZONES$|^(PRE|POST|IN|FWD|FWDI|FWDO)_/],
  ["a CNI plugin", /^CNI-/],
  ["Podman", /^NETAVARK/],
  ["libvirt", /^LIBVIRT_/],
  ["Istio", /^ISTIO_/],
  ["Antrea", /^ANTREA-/],
  ["OVN-Kubernetes", /^OVN-KUBE-/],
  ["Weave Net", /^WEAVE/],
  ["Amazon VPC CNI", /^AWS-/],
  ["Tailscale", /^ts-/],
  ["fail2ban", /^f2b-/],
];
/** Characters of a rule in a log line, because comments may be long. */
const LONGEST = 300;

/** The program that probably owns a rule, by its target chain or comment. */
function ownerOf({ target, comments }: ForeignRule): string | undefined {
  const marks = [target?.name ?? "", ...comments];
  return OWNERS.find(([, pattern]) => marks.some((mark) => pattern.test(mark)))?.[0];
}

/** The shadowing rule as text, with its owner if known. */
export function shadowingText({ rule, taker }: Shadowing): string {
  const owner = ownerOf(rule) ?? ownerOf(taker);
  const rules = rule === taker ? rule.text : `${rule.text} … ${taker.text}`;
  return `${owner === undefined ? "" : `${owner}: `}${rules}`.slice(0, LONGEST);
}

/** The owners of these lines of iptables-save; undefined if none is known. */
export function ownersIn(lines: readonly string[]): string | undefined {
  const owners = lines
    .map((line) => ownerOf(parseForeign(line)))
    .filter((owner) => owner !== undefined);
  return owners.length === 0 ? undefined : [...new Set(owners)].sort().join(", ");
}
