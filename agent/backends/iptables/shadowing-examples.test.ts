import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JumpOrder, type ListChains } from "./jump-order.ts";
import { BASES, type ChainKey, type Jump } from "./object-id.ts";

const JUMPS: readonly Jump[] = [
  "filter FORWARD -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD",
  "filter OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD",
  "nat PREROUTING -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES",
  "nat OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES",
  "nat POSTROUTING -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-MASQUERADE",
];

/** What these programs write, in the words of iptables-save, as far as new connections may meet it. */
const KUBE_PROXY = `nat
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m comment --comment "shop/web:http" -m tcp --dport 30080 -j KUBE-EXT-A
-A KUBE-NODEPORTS -p tcp -m comment --comment "shop/web:http" -m tcp --dport 30080 -j KUBE-EXT-A
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-A
-A KUBE-SERVICES -d 192.0.2.9/32 -p tcp -m comment --comment "shop/web:http loadbalancer IP" -m tcp --dport 80 -j KUBE-EXT-A
-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
filter
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
-A OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A KUBE-SERVICES -d 10.96.0.9/32 -p tcp -m comment --comment "shop/none has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable`;

const CALICO = `nat
-A PREROUTING -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING
-A OUTPUT -m comment --comment "cali:tVnHkvAo15HuiPy0" -j cali-OUTPUT
-A POSTROUTING -m comment --comment "cali:O3lYWMrLQYEMJtB5" -j cali-POSTROUTING
-A cali-PREROUTING -m comment --comment "cali:r6XmIziWUJsdOK6Z" -j cali-fip-dnat
-A cali-OUTPUT -m comment --comment "cali:GBTAv2p5CwevEyJm" -j cali-fip-dnat
-A cali-fip-dnat -d 192.0.2.7/32 -m comment --comment "cali:aaaa" -j DNAT --to-destination 10.1.0.7
-A cali-POSTROUTING -m comment --comment "cali:Z-c7XtVd2Bq7s_hA" -j cali-fip-snat
-A cali-POSTROUTING -m comment --comment "cali:nYKhEzDlr11Jccal" -j cali-nat-outgoing
-A cali-nat-outgoing -m comment --comment "cali:flqWnvo8yq4ULQLa" -m set --match-set cali40masq-ipam-pools src -m set ! --match-set cali40all-ipam-pools dst -j MASQUERADE --random-fully
filter
-A FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD
-A OUTPUT -m comment --comment "cali:tVnHkvAo15HuiPy0" -j cali-OUTPUT
-A cali-FORWARD -m comment --comment "cali:vjrMJCRpqwy5oRoX" -j MARK --set-xmark 0x0/0xe0000
-A cali-FORWARD -m comment --comment "cali:A_sPAO0mcxbT9mOV" -m mark --mark 0x0/0x10000 -j cali-from-hep-forward
-A cali-FORWARD -i cali+ -m comment --comment "cali:8ZoYfO5HKXWbB3pk" -j cali-from-wl-dispatch
-A cali-FORWARD -o cali+ -m comment --comment "cali:jdEuaPBe14V2hutn" -j cali-to-wl-dispatch
-A cali-OUTPUT -m comment --comment "cali:Mq1_rAdXXH3YkrzW" -m mark --mark 0x10000/0x10000 -j ACCEPT
-A cali-OUTPUT -o cali+ -m comment --comment "cali:69FkRTJDvD5Vu6Vl" -j RETURN
-A cali-from-wl-dispatch -i cali1 -m comment --comment "cali:x" -g cali-fw-cali1
-A cali-from-wl-dispatch -m comment --comment "cali:y" -m comment --comment "Unknown interface" -j DROP
-A cali-to-wl-dispatch -o cali1 -m comment --comment "cali:z" -g cali-tw-cali1
-A cali-to-wl-dispatch -m comment --comment "cali:w" -m comment --comment "Unknown interface" -j DROP
-A cali-fw-cali1 -m comment --comment "cali:1" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A cali-fw-cali1 -m comment --comment "cali:2" -m conntrack --ctstate INVALID -j DROP
-A cali-fw-cali1 -m comment --comment "cali:3" -j MARK --set-xmark 0x0/0x10000
-A cali-fw-cali1 -m comment --comment "cali:4" -j cali-pro-kns.default
-A cali-fw-cali1 -m comment --comment "cali:5" -m comment --comment "Return if profile accepted" -m mark --mark 0x10000/0x10000 -j RETURN
-A cali-fw-cali1 -m comment --comment "cali:6" -m comment --comment "Drop if no profiles matched" -j DROP
-A cali-pro-kns.default -m comment --comment "cali:7" -j MARK --set-xmark 0x10000/0x10000
-A cali-pro-kns.default -m comment --comment "cali:8" -m mark --mark 0x10000/0x10000 -j RETURN`;

