import { fieldAt, isFields, listOf, textField } from "../../api/parse/fields.ts";
import type { InstallObject } from "./change.ts";
import type { ClusterDns, DnsWay } from "./dns-server.ts";
import { COREFILE_BLOCKS } from "./manifests.ts";

/** Why a way is chosen. */
export type DnsReason =
  /** The flag names it. */
  | "requested"
  /** An earlier join has chosen it. */
  | "in-use"
  /** CoreDNS is new enough, and nothing overwrites its Corefile. */
  | "supported"
  | "too-old"
  | "version-unknown"
  | "owned"
  | "no-coredns";

export interface DnsChoice {
  readonly way: DnsWay;
  readonly reason: DnsReason;
  /** True: join adds a block to the Corefile that forwards to `deploy/coredns/own`. False: the user does, or nothing has to. */
  readonly forwards: boolean;
}

/** The objects by which a DNS server is recognised; undefined: absent. */
export interface DnsObjects {
  /** Deployment and ConfigMap `kube-system/coredns`. */
  readonly coreDns: unknown;
  readonly corefile: unknown;
  /** Deployment `kube-system/kube-dns`. */
  readonly kubeDns: unknown;
  /** Deployment `kube-system/rke2-coredns-rke2-coredns`. */
  readonly rke2: unknown;
  /** DaemonSet `openshift-dns/dns-default`. */
  readonly openshift: unknown;
  /** ConfigMap `kube-system/node-local-dns`. */
  readonly nodeLocal: unknown;
  /** Deployment `clusterset-proxy/clusterset-dns`. */
  readonly own: unknown;
  /** ConfigMaps in which users or platforms have zones that a DNS server forwards, besides `corefile`. */
  readonly others: readonly unknown[];
}

/** Labels and annotations of what a program keeps as it wants it. In order: a platform before the tool that it uses. */
const OWNERS: readonly (readonly [key: string, owner: string])[] = [
  ["eks.amazonaws.com/component", "EKS"],
  ["objectset.rio.cattle.io/owner-name", "K3s"],
  ["addonmanager.kubernetes.io/mode", "the platform's addon manager"],
  ["addon.kops.k8s.io/name", "kOps"],
  ["resources.gardener.cloud/managed-by", "Gardener"],
  ["k0s.k0sproject.io/stack", "k0s"],
  ["argocd.argoproj.io/instance", "Argo CD"],
  ["argocd.argoproj.io/tracking-id", "Argo CD"],
  ["kustomize.toolkit.fluxcd.io/name", "Flux"],
  ["helm.toolkit.fluxcd.io/name", "Flux"],
  ["meta.helm.sh/release-name", "Helm"],
  ["app.kubernetes.io/managed-by", "a tool that deploys it"],
  // Argo CD before 3.0 has no mark of its own.
  ["app.kubernetes.io/instance", "a tool that deploys it"],
];

/** Programs that write what they own again, by the name with which they write fields (`managedFields`). */
const MANAGERS: readonly (readonly [manager: RegExp, owner: string])[] = [
  [/^eks$/, "EKS"],
  [/^deploy@/, "K3s"],
  [/^argocd-/, "Argo CD"],
  [/^(kustomize|helm)-controller$/, "Flux"],
  [/^helm$/i, "Helm"],
  [/^(terraform|hashicorp|opentofu)/i, "Terraform"],
  [/^pulumi/, "Pulumi"],
];

/** Recognises the DNS server of a cluster. PURE. */
export function recognizeDns(objects: DnsObjects): ClusterDns {
  const { coreDns, corefile, rke2, openshift, nodeLocal, own, others } = objects;
  const image = imageOfCoreDns(rke2 ?? openshift ?? coreDns);
  const text = fieldAt(corefile, "data", "Corefile");
  const block = typeof text === "string" ? blockIn(text) : undefined;
  const ownImage = imageOfCoreDns(own);
  const cache = fieldAt(nodeLocal, "data", "Corefile");
  const cacheAddresses = boundAddresses(cache);
  return {
    ...kindOf(objects, typeof text === "string" ? text : undefined),
    ...(image !== undefined && { image }),
    ...(block !== undefined && { block }),
    ...(cacheAddresses !== undefined && { cacheAddresses }),
    ...(namesZone(nodeLocal) && { cacheHasZone: true }),
    ...([corefile, ...others].some(namesZone) && { hasZone: true }),
    ...(ownImage !== undefined && { ownImage }),
  };
}

