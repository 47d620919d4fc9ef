import { type ForeignRule, parseForeign } from "./foreign-rule.ts";
import type { Obstacle } from "./obstacle.ts";

/** Programs by how the chains begin that they own, and by the comments of their rules. */
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
/** Characters of a rule that a log line keeps: comments are as long as their author likes. */
const LONGEST = 300;

/** The program whose rule this probably is, told by the chain that it leads to, or by its comment. */
function ownerOf({ target, comments }: ForeignRule): string | undefined {
  const marks = [target?.name ?? "", ...comments];
  return OWNERS.find(([, pattern]) => marks.some((mark) => pattern.test(mark)))?.[0];
}

/** Who stands in the way, and how. */
export function obstacleText({ rule, taker }: Obstacle): string {
  const owner = ownerOf(rule) ?? ownerOf(taker);
  const rules = rule === taker ? rule.text : `${rule.text} … ${taker.text}`;
  return `${owner === undefined ? "" : `${owner}: `}${rules}`.slice(0, LONGEST);
}

/** Whose rules are in these lines of iptables-save; nothing if they tell of nobody. */
export function ownersIn(lines: readonly string[]): string | undefined {
  const owners = lines
    .map((line) => ownerOf(parseForeign(line)))
    .filter((owner) => owner !== undefined);
  return owners.length === 0 ? undefined : [...new Set(owners)].sort().join(", ");
}