const DOCKER = `nat
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A DOCKER -i docker0 -j RETURN
-A DOCKER ! -i docker0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80
filter
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -j RETURN
-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP
-A DOCKER-ISOLATION-STAGE-2 -j RETURN
-A DOCKER-USER -j RETURN`;

const FIREWALLD = `nat
-A PREROUTING -j PREROUTING_direct
-A PREROUTING -j PREROUTING_ZONES
-A PREROUTING_ZONES -i eth0 -g PRE_public
-A PREROUTING_ZONES -g PRE_public
-A PRE_public -j PRE_public_log
-A PRE_public -j PRE_public_allow
-A OUTPUT -j OUTPUT_direct
-A POSTROUTING -j POSTROUTING_direct
-A POSTROUTING -j POSTROUTING_ZONES
filter
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT
-A FORWARD -i lo -j ACCEPT
-A FORWARD -j FORWARD_direct
-A FORWARD -m conntrack --ctstate INVALID -j DROP
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A OUTPUT -o lo -j ACCEPT
-A OUTPUT -j OUTPUT_direct`;

const UFW = `filter
-A FORWARD -j ufw-before-logging-forward
-A FORWARD -j ufw-before-forward
-A FORWARD -j ufw-reject-forward
-A OUTPUT -j ufw-before-output
-A ufw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A ufw-before-forward -p icmp -m icmp --icmp-type 8 -j ACCEPT
-A ufw-before-forward -j ufw-user-forward
-A ufw-before-output -o lo -j ACCEPT
-A ufw-before-output -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`;

const FLANNEL = `nat
-A POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
-A FLANNEL-POSTRTG -m mark --mark 0x4000/0x4000 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG -s 10.244.0.0/24 -d 10.244.0.0/16 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully`;

const KUBE_ROUTER = `filter
-A FORWARD -m comment --comment "kube-router netpol - TEMCG2JMHZYE7H7T" -j KUBE-ROUTER-FORWARD
-A OUTPUT -m comment --comment "kube-router netpol - VEAAIY32XVBHCSCY" -j KUBE-ROUTER-OUTPUT
-A KUBE-ROUTER-FORWARD -d 10.42.0.7/32 -m comment --comment "rule to jump traffic destined to POD name:web" -j KUBE-POD-FW-A
-A KUBE-ROUTER-FORWARD -s 10.42.0.7/32 -m comment --comment "rule to jump traffic from POD name:web" -j KUBE-POD-FW-A
-A KUBE-ROUTER-FORWARD -m comment --comment "rule to explicitly ACCEPT traffic that comply to network policies" -m mark --mark 0x20000/0x20000 -j ACCEPT
-A KUBE-ROUTER-OUTPUT -s 10.42.0.7/32 -j KUBE-POD-FW-A
-A KUBE-POD-FW-A -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A KUBE-POD-FW-A -m conntrack --ctstate INVALID -j DROP
-A KUBE-POD-FW-A -d 10.42.0.7/32 -m addrtype --src-type LOCAL -j ACCEPT
-A KUBE-POD-FW-A -s 10.42.0.7/32 -j KUBE-NWPLCY-DEFAULT
-A KUBE-POD-FW-A -m mark ! --mark 0x10000/0x10000 -j REJECT --reject-with icmp-port-unreachable
-A KUBE-POD-FW-A -j MARK --set-xmark 0x20000/0x20000
-A KUBE-NWPLCY-DEFAULT -j MARK --set-xmark 0x10000/0x10000`;

/** Lists made-up tables; a chain exists if it has a rule, or if a known program's rule leads to it. */
function tables(text: string) {
  const lines = new Map<ChainKey, string[]>(BASES.map((key) => [key, []]));
  let table = "";
  for (const line of text.split("\n")) {
    if (!line.startsWith("-A ")) {
      table = line;
      continue;
    }
    for (const [, name = ""] of line.matchAll(/^-A (\S+)| -[jg] (?=.*[a-z_-])(\S+)/g)) {
      const key = `${table} ${name || (line.split(/ -[jg] /)[1] ?? "")}` as ChainKey;
      lines.set(key, lines.get(key) ?? []);
    }
    lines.get(`${table} ${line.split(" ")[1]}` as ChainKey)?.push(line);
  }
  for (const jump of JUMPS) {
    const [name, chain] = jump.split(" ");
    lines.get(`${name} ${chain}` as ChainKey)?.push(`-A ${jump.slice(jump.indexOf(" ") + 1)}`);
  }
  const asked: ChainKey[][] = [];
  const list: ListChains = async (keys, keep) => {
    asked.push([...keys]);
    return new Map(keys.map((key) => [key, lines.get(key)?.filter(keep)]));
  };
  return { asked, list, listing: () => new Map(BASES.map((key) => [key, lines.get(key)])) };
}

async function behind(text: string): Promise<string[]> {
  const { list, listing } = tables(text);
  const found = await new JumpOrder(list).evaluate(JUMPS, listing());
  return [...found].map(([jump, who]) => `${jump.split(" ").slice(0, 2).join(" ")}: ${who}`);
}