function kindOf(
  { coreDns, corefile, kubeDns, rke2, openshift }: DnsObjects,
  text: string | undefined,
): Pick<ClusterDns, "kind" | "owner"> {
  if (openshift !== undefined) return { kind: "openshift", owner: "the DNS operator" };
  if (rke2 !== undefined) return { kind: "rke2", owner: "RKE2" };
  if (text === undefined) return { kind: kubeDns === undefined ? "unknown" : "kube-dns" };
  const owner = ownerOf(corefile) ?? ownerOf(coreDns);
  if (owner === "EKS") return { kind: "eks", owner };
  // A Corefile with this line is written by a platform, and users have the other ConfigMap.
  if (/^\s*import\s+\S*custom\/\S*\.server\s*$/m.test(text))
    return { kind: "coredns-custom", owner: owner ?? "the platform" };
  return { kind: "coredns", ...(owner !== undefined && { owner }) };
}

/** Whether a user or a platform has the zone in a ConfigMap, in whatever syntax. Our block does not count. */
function namesZone(configMap: unknown): boolean {
  const data = fieldAt(configMap, "data");
  const texts = isFields(data) ? Object.values(data) : [];
  return texts.some(
    (text) => typeof text === "string" && /^[^#\n]*\bclusterset\.local\b/m.test(withoutNames(text)),
  );
}

function ownerOf(object: unknown): string | undefined {
  const marks = ["labels", "annotations"].map((key) => fieldAt(object, "metadata", key));
  const marked = OWNERS.find(([key]) => marks.some((one) => isFields(one) && key in one))?.[1];
  if (marked !== undefined) return marked;
  const managers = listOf(fieldAt(object, "metadata", "managedFields")).map(
    (one) => textField(one, "manager") ?? "",
  );
  return MANAGERS.find(([name]) => managers.some((one) => name.test(one)))?.[1];
}

function imageOfCoreDns(workload: unknown): string | undefined {
  const containers = listOf(fieldAt(workload, "spec", "template", "spec", "containers"));
  const names = ["coredns", "dns"];
  const found = containers.find((one) => names.includes(textField(one, "name") ?? ""));
  return textField(found, "image");
}

function blockIn(corefile: string): ClusterDns["block"] {
  const [block] = corefile.match(COREFILE_BLOCK) ?? [];
  if (block === undefined) return undefined;
  return /^\s*multicluster\b/m.test(block) ? "serves" : "forwards";
}

/** The addresses of the first `bind` of a Corefile. Others than addresses are left out: users copy them. */
function boundAddresses(corefile: unknown): readonly string[] | undefined {
  if (typeof corefile !== "string") return undefined;
  const [, bound = ""] = /^\s*bind\s+(.*)$/m.exec(corefile) ?? [];
  return bound.split(/\s+/).filter((one) => /^[0-9a-fA-F.:]+$/.test(one));
}

/** Chooses what serves `clusterset.local`. `requested`: by the user; absent: the cluster's CoreDNS where that is safe. PURE. */
export function chooseDns(dns: ClusterDns, requested?: DnsWay): DnsChoice {
  const why = whyExisting(dns);
  // Also if its CoreDNS is new enough by now: the Corefile changes when a user says so.
  const hasOwn = dns.ownImage !== undefined && dns.block !== "serves";
  const reason = hasOwn && isUsable(why) ? "in-use" : why;
  const way = requested ?? (hasOwn || !isUsable(why) ? "own" : "existing");
  return {
    way,
    reason: requested === undefined ? reason : "requested",
    forwards: way === "own" && takesBlock(dns),
  };
}

/** Whether a Corefile takes a block that forwards: it is deleted without a trace, and each version has its plugins. */
function takesBlock({ kind, owner, image = "", block }: ClusterDns): boolean {
  // CoreDNS does not start with this block and one more for the zone, which a user would add by join's advice.
  if (block !== undefined) return true;
  // A Corefile of a platform stays as it is.
  return kind === "coredns" && owner === undefined && namesSupport(image) !== "unknown";
}

/** Whether the cluster's CoreDNS can serve the zone, or why not. */
function whyExisting({ kind, image = "", owner, block }: ClusterDns): DnsReason {
  if (kind === "kube-dns" || kind === "unknown") return "no-coredns";
  const support = namesSupport(image);
  if (support === "no") return "too-old";
  if (block === "serves") return "in-use";
  if (owner !== undefined) return "owned";
  return support === "unknown" ? "version-unknown" : "supported";
}

function isUsable(reason: DnsReason): boolean {
  return reason === "in-use" || reason === "supported";
}

/** A sentence if the user requests the cluster's CoreDNS where its Corefile must stay as it is; else undefined. PURE. */
export function dnsFault(dns: ClusterDns, requested: DnsWay | undefined): string | undefined {
  const reason = whyExisting(dns);
  if (requested !== "existing" || isUsable(reason)) return undefined;
  return `--dns existing is not possible: ${reasonText(dns, reason)}. Give --dns own, or --dns none and serve the names yourself (docs/guides/dns.md).`;
}

/** A sentence about a cluster that gets a CoreDNS for the clusterset; undefined for others. PURE. */
export function dnsNote(dns: ClusterDns, choice: DnsChoice): string | undefined {
  const { way, reason, forwards } = choice;
  if (way !== "own") return undefined;
  // A join that broke off has not printed what is to be added.
  if (dns.ownImage !== undefined)
    return forwards || dns.hasZone === true
      ? undefined
      : `The cluster's DNS server, as you configure it, has to forward clusterset.local to its CoreDNS for the clusterset (docs/guides/dns.md).`;
  const why = reason === "requested" ? "" : `: ${reasonText(dns, reason)}`;
  const next = forwards
    ? "Its CoreDNS gets a block that forwards to it"
    : "join prints what you have to add to the cluster's DNS server";
  return `It gets a CoreDNS of its own for clusterset.local${why}. ${next} (docs/guides/dns.md).`;
}

function reasonText({ image = "", owner = "" }: ClusterDns, reason: DnsReason): string {
  switch (reason) {
    case "too-old":
      return `${image} does not serve clusterset.local, CoreDNS ${FIRST_CORE_DNS} does`;
    case "version-unknown":
      return `the version of ${image || "its CoreDNS"} is not known, and clusterset.local needs CoreDNS ${FIRST_CORE_DNS}`;
    case "owned":
      return `${owner} overwrites the Corefile`;
    case "no-coredns":
      return "no CoreDNS was found in kube-system";
    case "requested":
    case "in-use":
    case "supported":
      return reason;
  }
}

/** The first CoreDNS whose plugin `kubernetes` serves a multi-cluster zone without a fault: coredns#7266 is mended there. */
const FIRST = [1, 12, 2] as const;

/** For messages. */
const FIRST_CORE_DNS: string = FIRST.join(".");

/** Whether the CoreDNS of an image serves `clusterset.local`; an older one ends at a Corefile with `multicluster`. */
type NamesSupport = "yes" | "no" | "unknown";

/** Reads the version in an image's tag: `v1.11.4-eksbuild.2`, `1.12.2`. Other tags and digests say nothing. PURE. */
export function namesSupport(image: string): NamesSupport {
  const [, ...parts] = /:v?(\d+)\.(\d+)\.(\d+)(?:[-+][^:/@]*)?(?:@[^@]*)?$/.exec(image) ?? [];
  if (parts.length === 0) return "unknown";
  for (const [i, least] of FIRST.entries()) {
    const found = Number(parts[i]);
    if (found !== least) return found > least ? "yes" : "no";
  }
  return "yes";
}

const COREFILE_BLOCK = /^# clusterset-proxy: begin\n[\s\S]*?^# clusterset-proxy: end\n?/gm;

/** A Corefile with our block at its end, as `deploy/coredns/names add` leaves it. PURE. */
export function withNames(corefile: string): string {
  return withBlock(corefile, COREFILE_BLOCKS.names);
}

/** A Corefile that forwards the zone to an address, as `deploy/coredns/names forward` leaves it. PURE. */
export function withForward(corefile: string, address: string): string {
  return withBlock(corefile, forwardBlock(address));
}

/** The block that forwards the zone to an address, between its marker lines. PURE. */
export function forwardBlock(address: string): string {
  return COREFILE_BLOCKS.forward.replace("$address", address);
}

/** A key of a server block that answers for the zone on the port of ours. */
const ZONE_KEY = /^(?:dns:\/\/)?clusterset\.local\.?(?::53)?,?$/i;

/** Whether a block that is not ours has the zone, such as Lighthouse's. CoreDNS does not start with two of them. PURE. */
export function hasOtherBlock(corefile: string): boolean {
  let depth = 0;
  for (const line of withoutNames(corefile).split("\n")) {
    const words = line.replace(/(^|\s)#.*$/, "").match(/\S+/g) ?? [];
    for (const word of words) {
      if (depth === 0 && word.split(/(?<=,)/).some((key) => ZONE_KEY.test(key))) return true;
      if (word === "{") depth++;
      if (word === "}") depth--;
    }
  }
  return false;
}

function withBlock(corefile: string, block: string): string {
  return `${withoutNames(corefile).trimEnd()}\n${block}\n`;
}

/** A Corefile without our block. PURE. */
export function withoutNames(corefile: string): string {
  return corefile.replaceAll(COREFILE_BLOCK, "");
}

/** `deploy/coredns/own`, with the image of a flag, else with one from another registry that it has already. PURE. */
export function ownDns(objects: readonly InstallObject[], dns: ClusterDns, image?: string) {
  const isMirror = (ownImage: string) => repositoryOf(ownImage) !== repositoryOf(given);
  const given = imageOfCoreDns(objects.find(({ kind }) => kind === "Deployment")) ?? "";
  const kept = dns.ownImage !== undefined && isMirror(dns.ownImage) ? dns.ownImage : given;
  const replaced = (key: string, value: unknown): unknown =>
    key === "image" && value === given ? (image ?? kept) : value;
  return JSON.parse(JSON.stringify(objects, replaced)) as InstallObject[];
}

function repositoryOf(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
}
