import type { Agent } from "./agents.ts";
import type { Measured } from "./contest.ts";
import { figuresOf } from "./figures.ts";
import type { Rival } from "./kube-proxies.ts";
import type { Line } from "./picture.ts";

type Agents = readonly (Pick<Agent, "measured"> & {
  readonly backend: Pick<Agent["backend"], "title">;
})[];

/**
 * The lines of the picture: ours with nftables and iptables, and kube-proxy in the same two modes. undefined if one of them was not measured.
 * PURE.
 */
export function changeLines(
  agents: Agents,
  rivals: readonly Pick<Rival, "mode" | "measured">[],
): Line[] | undefined {
  const ours = (title: string) => agents.find(({ backend }) => backend.title === title)?.measured;
  const theirs = (name: string) => rivals.find(({ mode }) => mode === name)?.measured;
  const lines = [
    { label: "clusterset-proxy, nftables", ours: true, measured: ours("nftables") },
    { label: "clusterset-proxy, iptables", ours: true, measured: ours("iptables-nft") },
    { label: "kube-proxy, nftables", ours: false, measured: theirs("nftables") },
    { label: "kube-proxy, iptables", ours: false, measured: theirs("iptables-nft") },
  ].map(({ measured = [], ...line }): Line => ({ ...line, points: measured.map(pointOf) }));
  return lines.every(({ points }) => points.length > 0) ? lines : undefined;
}

function pointOf({ services, alone }: Measured) {
  const { p50, p99 } = figuresOf(alone.map(({ first }) => first));
  return { services, p50, p99 };
}