describe("rules that another program inserts at the head do not shadow our jumps", () => {
  const programs = { KUBE_PROXY, CALICO, DOCKER, FIREWALLD, UFW, FLANNEL, KUBE_ROUTER };
  for (const [program, text] of Object.entries(programs)) {
    test(program, async () => assert.deepEqual(await behind(text), []));
  }
});

describe("a shadowing rule is reported with its owner", () => {
  test("kube-proxy, if a ClusterSetIP is the external IP of a Service", async () => {
    const rule = "-A KUBE-SERVICES -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-EXT-B";
    const chain = "-A KUBE-EXT-B -j KUBE-SVC-B\n-A KUBE-SVC-B -j DNAT --to-destination 10.1.0.1:80";
    assert.deepEqual(await behind(KUBE_PROXY.replace("nat\n", `nat\n${rule}\n${chain}\n`)), [
      'nat PREROUTING: kube-proxy: -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES … -A KUBE-SVC-B -j DNAT --to-destination 10.1.0.1:80',
      'nat OUTPUT: kube-proxy: -A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES … -A KUBE-SVC-B -j DNAT --to-destination 10.1.0.1:80',
    ]);
  });

  test("Cilium, which forwards everything that a pod sends", async () => {
    const cilium = `filter
-A FORWARD -m comment --comment "cilium-feeder: CILIUM_FORWARD" -j CILIUM_FORWARD
-A CILIUM_FORWARD -i lxc+ -m comment --comment "cilium: cluster->any on lxc+ forward accept" -j ACCEPT`;
    assert.deepEqual(await behind(cilium), [
      'filter FORWARD: Cilium: -A FORWARD -m comment --comment "cilium-feeder: CILIUM_FORWARD" -j CILIUM_FORWARD … -A CILIUM_FORWARD -i lxc+ -m comment --comment "cilium: cluster->any on lxc+ forward accept" -j ACCEPT',
    ]);
  });

  test("an unknown program, with its rule", async () => {
    assert.deepEqual(await behind("nat\n-A POSTROUTING -j ACCEPT"), [
      "nat POSTROUTING: -A POSTROUTING -j ACCEPT",
    ]);
  });
});

describe("reading foreign chains", () => {
  test("is skipped while the rules before our jumps stay the same, and repeated after a while", async () => {
    const { asked, list, listing } = tables(KUBE_PROXY);
    const order = new JumpOrder(list);
    await order.evaluate(JUMPS, listing());
    const first = asked.length;
    for (let look = 1; look < 12; look++) await order.evaluate(JUMPS, listing());
    assert.equal(asked.length, first);
    await order.evaluate(JUMPS, listing());
    assert.ok(asked.length > first);
    const second = asked.length;
    const changed = listing();
    changed.set("nat OUTPUT", ["-A OUTPUT -j OTHER", ...(changed.get("nat OUTPUT") ?? [])]);
    await order.evaluate(JUMPS, changed);
    assert.ok(asked.slice(second).flat().includes("nat OTHER"));
  });

  test("a duplicate jump counts at its first copy; rules after the last jump do not matter", async () => {
    const { asked, list, listing } = tables("");
    const [jump = "filter"] = JUMPS;
    const rule = `-A ${jump.slice("filter ".length)}`;
    const order = new JumpOrder(list);
    const lines = listing();
    lines.set("filter FORWARD", [rule, "-A FORWARD -j OTHER", rule]);
    assert.equal((await order.evaluate(JUMPS, lines)).size, 0);
    lines.set("filter FORWARD", ["-A FORWARD -j ACCEPT", rule, "-A FORWARD -j OTHER", rule]);
    assert.deepEqual([...(await order.evaluate(JUMPS, lines)).keys()], [jump]);
    lines.set("filter FORWARD", [rule, "-A FORWARD -j OTHER"]);
    assert.equal((await order.evaluate(JUMPS, lines)).size, 0);
    assert.deepEqual(asked, []);
  });

  test("does not happen if no foreign rule is before our jumps", async () => {
    const { asked, list, listing } = tables("");
    assert.equal((await new JumpOrder(list).evaluate(JUMPS, listing())).size, 0);
    assert.deepEqual(asked, []);
  });

  test("is limited: unread chains do not shadow a jump in filter, and do in nat", async () => {
    const many = (table: string, base: string) =>
      [
        table,
        `-A ${base} -j F-0`,
        ...Array.from({ length: 200 }, (_, i) => `-A F-${i} -p tcp -j F-${i + 1}`),
        "-A F-200 -j RETURN",
      ].join("\n");
    assert.deepEqual(await behind(many("filter", "FORWARD")), []);
    assert.deepEqual(await behind(many("nat", "PREROUTING")), [
      "nat PREROUTING: -A PREROUTING -j F-0",
    ]);
  });
});
